//! Body of a chat completion → [`ChatReply`].
//!
//! Decoding is lenient where servers differ: calls without an id, arguments that are an object
//! instead of its text, and an error with a success status. Unknown members are ignored.

use serde::Deserialize;
use serde_json::{Value, json};

use super::ContentBuilder;
use super::found_sources::FoundSources;
use crate::codec::{DecodeError, RawJson};
use crate::shared::{Counts, ServedBy, place_sources};
use tool_core::models::WireNames;
use tool_core::{Arguments, AssistantPart, ChatReply, FinishReason, ToolCall, Usage};

#[derive(Deserialize)]
struct Completion<S> {
    id: Option<Value>,
    model: Option<Value>,
    choices: Vec<ReplyChoice<S>>,
    #[serde(default)]
    usage: Counts,
    citations: Option<Value>,
    search_results: Option<Value>,
}

#[derive(Deserialize)]
struct ReplyChoice<S> {
    #[serde(default)]
    index: u64,
    message: Option<S>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

/// Error with status 200, which gateways send if the model behind them failed after the reply
/// started.
#[derive(Deserialize)]
struct ErrorBody {
    error: Value,
}

/// Call, or one piece of a call.
#[derive(Deserialize)]
pub(crate) struct WireCall {
    /// Index of the call in a stream.
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<WireFunction>,
    /// Data that a server needs back on this call, such as the signature of Gemini's thoughts.
    pub(super) extra_content: Option<Value>,
}

#[derive(Default, Deserialize)]
pub(super) struct WireFunction {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
}

/// Decodes a body. Calls get the names of the program's tools.
pub(crate) fn reply<S: ContentBuilder>(
    body: &str,
    names: &WireNames,
) -> Result<ChatReply, DecodeError> {
    let completion: Completion<S::Message> = match serde_json::from_str(body) {
        Ok(completion) => completion,
        Err(_) if body.trim().is_empty() => return Err(DecodeError::malformed("empty body")),
        Err(error) => {
            let malformed = || DecodeError::malformed(error.to_string());
            return Err(S::reported_error(body).unwrap_or_else(malformed));
        }
    };
    let mut served_by = ServedBy::default();
    served_by.merge(completion.id, completion.model);
    let first = completion.choices.into_iter().enumerate().min_by_key(|(_, choice)| choice.index);
    let Some((index, ReplyChoice { message, finish_reason, error, .. })) = first else {
        return Err(DecodeError::malformed("no choice"));
    };
    if let Some(error) = error {
        return Err(DecodeError::Reported(error));
    }
    let message = message.ok_or_else(|| DecodeError::malformed("missing field `message`"))?;
    let mut content = S::default();
    let mut calls = content.push(message, &mut |_| {});
    restore_raw_arguments(&mut calls, || {
        let choices = RawJson::new(body).member("choices");
        choices.and_then(|choices| choices.items().nth(index)?.member("message"))
    });
    let reply = assemble_reply(content, calls, finish_reason.as_deref(), completion.usage, names)?;
    let mut found = FoundSources::default();
    found.merge(completion.citations, completion.search_results);
    Ok(found.add_to(served_by.set_in(reply)))
}

/// Replaces arguments that are an object by its raw text, which `message` locates.
pub(super) fn restore_raw_arguments<'t>(
    calls: &mut [WireCall],
    message: impl FnOnce() -> Option<RawJson<'t>>,
) {
    let is_object = |call: &WireCall| {
        call.function.as_ref().is_some_and(|it| matches!(it.arguments, Some(Value::Object(_))))
    };
    if !calls.iter().any(is_object) {
        return;
    }
    let raw = message().and_then(|message| message.member("tool_calls"));
    for (call, raw) in calls.iter_mut().zip(raw.into_iter().flat_map(RawJson::items)) {
        let raw = raw.member("function").and_then(|it| it.member("arguments"));
        if let (Some(function), Some(raw)) = (&mut call.function, raw.and_then(RawJson::arguments))
        {
            function.arguments = Some(raw.to_text().into());
        }
    }
}

/// Returns the `error` member of a body, if there is one.
pub(crate) fn reported_error(body: &str) -> Option<DecodeError> {
    let ErrorBody { error } = serde_json::from_str(body).ok()?;
    (!error.is_null()).then_some(DecodeError::Reported(error))
}

/// Assembles the content and the calls of a reply.
///
/// # Errors
/// [`DecodeError::Reported`] if the model failed in the middle of the reply: some servers report
/// that by the finish reason alone.
pub(super) fn assemble_reply<S: ContentBuilder>(
    content: S,
    mut calls: Vec<WireCall>,
    finish: Option<&str>,
    usage: Counts,
    names: &WireNames,
) -> Result<ChatReply, DecodeError> {
    if calls.iter().all(|call| call.index.is_some()) {
        calls.sort_by_key(|call| call.index);
    }
    if let Some(reason @ ("error" | "insufficient_system_resource")) = finish {
        let message = format!("finish reason {reason}");
        return Err(DecodeError::Reported(json!({ "code": "server_error", "message": message })));
    }
    let is_refused = content.is_refused();
    let mut parts = content.into_parts();
    place_sources(&mut parts);
    for call in calls {
        let extra = call.extra_content.and_then(S::seal_extra);
        parts.extend(extra.map(AssistantPart::Reasoning));
        let WireFunction { name: Some(name), arguments } = call.function.unwrap_or_default() else {
            return Err(DecodeError::malformed("a call has no name"));
        };
        let arguments = arguments.map_or_else(|| Arguments::from(""), Into::into);
        let call = ToolCall::new(call.id.unwrap_or_default(), names.tool_name(&name), arguments);
        parts.push(AssistantPart::Call(call));
    }
    let finish = match finish {
        None | Some("stop") if is_refused => FinishReason::ContentFilter,
        None | Some("stop") => FinishReason::Stop,
        Some("tool_calls" | "function_call") => FinishReason::ToolCalls,
        Some("length" | "model_length") => FinishReason::Length,
        Some("content_filter") => FinishReason::ContentFilter,
        Some(_) => FinishReason::Other,
    };
    let mut reply = ChatReply::new(parts).finish_reason(finish);
    reply.usage = usage.usage(counted);
    Ok(reply)
}

fn counted(counts: &Counts) -> Usage {
    let get = |pointer| counts.get(pointer).unwrap_or(0);
    let (input, output) = (get("/prompt_tokens"), get("/completion_tokens"));
    let reasoning = get("/completion_tokens_details/reasoning_tokens");
    let total = counts.get("/total_tokens");
    let mut usage = Usage::new(input, with_reasoning(input, output, reasoning, total));
    usage.cache_read_tokens = get("/prompt_tokens_details/cached_tokens");
    usage.cache_creation_tokens = get("/prompt_tokens_details/cache_write_tokens");
    usage.cache_creation_12h_tokens =
        get("/prompt_tokens_details/cache_write_tokens_details/ttl_12h_tokens");
    usage.reasoning_tokens = reasoning;
    usage.audio_input_tokens = get("/prompt_tokens_details/audio_tokens");
    usage.audio_output_tokens = get("/completion_tokens_details/audio_tokens");
    usage
}

/// Returns the output tokens with those of the reasoning. xAI counts reasoning beside the output,
/// which the total shows. Without a total, output that is smaller than its reasoning does not
/// include it.
fn with_reasoning(input: u64, output: u64, reasoning: u64, total: Option<u64>) -> u64 {
    let sum = output.saturating_add(reasoning);
    let is_beside = match total {
        Some(total) => total == input.saturating_add(sum),
        None => reasoning > output,
    };
    if is_beside { sum } else { output }
}
