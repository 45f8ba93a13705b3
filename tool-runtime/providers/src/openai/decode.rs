//! Content of the replies of OpenAI's models and of compatible servers: content that is null or
//! missing, refusals, and reasoning under several names.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::chat::{ContentBuilder, WireCall};
use crate::openai::audio::{ReceivedAudio, WireAudio};
use crate::shared::{annotated, data_url_part};
use tool_core::message::Source;
use tool_core::models::DeltaSink;
use tool_core::{AssistantPart, Delta, Reasoning};

/// Provider name of the reasoning that this codec seals. All servers that send reasoning spell it
/// alike in this API, so any of them may receive it.
pub(super) const REASONING_OF: &str = "chat-completions";

/// Member of a call with the data that the provider needs back on the same call.
pub(super) const EXTRA: &str = "extra_content";

/// Content of a message, or of one chunk of a stream.
#[derive(Default, Deserialize)]
pub(super) struct WireMessage {
    content: Option<Content>,
    refusal: Option<String>,
    /// The name used by vLLM, llama.cpp and DeepSeek.
    reasoning_content: Option<String>,
    /// The name used by OpenRouter and Ollama.
    reasoning: Option<String>,
    /// Reasoning in pieces with kinds and signatures; OpenRouter needs these back.
    reasoning_details: Option<Vec<Map<String, Value>>>,
    tool_calls: Option<Vec<WireCall>>,
    /// Citations of the text, also in pieces.
    annotations: Option<Vec<Value>>,
    audio: Option<WireAudio>,
    /// Images in the form of OpenRouter.
    images: Option<Vec<Value>>,
    /// Single call in the older form of the API.
    #[serde(default, deserialize_with = "single_call")]
    function_call: Option<WireCall>,
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

/// Content of the reply that is being built.
#[derive(Default)]
pub(super) struct OpenAiContent {
    reasoning_content: String,
    reasoning: String,
    details: Vec<Map<String, Value>>,
    text: String,
    annotations: Vec<Value>,
    audio: ReceivedAudio,
    images: Vec<AssistantPart>,
    refusal: String,
}

impl OpenAiContent {
    /// Adds a piece of reasoning. The first piece of a message extends the last known piece if it
    /// is of the same kind.
    fn add_detail(&mut self, more: Map<String, Value>, is_first: bool) {
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

impl ContentBuilder for OpenAiContent {
    type Message = WireMessage;

    fn push(&mut self, message: WireMessage, deltas: &mut DeltaSink<'_>) -> Vec<WireCall> {
        for (member, more) in [
            (&mut self.reasoning_content, message.reasoning_content),
            (&mut self.reasoning, message.reasoning),
        ] {
            if let Some(more) = more.filter(|more| !more.is_empty()) {
                deltas(Delta::Reasoning(&more));
                member.push_str(&more);
            }
        }
        let details = message.reasoning_details.unwrap_or_default();
        for (index, detail) in details.into_iter().enumerate() {
            self.add_detail(detail, index == 0);
        }
        let texts = message.content.map(Content::into_texts).unwrap_or_default();
        for more in texts.into_iter().filter(|more| !more.is_empty()) {
            deltas(Delta::Text(&more));
            self.text.push_str(&more);
        }
        if let Some(audio) = message.audio {
            self.audio.push(&audio);
            if let Some(more) = audio.transcript.filter(|more| !more.is_empty()) {
                deltas(Delta::Text(&more));
                self.text.push_str(&more);
            }
        }
        self.images.extend(message.images.iter().flatten().filter_map(image));
        self.annotations.extend(message.annotations.into_iter().flatten());
        if let Some(more) = message.refusal.filter(|more| !more.is_empty()) {
            deltas(Delta::Text(&more));
            self.refusal.push_str(&more);
        }
        let mut calls = message.tool_calls.unwrap_or_default();
        if calls.is_empty() {
            calls.extend(message.function_call);
        }
        calls
    }

    fn is_refused(&self) -> bool {
        !self.refusal.is_empty()
    }

    fn seal_extra(extra: Value) -> Option<Reasoning> {
        Some(Reasoning::new(REASONING_OF, "", json!({ EXTRA: extra })))
    }

    fn into_parts(self) -> Vec<AssistantPart> {
        let (name, text) = if self.reasoning_content.is_empty() {
            ("reasoning", self.reasoning)
        } else {
            ("reasoning_content", self.reasoning_content)
        };
        let sealed = if self.details.is_empty() {
            json!({ name: text })
        } else {
            json!({ "reasoning_details": self.details })
        };
        let has_reasoning = !text.is_empty() || !self.details.is_empty();
        let reasoning = Reasoning::new(REASONING_OF, text, sealed);
        let reasoning = has_reasoning.then_some(AssistantPart::Reasoning(reasoning));
        let sources = annotated(&self.annotations, &self.text);
        let [text, refusal] = [self.text, self.refusal]
            .map(|text| (!text.is_empty()).then_some(AssistantPart::Text { text }));
        let files = self.images.into_iter().chain(self.audio.into_part(REASONING_OF));
        reasoning.into_iter().chain(text).chain(sources).chain(files).chain(refusal).collect()
    }
}

/// Decodes an image. One that the server keeps is a link.
fn image(image: &Value) -> Option<AssistantPart> {
    let url = image.pointer("/image_url/url")?.as_str()?;
    let link = || AssistantPart::Source(Source::web(url).title("image"));
    Some(data_url_part(REASONING_OF, url).unwrap_or_else(link))
}

/// Decodes the single call of the older form.
fn single_call<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<WireCall>, D::Error> {
    let function = Option::<Value>::deserialize(deserializer)?;
    let call = |function| serde_json::from_value(json!({ "index": 0, "function": function }));
    function.map(call).transpose().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::OpenAiContent;
    use crate::chat;
    use crate::codec::DecodeError;
    use tool_core::models::{NameRules, WireNames};
    use tool_core::{AssistantPart, ChatReply, FinishReason, Reasoning, Usage};

    fn reply(body: &str) -> Result<ChatReply, DecodeError> {
        chat::reply::<OpenAiContent>(body, &WireNames::new([], NameRules::OPENAI))
    }

    #[test]
    fn replies_of_compatible_servers_are_decoded() {
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
                ChatReply::text("No.").finish_reason(FinishReason::ContentFilter),
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
    fn finish_reasons_are_decoded() {
        for (reason, finish) in [
            (json!(null), FinishReason::Stop),
            (json!("stop"), FinishReason::Stop),
            (json!("tool_calls"), FinishReason::ToolCalls),
            (json!("length"), FinishReason::Length),
            (json!("content_filter"), FinishReason::ContentFilter),
            (json!("eos"), FinishReason::Other),
        ] {
            let choice = json!({ "message": { "content": "Hi" }, "finish_reason": reason });
            let body = json!({ "choices": [choice] }).to_string();
            assert_eq!(
                reply(&body).unwrap(),
                ChatReply::text("Hi").finish_reason(finish),
                "{body}"
            );
        }
        for reason in ["error", "insufficient_system_resource"] {
            let choice = json!({ "message": { "content": "Hi" }, "finish_reason": reason });
            let body = json!({ "choices": [choice] }).to_string();
            assert!(matches!(reply(&body), Err(DecodeError::Reported(_))), "{body}");
        }
    }

    #[test]
    fn token_usage_is_decoded() {
        let choices = json!([{ "message": { "content": "Hi" } }]);
        for (usage, expected) in [
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
            // xAI counts reasoning beside the output.
            (
                json!({ "prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 102,
                    "completion_tokens_details": { "reasoning_tokens": 90 } }),
                [7, 0, 95, 90],
            ),
            (
                json!({ "prompt_tokens": 7, "completion_tokens": 50, "total_tokens": 60,
                    "completion_tokens_details": { "reasoning_tokens": 3 } }),
                [7, 0, 53, 3],
            ),
            (
                json!({ "prompt_tokens": 7, "completion_tokens": 95, "total_tokens": 102,
                    "completion_tokens_details": { "reasoning_tokens": 90 } }),
                [7, 0, 95, 90],
            ),
            (
                json!({ "prompt_tokens": 7, "completion_tokens": 5,
                    "completion_tokens_details": { "reasoning_tokens": 90 } }),
                [7, 0, 95, 90],
            ),
        ] {
            let body = json!({ "choices": choices, "usage": usage }).to_string();
            let Usage {
                input_tokens: input,
                cache_read_tokens: cached,
                output_tokens: output,
                reasoning_tokens: reasoning,
                ..
            } = reply(&body).unwrap().usage.unwrap();
            assert_eq!([input, cached, output, reasoning], expected, "{usage}");
        }
        let usage = json!({ "prompt_tokens": 9, "prompt_tokens_details": { "cache_write_tokens": 6,
            "cache_write_tokens_details": { "ttl_30m_tokens": 2, "ttl_12h_tokens": 4 } } });
        let body = json!({ "choices": choices, "usage": usage }).to_string();
        let usage = reply(&body).unwrap().usage.unwrap();
        assert_eq!(
            [usage.input_tokens, usage.cache_creation_tokens, usage.cache_creation_12h_tokens],
            [9, 6, 4]
        );
        let body = json!({ "choices": choices, "usage": null }).to_string();
        assert_eq!(reply(&body).unwrap().usage, None);
    }

    #[test]
    fn bodies_without_a_completion_are_errors() {
        for (body, reason) in [
            ("", "empty body"),
            ("<html>", "expected value at line 1"),
            ("{}", "missing field `choices`"),
            (r#"{"choices": []}"#, "no choice"),
            (r#"{"choices": [{}]}"#, "missing field `message`"),
            (
                r#"{"choices": [{"message": {"tool_calls": [{"function": {}}]}}]}"#,
                "a call has no name",
            ),
        ] {
            let error = reply(body).unwrap_err();
            let DecodeError::Malformed(message) = &error else { panic!("{error:?}") };
            assert!(message.contains(reason), "{message}");
        }
        for (body, failure) in [
            (r#"{"error": "overloaded"}"#, json!("overloaded")),
            (r#"{"choices": null, "error": {"code": 502}}"#, json!({ "code": 502 })),
        ] {
            assert_eq!(reply(body).unwrap_err(), DecodeError::Reported(failure), "{body}");
        }
    }
}
