//! Generates irregular conversations: lost calls, results without calls, duplicate ids, damaged
//! arguments, blank texts and reasoning of several providers.

use proptest::prelude::*;
use serde_json::json;
use tool_runtime::message::{Audio, EmbeddedResource, FileData, ResourceLink};
use tool_runtime::{
    AssistantPart, ContentPart, Image, Message, Reasoning, ToolCall, ToolErrorKind, ToolResult,
};

/// Generates conversations of up to seven messages with the given reasoning parts.
pub fn histories(thoughts: &'static [fn() -> Reasoning]) -> impl Strategy<Value = Vec<Message>> {
    prop::collection::vec(message(thoughts), 0..8)
}

/// Returns a configuration with `PROPTEST_CASES` cases. Default: 2,000.
pub fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok();
    let cases = cases.and_then(|cases| cases.parse().ok()).unwrap_or(2_000);
    ProptestConfig { cases, ..ProptestConfig::default() }
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]",
        Just(String::new()),
        Just("a.b:1".to_owned()),
        Just("call_1".to_owned()),
        // Longer than OpenAI accepts.
        Just("a".repeat(41)),
        Just("abcDEF123".to_owned()),
        "\\PC{1,3}"
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("t"), Just("weather.get"), Just("no such tool"), Just("")]
        .prop_map(ToOwned::to_owned)
}

fn call() -> impl Strategy<Value = ToolCall> {
    let text = prop_oneof![Just("{}"), Just(""), Just("[1]"), Just("{a: 1"), Just("no")];
    let text = (id(), name(), text).prop_map(|(id, name, text)| ToolCall::new(id, name, text));
    let value = prop_oneof![Just(json!({ "a": 1 })), Just(json!([1])), Just(json!(null))];
    let value = (id(), name(), value).prop_map(|(id, name, value)| ToolCall::new(id, name, value));
    prop_oneof![text, value]
}

/// Generates a part of every kind, also of a type that no API accepts.
fn content_part() -> impl Strategy<Value = ContentPart> {
    let image = |media_type: &str| -> ContentPart {
        Image { media_type: media_type.into(), base64: "iVBORw0KGgo=".into() }.into()
    };
    prop_oneof![
        3 => Just(image("image/png")),
        1 => Just(image("image/svg+xml")),
        1 => Just(ContentPart::text("")),
        1 => Just(ContentPart::text("more")),
        1 => Just(Audio::new("audio/wav", "UklGRg==").into()),
        1 => Just(FileData::new("application/pdf", "JVBERi0=").into()),
        1 => Just(FileData::new("application/zip", "AAAA").name("a.zip").into()),
        1 => Just(ResourceLink::new("a:b", "").into()),
        1 => Just(EmbeddedResource::text("a:b", "Hi").into()),
        1 => Just(EmbeddedResource::base64("a:b", "AAAA").media_type("image/webp").into()),
    ]
}

fn result() -> impl Strategy<Value = ToolResult> {
    let text = prop_oneof![Just(""), Just("done"), Just(r#"{"a": 1}"#)];
    let parts = prop::collection::vec(content_part(), 0..4);
    (id(), name(), text, parts, 0..3u8).prop_map(|(id, name, text, parts, way)| {
        let call = ToolCall::new(id, name, "{}");
        match way {
            0 => ToolResult::failure(&call, ToolErrorKind::Panicked.code(), "crashed"),
            1 => ToolResult::success(&call, text),
            _ => {
                let mut result = ToolResult::success(&call, text);
                result.parts = parts;
                result
            }
        }
    })
}

fn message(thoughts: &'static [fn() -> Reasoning]) -> impl Strategy<Value = Message> {
    let text = || prop_oneof![Just(" \n".to_owned()), ".{0,3}"];
    let thought = (0..=thoughts.len()).prop_map(|index| {
        let searched =
            || Reasoning::new("another", "", json!({ "type": "search" })).provider_action();
        AssistantPart::Reasoning(thoughts.get(index).map_or_else(searched, |thought| thought()))
    });
    let part = prop_oneof![
        text().prop_map(|text| AssistantPart::Text { text }),
        call().prop_map(AssistantPart::Call),
        thought,
    ];
    let user_part = prop_oneof![
        4 => text().prop_map(|text| ContentPart::Text { text }),
        1 => content_part(),
    ];
    prop_oneof![
        text().prop_map(|text| Message::System { text }),
        prop::collection::vec(user_part, 0..3).prop_map(|parts| Message::User { id: None, parts }),
        prop::collection::vec(part, 0..4).prop_map(|parts| Message::Assistant { id: None, parts }),
        prop::collection::vec(result(), 0..4).prop_map(|results| Message::Tool { results }),
    ]
}
