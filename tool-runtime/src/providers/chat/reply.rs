//! The body of a completion → our reply.
//!
//! Read leniently where servers differ: calls without an id, arguments that are an object instead of its
//! text, an error under a status of success. What is unknown is passed over.

use serde::Deserialize;
use serde_json::Value;

use super::Speech;
use crate::message::{Arguments, AssistantPart, ToolCall, Usage};
use crate::models::{ChatReply, Finish, WireNames};
use crate::providers::codec::Unreadable;

#[derive(Deserialize)]
struct Completion<S> {
    choices: Vec<Choice<S>>,
    usage: Option<Counted>,
}

#[derive(Deserialize)]
struct Choice<S> {
    message: S,
    finish_reason: Option<String>,
}

/// Gateways send this under status 200, when the model behind them failed after they had begun.
#[derive(Deserialize)]
struct Failure {
    error: Value,
}

/// A call, or a piece of one.
#[derive(Deserialize)]
pub(in crate::providers) struct Call {
    /// Which call of a stream this is a piece of.
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<Function>,
}

#[derive(Default, Deserialize)]
pub(super) struct Function {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct Counted {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<CountedIn>,
    completion_tokens_details: Option<CountedOut>,
}

#[derive(Clone, Copy, Deserialize)]
struct CountedIn {
    cached_tokens: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
struct CountedOut {
    reasoning_tokens: Option<u64>,
}

/// What the model said and called, under the names of the tools.
pub(in crate::providers) fn reply<S: Speech>(
    body: &str,
    names: &WireNames,
) -> Result<ChatReply, Unreadable> {
    let completion: Completion<S::Said> = match serde_json::from_str(body) {
        Ok(completion) => completion,
        Err(_) if body.trim().is_empty() => return Err(Unreadable::malformed("it is empty")),
        Err(error) => {
            let malformed = || Unreadable::malformed(error.to_string());
            return Err(S::failure(body).unwrap_or_else(malformed));
        }
    };
    let Some(Choice { message, finish_reason }) = completion.choices.into_iter().next() else {
        return Err(Unreadable::malformed("it holds no choice"));
    };
    let mut speech = S::default();
    let calls = speech.hear(message, &mut |_| {});
    put_together(speech, calls, finish_reason.as_deref(), completion.usage, names)
}

/// The error in a body that names it so.
pub(in crate::providers) fn reported(body: &str) -> Option<Unreadable> {
    let Failure { error } = serde_json::from_str(body).ok()?;
    (!error.is_null()).then_some(Unreadable::Failed(error))
}

/// All that was said, as one reply.
pub(super) fn put_together<S: Speech>(
    speech: S,
    calls: Vec<Call>,
    finish: Option<&str>,
    usage: Option<Counted>,
    names: &WireNames,
) -> Result<ChatReply, Unreadable> {
    let mut parts = speech.into_parts();
    for call in calls {
        let Function { name: Some(name), arguments } = call.function.unwrap_or_default() else {
            return Err(Unreadable::malformed("it calls a function without a name"));
        };
        let arguments = arguments.map_or_else(|| Arguments::from(""), Into::into);
        let call = ToolCall::new(call.id.unwrap_or_default(), names.own(&name), arguments);
        parts.push(AssistantPart::Call(call));
    }
    let finish = match finish {
        None | Some("stop") => Finish::Stop,
        Some("tool_calls" | "function_call") => Finish::Calls,
        Some("length" | "model_length") => Finish::Length,
        Some("content_filter") => Finish::Filtered,
        Some(_) => Finish::Other,
    };
    let mut reply = ChatReply::new(parts).finish(finish);
    reply.usage = usage.map(counted);
    Ok(reply)
}

fn counted(told: Counted) -> Usage {
    let [input, output] =
        [told.prompt_tokens, told.completion_tokens].map(Option::unwrap_or_default);
    let mut usage = Usage::new(input, output);
    usage.cached = told.prompt_tokens_details.and_then(|told| told.cached_tokens).unwrap_or(0);
    let reasoning = told.completion_tokens_details.and_then(|told| told.reasoning_tokens);
    usage.reasoning = reasoning.unwrap_or(0);
    usage
}
