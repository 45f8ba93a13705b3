//! What a model thought goes back as it came, with the item that it led to.

use serde_json::{Value, json};
use tool_runtime::providers::OpenAiResponses;
use tool_runtime::{
    AssistantPart, ChatModel, ChatOptions, ChatRequest, Message, Reasoning, ToolCall,
};

use super::{client, request_body};
use crate::provider::fixtures_named;
use support::canned::{Canned, Reply};

fn sealed_part(item: Value) -> AssistantPart {
    AssistantPart::Reasoning(Reasoning::new("responses", "", item))
}

fn text_part(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.into() }
}

fn call_part() -> AssistantPart {
    AssistantPart::Call(ToolCall::new("call_1", "now", "{}"))
}

fn reasoning_item(id: &str) -> Value {
    json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA" })
}

fn message_remainder() -> Value {
    json!({ "type": "message", "id": "msg_1", "status": "completed" })
}

fn call_remainder() -> Value {
    json!({ "type": "function_call", "id": "fc_1", "status": "completed" })
}

/// What a message of these parts is sent as, without the results of its calls.
async fn items(parts: Vec<AssistantPart>, options: &ChatOptions) -> Vec<Value> {
    let messages = [Message::Assistant { id: None, parts }];
    let mut body = request_body(ChatRequest::new(&messages).options(options)).await;
    let Value::Array(mut items) = body["input"].take() else { panic!("{body}") };
    items.retain(|item| item["type"] != "function_call_output");
    items
}

#[tokio::test]
async fn reasoning_is_sent_with_its_item_or_dropped() {
    let bare = |text: &str| json!({ "type": "message", "role": "assistant", "content": text });
    let hi = json!({ "type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
        "content": [{ "type": "output_text", "text": "Hi", "annotations": [] }] });
    let call =
        json!({ "type": "function_call", "call_id": "call_1", "name": "now", "arguments": "{}" });
    let mut fc = call.clone();
    (fc["id"], fc["status"]) = ("fc_1".into(), "completed".into());
    let searched = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" });
    let open = json!({ "type": "reasoning", "id": "rs_1", "summary": [],
        "content": [{ "type": "reasoning_text", "text": "Hm" }] });
    let unsealed = json!({ "type": "reasoning", "id": "rs_1", "summary": [] });
    let custom = json!({ "type": "custom_tool_call", "id": "ctc_1", "call_id": "x", "input": "" });
    let output = json!({ "type": "shell_call_output", "id": "sho_1", "call_id": "x" });
    let shell = json!({ "type": "shell_call", "id": "sh_1", "call_id": "x" });
    let phase = json!({ "type": "message", "id": "msg_1", "status": "completed",
        "phase": "commentary" });
    let mut commented = bare("Hi");
    commented["phase"] = "commentary".into();
    let foreign = AssistantPart::Reasoning(Reasoning::new("openai", "", reasoning_item("rs_9")));
    for (parts, expected) in [
        // Items that are sent back unchanged.
        (
            vec![
                sealed_part(reasoning_item("rs_1")),
                sealed_part(message_remainder()),
                text_part("Hi"),
            ],
            vec![reasoning_item("rs_1"), hi.clone()],
        ),
        (
            vec![
                sealed_part(reasoning_item("rs_1")),
                sealed_part(call_remainder()),
                call_part(),
                text_part("Hi"),
            ],
            vec![reasoning_item("rs_1"), fc.clone(), bare("Hi")],
        ),
        (
            vec![
                sealed_part(reasoning_item("rs_1")),
                sealed_part(searched.clone()),
                sealed_part(message_remainder()),
                text_part("Hi"),
            ],
            vec![reasoning_item("rs_1"), searched.clone(), hi.clone()],
        ),
        (vec![text_part("Hi"), sealed_part(searched.clone())], vec![bare("Hi"), searched.clone()]),
        (
            vec![sealed_part(open.clone()), sealed_part(message_remainder()), text_part("Hi")],
            vec![open.clone(), hi.clone()],
        ),
        (vec![sealed_part(phase), text_part("Hi")], vec![commented]),
        (
            vec![sealed_part(shell.clone()), sealed_part(output.clone()), text_part("Hi")],
            vec![shell.clone(), output, bare("Hi")],
        ),
        // The item that the reasoning led to is missing or another one.
        (
            vec![
                sealed_part(reasoning_item("rs_1")),
                sealed_part(message_remainder()),
                call_part(),
            ],
            vec![call.clone()],
        ),
        (vec![text_part("Hi"), sealed_part(reasoning_item("rs_1"))], vec![bare("Hi")]),
        (
            vec![
                text_part("Hi"),
                sealed_part(reasoning_item("rs_1")),
                sealed_part(message_remainder()),
            ],
            vec![bare("Hi")],
        ),
        (
            vec![
                sealed_part(reasoning_item("rs_1")),
                sealed_part(message_remainder()),
                sealed_part(reasoning_item("rs_2")),
                sealed_part(call_remainder()),
                call_part(),
            ],
            vec![reasoning_item("rs_2"), fc.clone()],
        ),
        // The reasoning itself is missing.
        (vec![sealed_part(message_remainder()), text_part("Hi")], vec![bare("Hi")]),
        (vec![sealed_part(call_remainder()), call_part()], vec![call.clone()]),
        // Reasoning without content.
        (
            vec![sealed_part(unsealed.clone()), sealed_part(message_remainder()), text_part("Hi")],
            vec![bare("Hi")],
        ),
        (vec![sealed_part(custom), text_part("Hi")], vec![bare("Hi")]),
        (vec![sealed_part(json!("odd")), text_part("Hi")], vec![bare("Hi")]),
        // Reasoning of another provider.
        (vec![foreign, text_part("Hi")], vec![bare("Hi")]),
        // Repeated reasoning.
        (
            vec![
                sealed_part(reasoning_item("rs_1")),
                text_part("Hi"),
                sealed_part(reasoning_item("rs_1")),
                text_part("Ho"),
            ],
            vec![reasoning_item("rs_1"), bare("Hi"), bare("Ho")],
        ),
    ] {
        assert_eq!(items(parts.clone(), &ChatOptions::default()).await, expected, "{parts:?}");
    }
    // A provider that stores reasoning finds it by its id.
    let options = ChatOptions::default().extra("store", true);
    let parts =
        vec![sealed_part(unsealed.clone()), sealed_part(message_remainder()), text_part("Hi")];
    assert_eq!(items(parts, &options).await, [unsealed, hi]);
}

/// Only OpenAI can decrypt its own reasoning, and it refuses that of others.
#[tokio::test]
async fn reasoning_returns_only_to_its_origin() {
    let output = json!([reasoning_item("rs_1"), { "type": "message", "id": "msg_1", "role": "assistant",
        "status": "completed", "content": [{ "type": "output_text", "text": "Hi" }] }]);
    let body = json!({ "output": output }).to_string();
    let at = |base: &str, canned: &Canned| {
        OpenAiResponses::new(base, "gpt-5").transport(canned.clone()).max_retries(0)
    };
    let (official, other) = ("https://api.openai.com/v1", "http://127.0.0.1:8080/v1");
    for (from, to) in [(official, official), (other, other), (official, other), (other, official)] {
        let [first, second] = [(); 2].map(|()| Canned::new([Reply::text(200, &body)]));
        let reply = at(from, &first).reply(ChatRequest::new(&[])).await.unwrap();
        let messages = [Message::Assistant { id: None, parts: reply.parts }];
        at(to, &second).reply(ChatRequest::new(&messages)).await.unwrap();
        let body: Value = serde_json::from_slice(&second.requests()[0].body).unwrap();
        let kinds: Vec<_> =
            body["input"].as_array().unwrap().iter().map(|item| item["type"].clone()).collect();
        let expected = if from == to { &["reasoning", "message"][..] } else { &["message"] };
        assert_eq!(kinds, expected, "{from} {to}");
    }
}

/// The same items in the same order, with the same content.
#[tokio::test]
async fn replies_are_sent_back_unchanged() {
    for (case, body) in fixtures_named("responses", "reply.json") {
        let canned = Canned::new([Reply::text(200, &body)]);
        let parts = client(&canned).reply(ChatRequest::new(&[])).await.unwrap().parts;
        let output: Value = serde_json::from_str(&body).unwrap();
        let output = output["output"].as_array().unwrap();
        // Replies without content are not sent back.
        if ["empty", "empty_message", "length_in_reasoning", "image_generation"]
            .contains(&case.as_str())
        {
            continue;
        }
        let items = items(parts, &ChatOptions::default()).await;
        assert_eq!(items.len(), output.len(), "{case}: {items:?}");
        let mut is_behind_sealed = false;
        for (item, received) in items.iter().zip(output) {
            for member in ["type", "phase", "namespace", "call_id", "name"] {
                assert_eq!(item.get(member), received.get(member), "{case}");
            }
            let is_ours =
                ["message", "function_call"].contains(&received["type"].as_str().unwrap());
            assert!(is_ours || item == received, "{case}: {item}");
            assert_eq!(item.get("id").is_some(), !is_ours || is_behind_sealed, "{case}: {item}");
            assert!(item.get("id").is_none_or(|id| *id == received["id"]), "{case}: {item}");
            is_behind_sealed = !is_ours;
        }
    }
}
