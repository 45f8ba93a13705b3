//! What OpenAI's models say, and those of servers that speak as it does: content that is null or left
//! out, refusals, and reasoning under several names.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::message::{AssistantPart, Reasoning};
use crate::models::{Delta, Deltas};
use crate::providers::chat::{Call, Speech};

/// Whose reasoning it is. Servers that tell of it spell it like this API, so any of them may read it.
pub(super) const REASONING_OF: &str = "chat-completions";

/// The member of a call that carries what the model's maker wants back on that very call.
pub(super) const EXTRA: &str = "extra_content";

/// What a model said; of a stream, what it added.
#[derive(Default, Deserialize)]
pub(super) struct Said {
    content: Option<Content>,
    refusal: Option<String>,
    /// As vLLM, llama.cpp and DeepSeek have it.
    reasoning_content: Option<String>,
    /// As OpenRouter and Ollama have it.
    reasoning: Option<String>,
    /// The same, each piece with its kind and what seals it; OpenRouter wants these back.
    reasoning_details: Option<Vec<Map<String, Value>>>,
    tool_calls: Option<Vec<Call>>,
    /// A call, as servers tell of it that are as old as functions.
    #[serde(default, deserialize_with = "only")]
    function_call: Option<Call>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

impl Content {
    fn into_texts(self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text],
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

/// What was said so far.
#[derive(Default)]
pub(super) struct Spoken {
    reasoning_content: String,
    reasoning: String,
    details: Vec<Map<String, Value>>,
    text: String,
    refusal: String,
}

impl Spoken {
    /// The first of a piece goes on with the last of the piece before, if it is of its kind.
    fn hear_detail(&mut self, more: Map<String, Value>, is_first: bool) {
        let is_of = |known: &&mut Map<String, Value>| {
            ["type", "index"].iter().all(|name| known.get(*name) == more.get(*name))
                && ["text", "summary", "signature"].iter().any(|name| more.contains_key(*name))
        };
        let Some(known) = self.details.last_mut().filter(|_| is_first).filter(is_of) else {
            return self.details.push(more);
        };
        for (name, more) in more {
            match (known.get_mut(&name), more) {
                (Some(_), Value::Null) => {}
                (Some(Value::String(text)), Value::String(more))
                    if ["text", "summary"].contains(&name.as_str()) =>
                {
                    text.push_str(&more);
                }
                (_, more) => _ = known.insert(name, more),
            }
        }
    }
}

impl Speech for Spoken {
    type Said = Said;

    fn hear(&mut self, said: Said, deltas: &mut Deltas<'_>) -> Vec<Call> {
        for (kept, more) in [
            (&mut self.reasoning_content, said.reasoning_content),
            (&mut self.reasoning, said.reasoning),
        ] {
            if let Some(more) = more.filter(|more| !more.is_empty()) {
                deltas(Delta::Reasoning(&more));
                kept.push_str(&more);
            }
        }
        let details = said.reasoning_details.unwrap_or_default();
        for (place, detail) in details.into_iter().enumerate() {
            self.hear_detail(detail, place == 0);
        }
        let texts = said.content.map(Content::into_texts).unwrap_or_default();
        for more in texts.into_iter().filter(|more| !more.is_empty()) {
            deltas(Delta::Text(&more));
            self.text.push_str(&more);
        }
        if let Some(more) = said.refusal.filter(|more| !more.is_empty()) {
            deltas(Delta::Text(&more));
            self.refusal.push_str(&more);
        }
        let mut calls = said.tool_calls.unwrap_or_default();
        if calls.is_empty() {
            calls.extend(said.function_call);
        }
        calls
    }

    fn is_refused(&self) -> bool {
        !self.refusal.is_empty()
    }

    fn seal(extra: Value) -> Option<Reasoning> {
        Some(Reasoning::new(REASONING_OF, "", json!({ EXTRA: extra })))
    }

    fn into_parts(self) -> Vec<AssistantPart> {
        let (name, text) = match self.reasoning_content.is_empty() {
            false => ("reasoning_content", self.reasoning_content),
            true => ("reasoning", self.reasoning),
        };
        let sealed = match self.details.is_empty() {
            false => json!({ "reasoning_details": self.details }),
            true => json!({ name: text }),
        };
        let is_told = !text.is_empty() || !self.details.is_empty();
        let thought = Reasoning::new(REASONING_OF, text, sealed);
        let thought = is_told.then_some(AssistantPart::Reasoning(thought));
        let texts = [self.text, self.refusal].into_iter().filter(|text| !text.is_empty());
        thought.into_iter().chain(texts.map(|text| AssistantPart::Text { text })).collect()
    }
}

/// The one call of a message, as it was told of before there could be more.
fn only<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Call>, D::Error> {
    let function = Option::<Value>::deserialize(deserializer)?;
    let call = |function| serde_json::from_value(json!({ "index": 0, "function": function }));
    function.map(call).transpose().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Spoken;
    use crate::message::{AssistantPart, Reasoning, Usage};
    use crate::models::{ChatReply, Finish, NameRules, WireNames};
    use crate::providers::chat;
    use crate::providers::codec::Unreadable;

    fn reply(body: &str) -> Result<ChatReply, Unreadable> {
        chat::reply::<Spoken>(body, &WireNames::new([], NameRules::OPENAI))
    }

    #[test]
    fn what_servers_send() {
        let thought = |name: &str| {
            let sealed = json!({ name: "Hm" });
            let thought = Reasoning::new("chat-completions", "Hm", sealed);
            let text = AssistantPart::Text { text: "Hi".into() };
            ChatReply::new(vec![AssistantPart::Reasoning(thought), text])
        };
        let forecast = || ChatReply::default().call("forecast", r#"{ "city": "Oslo" }"#);
        for (message, expected) in [
            (json!({ "content": "Hello" }), ChatReply::text("Hello")),
            (json!({ "content": null }), ChatReply::default()),
            (json!({ "content": null, "tool_calls": null }), ChatReply::default()),
            (json!({ "content": "Hi", "tool_calls": [] }), ChatReply::text("Hi")),
            (json!({ "content": "Hi", "reasoning_content": "Hm" }), thought("reasoning_content")),
            (json!({ "content": "Hi", "reasoning": "Hm" }), thought("reasoning")),
            (json!({ "content": "Hi", "reasoning": "" }), ChatReply::text("Hi")),
            (json!({}), ChatReply::default()),
            (json!({ "content": [{ "type": "text", "text": "Hi" }] }), ChatReply::text("Hi")),
            (
                json!({ "content": null, "refusal": "No." }),
                ChatReply::text("No.").finish(Finish::Filtered),
            ),
            (
                json!({ "content": null, "function_call":
                    { "name": "forecast", "arguments": r#"{ "city": "Oslo" }"# } }),
                forecast(),
            ),
            (
                json!({ "content": "", "tool_calls": [{ "type": "function", "function":
                    { "name": "forecast", "arguments": r#"{ "city": "Oslo" }"# } }] }),
                forecast(),
            ),
            (
                json!({ "tool_calls": [{ "function":
                    { "name": "forecast", "arguments": { "city": "Oslo" } } }] }),
                ChatReply::default().call("forecast", r#"{"city":"Oslo"}"#),
            ),
            (
                json!({ "tool_calls": [{ "function": { "name": "now" } }] }),
                ChatReply::default().call("now", ""),
            ),
        ] {
            let body = json!({ "choices": [{ "message": message }] }).to_string();
            assert_eq!(reply(&body).unwrap(), expected, "{body}");
        }
    }

    #[test]
    fn why_it_ended() {
        for (reason, finish) in [
            (json!(null), Finish::Stop),
            (json!("stop"), Finish::Stop),
            (json!("tool_calls"), Finish::Calls),
            (json!("length"), Finish::Length),
            (json!("content_filter"), Finish::Filtered),
            (json!("eos"), Finish::Other),
        ] {
            let choice = json!({ "message": { "content": "Hi" }, "finish_reason": reason });
            let body = json!({ "choices": [choice] }).to_string();
            assert_eq!(reply(&body).unwrap(), ChatReply::text("Hi").finish(finish), "{body}");
        }
    }

    #[test]
    fn what_it_took() {
        let said = json!([{ "message": { "content": "Hi" } }]);
        for (told, expected) in [
            (
                json!({ "prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9 }),
                [7, 0, 2, 0],
            ),
            (
                json!({ "prompt_tokens": 7, "completion_tokens": 2,
                    "prompt_tokens_details": { "cached_tokens": 4, "audio_tokens": 0 },
                    "completion_tokens_details": { "reasoning_tokens": 1 } }),
                [7, 4, 2, 1],
            ),
            (json!({ "prompt_tokens": 7, "prompt_tokens_details": null }), [7, 0, 0, 0]),
        ] {
            let body = json!({ "choices": said, "usage": told }).to_string();
            let Usage { input, cached, output, reasoning, .. } =
                reply(&body).unwrap().usage.unwrap();
            assert_eq!([input, cached, output, reasoning], expected, "{told}");
        }
        let body = json!({ "choices": said, "usage": null }).to_string();
        assert_eq!(reply(&body).unwrap().usage, None);
    }

    #[test]
    fn what_is_no_completion_is_told() {
        for (body, reason) in [
            ("", "it is empty"),
            ("<html>", "expected value at line 1"),
            ("{}", "missing field `choices`"),
            (r#"{"choices": []}"#, "it holds no choice"),
            (r#"{"choices": [{}]}"#, "missing field `message`"),
            (
                r#"{"choices": [{"message": {"tool_calls": [{"function": {}}]}}]}"#,
                "a function without a name",
            ),
        ] {
            let error = reply(body).unwrap_err();
            let Unreadable::Malformed(why) = &error else { panic!("{error:?}") };
            assert!(why.contains(reason), "{why}");
        }
        for (body, failure) in [
            (r#"{"error": "overloaded"}"#, json!("overloaded")),
            (r#"{"choices": null, "error": {"code": 502}}"#, json!({ "code": 502 })),
        ] {
            assert_eq!(reply(body).unwrap_err(), Unreadable::Failed(failure), "{body}");
        }
    }
}
