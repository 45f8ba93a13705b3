//! Bodies without a reply are errors that name what is missing.

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use tool_runtime::{ChatRequest, ModelError};

use crate::provider::PROVIDERS;

fn anthropic() -> Vec<(Value, &'static str)> {
    vec![
        (json!("no"), "invalid type"),
        (json!({}), "missing field `content`"),
        (json!({ "content": [{}] }), "a content block has no type"),
        (json!({ "content": [{ "type": "tool_use" }] }), "a call has no name"),
    ]
}

fn gemini() -> Vec<(Value, &'static str)> {
    let part = |part: Value| json!({ "candidates": [{ "content": { "parts": [part] } }] });
    let ended = |reason: &str| {
        let text = json!({ "parts": [{ "text": "I will look it up." }] });
        json!({ "candidates": [{ "content": text, "finishReason": reason,
            "finishMessage": "Malformed function call: print(now(" }] })
    };
    vec![
        (json!("no"), "invalid type"),
        (json!({}), "no candidate"),
        (json!({ "candidates": [] }), "no candidate"),
        (json!({ "promptFeedback": {} }), "no candidate"),
        (part(json!({ "functionCall": { "args": {} } })), "a call has no name"),
        (part(json!({ "functionCall": "now" })), "malformed call"),
        (
            part(json!({ "functionCall": { "name": "now", "willContinue": true } })),
            "the arguments of `now` come in pieces",
        ),
        // Text before a failed call is not an answer.
        (ended("MALFORMED_FUNCTION_CALL"), "finish reason MALFORMED_FUNCTION_CALL"),
        (ended("MALFORMED_FUNCTION_CALL"), "print(now("),
        (ended("UNEXPECTED_TOOL_CALL"), "UNEXPECTED_TOOL_CALL"),
        (ended("MISSING_THOUGHT_SIGNATURE"), "MISSING_THOUGHT_SIGNATURE"),
        (ended("MALFORMED_RESPONSE"), "MALFORMED_RESPONSE"),
        (json!({ "error": { "message": "odd" } }), "the provider reported an error: odd"),
    ]
}

fn mistral() -> Vec<(Value, &'static str)> {
    vec![
        (json!({}), "missing field `choices`"),
        (json!({ "choices": [] }), "no choice"),
        (json!({ "choices": [{ "message": { "content": 1 } }] }), "did not match any variant"),
        (json!({ "choices": [{ "message": { "tool_calls": [{}] } }] }), "a call has no name"),
        (json!({ "object": "error", "message": "No.", "type": "odd" }), "an error: No."),
        (json!({ "error": "No." }), "an error: No."),
    ]
}

/// Bodies that servers compatible with Ollama send, but never Ollama itself.
fn ollama() -> Vec<(Value, &'static str)> {
    let call = json!({ "tool_calls": [{ "function": {} }] });
    let ended_early = "the stream ended before the reply was complete";
    vec![
        (json!({}), ended_early),
        (json!({ "message": {}, "done": false }), ended_early),
        (json!("no"), "invalid type"),
        (json!({ "message": call, "done": true }), "missing field `name`"),
        (json!({ "error": { "odd": 1 } }), "an error"),
    ]
}

fn openai() -> Vec<(Value, &'static str)> {
    let choice = json!({ "index": 0, "message": {}, "error": { "message": "no memory left" } });
    vec![
        (json!({}), "missing field `choices`"),
        (
            json!({ "error": { "message": "overloaded" } }),
            "the provider reported an error: overloaded",
        ),
        (json!({ "choices": [choice] }), "no memory left"),
    ]
}

fn responses() -> Vec<(Value, &'static str)> {
    vec![
        (json!("no"), "invalid type"),
        (json!({}), "no output"),
        (json!({ "output": [{}] }), "no type"),
        (json!({ "output": [{ "type": "function_call" }] }), "a call has no name"),
        (json!({ "output": [], "status": "queued" }), "queued"),
        (json!({ "output": [], "status": "failed" }), "response failed without an error"),
        (json!({ "error": { "message": "odd" } }), "an error: odd"),
    ]
}

#[tokio::test]
async fn bodies_without_a_reply_are_errors() {
    for provider in PROVIDERS {
        let bodies = match provider.name {
            "anthropic" => anthropic(),
            "gemini" => gemini(),
            "mistral" => mistral(),
            "ollama" => ollama(),
            "openai" => openai(),
            "responses" => responses(),
            other => panic!("{other} has no bodies"),
        };
        for (body, reason) in bodies {
            let model = provider.client(Canned::new([Reply::text(200, &body.to_string())]));
            let error = model.reply(ChatRequest::new(&[])).await.unwrap_err();
            let name = provider.name;
            assert!(matches!(error, ModelError::Malformed { .. }), "{name}, {body}: {error:?}");
            assert!(error.to_string().contains(reason), "{name}, {body}: {error}");
        }
    }
}
