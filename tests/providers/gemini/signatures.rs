//! Thoughts and signatures are sent back on the part that they came on.

use serde_json::{Value, json};
use tool_runtime::{AssistantPart, ChatRequest, Message, Reasoning, ToolCall};

use super::{NEW, OLD, read, sent_body};
use crate::provider::fixtures_named;

/// Returns the parts that are sent to this model for a model message.
async fn parts(model: &str, reply_parts: Vec<AssistantPart>) -> Vec<Value> {
    let messages = [Message::user("Hello"), Message::Assistant { id: None, parts: reply_parts }];
    let body = sent_body(model, ChatRequest::new(&messages)).await.unwrap();
    body["contents"][1]["parts"].as_array().unwrap().clone()
}

#[tokio::test]
async fn replies_are_sent_back_unchanged() {
    let mut tried = 0;
    for (case, reply) in fixtures_named("gemini", "reply.json") {
        let reply: Value = serde_json::from_str(&reply).unwrap();
        let reply_parts = read(&reply).await.unwrap().parts;
        let original = reply["candidates"][0]["content"]["parts"].as_array().cloned();
        let Some(mut original) = original.filter(|_| case != "unknown_members") else { continue };
        let mut back = parts(OLD, reply_parts).await;
        for part in &mut original {
            if part.as_object().unwrap().keys().eq(["thoughtSignature"]) {
                part["text"] = "".into();
            }
            if let Some(call) = part.get_mut("functionCall") {
                call.as_object_mut().unwrap().entry("args").or_insert_with(|| json!({}));
            }
        }
        // Calls without an id get one.
        for (part, original) in back.iter_mut().zip(&original) {
            let had_none =
                original.get("functionCall").is_some_and(|call| call.get("id").is_none());
            if had_none {
                part["functionCall"].as_object_mut().unwrap().remove("id").unwrap();
            }
        }
        assert_eq!(back, original, "{case}");
        tried += 1;
    }
    assert!(tried >= 15, "only {tried} were tried");
}

#[tokio::test]
async fn unsigned_calls_get_a_placeholder() {
    let reasoning_part = |provider: &str, sealed: Value| {
        AssistantPart::Reasoning(Reasoning::new(provider, "", sealed))
    };
    let signed =
        |signature: &str| reasoning_part("gemini", json!({ "thoughtSignature": signature }));
    let call = |id: &str| AssistantPart::Call(ToolCall::new(id, "now", json!({})));
    let text_part = |text: &str| AssistantPart::Text { text: text.into() };
    let placeholder = "skip_thought_signature_validator";
    for (model, original, signatures) in [
        // Calls of another provider, for a model that requires a signature on the first of each
        // step.
        (NEW, vec![call("a"), call("b")], vec![Some(placeholder), None]),
        (
            NEW,
            vec![reasoning_part("anthropic", json!({ "type": "thinking" })), call("a")],
            vec![Some(placeholder)],
        ),
        ("models/gemini-flash-latest", vec![call("a")], vec![Some(placeholder)]),
        ("tunedModels/mine", vec![call("a")], vec![None]),
        (OLD, vec![call("a"), call("b")], vec![None, None]),
        // The signature of a text does not belong to the call after it.
        (NEW, vec![signed("s"), text_part("x"), call("a")], vec![Some("s"), Some(placeholder)]),
        (NEW, vec![text_part("x"), signed("s"), call("a"), call("b")], vec![None, Some("s"), None]),
        (OLD, vec![signed("s"), call("a"), signed("t"), call("b")], vec![Some("s"), Some("t")]),
        // The part of the signature is missing.
        (OLD, vec![call("a"), signed("s")], vec![None]),
        (NEW, vec![text_part("x"), reasoning_part("gemini", json!("odd"))], vec![None]),
    ] {
        let encoded = parts(model, original.clone()).await;
        let found: Vec<_> = encoded
            .iter()
            .map(|part| part.get("thoughtSignature").and_then(Value::as_str))
            .collect();
        assert_eq!(found, signatures, "{model}: {original:?}");
    }
}
