//! What the model thought and what it signed goes back on the very part that it came on.

use serde_json::{Value, json};
use tool_runtime::{AssistantPart, ChatRequest, Message, Reasoning, ToolCall};

use crate::streams::fixtures;
use crate::{NEW, OLD, read, sent};

/// The parts that this model is sent of what a model said.
async fn parts(model: &str, said: Vec<AssistantPart>) -> Vec<Value> {
    let messages = [Message::user("Hello"), Message::Assistant { parts: said }];
    let body = sent(model, ChatRequest::new(&messages)).await.unwrap();
    body["contents"][1]["parts"].as_array().unwrap().clone()
}

#[tokio::test]
async fn what_it_said_goes_back_as_it_came() {
    let mut tried = 0;
    for (case, reply) in fixtures("reply.json") {
        let reply: Value = serde_json::from_str(&reply).unwrap();
        let said = read(&reply).await.unwrap().parts;
        let came = reply["candidates"][0]["content"]["parts"].as_array().cloned();
        let Some(mut came) = came.filter(|_| case != "unknown_members") else { continue };
        let mut back = parts(OLD, said).await;
        for part in &mut came {
            if part.as_object().unwrap().keys().eq(["thoughtSignature"]) {
                part["text"] = "".into();
            }
            if let Some(call) = part.get_mut("functionCall") {
                call.as_object_mut().unwrap().entry("args").or_insert_with(|| json!({}));
            }
        }
        // Ids are minted where there were none.
        for (part, came) in back.iter_mut().zip(&came) {
            let had_none = came.get("functionCall").is_some_and(|call| call.get("id").is_none());
            if had_none {
                part["functionCall"].as_object_mut().unwrap().remove("id").unwrap();
            }
        }
        assert_eq!(back, came, "{case}");
        tried += 1;
    }
    assert!(tried >= 15, "only {tried} were tried");
}

#[tokio::test]
async fn calls_that_nobody_signed() {
    let kept = |provider: &str, sealed: Value| {
        AssistantPart::Reasoning(Reasoning::new(provider, "", sealed))
    };
    let signed = |signature: &str| kept("gemini", json!({ "thoughtSignature": signature }));
    let call = |id: &str| AssistantPart::Call(ToolCall::new(id, "now", json!({})));
    let said = |text: &str| AssistantPart::Text { text: text.into() };
    let placeholder = "skip_thought_signature_validator";
    for (model, came, signatures) in [
        // Another provider's, to a model that wants them signed: the first of each step.
        (NEW, vec![call("a"), call("b")], vec![Some(placeholder), None]),
        (
            NEW,
            vec![kept("anthropic", json!({ "type": "thinking" })), call("a")],
            vec![Some(placeholder)],
        ),
        ("models/gemini-flash-latest", vec![call("a")], vec![Some(placeholder)]),
        ("tunedModels/mine", vec![call("a")], vec![None]),
        (OLD, vec![call("a"), call("b")], vec![None, None]),
        // A text's signature is none of the call behind it.
        (NEW, vec![signed("s"), said("x"), call("a")], vec![Some("s"), Some(placeholder)]),
        (NEW, vec![said("x"), signed("s"), call("a"), call("b")], vec![None, Some("s"), None]),
        (OLD, vec![signed("s"), call("a"), signed("t"), call("b")], vec![Some("s"), Some("t")]),
        // The part that it came on is gone.
        (OLD, vec![call("a"), signed("s")], vec![None]),
        (NEW, vec![said("x"), kept("gemini", json!("odd"))], vec![None]),
    ] {
        let sent = parts(model, came.clone()).await;
        let found: Vec<_> =
            sent.iter().map(|part| part.get("thoughtSignature").and_then(Value::as_str)).collect();
        assert_eq!(found, signatures, "{model}: {came:?}");
    }
}
