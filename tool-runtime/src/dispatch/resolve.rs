//! Resolves the name of a call to a tool of the snapshot.

use super::call_record::CallRecord;
use super::context::BatchContext;
use crate::message::ToolCall;
use crate::registry::{CallableTools, Entry, name_to_suggest, nearest};
use crate::tool::{ToolError, ToolErrorKind};

/// The maximum number of tool names in the result of a call to an unknown tool.
const MAX_NAMES: usize = 20;

/// The maximum number of characters of an unknown tool name that are repeated to the model.
const MAX_NAME_CHARS: usize = 80;

/// Returns the tool of a call that may start: its batch is not aborted, its name is known, and it
/// is not nested too deeply.
pub(super) fn resolve<'b>(
    batch: &'b BatchContext,
    call: &ToolCall,
    record: &mut CallRecord,
) -> Result<&'b Entry, ToolError> {
    batch.abort.check().map_err(|blocked| record.block(blocked))?;
    let entry = batch.tools.entry(&call.name).ok_or_else(|| missing_tool(batch, &call.name))?;
    batch.check_suspended(call, entry)?;
    batch.check_depth().map_err(|blocked| record.block(blocked))?;
    Ok(entry)
}

/// Returns the error of a call whose tool does not exist.
#[cold]
fn missing_tool(batch: &BatchContext, name: &str) -> ToolError {
    match batch.removed_tools.iter().any(|removed| removed == name) {
        true => removed_tool(name),
        false => unknown_tool(batch.callable(), name),
    }
}

/// Returns the error of a call to an unknown tool, which suggests tools that the model may mean.
///
/// Only tools that the model may call and that may be offered are suggested. Their availability is
/// checked only for those that are suggested, unless all of them are listed.
fn unknown_tool(callable: &CallableTools, name: &str) -> ToolError {
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
fn removed_tool(name: &str) -> ToolError {
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
