//! Calls that end without a result, and that those who watch are told of all the same.

use std::sync::Arc;

use super::answer::failed;
#[cfg(not(feature = "tracing"))]
use super::call::one;
use super::running::Running;
#[cfg(feature = "tracing")]
use super::traced::one;
use crate::event::{ToolEvent, ToolExecution};
use crate::message::ToolCall;
use crate::tool::{ToolError, ToolErrorKind};

/// One call. Those who watch are told of its end also where it is dropped before it has one.
#[inline]
pub(super) fn told(running: Arc<Running>, call: ToolCall) -> impl Future<Output = ToolExecution> {
    let is_watched = !running.scope.observers.is_empty();
    let mut unfinished = is_watched.then(|| Box::new(Unfinished::new(&running, &call)));
    async move {
        if let Some(unfinished) = &mut unfinished {
            unfinished.has_begun = true;
        }
        let execution = one(&running, call).await;
        if let Some(unfinished) = &mut unfinished {
            unfinished.is_over = true;
        }
        execution
    }
}

/// A call that somebody watches.
struct Unfinished {
    running: Arc<Running>,
    call: ToolCall,
    has_begun: bool,
    is_over: bool,
}

impl Unfinished {
    #[cold]
    fn new(running: &Arc<Running>, call: &ToolCall) -> Self {
        Self { running: Arc::clone(running), call: call.clone(), has_begun: false, is_over: false }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Self { running, call, has_begun, is_over } = self;
        // Its task may not have been polled even once.
        if !*has_begun {
            running.scope.tell(|| ToolEvent::Started { call: call.clone() });
        }
        if !*is_over {
            running.scope.tell(|| ToolEvent::Finished(lost(running, call)));
        }
    }
}

/// A call that ended without a result: nobody waits for it any more, or its runtime is going away.
#[cold]
pub(super) fn lost(running: &Running, call: &ToolCall) -> ToolExecution {
    let text = "The call was stopped before it had a result; it may have had effects.";
    let error = ToolError::new(ToolErrorKind::Indeterminate, text);
    let mut execution = failed(call.clone(), error);
    execution.started = running.scope.clock.now();
    execution
}
