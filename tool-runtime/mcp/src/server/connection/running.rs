//! Resources of a request over HTTP, from its start to the end of its response and of its call.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::Extensions;

/// Keeps the resources of a request over HTTP until its response is sent and its call has ended.
/// Clones share them.
///
/// One clone is in the body of the response. The other one is in the extensions of the request,
/// where the SDK keeps it as long as the call runs: in a session, a call continues without its
/// client.
#[derive(Clone)]
pub(crate) struct Running {
    _resources: Arc<dyn Any + Send + Sync>,
}

impl Running {
    pub(crate) fn new(resources: impl Any + Send + Sync) -> Self {
        Self { _resources: Arc::new(resources) }
    }
}

/// Releases the resources of a request whose work continues without it, as a task does.
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
