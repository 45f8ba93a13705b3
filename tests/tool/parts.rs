//! Parts and structured values of outputs and errors.

use proptest::prelude::*;
use tool_runtime::event::ProtocolError;
use tool_runtime::message::{Audio, EmbeddedResource, FileData, ResourceLink};
use tool_runtime::{
    ContentPart, Dispatcher, Image, Message, Policy, ToolCall, ToolExecution, ToolResult,
};

use super::*;

const SECRET: &str = "k3y-0f-th3-h0us3";

fn image() -> Image {
    Image { media_type: "image/png".into(), base64: "AAAA".into() }
}

/// Returns a report, or fails with one.
#[tool(effect = "read")]
async fn report(fails: bool) -> Result<ToolOutput, ToolError> {
    let log = || EmbeddedResource::text("file:///log", format!("signed in with {SECRET}"));
    if fails {
        let cause = ProtocolError::new(-32042).data(json!({ "key": SECRET }));
        let error = ToolError::failed("no report").with_part(log()).with_part(image());
        return Err(error.with_protocol_error(cause));
    }
    Ok(ToolOutput::text("In May:")
        .with_image(image())
        .with_part(log())
        .with_part("That is all.")
        .with_structured(json!({ "month": 5, "key": SECRET })))
}

async fn run(policy: Policy, name: &str, arguments: &str) -> ToolExecution {
    let tools = tools![report, numbers];
    let dispatcher = Dispatcher::new(Registry::try_from(tools).unwrap()).policy(policy);
    dispatcher.dispatch(vec![ToolCall::new("c", name, arguments)]).await.remove(0)
}

fn redacted_log() -> ContentPart {
    EmbeddedResource::text("file:///log", "signed in with [redacted]").into()
}

#[tokio::test]
async fn parts_of_an_output_keep_their_order_and_lose_their_secrets() {
    let policy = Policy::new().secrets([SECRET]);
    let execution = run(policy, "report", r#"{"fails": false}"#).await;
    assert_eq!(execution.result.text, "In May:");
    let parts = [image().into(), redacted_log(), "That is all.".into()];
    assert_eq!(execution.result.parts, parts);
    let structured = json!({ "month": 5, "key": "[redacted]" });
    assert_eq!(execution.result.structured, Some(structured.clone()));
    assert_eq!(execution.structured_value(), Some(structured));
    assert_eq!(
        execution.result.plain_text(),
        "In May:\n[left out: image/png, 3 bytes]\n[file:///log]\nsigned in with [redacted]\n\
         That is all.",
    );
}

#[tokio::test]
async fn error_has_parts_for_the_model_and_a_protocol_error_for_programs() {
    let policy = Policy::new().secrets([SECRET]);
    let execution = run(policy, "report", r#"{"fails": true}"#).await;
    assert!(execution.failed_with("TOOL_EXECUTION_FAILED"));
    assert_eq!(execution.result.parts, [redacted_log(), image().into()]);
    let error = execution.protocol_error.as_deref().unwrap();
    assert_eq!((error.code, &error.data), (-32042, &json!({ "key": "[redacted]" })));
    assert!(!serde_json::to_string(&execution.result).unwrap().contains("32042"));
    let json = serde_json::to_string(&execution).unwrap();
    assert_eq!(serde_json::from_str::<ToolExecution>(&json).unwrap(), execution);
}

/// Calls that fail and calls that succeed have the limit.
#[tokio::test]
async fn image_beyond_the_media_limit_is_a_note() {
    for (arguments, at) in [(r#"{"fails": false}"#, 0), (r#"{"fails": true}"#, 1)] {
        for (limit, expected) in
            [(3, image().into()), (2, ContentPart::text("[left out: image/png, 3 bytes]"))]
        {
            let execution = run(Policy::new().max_media_bytes(limit), "report", arguments).await;
            assert_eq!(execution.result.parts[at], expected, "{limit}");
        }
    }
}

#[tokio::test]
async fn texts_of_all_parts_share_the_output_limit() {
    let policy = Policy::new().max_output_bytes(30);
    let execution = run(policy, "report", r#"{"fails": false}"#).await;
    let [ContentPart::Image(_), ContentPart::Resource(_), ContentPart::Text { text }] =
        &execution.result.parts[..]
    else {
        panic!("{:?}", execution.result.parts)
    };
    assert_eq!(text, "[… 12 bytes in 1 more parts left out …]");
    let full_text = execution.full_text.unwrap();
    assert!(full_text.contains(SECRET) && full_text.ends_with("That is all."), "{full_text}");
}

/// Lists numbers.
#[tool(effect = "none")]
async fn numbers() -> Vec<u32> {
    (0..1_000).collect()
}

#[tokio::test]
async fn structured_value_of_json_is_complete_despite_the_output_limit() {
    let execution = run(Policy::new().max_output_bytes(100), "numbers", "{}").await;
    assert_eq!(execution.result.structured_value(), None);
    assert_eq!(execution.structured_value(), Some((0..1_000).collect()));
}

#[test]
fn output_of_parts_begins_with_its_text() {
    let text = || ContentPart::text("One.");
    assert_eq!(ToolOutput::from_parts([]), ToolOutput::default());
    assert_eq!(ToolOutput::from_parts([text()]), ToolOutput::text("One."));
    let output = ToolOutput::from_parts([image().into(), text()]);
    assert_eq!((output.as_text(), output.parts()), ("", &[image().into(), text()][..]));
}

fn part() -> impl Strategy<Value = ContentPart> {
    let option = || prop::option::of(".{0,4}");
    prop_oneof![
        ".{0,6}".prop_map(ContentPart::from),
        (".{0,6}", ".{0,6}").prop_map(|(media_type, base64)| Image { media_type, base64 }.into()),
        (".{0,6}", ".{0,6}").prop_map(|(kind, data)| Audio::new(kind, data).into()),
        (".{0,6}", ".{0,6}", option()).prop_map(|(kind, data, name)| {
            let file = FileData::new(kind, data);
            name.into_iter().fold(file, FileData::name).into()
        }),
        (".{0,6}", ".{0,6}", option(), prop::option::of(any::<u64>())).prop_map(
            |(uri, name, text, size)| {
                let link = ResourceLink::new(uri, name);
                let link = text
                    .into_iter()
                    .fold(link, |link, text| link.description(text.clone()).media_type(text));
                size.into_iter().fold(link, ResourceLink::size).into()
            }
        ),
        (".{0,6}", ".{0,6}", option(), any::<bool>()).prop_map(|(uri, data, kind, is_text)| {
            let resource = if is_text {
                EmbeddedResource::text(uri, data)
            } else {
                EmbeddedResource::base64(uri, data)
            };
            kind.into_iter().fold(resource, EmbeddedResource::media_type).into()
        }),
    ]
}

proptest! {
    #[test]
    fn result_and_message_with_parts_round_trip(
        text in ".{0,6}",
        parts in prop::collection::vec(part(), 0..5),
        structured in prop::option::of(any::<i64>()),
    ) {
        let mut result = ToolResult::success(&ToolCall::new("c", "t", "{}"), text);
        result.parts = parts.clone();
        result.structured = structured.map(|number| json!([number, { "a": number }]));
        let messages = [Message::Tool { results: vec![result.clone()] }, Message::User { id: None, parts }];
        let json = serde_json::to_string(&messages).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Vec<Message>>(&json).unwrap()[..], &messages);
        let value = serde_json::to_value(&messages).unwrap();
        prop_assert_eq!(&serde_json::from_value::<Vec<Message>>(value).unwrap()[..], &messages);
        // No part is lost in the text.
        let lines = result.parts.iter().filter(|part| !part.plain_text().is_empty()).count();
        let count = lines + usize::from(!result.text.is_empty());
        let text_lines = result.plain_text().matches('\n').count();
        prop_assert!(count == 0 || text_lines + 1 >= count);
    }
}
