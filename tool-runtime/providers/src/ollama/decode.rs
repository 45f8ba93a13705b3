//! Parts of a reply: its body, or one line of a streamed reply.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::codec::{DecodeError, RawJson};
use crate::shared::count;
use tool_core::models::WireNames;
use tool_core::{AssistantPart, ChatReply, FinishReason, Reasoning, ToolCall, Usage};

/// Provider name of the reasoning that this codec seals.
pub(super) const REASONING_OF: &str = "ollama";

/// Body of a reply, or one chunk of a streamed one.
#[derive(Deserialize)]
pub(super) struct OllamaResponse {
    pub(super) model: Option<Value>,
    #[serde(default)]
    pub(super) message: WireMessage,
    #[serde(default)]
    pub(super) done: bool,
    pub(super) done_reason: Option<String>,
    prompt_eval_count: Option<Value>,
    eval_count: Option<Value>,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
pub(super) struct WireMessage {
    pub(super) content: Option<String>,
    pub(super) thinking: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
}

#[derive(Deserialize)]
struct WireCall {
    id: Option<String>,
    function: WireFunction,
}

#[derive(Deserialize)]
struct WireFunction {
    name: String,
}

impl OllamaResponse {
    /// Returns the usage, which is in the last chunk of a stream. The server leaves out counts of
    /// 0.
    pub(super) fn usage(&self) -> Option<Usage> {
        let is_reported = self.prompt_eval_count.is_some() || self.eval_count.is_some();
        let [input, output] = [&self.prompt_eval_count, &self.eval_count]
            .map(|reported| reported.as_ref().and_then(count).unwrap_or(0));
        is_reported.then(|| Usage::new(input, output))
    }
}

impl WireMessage {
    /// Returns the calls, with their arguments from the raw text of the whole chunk. Ollama sends
    /// arguments as an object, compatible servers send the text of one.
    pub(super) fn calls(&mut self, whole: RawJson<'_>, names: &WireNames) -> Vec<AssistantPart> {
        let raw = whole.member("message").and_then(|message| message.member("tool_calls"));
        let raw = raw.into_iter().flat_map(RawJson::items);
        let calls = self.tool_calls.take().unwrap_or_default().into_iter().zip(raw);
        let part = |(call, raw): (WireCall, RawJson<'_>)| {
            let arguments = raw.member("function").and_then(|it| it.member("arguments"));
            let arguments = arguments.and_then(RawJson::arguments).unwrap_or_else(|| "".into());
            let (id, name) = (call.id.unwrap_or_default(), names.tool_name(&call.function.name));
            AssistantPart::Call(ToolCall::new(id, name, arguments))
        };
        calls.map(part).collect()
    }
}

pub(super) fn decode_chunk(body: &str) -> Result<OllamaResponse, DecodeError> {
    let chunk: OllamaResponse =
        serde_json::from_str(body).map_err(|error| DecodeError::malformed(error.to_string()))?;
    match chunk.error {
        None => Ok(chunk),
        // An error in the middle of a reply; at its start it would have had the status 500.
        Some(Value::String(text)) => {
            Err(DecodeError::Reported(json!({ "type": "server_error", "message": text })))
        }
        Some(other) => Err(DecodeError::Reported(other)),
    }
}

/// Assembles the parts of a reply.
pub(super) fn assemble_reply(
    thinking: String,
    text: String,
    calls: Vec<AssistantPart>,
    reason: Option<&str>,
    usage: Option<Usage>,
) -> ChatReply {
    let finish = match reason {
        // The API has no separate finish reason for calls.
        None | Some("stop") if !calls.is_empty() => FinishReason::ToolCalls,
        None | Some("stop") => FinishReason::Stop,
        Some("length") => FinishReason::Length,
        Some(_) => FinishReason::Other,
    };
    let sealed = json!({ "thinking": thinking });
    let reasoning = (!thinking.is_empty())
        .then(|| AssistantPart::Reasoning(Reasoning::new(REASONING_OF, thinking, sealed)));
    let text = (!text.is_empty()).then_some(AssistantPart::Text { text });
    let parts = reasoning.into_iter().chain(text).chain(calls).collect();
    let mut reply = ChatReply::new(parts).finish_reason(finish);
    reply.usage = usage;
    reply
}
