//! Each provider receives each kind of part in the place and in the form that its API accepts.

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use tool_runtime::message::{Audio, EmbeddedResource, FileData, ResourceLink};
use tool_runtime::providers::{Anthropic, Gemini, Mistral, Ollama, OpenAi, OpenAiResponses};
use tool_runtime::{
    AssistantPart, ChatModel, ChatRequest, ContentPart, Image, Message, ToolCall, ToolResult,
};

const BASE: &str = "https://models.invalid/v1";

/// Returns the body of the request for a conversation.
async fn body(
    model: fn(Canned) -> Box<dyn ChatModel>,
    empty_reply: &str,
    messages: &[Message],
) -> Value {
    let canned = Canned::new([Reply::text(200, empty_reply)]);
    model(canned.clone()).reply(ChatRequest::new(messages)).await.unwrap();
    serde_json::from_slice(&canned.requests()[0].body).unwrap()
}

/// A provider: its client, an empty reply, and what the model receives for the only result of a
/// conversation: its content, and the message after it.
type Provider =
    (&'static str, fn(Canned) -> Box<dyn ChatModel>, &'static str, fn(&Value) -> [Value; 2]);

const PROVIDERS: [Provider; 7] = [
    (
        "anthropic",
        |canned| Box::new(Anthropic::new(BASE, "m").transport(canned)),
        r#"{"content": []}"#,
        |body| [body["messages"][2]["content"][0]["content"].clone(), Value::Null],
    ),
    (
        "responses",
        |canned| Box::new(OpenAiResponses::new(BASE, "m").transport(canned)),
        r#"{"output": []}"#,
        |body| [body["input"][2]["output"].clone(), Value::Null],
    ),
    (
        "gemini",
        |canned| Box::new(Gemini::new(BASE, "gemini-3").transport(canned)),
        r#"{"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}"#,
        |body| [of_gemini(body), body["contents"][3]["parts"].clone()],
    ),
    (
        "gemini 2",
        |canned| Box::new(Gemini::new(BASE, "gemini-2").transport(canned)),
        r#"{"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}"#,
        |body| [of_gemini(body), body["contents"][3]["parts"].clone()],
    ),
    (
        "openai",
        |canned| Box::new(OpenAi::new(BASE, "m").transport(canned)),
        r#"{"choices": [{"message": {}, "finish_reason": "stop"}]}"#,
        |body| [body["messages"][2]["content"].clone(), body["messages"][3]["content"].clone()],
    ),
    (
        "mistral",
        |canned| Box::new(Mistral::new(BASE, "m").transport(canned)),
        r#"{"choices": [{"message": {}, "finish_reason": "stop"}]}"#,
        |body| [body["messages"][2]["content"].clone(), body["messages"][4]["content"].clone()],
    ),
    (
        "ollama",
        |canned| Box::new(Ollama::new(BASE, "m").transport(canned)),
        r#"{"message": {"role": "assistant", "content": ""}, "done": true}"#,
        |body| [body["messages"][2]["content"].clone(), body["messages"][2]["images"].clone()],
    ),
];

fn of_gemini(body: &Value) -> Value {
    let response = &body["contents"][2]["parts"][0]["functionResponse"];
    match &response["parts"] {
        Value::Null => response["response"]["output"].clone(),
        parts => json!([response["response"]["output"], parts]),
    }
}

/// Returns what the model receives for a result with these parts after its text.
async fn received(provider: &Provider, parts: Vec<ContentPart>) -> [Value; 2] {
    let (_, model, empty_reply, content) = provider;
    let call = ToolCall::new("abcdefghi", "t", "{}");
    let mut result = ToolResult::success(&call, "One:");
    result.parts = parts;
    let messages = [
        Message::user("Go"),
        Message::Assistant { id: None, parts: vec![AssistantPart::Call(call)] },
        Message::Tool { results: vec![result] },
    ];
    content(&body(*model, empty_reply, &messages).await)
}

fn image() -> ContentPart {
    Image { media_type: "image/png".into(), base64: "AAAA".into() }.into()
}

fn pdf() -> ContentPart {
    FileData::new("application/pdf", "BBBB").name("a.pdf").into()
}

fn audio() -> ContentPart {
    Audio::new("audio/wav", "CCCC").into()
}

#[tokio::test]
async fn part_of_a_result_is_sent_as_the_api_accepts_it() {
    let blob = |media_type| EmbeddedResource::base64("a:b", "AAAA").media_type(media_type);
    let link = "[link: a, a:b]";
    let (png_url, pdf_url) = ("data:image/png;base64,AAAA", "data:application/pdf;base64,BBBB");
    let kinds: [(&str, ContentPart); 8] = [
        ("text", "Two.".into()),
        ("image", image()),
        ("audio", audio()),
        ("file", pdf()),
        ("link", ResourceLink::new("a:b", "a").into()),
        ("resource", EmbeddedResource::text("a:b", "Hi").into()),
        ("blob", blob("image/png").into()),
        ("other", blob("application/zip").into()),
    ];
    let wav = "[left out: audio/wav, 3 bytes]";
    let zip = "[left out: a:b, application/zip, 3 bytes]";
    let left_out_pdf = "[left out: a.pdf, application/pdf, 3 bytes]";
    for provider in &PROVIDERS {
        for (kind, part) in &kinds {
            let name = provider.0;
            let text = |text: &str| match name {
                "anthropic" => {
                    json!([{ "type": "text", "text": "One:" }, { "type": "text", "text": text }])
                }
                "responses" => {
                    json!([{ "type": "input_text", "text": "One:" }, { "type": "input_text", "text": text }])
                }
                _ => json!(format!("One:\n{text}")),
            };
            // In an ordered list, in a result beside its text, or in the next message.
            let anthropic = |part| [json!([{ "type": "text", "text": "One:" }, part]), Value::Null];
            let responses =
                |part| [json!([{ "type": "input_text", "text": "One:" }, part]), Value::Null];
            let gemini_3 = |part| [json!(["One:", [{ "inlineData": part }]]), Value::Null];
            let gemini = |part| {
                [
                    json!("One:"),
                    json!([{ "text": "[What `t` (abcdefghi) showed:]" }, { "inlineData": part }]),
                ]
            };
            let chat = |part| {
                let heading = json!({ "type": "text", "text": "What call abcdefghi shows:" });
                [json!("One:"), json!([heading, part])]
            };
            let expected = match (name, *kind) {
                (_, "text") => [text("Two."), Value::Null],
                (_, "link") => [text(link), Value::Null],
                (_, "resource") => [text("[a:b]\nHi"), Value::Null],
                (_, "other") => [text(zip), Value::Null],
                ("anthropic", "image" | "blob") => anthropic(json!({ "type": "image",
                    "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } })),
                ("anthropic", "file") => anthropic(json!({ "type": "document", "title": "a.pdf",
                    "source": { "type": "base64", "media_type": "application/pdf", "data": "BBBB" } })),
                ("responses", "image" | "blob") => responses(
                    json!({ "type": "input_image", "image_url": png_url, "detail": "auto" }),
                ),
                ("responses", "file") => responses(
                    json!({ "type": "input_file", "filename": "a.pdf", "file_data": pdf_url }),
                ),
                ("anthropic" | "responses" | "ollama", "audio") => [text(wav), Value::Null],
                ("gemini", "image" | "blob") => {
                    gemini_3(json!({ "mimeType": "image/png", "data": "AAAA" }))
                }
                ("gemini", "file") => {
                    gemini_3(json!({ "mimeType": "application/pdf", "data": "BBBB" }))
                }
                ("gemini" | "gemini 2", "audio") => {
                    gemini(json!({ "mimeType": "audio/wav", "data": "CCCC" }))
                }
                ("gemini 2", "image" | "blob") => {
                    gemini(json!({ "mimeType": "image/png", "data": "AAAA" }))
                }
                ("gemini 2", "file") => {
                    gemini(json!({ "mimeType": "application/pdf", "data": "BBBB" }))
                }
                ("openai" | "mistral", "image" | "blob") => {
                    chat(json!({ "type": "image_url", "image_url": { "url": png_url } }))
                }
                ("openai", "audio") => chat(json!({ "type": "input_audio",
                    "input_audio": { "data": "CCCC", "format": "wav" } })),
                ("openai", "file") => chat(json!({ "type": "file",
                    "file": { "filename": "a.pdf", "file_data": pdf_url } })),
                ("mistral", "audio") => {
                    chat(json!({ "type": "input_audio", "input_audio": "CCCC" }))
                }
                ("mistral", "file") => chat(json!({ "type": "document_url",
                    "document_url": pdf_url, "document_name": "a.pdf" })),
                ("ollama", "image" | "blob") => [json!("One:"), json!(["AAAA"])],
                ("ollama", "file") => [text(left_out_pdf), Value::Null],
                case => panic!("{case:?}"),
            };
            let received = received(provider, vec![part.clone()]).await;
            assert_eq!(received, expected, "{name}: {kind}");
        }
    }
}

/// Returns the texts and the data in a value, in order.
fn leaves(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text} "),
        Value::Array(items) => items.iter().map(leaves).collect(),
        Value::Object(members) => {
            ["text", "output", "source", "data", "image_url", "url", "inlineData"]
                .iter()
                .filter_map(|name| members.get(*name))
                .map(leaves)
                .collect()
        }
        _ => String::new(),
    }
}

#[tokio::test]
async fn parts_of_a_result_keep_their_order() {
    let parts = || {
        let second = Image { media_type: "image/png".into(), base64: "DDDD".into() };
        vec![image(), "Two:".into(), second.into(), "Three.".into()]
    };
    let marked = "One:\n[attachment 1]\nTwo:\n[attachment 2]\nThree. ";
    for (provider, [result, next]) in PROVIDERS.iter().zip([
        ["One: AAAA Two: DDDD Three. ", ""],
        ["One: data:image/png;base64,AAAA Two: data:image/png;base64,DDDD Three. ", ""],
        [&format!("{marked}AAAA DDDD "), ""],
        [marked, "[What `t` (abcdefghi) showed:] AAAA DDDD "],
        [
            marked,
            "What call abcdefghi shows: data:image/png;base64,AAAA data:image/png;base64,DDDD ",
        ],
        [
            marked,
            "What call abcdefghi shows: data:image/png;base64,AAAA data:image/png;base64,DDDD ",
        ],
        [marked, "AAAA DDDD "],
    ]) {
        let received = received(provider, parts()).await;
        assert_eq!(received.map(|it| leaves(&it)), [result, next], "{}", provider.0);
    }
}

#[tokio::test]
async fn image_of_a_type_that_the_api_refuses_is_left_out() {
    for media_type in ["image/svg+xml", "image/tiff", "image/bmp", "image/x-icon", "image/avif"] {
        let note = format!("[left out: {media_type}, 3 bytes]");
        for provider in &PROVIDERS {
            let part = Image { media_type: media_type.into(), base64: "AAAA".into() }.into();
            let [result, next] = received(provider, vec![part]).await;
            assert!(result.to_string().contains(&note), "{}: {result}", provider.0);
            assert_eq!(next, Value::Null, "{}", provider.0);
        }
    }
    let jpg = Image { media_type: "image/jpg".into(), base64: "AAAA".into() }.into();
    let [result, _] = received(&PROVIDERS[0], vec![jpg]).await;
    assert_eq!(result[1]["source"]["media_type"], "image/jpeg");
}

#[tokio::test]
async fn files_in_a_user_message_are_sent() {
    let message = Message::User { id: None, parts: vec!["Read:".into(), pdf(), audio()] };
    for (name, model, empty_reply, _) in PROVIDERS {
        let request = body(model, empty_reply, std::slice::from_ref(&message)).await.to_string();
        assert_eq!(request.contains("BBBB"), name != "ollama", "{name}: {request}");
        let takes_audio = ["gemini", "gemini 2", "mistral", "openai"].contains(&name);
        assert_eq!(request.contains("CCCC"), takes_audio, "{name}: {request}");
        assert_eq!(request.contains("[left out: audio/wav, 3 bytes]"), !takes_audio, "{name}");
    }
}
