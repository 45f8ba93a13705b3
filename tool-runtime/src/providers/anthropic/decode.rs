//! Body of a Messages reply → [`ChatReply`].

use serde::Deserialize;
use serde_json::Value;

use crate::message::{Arguments, AssistantPart, Reasoning, ToolCall, Usage};
use crate::models::{ChatReply, FinishReason, WireNames};
use crate::providers::codec::{DecodeError, RawJson};
use crate::providers::shared::Counts;

/// Provider name of the reasoning that this codec seals.
pub(super) const REASONING_OF: &str = "anthropic";

#[derive(Deserialize)]
struct MessageResponse {
    content: Vec<Value>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Counts,
}

#[derive(Deserialize)]
struct ErrorBody {
    error: Value,
}

/// Converts the counts. `input_tokens` excludes the tokens that were read from the cache or written
/// to it.
fn counted(counts: &Counts) -> Usage {
    let get = |pointer| counts.get(pointer).unwrap_or(0);
    let cached = get("/cache_read_input_tokens");
    let input = [cached, get("/input_tokens"), get("/cache_creation_input_tokens")];
    let input = input.into_iter().fold(0, u64::saturating_add);
    let mut usage = Usage::new(input, get("/output_tokens"));
    usage.cached = cached;
    usage.reasoning = get("/output_tokens_details/thinking_tokens");
    usage
}

/// Decodes a body. Calls get the names of the program's tools.
pub(super) fn reply(body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
    let reply: MessageResponse = match serde_json::from_str(body) {
        Ok(reply) => reply,
        Err(_) if body.trim().is_empty() => return Err(DecodeError::malformed("empty body")),
        Err(error) => {
            return Err(failure(body).unwrap_or_else(|| DecodeError::malformed(error.to_string())));
        }
    };
    let raw = RawJson::new(body).member("content");
    let raw = raw.into_iter().flat_map(RawJson::items);
    let parts = reply.content.into_iter().zip(raw).map(|(block, raw)| {
        part(block, || raw.member("input").and_then(RawJson::arguments), names)
    });
    let parts = parts.collect::<Result<_, _>>()?;
    Ok(assemble_reply(parts, reply.stop_reason.as_deref(), reply.usage))
}

/// Returns the error that a body reports, if it reports one.
pub(super) fn failure(body: &str) -> Option<DecodeError> {
    let ErrorBody { error } = serde_json::from_str(body).ok()?;
    Some(DecodeError::Reported(error))
}

pub(super) fn assemble_reply(
    parts: Vec<Option<AssistantPart>>,
    stop_reason: Option<&str>,
    usage: Counts,
) -> ChatReply {
    let finish = match stop_reason {
        None | Some("end_turn" | "stop_sequence") => FinishReason::Stop,
        Some("tool_use") => FinishReason::ToolCalls,
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("refusal") => FinishReason::ContentFilter,
        Some(_) => FinishReason::Other,
    };
    let mut reply = ChatReply::new(parts.into_iter().flatten().collect()).finish_reason(finish);
    reply.usage = usage.usage(counted);
    reply
}

/// Converts a content block into a part; returns `None` for an empty text.
///
/// A block that is neither text nor a call belongs to the provider: thinking, sealed or not, and
/// what its own tools did. It is sent back unchanged. `arguments` returns the raw arguments of a
/// call.
pub(super) fn part(
    block: Value,
    arguments: impl FnOnce() -> Option<Arguments>,
    names: &WireNames,
) -> Result<Option<AssistantPart>, DecodeError> {
    let text = |name: &str| block.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let kind = text("type");
    Ok(match kind.as_deref() {
        Some("text") => {
            let text = text("text").filter(|text| !text.is_empty());
            text.map(|text| AssistantPart::Text { text })
        }
        Some("tool_use") => {
            let name = text("name");
            let name = name.ok_or_else(|| DecodeError::malformed("a call has no name"))?;
            let arguments = arguments().unwrap_or_else(|| Arguments::from(""));
            let call =
                ToolCall::new(text("id").unwrap_or_default(), names.tool_name(&name), arguments);
            Some(AssistantPart::Call(call))
        }
        Some(kind) => {
            let thinking = text("thinking").unwrap_or_default();
            let is_tool_use = !["thinking", "redacted_thinking"].contains(&kind);
            let sealed = Reasoning::new(REASONING_OF, thinking, block);
            Some(AssistantPart::Reasoning(if is_tool_use {
                sealed.provider_action()
            } else {
                sealed
            }))
        }
        None => return Err(DecodeError::malformed("a content block has no type")),
    })
}
