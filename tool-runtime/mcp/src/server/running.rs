//! What a request holds while it runs: of its response, and of its call, which may last longer.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::Extensions;

/// What a request over HTTP holds until its response is sent and its call has ended. Clones hold
/// the same.
///
/// One clone is in the body of the response. The other one is in the extensions of the request,
/// where the SDK keeps it as long as the call runs: in a session, a call goes on without its
/// client.
#[derive(Clone)]
pub(crate) struct Running {
    _held: Arc<dyn Any + Send + Sync>,
}

impl Running {
    pub(crate) fn new(held: impl Any + Send + Sync) -> Self {
        Self { _held: Arc::new(held) }
    }
}

/// Lets what continues with these extensions outlive its request.
pub(crate) fn detach(extensions: &mut Extensions) {
    if let Some(parts) = extensions.get_mut::<Parts>() {
        parts.extensions.remove::<Running>();
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}
