use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use super::super::running::Running;

/// The body of a response that counts as a running request until it is sent.
pub(super) struct PermitBody {
    body: Body,
    _permit: OwnedSemaphorePermit,
    _running: Option<Running>,
}

impl PermitBody {
    pub(super) fn new(body: Body, permit: OwnedSemaphorePermit, running: Option<Running>) -> Self {
        Self { body, _permit: permit, _running: running }
    }
}

impl http_body::Body for PermitBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
