//! Body of a response → [`ChatReply`].
//!
//! The shapes follow OpenAI's API reference, "The response object". Decoding is lenient where
//! servers differ: llama.cpp and vLLM leave out most members, and some servers send arguments as an
//! object.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::items::{ANNOTATIONS, Item, kind_of, remainder, text_of, with_annotations};
use crate::codec::DecodeError;
use crate::shared::{
    Counts, ServedBy, annotated, file_part, image_type_of, place_sources, source_list,
};
use tool_core::models::WireNames;
use tool_core::{Arguments, AssistantPart, ChatReply, FinishReason, Reasoning, ToolCall, Usage};

#[derive(Default, Deserialize)]
pub(super) struct Response {
    id: Option<Value>,
    model: Option<Value>,
    pub(super) output: Option<Vec<Item>>,
    status: Option<String>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
    #[serde(default)]
    usage: Counts,
    /// Counts of what the provider's own tools did.
    #[serde(default)]
    tool_usage: Counts,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

/// Decodes a body. Calls get the names of the program's tools.
pub(super) fn reply(
    body: &str,
    names: &WireNames,
    provider: &str,
) -> Result<ChatReply, DecodeError> {
    let response: Response = match serde_json::from_str(body) {
        Ok(response) => response,
        Err(_) if body.trim().is_empty() => return Err(DecodeError::malformed("empty body")),
        Err(error) => {
            return Err(failure(body).unwrap_or_else(|| DecodeError::malformed(error.to_string())));
        }
    };
    assemble_reply(response, names, provider)
}

/// Returns the error that a body or an event reports, if it reports one.
pub(super) fn failure(body: &str) -> Option<DecodeError> {
    #[derive(Deserialize)]
    struct ErrorBody {
        error: Value,
    }
    let ErrorBody { error } = serde_json::from_str(body).ok()?;
    (!error.is_null()).then_some(DecodeError::Reported(error))
}

/// Creates the error of a response that has failed.
pub(super) fn failed(status: &str, error: Option<Value>) -> DecodeError {
    let unknown = || json!({ "message": format!("response {status} without an error") });
    DecodeError::Reported(error.filter(|error| !error.is_null()).unwrap_or_else(unknown))
}

pub(super) fn assemble_reply(
    response: Response,
    names: &WireNames,
    provider: &str,
) -> Result<ChatReply, DecodeError> {
    let Response { id, model, output, status, error, incomplete_details, usage, tool_usage } =
        response;
    if error.is_some() {
        return Err(failed("failed", error));
    }
    let incomplete = match status.as_deref() {
        Some(status @ ("failed" | "cancelled")) => return Err(failed(status, None)),
        Some(status @ ("queued" | "in_progress")) => {
            return Err(DecodeError::malformed(format!("the response is still {status}")));
        }
        Some("incomplete") => incomplete_details.and_then(|details| details.reason).or(status),
        _ => None,
    };
    let output = output.ok_or_else(|| DecodeError::malformed("no output"))?;
    let is_refused = output.iter().any(is_refusal);
    let mut parts = parts(output, names, provider)?;
    place_sources(&mut parts);
    let finish = match incomplete.as_deref() {
        Some("content_filter") => FinishReason::ContentFilter,
        // What is incomplete is truncated, whatever the reason is called.
        Some(_) => FinishReason::Length,
        None if parts.iter().any(|part| matches!(part, AssistantPart::Call(_))) => {
            FinishReason::ToolCalls
        }
        None if is_refused => FinishReason::ContentFilter,
        None => FinishReason::Stop,
    };
    let mut reply = ChatReply::new(parts).finish_reason(finish);
    reply.usage = usage.usage(counted);
    if let Some(usage) = &mut reply.usage {
        usage.searches = tool_usage.get("/web_search/num_requests").unwrap_or(0);
    }
    let mut served_by = ServedBy::default();
    served_by.merge(id, model);
    Ok(served_by.set_in(reply))
}

fn counted(counts: &Counts) -> Usage {
    let get = |pointer| counts.get(pointer).unwrap_or(0);
    let mut usage = Usage::new(get("/input_tokens"), get("/output_tokens"));
    usage.cache_read_tokens = get("/input_tokens_details/cached_tokens");
    usage.cache_creation_tokens = get("/input_tokens_details/cache_write_tokens");
    usage.cache_creation_12h_tokens =
        get("/input_tokens_details/cache_write_tokens_details/ttl_12h_tokens");
    usage.reasoning_tokens = get("/output_tokens_details/reasoning_tokens");
    usage
}

fn parts(
    output: Vec<Item>,
    names: &WireNames,
    provider: &str,
) -> Result<Vec<AssistantPart>, DecodeError> {
    let mut parts = Vec::new();
    let mut follows_sealed = false;
    for item in output {
        let sealed = |text: String, item: Item| {
            AssistantPart::Reasoning(Reasoning::new(provider, text, item.into()))
        };
        let sources = sources(&item);
        let part = match kind_of(&item) {
            "message" => {
                let text: String = texts(&item, "content").collect();
                (!text.is_empty()).then_some(AssistantPart::Text { text })
            }
            "function_call" => Some(AssistantPart::Call(call(&item, names)?)),
            "" => return Err(DecodeError::malformed("an item has no type")),
            _ => None,
        };
        match part {
            Some(part) => {
                let remainder = remainder(&with_annotations(&item), follows_sealed);
                parts.extend(remainder.map(|item| sealed(String::new(), item)));
                parts.push(part);
                follows_sealed = false;
            }
            None if kind_of(&item) == "message" && !follows_sealed => {}
            None if ["message", "reasoning"].contains(&kind_of(&item)) => {
                let texts: Vec<_> = reasoning_texts(&item).collect();
                parts.push(sealed(texts.join("\n\n"), item));
                follows_sealed = true;
            }
            None => {
                let mut item = item;
                let image = image(&item, provider);
                if let Some(AssistantPart::File(_)) = image {
                    item.remove("result");
                }
                let tool_use = Reasoning::new(provider, "", item.into()).provider_action();
                parts.push(AssistantPart::Reasoning(tool_use));
                parts.extend(image);
                follows_sealed = true;
            }
        }
        parts.extend(sources);
    }
    Ok(parts)
}

/// Returns the image that the provider's own tool has created.
fn image(item: &Item, provider: &str) -> Option<AssistantPart> {
    let is_image = kind_of(item) == "image_generation_call";
    let base64 = text_of(item, "result").filter(|result| is_image && !result.is_empty())?;
    let format = text_of(item, "output_format").map(|format| format!("image/{format}"));
    let media_type = format.unwrap_or_else(|| image_type_of(base64).unwrap_or("image/png").into());
    Some(file_part(provider, &media_type, base64.to_owned()))
}

/// Returns the sources that an item names: the annotations of a message, with ranges in its text,
/// or what the provider's own tools have found.
pub(super) fn sources(item: &Item) -> Vec<AssistantPart> {
    if kind_of(item) == "message" {
        let text: String = texts(item, "content").collect();
        let item = with_annotations(item);
        let annotations = item.get(ANNOTATIONS).and_then(Value::as_array);
        return annotated(annotations.into_iter().flatten(), &text);
    }
    let pages = item.get("action").and_then(|action| action.get("sources"));
    let found = source_list(pages).chain(source_list(item.get("results")));
    found.map(AssistantPart::Source).collect()
}

/// Returns the length of the text of a message.
pub(super) fn text_len(item: &Item) -> usize {
    let is_message = kind_of(item) == "message";
    texts(item, "content").filter(|_| is_message).map(str::len).sum()
}

/// Returns the readable texts of reasoning: the summary, and the content if there is some.
fn reasoning_texts(item: &Item) -> impl Iterator<Item = &str> {
    let is_reasoning = kind_of(item) == "reasoning";
    let texts = texts(item, "summary").chain(texts(item, "content"));
    texts.filter(move |text| is_reasoning && !text.is_empty())
}

fn texts<'i>(item: &'i Item, member: &str) -> impl Iterator<Item = &'i str> {
    let parts = item.get(member).and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| part.get("text").or_else(|| part.get("refusal"))?.as_str())
}

fn is_refusal(item: &Item) -> bool {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    kind_of(item) == "message" && parts.into_iter().any(|part| part.get("refusal").is_some())
}

fn call(item: &Map<String, Value>, names: &WireNames) -> Result<ToolCall, DecodeError> {
    let name = text_of(item, "name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| DecodeError::malformed("a call has no name"))?;
    let id = text_of(item, "call_id").or_else(|| text_of(item, "id")).unwrap_or_default();
    let arguments = item.get("arguments").filter(|arguments| !arguments.is_null()).cloned();
    let arguments = arguments.map_or_else(|| Arguments::from(""), Arguments::from);
    Ok(ToolCall::new(id, names.tool_name(name), arguments))
}
