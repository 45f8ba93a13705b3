//! What tools ask of the loop, by the effects that they record.

use super::{StopRequest, Turn};
use crate::event::{EffectRecord, ToolExecution};

/// What tools ask of the loop.
pub(super) fn heed(turn: &mut Turn, executions: &[ToolExecution]) {
    for execution in executions {
        for effect in &execution.effects {
            match effect {
                EffectRecord::TokensSpent { usage } => turn.spend(*usage),
                EffectRecord::StopRequested { reason } => {
                    let tool = execution.call.name.clone();
                    turn.stop(StopRequest::new(Some(tool), reason));
                }
                _ => {}
            }
        }
    }
}
