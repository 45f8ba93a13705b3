//! Body of a Messages reply → [`ChatReply`].

use serde::Deserialize;
use serde_json::Value;

use crate::anthropic::sources::sources;
use crate::codec::{DecodeError, RawJson};
use crate::shared::{Counts, ServedBy, place_sources};
use tool_core::message::GeneratedFile;
use tool_core::models::WireNames;
use tool_core::{Arguments, AssistantPart, ChatReply, FinishReason, Reasoning, ToolCall, Usage};

/// Provider name of the reasoning that this codec seals.
pub(super) const REASONING_OF: &str = "anthropic";

#[derive(Deserialize)]
struct MessageResponse {
    id: Option<Value>,
    model: Option<Value>,
    content: Vec<Value>,
    container: Option<Value>,
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
    let written_1h = get("/cache_creation/ephemeral_1h_input_tokens");
    let by_time = written_1h.saturating_add(get("/cache_creation/ephemeral_5m_input_tokens"));
    let written = get("/cache_creation_input_tokens").max(by_time);
    let input = [cached, get("/input_tokens"), written];
    let input = input.into_iter().fold(0, u64::saturating_add);
    let mut usage = Usage::new(input, get("/output_tokens"));
    (usage.cache_read_tokens, usage.cache_creation_tokens, usage.cache_creation_1h_tokens) =
        (cached, written, written_1h);
    usage.reasoning_tokens = get("/output_tokens_details/thinking_tokens");
    usage.searches = get("/server_tool_use/web_search_requests");
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
    let blocks = reply.content.into_iter().zip(raw).map(|(block, raw)| {
        parts(block, || raw.member("input").and_then(RawJson::arguments), names)
    });
    let blocks = blocks.collect::<Result<_, _>>()?;
    let mut served_by = ServedBy::default();
    served_by.merge(reply.id, reply.model);
    let reply = assemble_reply(blocks, reply.container, reply.stop_reason.as_deref(), reply.usage);
    Ok(served_by.set_in(reply))
}

/// Returns the error that a body reports, if it reports one.
pub(super) fn failure(body: &str) -> Option<DecodeError> {
    let ErrorBody { error } = serde_json::from_str(body).ok()?;
    Some(DecodeError::Reported(error))
}

pub(super) fn assemble_reply(
    blocks: Vec<Vec<AssistantPart>>,
    container: Option<Value>,
    stop_reason: Option<&str>,
    usage: Counts,
) -> ChatReply {
    let mut reply = ChatReply::new(blocks.into_iter().flatten().collect());
    place_sources(&mut reply.parts);
    reply.parts.extend(container.and_then(sealed_container));
    let finish = match stop_reason {
        None | Some("end_turn" | "stop_sequence") => FinishReason::Stop,
        Some("tool_use") => FinishReason::ToolCalls,
        Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
        Some("refusal") => FinishReason::ContentFilter,
        Some("pause_turn") if reply.calls().next().is_some() => FinishReason::ToolCalls,
        Some("pause_turn") => FinishReason::Paused,
        Some(_) => FinishReason::Other,
    };
    reply.finish_reason = finish;
    reply.usage = usage.usage(counted);
    reply
}

/// Type of the sealed data that names the container in which the provider ran code.
pub(super) const CONTAINER: &str = "container";

/// Seals the container of a reply. Its id has to be sent back while calls of its code are open.
fn sealed_container(mut container: Value) -> Option<AssistantPart> {
    container.get("id")?.as_str()?;
    container.as_object_mut()?.insert("type".into(), CONTAINER.into());
    Some(AssistantPart::Reasoning(Reasoning::new(REASONING_OF, "", container)))
}

/// Seals the members of a block that its part does not have, such as the citations of a text and
/// the caller of a call; returns `None` if there are none.
fn remainder(block: &Value, in_part: &[&str]) -> Option<AssistantPart> {
    let mut rest = block.as_object()?.clone();
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    rest.retain(|name, value| !in_part.contains(&name.as_str()) && !is_empty(value));
    let has_more = rest.keys().any(|name| name != "type");
    has_more.then(|| AssistantPart::Reasoning(Reasoning::new(REASONING_OF, "", rest.into())))
}

/// Returns the files that code of the provider has written, which the provider keeps.
fn files(block: &Value) -> Vec<AssistantPart> {
    let outputs = block.pointer("/content/content").and_then(Value::as_array);
    let ids = outputs.into_iter().flatten().filter_map(|output| output.get("file_id")?.as_str());
    ids.map(|id| AssistantPart::File(GeneratedFile::stored(REASONING_OF, id))).collect()
}

/// Converts a content block into parts: none for an empty text, otherwise one. Members of the block
/// that the part does not have precede it, and the sources that it names follow it.
///
/// A block that is neither text nor a call belongs to the provider: thinking, sealed or not, and
/// what its own tools did. It is sent back unchanged. `arguments` returns the raw arguments of a
/// call.
pub(super) fn parts(
    block: Value,
    arguments: impl FnOnce() -> Option<Arguments>,
    names: &WireNames,
) -> Result<Vec<AssistantPart>, DecodeError> {
    let text = |name: &str| block.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let kind = text("type");
    let sources: Vec<_> =
        block.as_object().into_iter().flat_map(sources).map(AssistantPart::Source).collect();
    let files = files(&block);
    let (remainder, part) = match kind.as_deref() {
        Some("text") => {
            let Some(text) = text("text").filter(|text| !text.is_empty()) else {
                return Ok(Vec::new());
            };
            (remainder(&block, &["text"]), AssistantPart::Text { text })
        }
        Some("tool_use") => {
            let name = text("name");
            let name = name.ok_or_else(|| DecodeError::malformed("a call has no name"))?;
            let arguments = arguments().unwrap_or_else(|| Arguments::from(""));
            let call =
                ToolCall::new(text("id").unwrap_or_default(), names.tool_name(&name), arguments);
            (remainder(&block, &["id", "name", "input"]), AssistantPart::Call(call))
        }
        Some(kind) => {
            let thinking = text("thinking").unwrap_or_default();
            let is_tool_use = !["thinking", "redacted_thinking"].contains(&kind);
            let sealed = Reasoning::new(REASONING_OF, thinking, block);
            let sealed = if is_tool_use { sealed.provider_action() } else { sealed };
            return Ok([AssistantPart::Reasoning(sealed)]
                .into_iter()
                .chain(files)
                .chain(sources)
                .collect());
        }
        None => return Err(DecodeError::malformed("a content block has no type")),
    };
    Ok(remainder.into_iter().chain([part]).chain(sources).collect())
}
