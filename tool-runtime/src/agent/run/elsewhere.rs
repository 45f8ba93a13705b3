//! Has calls run by a [`Dispatch`] of the program's own.

use super::Run;
use crate::dispatch::{Batch, Dispatch, Dispatcher};
use crate::event::{Origin, ToolEvent, ToolExecution};
use crate::guard::{Guarded, Panic};
use crate::message::{ToolCall, ToolResult};
use crate::registry::Snapshot;
use crate::tool::ToolErrorKind;

impl Run {
    pub(super) async fn elsewhere(
        &mut self,
        elsewhere: &dyn Dispatch,
        tools: &Snapshot,
        calls: Vec<ToolCall>,
        batch: Batch,
    ) -> Vec<ToolExecution> {
        let (origin, until) = (self.origin(), self.until(&self.agent));
        let dispatcher = &self.dispatcher;
        dispatcher.look_out(tools, calls.iter());
        for call in &calls {
            dispatcher.tell(&origin, || ToolEvent::Started { call: call.clone() });
        }
        let mut open = Open { dispatcher, origin: &origin, calls };
        let done = Guarded::new(|| elsewhere.dispatch(batch), |Panic(_)| Vec::new());
        // One that heeds neither its deadline nor its stop is left alone.
        let done = until.wait(done).await.unwrap_or_default();
        let mut done = each_once(dispatcher, std::mem::take(&mut open.calls), done);
        for execution in &mut done {
            dispatcher.hide_in_result(execution);
            dispatcher.tell_end(&origin, execution);
        }
        done
    }
}

/// One execution for each call, whatever foreign code gives back.
fn each_once(
    dispatcher: &Dispatcher,
    calls: Vec<ToolCall>,
    mut done: Vec<ToolExecution>,
) -> Vec<ToolExecution> {
    let of_call = |call: ToolCall| {
        let place = done.iter().position(|execution| execution.result.call == call.id);
        let Some(place) = place else { return lost(dispatcher, call) };
        let execution = done.swap_remove(place);
        // The call is the model's, whatever it is said to have been there.
        let result = ToolResult { tool: call.name.clone(), ..execution.result };
        ToolExecution { call, result, ..execution }
    };
    calls.into_iter().map(of_call).collect()
}

fn lost(dispatcher: &Dispatcher, call: ToolCall) -> ToolExecution {
    let text = "The result of this call was lost; it may have had effects.";
    let result = ToolResult::failure(&call, ToolErrorKind::Indeterminate.code(), text);
    dispatcher.unrun(call, result)
}

/// Calls that have begun. Those who watch are told of their end also where nobody waits for it any more.
struct Open<'r> {
    dispatcher: &'r Dispatcher,
    origin: &'r Origin,
    calls: Vec<ToolCall>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        for call in std::mem::take(&mut self.calls) {
            self.dispatcher.tell_end(self.origin, &lost(self.dispatcher, call));
        }
    }
}
