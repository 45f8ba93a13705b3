//! Applies the effects that executions record to the turn.

use serde_json::{Map, Value};

use super::{StopRequest, Turn};
use crate::agent::request::selection::discovered_tools;
use crate::event::{EffectRecord, ToolExecution};
use crate::registry::Snapshot;
use crate::tool::{Effect, MeteredUsage, ToolDefinition, ToolErrorKind};

/// Returns the usage that the executions report.
pub(super) fn metered_usage<'e>(
    executions: impl IntoIterator<Item = &'e ToolExecution>,
) -> MeteredUsage {
    MeteredUsage::of_effects(executions.into_iter().flat_map(|execution| &execution.effects))
}

/// Returns the names of the tools that ran and may have had effects.
pub(super) fn mutating_tools<'e>(
    executions: impl IntoIterator<Item = &'e ToolExecution>,
    tools: &Snapshot,
) -> impl Iterator<Item = String> {
    let names = executions.into_iter().filter(|it| may_have_run(it)).map(|execution| {
        let ran = execution.modified_call.as_deref().unwrap_or(&execution.call);
        ran.name.as_str()
    });
    let may_mutate = |name: &&str| {
        let mutates =
            |tool: &ToolDefinition| matches!(tool.effect, Effect::Write | Effect::External);
        tools.definition(name).is_none_or(mutates)
    };
    names.filter(may_mutate).map(str::to_owned)
}

fn may_have_run(execution: &ToolExecution) -> bool {
    use ToolErrorKind::{Denied, Indeterminate, InvalidArguments};
    let error = execution.result.error.as_deref();
    let is_kind = |kind: ToolErrorKind| error == Some(kind.code());
    // A tool that refused its arguments did nothing. A tool whose result was lost may have run.
    is_kind(Indeterminate)
        || execution.attempts > 0 && !is_kind(InvalidArguments) && !is_kind(Denied)
}

/// Adds discovered tools to the turn and records stop requests. The last stop request wins.
pub(super) fn apply_effects<'e>(
    turn: &mut Turn,
    executions: impl IntoIterator<Item = &'e ToolExecution>,
    tools: &Snapshot,
) {
    for execution in executions {
        turn.add_discovered_tools(discovered_tools(execution, tools));
        for effect in &execution.effects {
            if let EffectRecord::StopRequested { reason } = effect {
                turn.stop_after_calls(StopRequest::new(Some(execution.call.name.clone()), reason));
            }
        }
        if let Some(reason) = execution.run_changes.as_ref().and_then(|it| it.stop.as_ref()) {
            turn.stop_after_calls(StopRequest::new(None, reason));
        }
    }
}

/// Applies the changes that interceptors made to the metadata of the run.
pub(super) fn apply_metadata<'e>(
    metadata: &mut Map<String, Value>,
    executions: impl IntoIterator<Item = &'e ToolExecution>,
) {
    for changes in executions.into_iter().filter_map(|execution| execution.run_changes.as_ref()) {
        for (key, value) in &changes.metadata {
            match value {
                Value::Null => drop(metadata.remove(key)),
                value => drop(metadata.insert(key.clone(), value.clone())),
            }
        }
    }
}
