//! The body of a Messages reply → our reply.

use serde::Deserialize;
use serde_json::Value;

use crate::message::{Arguments, AssistantPart, Reasoning, ToolCall, Usage};
use crate::models::{ChatReply, Finish, WireNames};
use crate::providers::codec::{Counts, Source, Unreadable};

/// Whose reasoning it is.
pub(super) const REASONING_OF: &str = "anthropic";

#[derive(Deserialize)]
struct Said {
    content: Vec<Value>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Counts,
}

#[derive(Deserialize)]
struct Failure {
    error: Value,
}

/// Input tokens are those that were neither read from the cache nor written to it.
fn counted(told: &Counts) -> Usage {
    let at = |pointer| told.at(pointer).unwrap_or(0);
    let cached = at("/cache_read_input_tokens");
    let input = [cached, at("/input_tokens"), at("/cache_creation_input_tokens")];
    let input = input.into_iter().fold(0, u64::saturating_add);
    let mut usage = Usage::new(input, at("/output_tokens"));
    usage.cached = cached;
    usage.reasoning = at("/output_tokens_details/thinking_tokens");
    usage
}

/// What the model called, under the names of the tools.
pub(super) fn reply(body: &str, names: &WireNames) -> Result<ChatReply, Unreadable> {
    let said: Said = match serde_json::from_str(body) {
        Ok(said) => said,
        Err(_) if body.trim().is_empty() => return Err(Unreadable::malformed("it is empty")),
        Err(error) => {
            return Err(failure(body).unwrap_or_else(|| Unreadable::malformed(error.to_string())));
        }
    };
    let written = Source::new(body).member("content");
    let written = written.into_iter().flat_map(Source::items);
    let parts = said.content.into_iter().zip(written).map(|(block, written)| {
        part(block, || written.member("input").and_then(Source::arguments), names)
    });
    let parts = parts.collect::<Result<_, _>>()?;
    Ok(put_together(parts, said.stop_reason.as_deref(), said.usage))
}

/// The error that a body reports, if it does.
pub(super) fn failure(body: &str) -> Option<Unreadable> {
    let Failure { error } = serde_json::from_str(body).ok()?;
    Some(Unreadable::Failed(error))
}

pub(super) fn put_together(
    parts: Vec<Option<AssistantPart>>,
    stop_reason: Option<&str>,
    usage: Counts,
) -> ChatReply {
    let finish = match stop_reason {
        None | Some("end_turn" | "stop_sequence") => Finish::Stop,
        Some("tool_use") => Finish::Calls,
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("refusal") => Finish::Filtered,
        Some(_) => Finish::Other,
    };
    let mut reply = ChatReply::new(parts.into_iter().flatten().collect()).finish(finish);
    reply.usage = usage.usage(counted);
    reply
}

/// A block is a part; none where it says nothing.
///
/// What is neither text nor a call is the provider's own: thinking, sealed or not, and what its own
/// tools did. It goes back as it came. `arguments` are those of a call, as they are written.
pub(super) fn part(
    block: Value,
    arguments: impl FnOnce() -> Option<Arguments>,
    names: &WireNames,
) -> Result<Option<AssistantPart>, Unreadable> {
    let text = |name: &str| block.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let kind = text("type");
    Ok(match kind.as_deref() {
        Some("text") => {
            let text = text("text").filter(|text| !text.is_empty());
            text.map(|text| AssistantPart::Text { text })
        }
        Some("tool_use") => {
            let name = text("name");
            let name =
                name.ok_or_else(|| Unreadable::malformed("it calls a tool without a name"))?;
            let arguments = arguments().unwrap_or_else(|| Arguments::from(""));
            let call = ToolCall::new(text("id").unwrap_or_default(), names.own(&name), arguments);
            Some(AssistantPart::Call(call))
        }
        Some(kind) => {
            let thought = text("thinking").unwrap_or_default();
            let acts = !["thinking", "redacted_thinking"].contains(&kind);
            let sealed = Reasoning::new(REASONING_OF, thought, block);
            Some(AssistantPart::Reasoning(if acts { sealed.acting() } else { sealed }))
        }
        None => return Err(Unreadable::malformed("a block of it has no type")),
    })
}
