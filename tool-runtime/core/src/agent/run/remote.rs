//! Runs calls by a [`Dispatch`] of the program, instead of the agent's own dispatcher.
//!
//! The run emits when each call starts and finishes. It accepts one execution for each call,
//! whatever the foreign code returns: a call without one is answered as indeterminate.

use super::Run;
use crate::dispatch::{Batch, Dispatch, Dispatcher};
use crate::event::{Origin, ToolExecution};
use crate::guard::{CatchPanic, Panic};
use crate::message::{ToolCall, ToolResult};
use crate::registry::Snapshot;
use crate::tool::{ToolErrorKind, indeterminate_text};

impl Run {
    /// Runs the batch remotely and returns one execution for each call, in their order.
    pub(super) async fn dispatch_remotely(
        &mut self,
        remote: &dyn Dispatch,
        tools: &Snapshot,
        calls: Vec<ToolCall>,
        batch: Batch,
    ) -> Vec<ToolExecution> {
        let (origin, deadline) = (self.origin(), self.deadline());
        let dispatcher = &self.dispatcher;
        dispatcher.register_secrets(tools, calls.iter());
        for call in &calls {
            dispatcher.emit_started(&origin, call);
        }
        let mut open = StartedCalls { dispatcher, origin: &origin, calls };
        let executions = CatchPanic::new(|| remote.dispatch(batch), |Panic(_)| Vec::new());
        // A remote that ignores its deadline and its cancellation is abandoned.
        let executions = deadline.wait(executions).await.unwrap_or_default();
        let mut executions =
            match_executions(dispatcher, std::mem::take(&mut open.calls), executions);
        for execution in &mut executions {
            dispatcher.clean_result(execution);
            dispatcher.emit_end(&origin, execution);
        }
        executions
    }
}

/// Matches what foreign code returned to the calls: one execution for each.
fn match_executions(
    dispatcher: &Dispatcher,
    calls: Vec<ToolCall>,
    mut executions: Vec<ToolExecution>,
) -> Vec<ToolExecution> {
    let of_call = |call: ToolCall| {
        let index = executions.iter().position(|execution| execution.result.call == call.id);
        let Some(index) = index else { return lost_execution(dispatcher, call) };
        let execution = executions.swap_remove(index);
        // The call is the one that the model made, whatever the remote claims.
        let result = ToolResult { tool: call.name.clone(), ..execution.result };
        ToolExecution { call, result, ..execution }
    };
    calls.into_iter().map(of_call).collect()
}

/// Returns the execution of a call whose result was lost.
fn lost_execution(dispatcher: &Dispatcher, call: ToolCall) -> ToolExecution {
    let tools = dispatcher.registry().snapshot();
    let text =
        indeterminate_text("The result of this call was lost", tools.is_retry_safe(&call.name));
    let result = ToolResult::failure(&call, ToolErrorKind::Indeterminate.code(), text);
    dispatcher.skipped_execution(call, result)
}

/// Calls whose start was emitted. Their end is emitted on drop, so even if the run is cancelled.
struct StartedCalls<'r> {
    dispatcher: &'r Dispatcher,
    origin: &'r Origin,
    calls: Vec<ToolCall>,
}

impl Drop for StartedCalls<'_> {
    fn drop(&mut self) {
        for call in std::mem::take(&mut self.calls) {
            self.dispatcher.emit_end(self.origin, &lost_execution(self.dispatcher, call));
        }
    }
}
