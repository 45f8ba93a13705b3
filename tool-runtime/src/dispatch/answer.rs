//! What became of a call, put into words: for the model in the result, for the operator beside it.

use crate::event::{Gate, ToolEvent, ToolExecution};
use crate::guard::causes;
use crate::message::{ToolCall, ToolResult};
use crate::registry::{Callable, Entry, called, nearest};
use crate::tool::{ToolError, ToolErrorKind, ToolOutput};

/// How many names a model is told of when it called none of them.
const MOST_NAMES: usize = 20;

/// How much of a name is repeated, in characters.
const MOST_OF_NAME: usize = 80;

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
pub(super) fn failed(call: ToolCall, mut error: ToolError) -> ToolExecution {
    let result = ToolResult::failure(&call, error.kind().code(), error.text());
    let mut execution = ToolExecution::new(call, result);
    execution.cause = error.source().map(|source| causes(source));
    execution.suspended = error.take_state();
    execution.blocked_by = execution.suspended.is_some().then_some(Gate::Pending);
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
    // What a tool goes on from is for nobody else to read.
    let told = ToolExecution { suspended: None, ..execution.clone() };
    why.into_iter().chain([ToolEvent::Finished(told)])
}

/// Sends a model to those of these tools that it may mean, and to none that it may not call or that
/// isn't to be offered. Only those that it would be sent to are asked whether they can run, but where
/// it is told of all.
pub(super) fn unknown(callable: &Callable, name: &str) -> ToolError {
    let is_selectable = |tool: &&Entry| tool.definition().preference.is_selectable();
    let can_run = |tool: &&Entry| tool.availability().is_available();
    let named = |tool: &Entry| format!("`{}`", called(tool, name));
    let permitted = || callable.permitted().filter(is_selectable);
    let finder = permitted().filter(|tool| tool.definition().finds_tools).find(can_run).map(named);
    let alike = nearest(name, permitted()).into_iter().filter(can_run);
    let alike = alike.map(named).collect::<Vec<_>>().join(" or ");
    let advice = match (alike.as_str(), &finder) {
        ("", _) => {
            let all: Vec<_> = callable.entries().filter(is_selectable).collect();
            let some: Vec<_> = all.iter().copied().take(MOST_NAMES).map(named).collect();
            known(&some.join(", "), all.len(), finder)
        }
        (alike, None) => format!("Did you mean {alike}?"),
        (alike, Some(finder)) => format!("Did you mean {alike}? Call {finder} to find others."),
    };
    // Whatever a model made up: its line breaks and the like are shown, not repeated.
    let name: String = name.chars().take(MOST_OF_NAME).flat_map(char::escape_debug).collect();
    ToolError::new(ToolErrorKind::NotFound, format!("There is no tool named `{name}`. {advice}"))
}

/// It was offered before, so that to look for another name leads nowhere.
pub(super) fn gone(name: &str) -> ToolError {
    let text = format!("`{name}` is not there any more. Go on without it.");
    ToolError::new(ToolErrorKind::Unavailable, text)
}

/// Which tools there are, where none is like what was said: some by name, of so many.
fn known(some: &str, all: usize, finder: Option<String>) -> String {
    match (all.saturating_sub(MOST_NAMES), finder) {
        (0, _) if all == 0 => "There are no tools.".to_owned(),
        (0, _) => format!("The tools are {some}."),
        (more, None) => format!("The tools are {some} and {more} more."),
        (_, Some(finder)) => {
            format!("There are {all} tools: call {finder} to find the one that you need.")
        }
    }
}
