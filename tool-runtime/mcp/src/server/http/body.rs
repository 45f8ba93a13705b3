use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use super::super::connection::running::Running;
use super::super::connection::session::lock;
use super::admission::Permit;

/// The body of a response that counts as a running request until it is sent, or until the client
/// has not read for too long.
///
/// The connection asks for the next frame as soon as it can send one. If it does not, the client
/// does not read.
pub(super) struct PermitBody {
    response: Arc<Mutex<Option<OpenResponse>>>,
    _watch: Option<AbortOnDropHandle<()>>,
}

struct OpenResponse {
    body: Body,
    /// The time since which the client has to read; `None` while it waits for the server.
    unread_since: Option<Instant>,
    _permit: Permit,
    _running: Option<Running>,
}

impl PermitBody {
    /// Creates a body whose client must read each frame in this time.
    pub(super) fn new(
        body: Body,
        permit: Permit,
        running: Option<Running>,
        limit: Duration,
    ) -> Self {
        let has_content = !body.is_end_stream();
        let response = Arc::new(Mutex::new(Some(OpenResponse {
            body,
            unread_since: Some(Instant::now()),
            _permit: permit,
            _running: running,
        })));
        let watch = has_content.then(|| {
            let watching = end_unread(Arc::downgrade(&response), limit);
            AbortOnDropHandle::new(tokio::spawn(watching))
        });
        Self { response, _watch: watch }
    }
}

/// Ends a response whose client does not read.
async fn end_unread(response: Weak<Mutex<Option<OpenResponse>>>, limit: Duration) {
    loop {
        let now = Instant::now();
        let Some(shared) = response.upgrade() else { return };
        // A client that has nothing to read now can be too late after this time at the earliest.
        let since = lock(&shared).as_ref().map(|open| open.unread_since.unwrap_or(now));
        drop(shared);
        let Some(end) = since.and_then(|since| since.checked_add(limit)) else { return };
        sleep_until(end).await;

        let Some(shared) = response.upgrade() else { return };
        let is_late = |open: &mut OpenResponse| {
            open.unread_since.is_some_and(|since| since.elapsed() >= limit)
        };
        let ended = lock(&shared).take_if(is_late);
        if ended.is_some() {
            return;
        }
    }
}

impl http_body::Body for PermitBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut response = lock(&self.response);
        let Some(open) = response.as_mut() else {
            return Poll::Ready(Some(Err(axum::Error::new("the client did not read in time"))));
        };
        let polled = Pin::new(&mut open.body).poll_frame(cx);
        let is_frame = matches!(polled, Poll::Ready(Some(Ok(_))));
        open.unread_since = is_frame.then(Instant::now);
        polled
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.response).as_ref().is_some_and(|open| open.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.response).as_ref().map(|open| open.body.size_hint()).unwrap_or_default()
    }
}
