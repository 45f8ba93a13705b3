//! A byte stream as a transport that a client can't make hang or grow.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::timeout;
use tool_runtime::CancellationToken;

use super::Limits;
use super::session::lock;

pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The number of messages that may wait for a client to read.
const MAX_UNSENT: usize = 1024;

/// The number of requests beside the running ones that may await their response. They are answered
/// at once, if only with the error that too many requests run.
const MAX_WAITING: usize = 1024;

/// The time for flushing when the connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Ends the connection if the client does not read: after a timeout for each message, or at once
/// if too many messages wait. Stops reading while too many requests are unanswered. The SDK alone
/// would hold all of them.
///
/// Ignores what comes before the first request, which the SDK would take for a wrong start.
pub(crate) struct StreamTransport {
    inner: AsyncRwTransport<RoleServer, Reader, Writer>,
    unsent: Arc<AtomicUsize>,
    unanswered: Unanswered,
    send_timeout: Duration,
    closed: CancellationToken,
    has_started: bool,
}

impl StreamTransport {
    pub(crate) fn new(reader: Reader, writer: Writer, limits: &Limits) -> Self {
        let inner = AsyncRwTransport::new_server(reader, writer);
        Self {
            inner: inner.with_max_line_length(limits.message_bytes),
            unsent: Arc::default(),
            unanswered: Unanswered::new(limits.requests.saturating_add(MAX_WAITING)),
            send_timeout: limits.send,
            closed: CancellationToken::new(),
            has_started: false,
        }
    }
}

/// The ids of the requests that await their response.
struct Unanswered {
    ids: Mutex<HashSet<RequestId>>,
    removed: Notify,
    limit: usize,
}

impl Unanswered {
    fn new(limit: usize) -> Self {
        Self { ids: Mutex::default(), removed: Notify::new(), limit }
    }

    fn insert(&self, id: RequestId) {
        lock(&self.ids).insert(id);
    }

    fn remove(&self, id: &RequestId) {
        lock(&self.ids).remove(id);
        self.removed.notify_waiters();
    }

    /// Waits until there is room for a request.
    async fn room(&self) {
        loop {
            let removed = self.removed.notified();
            if lock(&self.ids).len() < self.limit {
                return;
            }
            removed.await;
        }
    }
}

/// Counts a message as unsent until it is dropped.
struct Unsent(Arc<AtomicUsize>);

impl Drop for Unsent {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Transport<RoleServer> for StreamTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        match &message {
            JsonRpcMessage::Response(response) => self.unanswered.remove(&response.id),
            JsonRpcMessage::Error(error) => {
                error.id.iter().for_each(|id| self.unanswered.remove(id));
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        let is_full = self.unsent.fetch_add(1, Ordering::Relaxed) >= MAX_UNSENT;
        let unsent = Unsent(Arc::clone(&self.unsent));
        let (send_timeout, closed) = (self.send_timeout, self.closed.clone());
        let sending = self.inner.send(message);
        async move {
            let _unsent = unsent;
            let not_read = || io::Error::new(io::ErrorKind::TimedOut, "the client does not read");
            let result = if is_full {
                Err(not_read())
            } else {
                timeout(send_timeout, sending).await.unwrap_or_else(|_| Err(not_read()))
            };
            if result.is_err() {
                closed.cancel();
            }
            result
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let received = async {
                self.unanswered.room().await;
                self.inner.receive().await
            };
            let message = tokio::select! {
                () = self.closed.cancelled() => return None,
                message = received => message?,
            };
            match &message {
                JsonRpcMessage::Request(request) => {
                    self.unanswered.insert(request.id.clone());
                    self.has_started = true;
                }
                // A cancelled request gets no response.
                JsonRpcMessage::Notification(notification) => {
                    if let ClientNotification::CancelledNotification(cancelled) =
                        &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.unanswered.remove(id);
                    }
                }
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
            }
            if self.has_started {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Waits for the lock of the writer, which a stuck message holds.
        timeout(CLOSE_TIMEOUT, self.inner.close()).await.unwrap_or(Ok(()))
    }
}

impl fmt::Debug for StreamTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamTransport").finish_non_exhaustive()
    }
}
