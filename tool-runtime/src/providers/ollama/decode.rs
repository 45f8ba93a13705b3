//! What a reply is made of: its body, or a line of one that is streamed.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::message::{AssistantPart, Reasoning, ToolCall, Usage};
use crate::models::{ChatReply, Finish, WireNames};
use crate::providers::codec::{Source, Unreadable, count};

/// Whose reasoning it is.
pub(super) const REASONING_OF: &str = "ollama";

/// What came: of a stream, what it added.
#[derive(Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    pub(super) message: Said,
    #[serde(default)]
    pub(super) done: bool,
    pub(super) done_reason: Option<String>,
    prompt_eval_count: Option<Value>,
    eval_count: Option<Value>,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
pub(super) struct Said {
    pub(super) content: Option<String>,
    pub(super) thinking: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
}

impl Chunk {
    /// Counts that are 0 are left out; they stand in the last piece of a stream.
    pub(super) fn usage(&self) -> Option<Usage> {
        let told = self.prompt_eval_count.is_some() || self.eval_count.is_some();
        let [input, output] = [&self.prompt_eval_count, &self.eval_count]
            .map(|told| told.as_ref().and_then(count).unwrap_or(0));
        told.then(|| Usage::new(input, output))
    }
}

impl Said {
    /// What was called, by this text of the whole. Arguments are an object; servers that copy it send the
    /// text of one.
    pub(super) fn calls(&mut self, whole: Source<'_>, names: &WireNames) -> Vec<AssistantPart> {
        let written = whole.member("message").and_then(|message| message.member("tool_calls"));
        let written = written.into_iter().flat_map(Source::items);
        let calls = self.tool_calls.take().unwrap_or_default().into_iter().zip(written);
        let part = |(call, written): (Call, Source<'_>)| {
            let arguments = written.member("function").and_then(|it| it.member("arguments"));
            let arguments = arguments.and_then(Source::arguments).unwrap_or_else(|| "".into());
            let (id, name) = (call.id.unwrap_or_default(), names.own(&call.function.name));
            AssistantPart::Call(ToolCall::new(id, name, arguments))
        };
        calls.map(part).collect()
    }
}

pub(super) fn chunk(body: &str) -> Result<Chunk, Unreadable> {
    let chunk: Chunk =
        serde_json::from_str(body).map_err(|error| Unreadable::malformed(error.to_string()))?;
    match chunk.error {
        None => Ok(chunk),
        // In the midst of a reply: at its start it would have had the status 500.
        Some(Value::String(text)) => {
            Err(Unreadable::Failed(json!({ "type": "server_error", "message": text })))
        }
        Some(other) => Err(Unreadable::Failed(other)),
    }
}

/// All that was said, as one reply.
pub(super) fn put_together(
    thinking: String,
    text: String,
    calls: Vec<AssistantPart>,
    reason: Option<&str>,
    usage: Option<Usage>,
) -> ChatReply {
    let finish = match reason {
        // It has no word of its own for this.
        None | Some("stop") if !calls.is_empty() => Finish::Calls,
        None | Some("stop") => Finish::Stop,
        Some("length") => Finish::Length,
        Some(_) => Finish::Other,
    };
    let sealed = json!({ "thinking": thinking });
    let thought = (!thinking.is_empty())
        .then(|| AssistantPart::Reasoning(Reasoning::new(REASONING_OF, thinking, sealed)));
    let text = (!text.is_empty()).then_some(AssistantPart::Text { text });
    let parts = thought.into_iter().chain(text).chain(calls).collect();
    let mut reply = ChatReply::new(parts).finish(finish);
    reply.usage = usage;
    reply
}
