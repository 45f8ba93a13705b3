//! The files that each API returns in a reply, whole and streamed, and what is sent back of them.

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use support::streamed::streamed;
use tool_runtime::message::GeneratedFile;
use tool_runtime::{AssistantPart, ChatReply, ChatRequest, Message};

use crate::provider::{PROVIDERS, Provider, client_of};

const PNG: &str = "iVBORw0KGgo=";

/// What an API sends for one reply: a body, and the messages of a stream.
struct Wire {
    provider: &'static str,
    body: Value,
    messages: Vec<Value>,
    text: &'static str,
    files: Vec<GeneratedFile>,
}

fn of_gemini() -> Wire {
    let parts = json!([{ "text": "A dot:" },
        { "inlineData": { "mimeType": "image/png", "data": PNG }, "thoughtSignature": "s=" }]);
    let body = json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": "STOP" }] });
    Wire {
        provider: "gemini",
        messages: vec![body.clone()],
        body,
        text: "A dot:",
        files: vec![GeneratedFile::base64("gemini", "image/png", PNG)],
    }
}

fn of_responses() -> Wire {
    let image = |id: &str, more: Value| {
        let mut item = json!({ "type": "image_generation_call", "id": id, "status": "completed",
            "result": PNG });
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        item
    };
    let output = [
        image("ig_1", json!({ "output_format": "webp" })),
        image("ig_2", json!({ "size": "1x1" })),
    ];
    let text = json!({ "type": "message", "id": "m", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": "Two dots.", "annotations": [] }] });
    let response = json!({ "output": [output[0], output[1], text], "status": "completed" });
    let item_done = |index: usize| json!({ "type": "response.output_item.done", "output_index": index, "item": output[index] });
    Wire {
        provider: "responses",
        messages: vec![
            item_done(0),
            item_done(1),
            json!({ "type": "response.completed", "response": response }),
        ],
        body: response,
        text: "Two dots.",
        files: vec![
            GeneratedFile::base64("responses", "image/webp", PNG),
            GeneratedFile::base64("responses", "image/png", PNG),
        ],
    }
}

/// The pieces of streamed audio are encoded one by one.
fn of_chat() -> Wire {
    let whole = json!({ "content": null,
        "audio": { "id": "audio_1", "data": "UklGRmE=", "expires_at": 9, "transcript": "Hello." } });
    let piece = |audio: Value| json!({ "choices": [{ "delta": { "audio": audio } }] });
    Wire {
        provider: "openai",
        body: json!({ "choices": [{ "message": whole, "finish_reason": "stop" }] }),
        messages: vec![
            piece(json!({ "id": "audio_1", "transcript": "Hel" })),
            piece(json!({ "data": "UklGRg==" })),
            piece(json!({ "transcript": "lo.", "data": "YQ==" })),
            json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
        ],
        text: "Hello.",
        files: vec![GeneratedFile::base64("chat-completions", "audio/wav", "UklGRmE=")],
    }
}

fn of_openrouter() -> Wire {
    let url = format!("data:image/png;base64,{PNG}");
    let images = json!([{ "type": "image_url", "image_url": { "url": url } }]);
    let choice = |name: &str| json!({ "choices": [{ name: { "content": "Dot.", "images": images }, "finish_reason": "stop" }] });
    Wire {
        provider: "openai",
        body: choice("message"),
        messages: vec![choice("delta")],
        text: "Dot.",
        files: vec![GeneratedFile::base64("chat-completions", "image/png", PNG)],
    }
}

fn of_anthropic() -> Wire {
    let result = json!({ "type": "bash_code_execution_tool_result", "tool_use_id": "srv",
        "content": { "type": "bash_code_execution_result", "stdout": "", "stderr": "",
            "return_code": 0,
            "content": [{ "type": "bash_code_execution_output", "file_id": "file_1" }] } });
    let text = json!({ "type": "text", "text": "Done." });
    let content = [result, text];
    let mut messages = vec![json!({ "type": "message_start", "message": {} })];
    for (index, block) in content.iter().enumerate() {
        messages
            .push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        messages.push(json!({ "type": "content_block_stop", "index": index }));
    }
    messages.push(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }));
    messages.push(json!({ "type": "message_stop" }));
    Wire {
        provider: "anthropic",
        body: json!({ "content": content, "stop_reason": "end_turn" }),
        messages,
        text: "Done.",
        files: vec![GeneratedFile::stored("anthropic", "file_1")],
    }
}

fn of_mistral() -> Wire {
    let file = json!({ "type": "tool_file", "tool": "image_generation", "file_id": "f1",
        "file_name": "dot.png", "file_type": "image/png" });
    let content = json!([{ "type": "text", "text": "Dot." }, file]);
    let choice = |name: &str| json!({ "choices": [{ name: { "content": content }, "finish_reason": "stop" }] });
    Wire {
        provider: "mistral",
        body: choice("message"),
        messages: vec![choice("delta")],
        text: "Dot.",
        files: vec![GeneratedFile::stored("mistral", "f1").name("dot.png").media_type("image/png")],
    }
}

fn all() -> Vec<Wire> {
    vec![of_gemini(), of_responses(), of_chat(), of_openrouter(), of_anthropic(), of_mistral()]
}

async fn read(provider: &str, body: &Value) -> ChatReply {
    let canned = Canned::new([Reply::text(200, &body.to_string())]);
    client_of(provider, canned).reply(ChatRequest::new(&[Message::user("A dot?")])).await.unwrap()
}

fn files(reply: &ChatReply) -> Vec<GeneratedFile> {
    Message::reply(reply.parts.clone()).generated_files().cloned().collect()
}

#[tokio::test]
async fn files_are_decoded_and_streamed() {
    for wire in all() {
        let reply = read(wire.provider, &wire.body).await;
        assert_eq!(reply.to_text(), wire.text);
        assert_eq!(files(&reply), wire.files);

        let events: String =
            wire.messages.iter().map(|message| format!("data: {message}\n\n")).collect();
        let canned = Canned::new([Reply::text(200, &events)]);
        let (streamed_reply, collected) = streamed(&*client_of(wire.provider, canned)).await;
        assert_eq!(streamed_reply.unwrap(), reply);
        assert_eq!(collected.text, wire.text);
        assert_eq!(collected.files, wire.files);
    }
}

/// Returns the body of a request with this reply and a question after it.
async fn request_body(provider: &str, parts: Vec<AssistantPart>) -> Value {
    let messages = [Message::user("A dot?"), Message::reply(parts), Message::user("Sure?")];
    let json = serde_json::to_string(&messages).unwrap();
    let messages: Vec<Message> = serde_json::from_str(&json).unwrap();
    let canned = Canned::new([Reply::text(500, "")]);
    let _ = client_of(provider, canned.clone()).reply(ChatRequest::new(&messages)).await;
    serde_json::from_slice(&canned.requests()[0].body).unwrap()
}

#[tokio::test]
async fn provider_receives_its_own_files_and_others_receive_a_note() {
    let wires = all();
    for wire in &wires {
        let reply = read(wire.provider, &wire.body).await;
        for Provider { name, .. } in PROVIDERS {
            let request = request_body(name, reply.parts.clone()).await.to_string();
            // The other APIs accept no file back.
            let accepts = ["anthropic", "responses", "gemini"].contains(&name);
            for file in files(&reply) {
                let (note, is_own) = (file.note(), accepts && file.provider == name);
                assert_eq!(request.contains(&note), !is_own, "{note} in {request}");
            }
        }
    }
    let of = async |wire: Wire| {
        let reply = read(wire.provider, &wire.body).await;
        (request_body(wire.provider, reply.parts).await, wire.body)
    };
    let (request, body) = of(of_gemini()).await;
    assert_eq!(request["contents"][1]["parts"], body["candidates"][0]["content"]["parts"]);
    let (request, body) = of(of_responses()).await;
    let items: Vec<_> = request["input"].as_array().unwrap().iter().skip(1).take(2).collect();
    assert_eq!(items, body["output"].as_array().unwrap().iter().take(2).collect::<Vec<_>>());
    let (request, body) = of(of_anthropic()).await;
    assert_eq!(request["messages"][1]["content"], body["content"]);
}

/// An item without the image that it created would be refused.
#[tokio::test]
async fn item_of_an_image_that_was_removed_is_not_sent() {
    let wire = of_responses();
    let mut parts = read(wire.provider, &wire.body).await.parts;
    parts.retain(|part| !matches!(part, AssistantPart::File(_)));
    let request = request_body(wire.provider, parts).await.to_string();
    assert!(!request.contains("image_generation_call"), "{request}");
    assert!(request.contains("Two dots."), "{request}");
}

#[tokio::test]
async fn damaged_data_is_a_note_in_the_text() {
    let image = |media_type: &str, data: &str| {
        let part = json!({ "inlineData": { "mimeType": media_type, "data": data } });
        json!({ "candidates": [{ "content": { "parts": [part] }, "finishReason": "STOP" }] })
    };
    let of_tool = json!({ "output": [{ "type": "image_generation_call", "id": "ig",
        "status": "completed", "result": "?" }], "status": "completed" });
    let audio = json!({ "choices": [{ "message": { "audio": { "data": "?" } } }] });
    let left_out =
        |kind: &str, reason: &str| format!("[file of the type `{kind}` was left out: {reason}]");
    let (not_base64, bad_type) = ("its data are not base64", "its media type is invalid");
    for (provider, body, expected) in [
        ("gemini", image("image/png", "?"), left_out("image/png", not_base64)),
        ("gemini", image("image/png", ""), left_out("image/png", "it is empty")),
        ("gemini", image("no\ntype`", PNG), left_out("notype", bad_type)),
        ("responses", of_tool, left_out("image/png", not_base64)),
        ("openai", audio, left_out("audio/pcm", not_base64)),
    ] {
        let reply = read(provider, &body).await;
        assert_eq!((reply.to_text(), files(&reply)), (expected, Vec::new()), "{body}");
    }
    // A call that failed has no image.
    let failed = json!({ "output": [{ "type": "image_generation_call", "id": "ig",
        "status": "failed", "result": null }], "status": "completed" });
    let reply = read("responses", &failed).await;
    assert_eq!((reply.to_text().as_str(), files(&reply).len()), ("", 0));
}
