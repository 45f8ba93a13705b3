//! Streamed replies that `conformance` compares with whole ones.

use serde_json::{Value, json};
use tool_runtime::Message;

use super::client;
use crate::conformance::streams::Composed;
use support::canned::{Canned, Reply};
use support::streamed::streamed;

/// Events of a message, whose texts of more than one character come in two pieces.
fn events(content: &[Value], reason: &str) -> Vec<Value> {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "role": "assistant", "content": [],
            "usage": { "input_tokens": 7, "cache_read_input_tokens": 2, "output_tokens": 1 } } }),
        json!({ "type": "ping" }),
    ];
    for (index, block) in content.iter().enumerate() {
        let halves = |text: &str| {
            let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
            [text[..middle].to_owned(), text[middle..].to_owned()]
        };
        let (mut start, mut deltas) = (block.clone(), Vec::new());
        for (member, kind, name) in [
            ("text", "text_delta", "text"),
            ("thinking", "thinking_delta", "thinking"),
            ("signature", "signature_delta", "signature"),
        ] {
            let Some(text) = block.get(member).and_then(Value::as_str) else { continue };
            start[member] = "".into();
            deltas.extend(halves(text).map(|half| json!({ "type": kind, name: half })));
        }
        if let Some(input) = block.get("input") {
            start["input"] = json!({});
            let text = if *input == json!({}) { String::new() } else { input.to_string() };
            let pieces = halves(&text);
            let piece = |text| json!({ "type": "input_json_delta", "partial_json": text });
            deltas.extend(pieces.map(piece));
        }
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": reason },
        "usage": { "output_tokens": 9 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn stream(events: &[Value]) -> String {
    let event = |event: &Value| {
        let name = event["type"].as_str().unwrap();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.iter().map(event).collect()
}

fn contents() -> Vec<Vec<Value>> {
    let call = |id: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": "add", "input": input });
    vec![
        vec![],
        vec![json!({ "type": "text", "text": "Hello, é🙂" })],
        vec![
            json!({ "type": "thinking", "thinking": "Hmm.", "signature": "c2ln=" }),
            json!({ "type": "redacted_thinking", "data": "xx" }),
            json!({ "type": "text", "text": "One moment." }),
            call("a", json!({ "a": "é🙂\n", "b": [1, 2.5, { "c": null }] })),
            call("b", json!({})),
            json!({ "type": "text", "text": "!" }),
        ],
    ]
}

/// Returns the replies with these contents; the unfinished streams lack their last two events.
pub fn composed() -> Vec<Composed> {
    let usage = json!({ "input_tokens": 7, "cache_read_input_tokens": 2, "output_tokens": 9 });
    let composed = |content: Vec<Value>| {
        let events = events(&content, "tool_use");
        Composed {
            whole: json!({ "content": content, "stop_reason": "tool_use", "usage": usage }),
            streams: vec![stream(&events)],
            unfinished: stream(&events[..events.len() - 2]),
        }
    };
    contents().into_iter().map(composed).collect()
}

/// Blocks are identified by their index, in any order of their pieces.
#[tokio::test]
async fn interleaved_calls_stay_separate() {
    let start = |index: u64| {
        let block =
            json!({ "type": "tool_use", "id": index.to_string(), "name": "add", "input": {} });
        json!({ "type": "content_block_start", "index": index, "content_block": block })
    };
    let piece = |index: u64, text: &str| {
        let delta = json!({ "type": "input_json_delta", "partial_json": text });
        json!({ "type": "content_block_delta", "index": index, "delta": delta })
    };
    let list = [
        start(0),
        start(1),
        piece(1, "{\"b\":"),
        piece(0, "{\"a\": 1"),
        piece(1, " 2}"),
        piece(0, ", }"),
        json!({ "type": "message_stop" }),
    ];
    let canned = Canned::new([Reply::text(200, &stream(&list))]);
    let (reply, deltas) = streamed(&client(&canned)).await;
    let assistant = Message::Assistant { id: None, parts: reply.unwrap().parts };
    // Byte for byte, damaged arguments included.
    let arguments: Vec<_> = assistant.calls().map(|call| call.arguments.to_text()).collect();
    assert_eq!(arguments, ["{\"a\": 1, }", "{\"b\": 2}"]);
    assert_eq!(deltas.calls[1][1], "{\"b\": 2}");
}
