//! Generates irregular conversations: lost calls, results without calls, duplicate ids, damaged
//! arguments, blank texts and reasoning of several providers.

use proptest::prelude::*;
use serde_json::json;
use tool_runtime::{
    AssistantPart, Image, Message, Reasoning, ToolCall, ToolErrorKind, ToolResult, UserPart,
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

fn image() -> Image {
    Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() }
}

fn result() -> impl Strategy<Value = ToolResult> {
    let text = prop_oneof![Just(""), Just("done"), Just(r#"{"a": 1}"#)];
    (id(), name(), text, 0..3u8).prop_map(|(id, name, text, way)| {
        let call = ToolCall::new(id, name, "{}");
        match way {
            0 => ToolResult::failure(&call, ToolErrorKind::Panicked.code(), "crashed"),
            1 => ToolResult::success(&call, text),
            _ => {
                let mut result = ToolResult::success(&call, text);
                result.images.push(image());
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
        4 => text().prop_map(|text| UserPart::Text { text }),
        1 => Just(UserPart::Image(image())),
    ];
    prop_oneof![
        text().prop_map(|text| Message::System { text }),
        prop::collection::vec(user_part, 0..3).prop_map(|parts| Message::User { parts }),
        prop::collection::vec(part, 0..4).prop_map(|parts| Message::Assistant { parts }),
        prop::collection::vec(result(), 0..4).prop_map(|results| Message::Tool { results }),
    ]
}
