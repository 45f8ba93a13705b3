//! The body of a completion → our reply.
//!
//! Read leniently where servers differ: calls without an id, arguments that are an object instead of its
//! text, an error under a status of success. What is unknown is passed over.

use serde::Deserialize;
use serde_json::Value;

use super::Speech;
use crate::message::{Arguments, AssistantPart, ToolCall, Usage};
use crate::models::{ChatReply, Finish, WireNames};
use crate::providers::codec::{Counts, Source, Unreadable};

#[derive(Deserialize)]
struct Completion<S> {
    choices: Vec<Choice<S>>,
    #[serde(default)]
    usage: Counts,
}

#[derive(Deserialize)]
struct Choice<S> {
    #[serde(default)]
    index: u64,
    message: Option<S>,
    finish_reason: Option<String>,
    error: Option<Value>,
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
    /// What a server wants back on this very call, such as the signature of Gemini's thoughts.
    pub(super) extra_content: Option<Value>,
}

#[derive(Default, Deserialize)]
pub(super) struct Function {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
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
    let first = completion.choices.into_iter().enumerate().min_by_key(|(_, choice)| choice.index);
    let Some((place, Choice { message, finish_reason, error, .. })) = first else {
        return Err(Unreadable::malformed("it holds no choice"));
    };
    if let Some(error) = error {
        return Err(Unreadable::Failed(error));
    }
    let message = message.ok_or_else(|| Unreadable::malformed("missing field `message`"))?;
    let mut speech = S::default();
    let mut calls = speech.hear(message, &mut |_| {});
    keep_written(&mut calls, || {
        let choices = Source::new(body).member("choices");
        choices.and_then(|choices| choices.items().nth(place)?.member("message"))
    });
    put_together(speech, calls, finish_reason.as_deref(), completion.usage, names)
}

/// Arguments that are an object instead of its text become the text that it is written in, in the message
/// that `said` finds.
pub(super) fn keep_written<'t>(calls: &mut [Call], said: impl FnOnce() -> Option<Source<'t>>) {
    let is_object = |call: &Call| {
        call.function.as_ref().is_some_and(|it| matches!(it.arguments, Some(Value::Object(_))))
    };
    if !calls.iter().any(is_object) {
        return;
    }
    let written = said().and_then(|said| said.member("tool_calls"));
    for (call, written) in calls.iter_mut().zip(written.into_iter().flat_map(Source::items)) {
        let written = written.member("function").and_then(|it| it.member("arguments"));
        if let (Some(function), Some(written)) =
            (&mut call.function, written.and_then(Source::arguments))
        {
            function.arguments = Some(written.to_text().into());
        }
    }
}

/// The error in a body that names it so.
pub(in crate::providers) fn reported(body: &str) -> Option<Unreadable> {
    let Failure { error } = serde_json::from_str(body).ok()?;
    (!error.is_null()).then_some(Unreadable::Failed(error))
}

/// All that was said, as one reply.
pub(super) fn put_together<S: Speech>(
    speech: S,
    mut calls: Vec<Call>,
    finish: Option<&str>,
    usage: Counts,
    names: &WireNames,
) -> Result<ChatReply, Unreadable> {
    if calls.iter().all(|call| call.index.is_some()) {
        calls.sort_by_key(|call| call.index);
    }
    let is_refused = speech.is_refused();
    let mut parts = speech.into_parts();
    for call in calls {
        let extra = call.extra_content.and_then(S::seal);
        parts.extend(extra.map(AssistantPart::Reasoning));
        let Function { name: Some(name), arguments } = call.function.unwrap_or_default() else {
            return Err(Unreadable::malformed("it calls a function without a name"));
        };
        let arguments = arguments.map_or_else(|| Arguments::from(""), Into::into);
        let call = ToolCall::new(call.id.unwrap_or_default(), names.own(&name), arguments);
        parts.push(AssistantPart::Call(call));
    }
    let finish = match finish {
        None | Some("stop") if is_refused => Finish::Filtered,
        None | Some("stop") => Finish::Stop,
        Some("tool_calls" | "function_call") => Finish::Calls,
        Some("length" | "model_length") => Finish::Length,
        Some("content_filter") => Finish::Filtered,
        Some(_) => Finish::Other,
    };
    let mut reply = ChatReply::new(parts).finish(finish);
    reply.usage = usage.usage(counted);
    Ok(reply)
}

fn counted(told: &Counts) -> Usage {
    let at = |pointer| told.at(pointer).unwrap_or(0);
    let mut usage = Usage::new(at("/prompt_tokens"), at("/completion_tokens"));
    usage.cached = at("/prompt_tokens_details/cached_tokens");
    usage.reasoning = at("/completion_tokens_details/reasoning_tokens");
    usage
}
