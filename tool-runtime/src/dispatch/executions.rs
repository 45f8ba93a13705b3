//! Builds executions from the results of calls: text for the model, cause for the operator.

use crate::event::{BlockReason, ToolEvent, ToolExecution};
use crate::guard::error_chain;
use crate::message::{ToolCall, ToolResult};
use crate::registry::{CallableTools, Entry, name_to_suggest, nearest};
use crate::tool::{ToolError, ToolErrorKind, ToolOutput};

/// The maximum number of tool names in the result of a call to an unknown tool.
const MAX_NAMES: usize = 20;

/// The maximum number of characters of an unknown tool name that are repeated to the model.
const MAX_NAME_CHARS: usize = 80;

#[inline]
pub(super) fn success(call: ToolCall, output: ToolOutput) -> ToolExecution {
    let (text, images, effects) = output.into_parts();
    let mut result = ToolResult::success(&call, text);
    result.images = images;
    let mut execution = ToolExecution::new(call, result);
    execution.effects = effects;
    execution
}

pub(super) fn failure(call: ToolCall, mut error: ToolError) -> ToolExecution {
    let result = ToolResult::failure(&call, error.kind().code(), error.text());
    let mut execution = ToolExecution::new(call, result);
    // Formatting the source of an error runs code of the tool: `error_chain` catches its panic.
    execution.cause = error.source().map(|source| error_chain(source));
    execution.suspended_state = error.take_state();
    execution.blocked_by = execution.suspended_state.is_some().then_some(BlockReason::Pending);
    execution
}

/// Returns the events at the end of a call: that it was blocked or cancelled, and its execution.
pub(super) fn end_events(execution: &ToolExecution) -> impl Iterator<Item = ToolEvent> {
    let call = execution.call.id.clone();
    let reason = match execution.blocked_by {
        Some(by) => Some(ToolEvent::Blocked { call, by, reason: execution.result.text.clone() }),
        None if execution.failed_with(ToolErrorKind::Cancelled.code()) => {
            Some(ToolEvent::Cancelled { call })
        }
        None => None,
    };
    // The saved state of a tool is for the tool alone.
    let execution = ToolExecution { suspended_state: None, ..execution.clone() };
    reason.into_iter().chain([ToolEvent::Finished(execution)])
}

/// Returns the error of a call to an unknown tool, which suggests tools that the model may mean.
///
/// Only tools that the model may call and that may be offered are suggested. Their availability is
/// checked only for those that are suggested, unless all of them are listed.
pub(super) fn unknown_tool(callable: &CallableTools, name: &str) -> ToolError {
    let is_selectable = |tool: &&Entry| tool.definition().preference.is_selectable();
    let can_run = |tool: &&Entry| tool.availability().is_available();
    let quoted = |tool: &Entry| format!("`{}`", name_to_suggest(tool, name));
    let permitted = || callable.permitted().filter(is_selectable);
    let finder = permitted().filter(|tool| tool.definition().finds_tools).find(can_run).map(quoted);
    let similar = nearest(name, permitted()).into_iter().filter(can_run);
    let similar = similar.map(quoted).collect::<Vec<_>>().join(" or ");
    let advice = match (similar.as_str(), &finder) {
        ("", _) => {
            let all: Vec<_> = callable.entries().filter(is_selectable).collect();
            let first: Vec<_> = all.iter().copied().take(MAX_NAMES).map(quoted).collect();
            available_tools(&first.join(", "), all.len(), finder)
        }
        (similar, None) => format!("Did you mean {similar}?"),
        (similar, Some(finder)) => {
            format!("Did you mean {similar}? Call {finder} to find others.")
        }
    };
    // The model made the name up: line breaks and the like are escaped.
    let name: String = name.chars().take(MAX_NAME_CHARS).flat_map(char::escape_debug).collect();
    ToolError::new(ToolErrorKind::NotFound, format!("There is no tool named `{name}`. {advice}"))
}

/// Returns the error of a call to a tool that was offered before and is no longer registered, where
/// no other name would help.
pub(super) fn removed_tool(name: &str) -> ToolError {
    let text = format!("`{name}` is not there any more. Go on without it.");
    ToolError::new(ToolErrorKind::Unavailable, text)
}

/// Describes the `total` available tools, of which `first` lists the first names.
fn available_tools(first: &str, total: usize, finder: Option<String>) -> String {
    match (total.saturating_sub(MAX_NAMES), finder) {
        (0, _) if total == 0 => "There are no tools.".to_owned(),
        (0, _) => format!("The tools are {first}."),
        (more, None) => format!("The tools are {first} and {more} more."),
        (_, Some(finder)) => {
            format!("There are {total} tools: call {finder} to find the one that you need.")
        }
    }
}
