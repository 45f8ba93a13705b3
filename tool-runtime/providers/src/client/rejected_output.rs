//! Calls that a server could not read. Groq rejects them and sends what the model wrote, which the
//! formats of models that write calls as text can read.

use tool_core::__workspace::{Formats, ToolLookup, emit_reply};
use tool_core::models::{ApiError, DeltaSink, WireNames};
use tool_core::{AssistantPart, ChatReply, ChatRequest, FinishReason, ModelError, ToolDefinition};

/// Returns the text and the calls in what a server rejected.
///
/// # Errors
/// Returns the error of the server if there is no call to be read.
pub(crate) fn rejected_parts(
    error: Box<ApiError>,
    request: ChatRequest<'_>,
    names: &WireNames,
) -> Result<Vec<AssistantPart>, ModelError> {
    let output = error.rejected_output.as_deref().unwrap_or_default();
    // The model wrote the names that were sent.
    let with_wire_name = |tool: &ToolDefinition| {
        let mut tool = tool.clone();
        tool.name = names.wire_name(&tool.name).into_owned();
        tool
    };
    let tools: Vec<_> = request.callable_tools().into_iter().map(with_wire_name).collect();
    let tools: Vec<_> = tools.iter().collect();
    let parts = parts(output, &ToolLookup::new(&tools));
    if parts.is_empty() {
        return Err(error.into());
    }
    let named = |part| match part {
        AssistantPart::Call(mut call) => {
            call.name = names.tool_name(&call.name).to_owned();
            AssistantPart::Call(call)
        }
        part => part,
    };
    Ok(parts.into_iter().map(named).collect())
}

/// Reads an output in any format. Because the server took it for a call, the marks of a call can be
/// missing.
fn parts(output: &str, tools: &ToolLookup<'_>) -> Vec<AssistantPart> {
    let output = without_fence(output.trim());
    let marked = [output.to_owned(), format!("<tool_call>{output}</tool_call>")];
    let read = |text: &String| {
        let read = Formats::all().extract(text, tools);
        let text = (!read.text.is_empty()).then_some(AssistantPart::Text { text: read.text });
        let calls = read.calls.into_iter().map(AssistantPart::Call);
        let has_calls = calls.len() > 0;
        has_calls.then(|| text.into_iter().chain(calls).collect())
    };
    let read = marked.iter().find_map(read).or_else(|| functions(output, tools));
    read.unwrap_or_default()
}

/// Reads calls such as `<function=now{"zone": "UTC"}</function>`, as some Llama models write them.
/// Returns `None` if anything else is in the output.
fn functions(output: &str, tools: &ToolLookup<'_>) -> Option<Vec<AssistantPart>> {
    let written = output.split("</function>").map(str::trim).filter(|call| !call.is_empty());
    let call = |written: &str| {
        let written = written.strip_prefix("<function=").unwrap_or(written);
        let (name, _) = written.split_once('{')?;
        let arguments = written.get(name.len()..).filter(|arguments| arguments.ends_with('}'))?;
        Some(AssistantPart::Call(tools.call(name.trim().trim_end_matches('>'), arguments)?))
    };
    written.map(call).collect::<Option<Vec<_>>>().filter(|calls| !calls.is_empty())
}

/// Returns the text inside a fence that is the whole output.
fn without_fence(output: &str) -> &str {
    let inside = output.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inside = inside.and_then(|inside| inside.split_once('\n'));
    inside.map_or(output, |(_, inside)| inside.trim())
}

/// Returns a reply of these parts.
pub(crate) fn called_reply(parts: Vec<AssistantPart>) -> ChatReply {
    ChatReply::new(parts).finish_reason(FinishReason::ToolCalls)
}

/// Emits the parts and returns the reply, which begins with the text that was emitted before.
pub(crate) fn emitted_reply(
    text: String,
    parts: Vec<AssistantPart>,
    deltas: &mut DeltaSink<'_>,
) -> ChatReply {
    emit_reply(&parts, deltas);
    let text = (!text.is_empty()).then_some(AssistantPart::Text { text });
    called_reply(text.into_iter().chain(parts).collect())
}
