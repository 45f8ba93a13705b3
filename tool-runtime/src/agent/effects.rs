//! What tools ask of the loop, by the effects that they record.

use super::choice::found;
use super::{StopRequest, Turn};
use crate::event::{EffectRecord, ToolExecution};
use crate::registry::Snapshot;
use crate::tool::Bill;

/// What they say that they took.
pub(super) fn spent<'e>(executions: impl IntoIterator<Item = &'e ToolExecution>) -> Bill {
    Bill::of_effects(executions.into_iter().flat_map(|execution| &execution.effects))
}

/// What tools ask of the loop, in the order of these: the one that comes last is what counts.
pub(super) fn heed<'e>(
    turn: &mut Turn,
    executions: impl IntoIterator<Item = &'e ToolExecution>,
    tools: &Snapshot,
) {
    for execution in executions {
        turn.pull_in(found(execution, tools));
        for effect in &execution.effects {
            if let EffectRecord::StopRequested { reason } = effect {
                let tool = execution.call.name.clone();
                turn.stop_later(StopRequest::new(Some(tool), reason));
            }
        }
    }
}
