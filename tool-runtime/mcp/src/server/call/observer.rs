use std::sync::{Arc, Mutex, PoisonError};

use tool_core::event::{Observer, ToolEvent};
use tool_core::message::visible;
use tool_core::{CallId, Event};

use super::super::McpRequest;

/// Watches one call: forwards its progress, and keeps the arguments that an approver is shown.
/// Clones share them.
#[derive(Clone)]
pub(super) struct CallObserver {
    call: CallId,
    request: McpRequest,
    approval: Arc<Mutex<Option<String>>>,
}

impl CallObserver {
    pub(super) fn new(call: CallId, request: McpRequest) -> Self {
        Self { call, request, approval: Arc::default() }
    }

    /// Returns the redacted arguments that await approval.
    pub(super) fn arguments_to_approve(&self) -> Option<String> {
        self.approval.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Observer for CallObserver {
    fn observe(&self, event: &Event) {
        match event.tool_event() {
            Some(ToolEvent::Progress { call, progress }) if *call == self.call => {
                self.request.progress(progress);
            }
            Some(ToolEvent::ApprovalRequested { call, arguments, .. }) if *call == self.call => {
                let arguments = visible(arguments).into_owned();
                *self.approval.lock().unwrap_or_else(PoisonError::into_inner) = Some(arguments);
            }
            _ => {}
        }
    }

    fn only_running_calls(&self) -> bool {
        true
    }
}
