//! Streams of so many calls of a tool `f`, in the formats of the providers.

use serde_json::{Value, json};

fn events(messages: impl IntoIterator<Item = Value>) -> String {
    messages.into_iter().map(|message| format!("data: {message}\n\n")).collect()
}

/// Returns a stream of OpenAI's and Mistral's chat completions. With `in_pieces`, the arguments of
/// all calls follow after their names.
pub(crate) fn chat(calls: usize, in_pieces: bool) -> String {
    let event = |delta, finish: Option<&str>| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    let call = |call: Value| event(json!({ "tool_calls": [call] }), None);
    let start = |index| {
        let arguments = if in_pieces { "" } else { r#"{"a":1}"# };
        call(json!({ "index": index, "id": format!("call_{index}"),
            "function": { "name": "f", "arguments": arguments } }))
    };
    let piece = |index| call(json!({ "index": index, "function": { "arguments": r#"{"a":1}"# } }));
    let pieces = (0..calls).filter(|_| in_pieces).map(piece);
    let last = event(json!({}), Some("tool_calls"));
    events((0..calls).map(start).chain(pieces).chain([last])) + "data: [DONE]\n\n"
}

/// Returns a stream of Anthropic's messages.
pub(crate) fn anthropic(calls: usize) -> String {
    let call = |index: usize| {
        [
            json!({ "type": "content_block_start", "index": index, "content_block":
                { "type": "tool_use", "id": format!("toolu_{index}"), "name": "f", "input": {} } }),
            json!({ "type": "content_block_delta", "index": index, "delta":
                { "type": "input_json_delta", "partial_json": r#"{"a":1}"# } }),
            json!({ "type": "content_block_stop", "index": index }),
        ]
    };
    let last = [
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ];
    events((0..calls).flat_map(call).chain(last))
}

/// Returns a stream of Gemini's replies.
pub(crate) fn gemini(calls: usize) -> String {
    let event = |parts: Value, finish: Option<&str>| json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": finish }] });
    let call = |_| event(json!([{ "functionCall": { "name": "f", "args": { "a": 1 } } }]), None);
    events((0..calls).map(call).chain([event(json!([]), Some("STOP"))]))
}

/// Returns a stream of Ollama's replies.
pub(crate) fn ollama(calls: usize) -> String {
    let call = |_| {
        json!({ "message": { "tool_calls":
        [{ "function": { "name": "f", "arguments": { "a": 1 } } }] } })
    };
    let last = json!({ "done": true, "done_reason": "stop" });
    (0..calls).map(call).chain([last]).map(|message| format!("{message}\n")).collect()
}

/// Returns a stream of OpenAI's Responses: each call in pieces, as an item, and again in the
/// response that ends the stream.
pub(crate) fn responses(calls: usize) -> String {
    let item = |index: usize, arguments| {
        json!({ "type": "function_call", "id": format!("fc_{index}"),
            "call_id": format!("call_{index}"), "name": "f", "arguments": arguments })
    };
    let call = |index: usize| {
        let arguments = r#"{"a":1}"#;
        [
            json!({ "type": "response.output_item.added", "output_index": index,
                "item": item(index, "") }),
            json!({ "type": "response.function_call_arguments.delta", "output_index": index,
                "item_id": format!("fc_{index}"), "delta": arguments }),
            json!({ "type": "response.output_item.done", "output_index": index,
                "item": item(index, arguments) }),
        ]
    };
    let output: Vec<_> = (0..calls).map(|index| item(index, r#"{"a":1}"#)).collect();
    let last = json!({ "type": "response.completed", "response":
        { "status": "completed", "output": output } });
    events((0..calls).flat_map(call).chain([last])) + "data: [DONE]\n\n"
}
