//! Turns that take several requests, and what has to be sent back in them.

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use support::streamed::streamed;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, FinishReason, Message, StopReason, ToolResult, Tools,
    Usage,
};

use super::client;

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn search(number: usize) -> Value {
    json!({ "type": "server_tool_use", "id": format!("s{number}"), "name": "web_search", "input": {} })
}

fn whole(content: Value, reason: &str) -> Reply {
    let usage = json!({ "input_tokens": 10, "output_tokens": 1 });
    let body = json!({ "content": content, "stop_reason": reason, "usage": usage });
    Reply::text(200, &body.to_string())
}

/// Streams blocks that start whole.
fn stream(content: &[Value], reason: &str) -> Reply {
    let mut events = vec![json!({ "type": "message_start", "message":
        { "usage": { "input_tokens": 10, "output_tokens": 1 } } })];
    events.extend(content.iter().enumerate().map(|(index, block)| {
        json!({ "type": "content_block_start", "index": index, "content_block": block })
    }));
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": reason } }));
    events.push(json!({ "type": "message_stop" }));
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Reply::text(200, &events)
}

fn bodies(canned: &Canned) -> Vec<Value> {
    canned.requests().iter().map(|it| serde_json::from_slice(&it.body).unwrap()).collect()
}

async fn ask(canned: &Canned) -> ChatReply {
    client(canned).reply(ChatRequest::new(&[Message::user("Weather?")])).await.unwrap()
}

#[tokio::test]
async fn paused_turn_is_continued() {
    let pauses = [vec![text("Let me look."), search(1)], vec![search(2)], vec![text("Rain.")]];
    let reason = |index: usize| if index < 2 { "pause_turn" } else { "end_turn" };
    for is_streamed in [false, true] {
        let replies = pauses.iter().enumerate().map(|(index, content)| {
            if is_streamed {
                stream(content, reason(index))
            } else {
                whole(json!(content), reason(index))
            }
        });
        let canned = Canned::new(replies);
        let reply = if is_streamed {
            let (reply, deltas) = streamed(&client(&canned)).await;
            assert_eq!(deltas.text, "Let me look.Rain.");
            reply.unwrap()
        } else {
            ask(&canned).await
        };
        assert_eq!(reply.to_text(), "Let me look.Rain.");
        assert_eq!(reply.finish_reason, FinishReason::Stop);
        assert_eq!(reply.usage, Some(Usage::new(30, 3)));
        let bodies = bodies(&canned);
        let [first, second, third] = bodies.as_slice() else { panic!("{bodies:?}") };
        for (body, content) in [
            (second, json!([text("Let me look."), search(1)])),
            (third, json!([text("Let me look."), search(1), search(2)])),
        ] {
            let mut expected = first.clone();
            let messages = expected["messages"].as_array_mut().unwrap();
            messages.push(json!({ "role": "assistant", "content": content }));
            assert_eq!(*body, expected);
        }
    }
}

#[tokio::test]
async fn pauses_are_bounded_and_never_an_answer() {
    let pauses = || (0..9).map(|number| whole(json!([text("Hm."), search(number)]), "pause_turn"));
    let canned = Canned::new(pauses());
    let agent = Agent::new(client(&canned), Tools::new());
    let stopped = agent.run("Weather?").await.unwrap_err();
    assert!(
        matches!(stopped.reason, StopReason::TruncatedReply(FinishReason::Paused)),
        "{stopped}"
    );
    assert_eq!(
        stopped.reason.to_string(),
        "model reply truncated: the model provider paused it too often"
    );
    assert_eq!(canned.requests().len(), 6);

    // Nothing to continue with.
    let canned = Canned::new([whole(json!([]), "pause_turn")]);
    let stopped = Agent::new(client(&canned), Tools::new()).run("Weather?").await.unwrap_err();
    assert!(
        matches!(stopped.reason, StopReason::TruncatedReply(FinishReason::Paused)),
        "{stopped}"
    );
}

#[tokio::test]
async fn own_calls_of_a_paused_turn_run_first() {
    let call = json!({ "type": "tool_use", "id": "t", "name": "now", "input": {} });
    let canned = Canned::new([whole(json!([search(1), call]), "pause_turn")]);
    let reply = ask(&canned).await;
    assert_eq!((reply.finish_reason, reply.calls().count()), (FinishReason::ToolCalls, 1));
    assert_eq!(canned.requests().len(), 1);
}

/// Members that are not those of a text or a call, with the container of the code.
fn programmatic() -> (Vec<Value>, Value) {
    let citation = json!({ "type": "web_search_result_location", "url": "https://h.invalid",
        "cited_text": "Rain.", "encrypted_index": "e" });
    let content = vec![
        json!({ "type": "server_tool_use", "id": "srv", "name": "code_execution",
            "input": { "code": "await now()" } }),
        json!({ "type": "text", "text": "Rain.", "citations": [citation] }),
        json!({ "type": "tool_use", "id": "t", "name": "now", "input": {},
            "caller": { "type": "code_execution_20260120", "tool_id": "srv" } }),
        json!({ "type": "tool_use", "id": "u", "name": "now", "input": {},
            "caller": { "type": "direct" }, "yet_to_come": 1 }),
    ];
    (content, json!({ "id": "container_x", "expires_at": "2026-12-01T00:00:00Z" }))
}

fn results(reply: &ChatReply) -> Message {
    Message::Tool { results: reply.calls().map(|call| ToolResult::success(call, "noon")).collect() }
}

#[tokio::test]
async fn callers_citations_and_containers_are_sent_back() {
    let (content, container) = programmatic();
    let body = json!({ "content": content, "container": container, "stop_reason": "tool_use" });
    let mut events = vec![json!({ "type": "message_start", "message": {} })];
    for (index, block) in content.iter().enumerate() {
        let mut start = block.clone();
        let citations = start.as_object_mut().unwrap().remove("citations");
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        for citation in citations.iter().flat_map(|it| it.as_array().unwrap()) {
            let delta = json!({ "type": "citations_delta", "citation": citation });
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
    }
    let delta = json!({ "stop_reason": "tool_use", "container": container });
    events.push(json!({ "type": "message_delta", "delta": delta }));
    events.push(json!({ "type": "message_stop" }));
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();

    let reply = ask(&Canned::new([Reply::text(200, &body.to_string())])).await;
    let (streamed_reply, _) = streamed(&client(&Canned::new([Reply::text(200, &events)]))).await;
    assert_eq!(reply, streamed_reply.unwrap());

    // The results are sent to the container that waits for them, and with no other request.
    let user = || Message::user("Weather?");
    let assistant = || Message::Assistant { id: None, parts: reply.parts.clone() };
    let open = vec![user(), assistant(), results(&reply)];
    let mut ended = open.clone();
    ended.extend([Message::assistant("Rain."), user()]);
    for (messages, expected) in [(open, json!("container_x")), (ended, Value::Null)] {
        let messages: Vec<Message> =
            serde_json::from_str(&serde_json::to_string(&messages).unwrap()).unwrap();
        let canned = Canned::new([whole(json!([text("Rain.")]), "end_turn")]);
        client(&canned).reply(ChatRequest::new(&messages)).await.unwrap();
        let [body] = bodies(&canned).try_into().unwrap();
        assert_eq!(body["container"], expected);
        assert_eq!(body["messages"][1]["content"], json!(content));
    }
}

#[tokio::test]
async fn caller_is_dropped_with_its_code() {
    let (content, _) = programmatic();
    let body = json!({ "content": content[1..], "stop_reason": "tool_use" });
    let reply = ask(&Canned::new([Reply::text(200, &body.to_string())])).await;
    let assistant = Message::Assistant { id: None, parts: reply.parts.clone() };
    let open = vec![Message::user("Weather?"), assistant, results(&reply)];
    let mut ended = open.clone();
    ended.extend([Message::assistant("Rain."), Message::user("Sure?")]);
    for (messages, has_caller) in [(open, true), (ended, false)] {
        let canned = Canned::new([whole(json!([text("Rain.")]), "end_turn")]);
        client(&canned).reply(ChatRequest::new(&messages)).await.unwrap();
        let [body] = bodies(&canned).try_into().unwrap();
        let call = &body["messages"][1]["content"][1];
        assert_eq!(call.get("caller").is_some(), has_caller, "{call}");
    }
}

#[tokio::test]
async fn cache_writes_are_counted_by_time() {
    let usage = |counts: Value| json!({ "content": [], "usage": counts });
    for (counts, expected) in [
        (json!({ "input_tokens": 1, "cache_creation_input_tokens": 9 }), [10, 9, 0]),
        (
            json!({ "input_tokens": 1, "cache_creation_input_tokens": 9, "cache_creation":
                { "ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5 } }),
            [10, 9, 5],
        ),
        (json!({ "cache_creation": { "ephemeral_1h_input_tokens": 5 } }), [5, 5, 5]),
    ] {
        let reply = ask(&Canned::new([Reply::text(200, &usage(counts.clone()).to_string())])).await;
        let usage = reply.usage.unwrap();
        assert_eq!(
            [usage.input_tokens, usage.cache_creation_tokens, usage.cache_creation_1h_tokens],
            expected,
            "{counts}"
        );
    }
    // The end of a stream repeats the sum without the times.
    let start = json!({ "input_tokens": 1, "cache_creation_input_tokens": 9,
        "cache_creation": { "ephemeral_1h_input_tokens": 9 } });
    let events = [
        json!({ "type": "message_start", "message": { "usage": start } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
            "usage": { "input_tokens": 1, "cache_creation_input_tokens": 9, "output_tokens": 2 } }),
        json!({ "type": "message_stop" }),
    ];
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let (reply, _) = streamed(&client(&Canned::new([Reply::text(200, &events)]))).await;
    let usage = reply.unwrap().usage.unwrap();
    assert_eq!(
        [usage.input_tokens, usage.cache_creation_tokens, usage.cache_creation_1h_tokens],
        [10, 9, 9]
    );
}
