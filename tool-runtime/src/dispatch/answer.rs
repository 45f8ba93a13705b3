//! What became of a call, put into words: for the model in the result, for the operator beside it.

use std::error::Error;
use std::iter::successors;

use crate::event::{ToolEvent, ToolExecution};
use crate::guard::guarded;
use crate::message::{ToolCall, ToolResult};
use crate::registry::Snapshot;
use crate::tool::{ToolError, ToolErrorKind, ToolOutput};

/// How many names a model is told of when it called none of them.
const MOST_NAMES: usize = 20;

/// How much of a name is repeated, in characters.
const MOST_OF_NAME: usize = 80;

/// How far back the errors behind an error are followed: one may lie behind itself.
const MOST_CAUSES: usize = 32;

#[inline]
pub(super) fn succeeded(call: ToolCall, output: ToolOutput) -> ToolExecution {
    let (text, images, effects) = output.into_parts();
    let mut result = ToolResult::success(&call, text);
    result.images = images;
    let mut execution = ToolExecution::new(call, result);
    execution.effects = effects;
    execution
}

/// The text of what lies behind the error is the tool's code.
pub(super) fn failed(call: ToolCall, error: &ToolError) -> ToolExecution {
    let result = ToolResult::failure(&call, error.kind().code(), error.text());
    let mut execution = ToolExecution::new(call, result);
    execution.cause = error.source().map(|source| {
        let cause = guarded(|| chain(source));
        cause.unwrap_or_else(|panic| format!("an error whose own text {panic}"))
    });
    execution
}

/// What is told of a call when it ends: what held it back or that it was stopped, and what became of it.
pub(super) fn ending(execution: &ToolExecution) -> impl Iterator<Item = ToolEvent> {
    let call = execution.call.id.clone();
    let why = match execution.blocked_by {
        Some(by) => Some(ToolEvent::Blocked { call, by, reason: execution.result.text.clone() }),
        None if execution.failed_with(ToolErrorKind::Cancelled.code()) => {
            Some(ToolEvent::Cancelled { call })
        }
        None => None,
    };
    why.into_iter().chain([ToolEvent::Finished(execution.clone())])
}

/// An error and all that lies behind it, outermost first.
fn chain(error: &(dyn Error + 'static)) -> String {
    let all = successors(Some(error), |&error| error.source()).take(MOST_CAUSES);
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

pub(super) fn unknown(tools: &Snapshot, name: &str) -> ToolError {
    let list = |names: &[&str], joint: &str| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(joint)
    };
    let nearest = tools.nearest(name);
    let advice = if !nearest.is_empty() {
        format!("Did you mean {}?", list(&nearest, " or "))
    } else {
        let known: Vec<_> =
            tools.definitions().iter().map(|known| known.name.as_str()).take(MOST_NAMES).collect();
        match known.as_slice() {
            [] => "There are no tools.".to_owned(),
            known => format!("The tools are {}.", list(known, ", ")),
        }
    };
    // Whatever a model made up: its line breaks and the like are shown, not repeated.
    let name: String = name.chars().take(MOST_OF_NAME).flat_map(char::escape_debug).collect();
    ToolError::new(ToolErrorKind::NotFound, format!("There is no tool named `{name}`. {advice}"))
}
