//! What tools ask of the loop, by the effects that they record.

use super::choice::found;
use super::{StopRequest, Turn};
use crate::event::{EffectRecord, ToolExecution};
use crate::registry::Snapshot;
use crate::tool::{Bill, Effect, ToolDefinition, ToolErrorKind};

/// What they say that they took.
pub(super) fn spent<'e>(executions: impl IntoIterator<Item = &'e ToolExecution>) -> Bill {
    Bill::of_effects(executions.into_iter().flat_map(|execution| &execution.effects))
}

/// Those that ran and may have changed the world, by the names that they ran under.
pub(super) fn acted<'e>(
    executions: impl IntoIterator<Item = &'e ToolExecution>,
    tools: &Snapshot,
) -> impl Iterator<Item = String> {
    let names = executions.into_iter().filter(|it| has_run(it)).map(|execution| {
        let ran = execution.changed.as_deref().unwrap_or(&execution.call);
        ran.name.as_str()
    });
    let may_act = |name: &&str| {
        let acts = |tool: &ToolDefinition| matches!(tool.effect, Effect::Write | Effect::External);
        tools.definition(name).is_none_or(acts)
    };
    names.filter(may_act).map(str::to_owned)
}

fn has_run(execution: &ToolExecution) -> bool {
    use ToolErrorKind::{Denied, Indeterminate, Validation};
    let error = execution.result.error.as_deref();
    let is = |kind: ToolErrorKind| error == Some(kind.code());
    // Where it was asked and would not, nothing was done; where its result was lost, nobody can tell.
    is(Indeterminate) || execution.attempts > 0 && !is(Validation) && !is(Denied)
}

/// What tools ask of the loop, in the order of these: the one that comes last is what counts.
pub(super) fn heed<'e>(
    turn: &mut Turn,
    executions: impl IntoIterator<Item = &'e ToolExecution>,
    tools: &Snapshot,
) {
    for execution in executions {
        turn.add_discovered_tools(found(execution, tools));
        for effect in &execution.effects {
            if let EffectRecord::StopRequested { reason } = effect {
                let tool = execution.call.name.clone();
                turn.stop_after_calls(StopRequest::new(Some(tool), reason));
            }
        }
    }
}
