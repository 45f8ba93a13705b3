//! The body of a chat completion → our reply.
//!
//! Read leniently where servers differ from OpenAI: content that is null or left out, calls
//! without an id, arguments that are an object instead of its text, an error under a status of
//! success. What is unknown, such as a model's reasoning beside its answer, is passed over.

use serde::Deserialize;
use serde_json::Value;

use crate::message::{Arguments, AssistantPart, ToolCall};
use crate::models::{ChatReply, Finish, ModelError, WireNames};
use crate::providers::http::excerpt;

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
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

#[derive(Deserialize)]
struct Said {
    content: Option<Content>,
    refusal: Option<String>,
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

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: Option<Value>,
}

/// What the model called, under the names of the tools.
pub(super) fn reply(body: &str, names: &WireNames) -> Result<ChatReply, ModelError> {
    let malformed = |reason: String| ModelError::Malformed { reason, body: excerpt(body) };
    let completion: Completion = match serde_json::from_str(body) {
        Ok(completion) => completion,
        Err(_) if body.trim().is_empty() => return Err(malformed("it is empty".into())),
        Err(error) => {
            let failure: Option<Failure> = serde_json::from_str(body).ok();
            let failure = failure.map(|Failure { error }| match error.get("message") {
                Some(Value::String(message)) => message.clone(),
                _ => error.to_string(),
            });
            return Err(match failure {
                Some(failure) => malformed(format!("it reports an error, {failure}")),
                None => malformed(error.to_string()),
            });
        }
    };
    let Some(Choice { message, finish_reason }) = completion.choices.into_iter().next() else {
        return Err(malformed("it holds no choice".into()));
    };
    let texts = match message.content {
        None => Vec::new(),
        Some(Content::Text(text)) => vec![text],
        Some(Content::Parts(parts)) => parts.into_iter().filter_map(|part| part.text).collect(),
    };
    let texts = texts.into_iter().chain(message.refusal).filter(|text| !text.is_empty());
    let calls = message.tool_calls.unwrap_or_default().into_iter().map(|call| {
        let arguments = call.function.arguments.map_or_else(|| Arguments::from(""), Into::into);
        ToolCall::new(call.id.unwrap_or_default(), names.own(&call.function.name), arguments)
    });
    let texts = texts.map(|text| AssistantPart::Text { text });
    let parts = texts.chain(calls.map(AssistantPart::Call)).collect();
    let finish = match finish_reason.as_deref() {
        None | Some("stop") => Finish::Stop,
        Some("tool_calls" | "function_call") => Finish::Calls,
        Some("length") => Finish::Length,
        Some("content_filter") => Finish::Filtered,
        Some(_) => Finish::Other,
    };
    Ok(ChatReply::new(parts).finish(finish))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::models::{ChatReply, Finish, ModelError, NameRules, WireNames};

    fn reply(body: &str) -> Result<ChatReply, ModelError> {
        super::reply(body, &WireNames::new([], NameRules::OPENAI))
    }

    #[test]
    fn what_servers_send() {
        let forecast = || ChatReply::default().call("forecast", r#"{ "city": "Oslo" }"#);
        for (message, expected) in [
            (json!({ "content": "Hello" }), ChatReply::text("Hello")),
            (json!({ "content": null }), ChatReply::default()),
            (json!({ "content": null, "tool_calls": null }), ChatReply::default()),
            (json!({ "content": "Hi", "tool_calls": [] }), ChatReply::text("Hi")),
            (json!({ "content": "Hi", "reasoning_content": "Hm" }), ChatReply::text("Hi")),
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
    fn what_is_no_completion_is_shown() {
        for (body, reason) in [
            ("", "it is empty"),
            ("<html>", "expected value at line 1"),
            ("{}", "missing field `choices`"),
            (r#"{"choices": []}"#, "it holds no choice"),
            (r#"{"choices": [{}]}"#, "missing field `message`"),
            (r#"{"error": {"message": "overloaded", "code": 502}}"#, "an error, overloaded"),
            (r#"{"error": "overloaded"}"#, r#"an error, "overloaded""#),
            (r#"{"choices": null, "error": {"code": 502}}"#, r#"an error, {"code":502}"#),
        ] {
            let error = reply(body).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
            assert!(error.ends_with(&format!("it was: {body}")), "{error}");
        }
    }
}
