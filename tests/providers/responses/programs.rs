//! Calls that a program of the provider makes, and the citations of a text.

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use tool_runtime::{ChatModel, ChatReply, ChatRequest, Message, ToolResult};

use super::{client, request_body};

async fn read(output: Value) -> ChatReply {
    let body = json!({ "output": output, "status": "completed" });
    let canned = Canned::new([Reply::text(200, &body.to_string())]);
    client(&canned).reply(ChatRequest::new(&[])).await.unwrap()
}

/// Returns the items that are sent for a conversation with these replies, each with its results.
async fn sent_items(replies: &[ChatReply]) -> Vec<Value> {
    let mut messages = vec![Message::user("Hello")];
    for reply in replies {
        messages.push(Message::Assistant { id: None, parts: reply.parts.clone() });
        let results: Vec<_> = reply.calls().map(|call| ToolResult::success(call, "noon")).collect();
        if !results.is_empty() {
            messages.push(Message::Tool { results });
        }
    }
    let mut body = request_body(ChatRequest::new(&messages)).await;
    let Value::Array(items) = body["input"].take() else { panic!("{body}") };
    items
}

#[tokio::test]
async fn callers_are_sent_back_with_calls_and_results() {
    let program = json!({ "type": "program", "id": "p", "call_id": "prog_1", "code": "now()",
        "fingerprint": "f" });
    let caller = json!({ "type": "program", "caller_id": "prog_1" });
    let call = |id: &str| {
        json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "now",
            "arguments": "{}", "status": "completed", "caller": caller })
    };
    let first = read(json!([program, call("a"), call("b")])).await;
    let output = json!({ "type": "program_output", "id": "o", "call_id": "prog_1",
        "result": "noon", "status": "completed" });
    let text = json!({ "type": "message", "id": "m", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": "Noon.", "annotations": [] }] });
    let second = read(json!([output, text])).await;

    let items = sent_items(&[first.clone(), second.clone()]).await;
    let of_kind = |kind: &str| items.iter().filter(|it| it["type"] == kind).collect::<Vec<_>>();
    assert_eq!(of_kind("program"), [&program]);
    assert_eq!(of_kind("program_output"), [&output]);
    for kind in ["function_call", "function_call_output"] {
        let callers: Vec<_> = of_kind(kind).into_iter().map(|it| it["caller"].clone()).collect();
        assert_eq!(callers, [caller.clone(), caller.clone()], "{kind}");
    }
    // Without the program, the calls are ordinary ones.
    let mut cut = first;
    cut.parts.retain(|part| !format!("{part:?}").contains("fingerprint"));
    let items = sent_items(&[cut, second]).await;
    assert!(!items.iter().any(|item| item.get("caller").is_some()), "{items:?}");
}

#[tokio::test]
async fn citations_are_sent_back() {
    let citation = |start: u64, end: u64| {
        json!({ "type": "url_citation", "url": "https://h.invalid", "title": "H",
            "start_index": start, "end_index": end })
    };
    let part = |text: &str, citations: Value| json!({ "type": "output_text", "text": text, "annotations": citations });
    let message = |content: Value| {
        json!({ "type": "message", "id": "m", "role": "assistant", "status": "completed",
            "content": content })
    };
    let search = json!({ "type": "web_search_call", "id": "ws", "status": "completed" });
    let content = json!([part("Äh, ", json!([])), part("rain.", json!([citation(0, 4)]))]);
    let joined = json!([part("Äh, rain.", json!([citation(4, 8)]))]);
    // With the search that it follows, and alone, where the id is not sent.
    let searched = read(json!([search, message(content.clone())])).await;
    assert_eq!(sent_items(&[searched]).await[1..], [search, message(joined.clone())]);
    let without_search = read(json!([message(content)])).await;
    assert_eq!(
        sent_items(&[without_search]).await[1],
        json!({ "type": "message", "role": "assistant", "content": joined })
    );
    let plain = read(json!([message(json!([part("Hi", json!([]))]))])).await;
    assert_eq!(sent_items(&[plain]).await[1]["content"], "Hi");
}

#[tokio::test]
async fn cache_writes_are_counted_by_time() {
    let usage = json!({ "input_tokens": 3_000, "output_tokens": 90, "input_tokens_details": {
        "cached_tokens": 1_610, "cache_write_tokens": 826,
        "cache_write_tokens_details": { "ttl_30m_tokens": 800, "ttl_12h_tokens": 26 } } });
    let body = json!({ "output": [], "usage": usage }).to_string();
    let canned = Canned::new([Reply::text(200, &body)]);
    let reply = client(&canned).reply(ChatRequest::new(&[])).await.unwrap();
    let usage = reply.usage.unwrap();
    let counts = [
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_creation_tokens,
        usage.cache_creation_1h_tokens,
        usage.cache_creation_12h_tokens,
    ];
    assert_eq!(counts, [3_000, 1_610, 826, 0, 26]);
}
