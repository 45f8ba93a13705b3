//! Resolves the name of a call to a tool of the snapshot.

use crate::dispatch::call::call_record::CallRecord;
use crate::dispatch::context::BatchContext;
use crate::json::Risk;
use crate::message::ToolCall;
use crate::registry::Entry;
use crate::tool::{ToolDefinition, ToolError, ToolErrorKind};

/// Returns the tool of a call that may start: its batch is not aborted, its name is known, it is
/// not nested too deeply, all of it was read, and it was meant.
pub(crate) fn resolve<'b>(
    batch: &'b BatchContext,
    call: &ToolCall,
    record: &mut CallRecord,
) -> Result<&'b Entry, ToolError> {
    batch.abort.check().map_err(|blocked| record.block(blocked))?;
    let entry = batch.tools.entry(&call.name).ok_or_else(|| missing_tool(batch, &call.name))?;
    batch.check_suspended(call, entry)?;
    check_leftover(call, entry.definition())?;
    check_doubt(call, entry.definition())?;
    batch.check_depth().map_err(|blocked| record.block(blocked))?;
    Ok(entry)
}

/// Returns the error of a call whose tool does not exist.
fn missing_tool(batch: &BatchContext, name: &str) -> ToolError {
    if let Some(state) = batch.tools.announced(name) {
        announced_tool(name, state)
    } else if batch.is_removed(name) {
        removed_tool(name)
    } else {
        batch.suggestions().unknown_tool(batch, name)
    }
}

/// Refuses a call of which a part was not read: the tool would run without that part.
fn check_leftover(call: &ToolCall, tool: &ToolDefinition) -> Result<(), ToolError> {
    let error = tool.leftover_error(call);
    error.map_or(Ok(()), |text| Err(ToolError::new(ToolErrorKind::InvalidArguments, text)))
}

/// Refuses a call that the model may have quoted, unless the tool accepts every repair: such a tool
/// changes nothing.
fn check_doubt(call: &ToolCall, tool: &ToolDefinition) -> Result<(), ToolError> {
    if !call.is_doubtful || tool.repair.allows(Risk::Lossy) {
        return Ok(());
    }
    let text = format!(
        "`{}` did not run: the text around its call announces an example or a quotation. If you \
         want the call, send it again without that text.",
        call.name
    );
    Err(ToolError::new(ToolErrorKind::InvalidArguments, text))
}

/// Returns the error of a call to a tool of a provider whose tools are not known yet.
fn announced_tool(name: &str, state: &str) -> ToolError {
    // The model made the name up, except for the provider.
    let name: String = name.chars().take(80).flat_map(char::escape_debug).collect();
    let text =
        format!("`{name}` can't run now: {state}. Call it again later, or go on without it.");
    ToolError::new(ToolErrorKind::Unavailable, text)
}

/// Returns the error of a call to a tool that was offered before and is no longer registered, where
/// no other name would help.
fn removed_tool(name: &str) -> ToolError {
    let text = format!("`{name}` is no longer available. Go on without it.");
    ToolError::new(ToolErrorKind::Unavailable, text)
}
