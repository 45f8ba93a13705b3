//! The body of a chat completion → our reply.
//!
//! Read leniently where servers differ from OpenAI: content that is null or left out, calls
//! without an id, arguments that are an object instead of its text, an error under a status of
//! success. What is unknown is passed over.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::message::{Arguments, AssistantPart, Reasoning, ToolCall, Usage};
use crate::models::{ChatReply, Finish, WireNames};
use crate::providers::codec::Unreadable;

/// Whose reasoning it is. Servers that tell of it spell it like this API, so any of them may read it.
pub(super) const REASONING_OF: &str = "chat-completions";

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    usage: Option<Counted>,
}

/// Gateways send this under status 200, when the model behind them failed after they had begun.
#[derive(Deserialize)]
struct Failure {
    error: Value,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
    finish_reason: Option<String>,
}

/// What a model said; of a stream, what it added.
#[derive(Default, Deserialize)]
pub(super) struct Said {
    pub(super) content: Option<Content>,
    pub(super) refusal: Option<String>,
    /// As vLLM, llama.cpp and DeepSeek have it.
    pub(super) reasoning_content: Option<String>,
    /// As OpenRouter and Ollama have it.
    pub(super) reasoning: Option<String>,
    pub(super) tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
pub(super) struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Call {
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

impl Content {
    pub(super) fn into_texts(self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text],
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

/// What the model called, under the names of the tools.
pub(super) fn reply(body: &str, names: &WireNames) -> Result<ChatReply, Unreadable> {
    let completion: Completion = match serde_json::from_str(body) {
        Ok(completion) => completion,
        Err(_) if body.trim().is_empty() => return Err(Unreadable::malformed("it is empty")),
        Err(error) => {
            return Err(failure(body).unwrap_or_else(|| Unreadable::malformed(error.to_string())));
        }
    };
    let Some(Choice { message, finish_reason }) = completion.choices.into_iter().next() else {
        return Err(Unreadable::malformed("it holds no choice"));
    };
    put_together(message, finish_reason.as_deref(), completion.usage, names)
}

/// The error that a body reports, if it does.
pub(super) fn failure(body: &str) -> Option<Unreadable> {
    let Failure { error } = serde_json::from_str(body).ok()?;
    (!error.is_null()).then_some(Unreadable::Failed(error))
}

/// All that was said, as one reply.
pub(super) fn put_together(
    said: Said,
    finish: Option<&str>,
    usage: Option<Counted>,
    names: &WireNames,
) -> Result<ChatReply, Unreadable> {
    let thought = |name: &str, text: Option<String>| {
        let text = text.filter(|text| !text.is_empty())?;
        let sealed = json!({ name: text });
        Some(AssistantPart::Reasoning(Reasoning::new(REASONING_OF, text, sealed)))
    };
    let thought = thought("reasoning_content", said.reasoning_content)
        .or_else(|| thought("reasoning", said.reasoning));
    let texts = said.content.map(Content::into_texts).unwrap_or_default();
    let texts = texts.into_iter().chain(said.refusal).filter(|text| !text.is_empty());
    let texts = texts.map(|text| AssistantPart::Text { text });
    let mut parts: Vec<_> = thought.into_iter().chain(texts).collect();
    for call in said.tool_calls.unwrap_or_default() {
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
        Some("length") => Finish::Length,
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::message::{AssistantPart, Reasoning, Usage};
    use crate::models::{ChatReply, Finish, NameRules, WireNames};
    use crate::providers::codec::Unreadable;

    fn reply(body: &str) -> Result<ChatReply, Unreadable> {
        super::reply(body, &WireNames::new([], NameRules::OPENAI))
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
