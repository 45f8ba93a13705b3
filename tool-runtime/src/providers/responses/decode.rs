//! The body of a response → our reply.
//!
//! The shapes are those of OpenAI's API reference, "The response object". Read leniently where servers
//! differ: llama.cpp and vLLM leave out most members, and some send arguments as an object.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::sealed::{Item, kind_of, rest, text_of};
use crate::message::{Arguments, AssistantPart, Reasoning, ToolCall, Usage};
use crate::models::{ChatReply, Finish, WireNames};
use crate::providers::codec::{Counts, Unreadable};

#[derive(Default, Deserialize)]
pub(super) struct Response {
    pub(super) output: Option<Vec<Item>>,
    status: Option<String>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
    #[serde(default)]
    usage: Counts,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

/// What the model called, under the names of the tools.
pub(super) fn reply(
    body: &str,
    names: &WireNames,
    provider: &str,
) -> Result<ChatReply, Unreadable> {
    let response: Response = match serde_json::from_str(body) {
        Ok(response) => response,
        Err(_) if body.trim().is_empty() => return Err(Unreadable::malformed("it is empty")),
        Err(error) => {
            return Err(failure(body).unwrap_or_else(|| Unreadable::malformed(error.to_string())));
        }
    };
    put_together(response, names, provider)
}

/// The error that a body or an event reports, if it does.
pub(super) fn failure(body: &str) -> Option<Unreadable> {
    #[derive(Deserialize)]
    struct Failure {
        error: Value,
    }
    let Failure { error } = serde_json::from_str(body).ok()?;
    (!error.is_null()).then_some(Unreadable::Failed(error))
}

/// The response says that it came to nothing.
pub(super) fn failed(status: &str, error: Option<Value>) -> Unreadable {
    let unsaid = || json!({ "message": format!("the response {status}, and nothing says why") });
    Unreadable::Failed(error.filter(|error| !error.is_null()).unwrap_or_else(unsaid))
}

pub(super) fn put_together(
    response: Response,
    names: &WireNames,
    provider: &str,
) -> Result<ChatReply, Unreadable> {
    let Response { output, status, error, incomplete_details, usage } = response;
    if error.is_some() {
        return Err(failed("failed", error));
    }
    let cut = match status.as_deref() {
        Some(status @ ("failed" | "cancelled")) => return Err(failed(status, None)),
        Some(status @ ("queued" | "in_progress")) => {
            return Err(Unreadable::malformed(format!("it is not there yet but {status}")));
        }
        Some("incomplete") => incomplete_details.and_then(|told| told.reason).or(status),
        _ => None,
    };
    let output = output.ok_or_else(|| Unreadable::malformed("it has no output"))?;
    let is_refused = output.iter().any(is_refusal);
    let parts = parts(output, names, provider)?;
    let finish = match cut.as_deref() {
        Some("max_output_tokens") => Finish::Length,
        Some("content_filter") => Finish::Filtered,
        Some(_) => Finish::Other,
        None if parts.iter().any(|part| matches!(part, AssistantPart::Call(_))) => Finish::Calls,
        None if is_refused => Finish::Filtered,
        None => Finish::Stop,
    };
    let mut reply = ChatReply::new(parts).finish(finish);
    reply.usage = usage.usage(counted);
    Ok(reply)
}

fn counted(told: &Counts) -> Usage {
    let at = |pointer| told.at(pointer).unwrap_or(0);
    let mut usage = Usage::new(at("/input_tokens"), at("/output_tokens"));
    usage.cached = at("/input_tokens_details/cached_tokens");
    usage.reasoning = at("/output_tokens_details/reasoning_tokens");
    usage
}

fn parts(
    output: Vec<Item>,
    names: &WireNames,
    provider: &str,
) -> Result<Vec<AssistantPart>, Unreadable> {
    let mut parts = Vec::new();
    let mut is_behind_sealed = false;
    for item in output {
        let sealed = |text: String, item: Item| {
            AssistantPart::Reasoning(Reasoning::new(provider, text, item.into()))
        };
        let said = match kind_of(&item) {
            "message" => {
                let text: String = texts(&item, "content").collect();
                (!text.is_empty()).then_some(AssistantPart::Text { text })
            }
            "function_call" => Some(AssistantPart::Call(call(&item, names)?)),
            "" => return Err(Unreadable::malformed("an item of it has no type")),
            _ => None,
        };
        match said {
            Some(said) => {
                let rest = rest(&item, is_behind_sealed);
                parts.extend(rest.map(|rest| sealed(String::new(), rest)));
                parts.push(said);
                is_behind_sealed = false;
            }
            None if kind_of(&item) == "message" && !is_behind_sealed => {}
            None if ["message", "reasoning"].contains(&kind_of(&item)) => {
                let thought: Vec<_> = thought(&item).collect();
                parts.push(sealed(thought.join("\n\n"), item));
                is_behind_sealed = true;
            }
            None => {
                let act = Reasoning::new(provider, "", item.into()).acting();
                parts.push(AssistantPart::Reasoning(act));
                is_behind_sealed = true;
            }
        }
    }
    Ok(parts)
}

/// What people can read of reasoning: a summary, or where there is none to seal all of it.
fn thought(item: &Item) -> impl Iterator<Item = &str> {
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

fn call(item: &Map<String, Value>, names: &WireNames) -> Result<ToolCall, Unreadable> {
    let name = text_of(item, "name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Unreadable::malformed("it calls a function without a name"))?;
    let id = text_of(item, "call_id").or_else(|| text_of(item, "id")).unwrap_or_default();
    let arguments = item.get("arguments").filter(|arguments| !arguments.is_null()).cloned();
    let arguments = arguments.map_or_else(|| Arguments::from(""), Arguments::from);
    Ok(ToolCall::new(id, names.own(name), arguments))
}
