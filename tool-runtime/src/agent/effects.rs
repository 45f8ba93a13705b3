//! What tools ask of the loop, by the effects that they record.

use super::{StopRequest, Turn};
use crate::event::{EffectRecord, ToolExecution};
use crate::message::Usage;

/// What they say that they took.
pub(super) fn spent(executions: &[ToolExecution]) -> Usage {
    let mut spent = Usage::default();
    for effect in executions.iter().flat_map(|execution| &execution.effects) {
        if let EffectRecord::TokensSpent { usage } = effect {
            spent += *usage;
        }
    }
    spent
}

/// What tools ask of the loop.
pub(super) fn heed(turn: &mut Turn, executions: &[ToolExecution]) {
    turn.spend(spent(executions));
    for execution in executions {
        for effect in &execution.effects {
            if let EffectRecord::StopRequested { reason } = effect {
                let tool = execution.call.name.clone();
                turn.stop(StopRequest::new(Some(tool), reason));
            }
        }
    }
}
