//! The body of a chat completion → our reply.
//!
//! Read leniently where servers differ from OpenAI: content that is null or left out, calls
//! without an id, arguments that are an object instead of its text.

use serde::Deserialize;
use serde_json::Value;

use crate::message::{Arguments, AssistantPart, ToolCall};
use crate::models::{ChatReply, ModelError};
use crate::providers::http::excerpt;

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
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

pub(super) fn reply(body: &str) -> Result<ChatReply, ModelError> {
    let malformed = |reason: String| ModelError::Malformed { reason, body: excerpt(body) };
    let completion: Completion =
        serde_json::from_str(body).map_err(|error| malformed(error.to_string()))?;
    let Some(Choice { message }) = completion.choices.into_iter().next() else {
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
        ToolCall::new(call.id.unwrap_or_default(), call.function.name, arguments)
    });
    let texts = texts.map(|text| AssistantPart::Text { text });
    Ok(ChatReply::new(texts.chain(calls.map(AssistantPart::Call)).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::reply;
    use crate::models::ChatReply;

    #[test]
    fn what_servers_send() {
        let forecast = || ChatReply::default().call("forecast", r#"{ "city": "Oslo" }"#);
        for (message, expected) in [
            (json!({ "content": "Hello" }), ChatReply::text("Hello")),
            (json!({ "content": null }), ChatReply::default()),
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
    fn what_is_no_completion_is_shown() {
        for body in ["", "<html>", "{}", r#"{"choices": []}"#, r#"{"choices": [{}]}"#] {
            let error = reply(body).unwrap_err().to_string();
            assert!(error.ends_with(&format!("it was: {body}")), "{error}");
        }
    }
}
