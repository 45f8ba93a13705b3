//! What OpenAI's models say, and those of servers that speak as it does: content that is null or left
//! out, refusals, and reasoning under either of two names.

use serde::Deserialize;
use serde_json::json;

use crate::message::{AssistantPart, Reasoning};
use crate::models::{Delta, Deltas};
use crate::providers::chat::{Call, Speech};

/// Whose reasoning it is. Servers that tell of it spell it like this API, so any of them may read it.
pub(super) const REASONING_OF: &str = "chat-completions";

/// What a model said; of a stream, what it added.
#[derive(Default, Deserialize)]
pub(super) struct Said {
    content: Option<Content>,
    refusal: Option<String>,
    /// As vLLM, llama.cpp and DeepSeek have it.
    reasoning_content: Option<String>,
    /// As OpenRouter and Ollama have it.
    reasoning: Option<String>,
    tool_calls: Option<Vec<Call>>,
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
    text: String,
    refusal: String,
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
        let texts = said.content.map(Content::into_texts).unwrap_or_default();
        for more in texts.into_iter().filter(|more| !more.is_empty()) {
            deltas(Delta::Text(&more));
            self.text.push_str(&more);
        }
        if let Some(more) = said.refusal.filter(|more| !more.is_empty()) {
            deltas(Delta::Text(&more));
            self.refusal.push_str(&more);
        }
        said.tool_calls.unwrap_or_default()
    }

    fn into_parts(self) -> Vec<AssistantPart> {
        let thought = |name: &str, text: String| {
            let sealed = json!({ name: text });
            let thought = Reasoning::new(REASONING_OF, text.as_str(), sealed);
            (!text.is_empty()).then_some(AssistantPart::Reasoning(thought))
        };
        let thought = thought("reasoning_content", self.reasoning_content)
            .or_else(|| thought("reasoning", self.reasoning));
        let texts = [self.text, self.refusal].into_iter().filter(|text| !text.is_empty());
        thought.into_iter().chain(texts.map(|text| AssistantPart::Text { text })).collect()
    }
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
            (json!({ "content": null, "refusal": "No." }), ChatReply::text("No.")),
            (
                json!({ "content": "", "tool_calls": [{ "type": "function", "function":
                    { "name": "forecast", "arguments": r#"{ "city": "Oslo" }"# } }] }),
                forecast(),
            ),
            (
                json!({ "tool_calls": [{ "function":
                    { "name": "forecast", "arguments": { "city": "Oslo" } } }] }),
                ChatReply::default().call("forecast", json!({ "city": "Oslo" })),
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
