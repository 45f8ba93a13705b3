//! Arguments reach the tool exactly as the provider sent them: numbers beyond 64 bits, digits of
//! floats, whitespace and duplicate keys.

use tool_runtime::{ChatReply, ChatRequest, Message};

use crate::provider::PROVIDERS;
use support::canned::{Canned, Reply};
use support::streamed::streamed;

const WRITTEN: &str =
    r#"{ "id": 12345678901234567890123, "x": 1.10, "e": [1e2, -0.0], "x": "é\u00e9" }"#;

/// Returns a whole reply and a stream with the same call.
fn bodies(provider: &str) -> Option<[String; 2]> {
    let body = |text: &str| text.replace("WRITTEN", WRITTEN);
    let chat = |member: &str| {
        let call = r#"{"index": 0, "id": "a", "function": {"name": "f", "arguments": WRITTEN}}"#;
        let choice =
            r#"{"index": INDEX, "finish_reason": "tool_calls", "MEMBER": {"tool_calls": [CALL]}}"#;
        let choice = choice.replace("MEMBER", member).replace("CALL", call);
        // Another choice comes first; the client ignores it.
        let other = choice.replace("WRITTEN", r#"{"x": 0}"#).replace("INDEX", "1");
        let first_choice = choice.replace("INDEX", "0");
        body(&format!(r#"{{"choices": [{other}, {first_choice}]}}"#))
    };
    Some(match provider {
        "anthropic" => {
            let (start, rest) = WRITTEN.split_at(25);
            let piece = |text: &str| {
                let delta = serde_json::json!({ "type": "input_json_delta", "partial_json": text });
                format!(r#"{{"type": "content_block_delta", "index": 0, "delta": {delta}}}"#)
            };
            let block = r#"{"type": "tool_use", "id": "a", "name": "f", "input": WRITTEN}"#;
            let events = [
                format!(
                    r#"{{"type": "content_block_start", "index": 0, "content_block": {}}}"#,
                    block.replace("WRITTEN", "{}")
                ),
                piece(start),
                piece(rest),
                // One call comes in a single event.
                body(&format!(
                    r#"{{"type": "content_block_start", "index": 1, "content_block": {block}}}"#
                )),
                r#"{"type": "message_stop"}"#.to_owned(),
            ];
            [body(&format!(r#"{{"content": [{block}, {block}]}}"#)), events.join("\n\ndata: ")]
        }
        "gemini" => {
            let part = r#"{"functionCall": {"name": "f", "args": WRITTEN}}"#;
            let candidate = format!(
                r#"{{"content": {{"parts": [{{"text": "{{"}}, {part}, {part}]}}, "finishReason": "STOP"}}"#
            );
            let reply = body(&format!(r#"{{"candidates": [{candidate}]}}"#));
            [reply.clone(), reply]
        }
        "ollama" => {
            let call = r#"{"function": {"name": "f", "arguments": WRITTEN}}"#;
            let message = format!(r#"{{"content": "{{[", "tool_calls": [{call}, {call}]}}"#);
            let reply = body(&format!(r#"{{"message": {message}, "done": true}}"#));
            [reply.clone(), reply]
        }
        "mistral" | "openai" => [chat("message"), chat("delta")],
        // This API sends arguments as text.
        _ => return None,
    })
}

/// Asserts that every call has the arguments as written.
fn assert_written(reply: ChatReply, provider: &str) {
    let message = Message::Assistant { id: None, parts: reply.parts };
    assert!(message.calls().next().is_some(), "{provider}");
    for call in message.calls() {
        assert_eq!(call.arguments.to_text(), WRITTEN, "{provider}");
    }
}

#[tokio::test]
async fn arguments_keep_their_exact_text() {
    for provider in PROVIDERS {
        let name = provider.name;
        let Some([whole, message]) = bodies(name) else { continue };
        let model = |body: &str| provider.client(Canned::new([Reply::text(200, body)]));
        let reply = model(&whole).reply(ChatRequest::new(&[])).await.unwrap();
        assert_written(reply, name);
        let (reply, deltas) = streamed(&*model(&provider.framed(&message))).await;
        assert_written(reply.unwrap(), name);
        assert_eq!(deltas.calls[0], ["f", WRITTEN], "{name}");
    }
}
