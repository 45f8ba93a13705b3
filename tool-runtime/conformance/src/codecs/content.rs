//! Messages with each kind of part, and the texts of them that a request must contain.

use serde_json::{Value, json};
use tool_core::message::{Audio, EmbeddedResource, FileData, GeneratedFile, ResourceLink, Source};
use tool_core::{
    AssistantPart, ChatRequest, ContentPart, Image, Message, ModelError, Reasoning, ToolCall,
    ToolResult,
};

use super::{body, contains};
use crate::Violation;
use crate::violation::ensure;

const CONTENT: &str = "content is sent, has a note in its place, or is refused";

/// A conversation with one kind of content.
pub(super) struct Sample {
    /// The kind of content, with its article.
    kind: String,
    pub(super) messages: Vec<Message>,
    /// Texts that have to be in the request. Of each list, one is enough.
    marks: Vec<Vec<String>>,
}

impl Sample {
    fn new(kind: impl Into<String>, messages: Vec<Message>, marks: &[&str]) -> Self {
        let marks = marks.iter().map(|mark| vec![(*mark).to_owned()]).collect();
        Self { kind: kind.into(), messages, marks }
    }
}

/// Returns each kind of content with the texts by which a request shows it.
fn parts() -> Vec<(&'static str, ContentPart, Vec<Vec<String>>)> {
    let texts = |texts: &[&str]| texts.iter().map(|text| vec![(*text).to_owned()]).collect();
    let media = |part: &ContentPart| {
        let data = part.media().map(|media| vec![media.base64.to_owned(), media.note()]);
        data.into_iter().collect()
    };
    let image = |media_type: &str, base64: &str| -> ContentPart {
        Image { media_type: media_type.into(), base64: base64.into() }.into()
    };
    let mut found = vec![
        ("a text", ContentPart::text("text-of-part"), texts(&["text-of-part"])),
        (
            "a link",
            ResourceLink::new("https://link.example/", "name-of-link")
                .description("description-of-link")
                .into(),
            texts(&["https://link.example/", "name-of-link", "description-of-link"]),
        ),
        (
            "a resource with text",
            EmbeddedResource::text("https://text.example/", "text-of-resource").into(),
            texts(&["https://text.example/", "text-of-resource"]),
        ),
    ];
    for (kind, part) in [
        ("an image", image("image/png", "iVBORw0KGgoAAAAN")),
        ("an image of a rare type", image("image/svg+xml", "PHN2Zy8+PHN2")),
        ("audio", Audio::new("audio/wav", "UklGRmFiY2RX").into()),
        ("audio of a rare type", Audio::new("audio/midi", "TVRoZGFiY2Rl").into()),
        ("a file", FileData::new("application/pdf", "JVBERi0xLjdh").name("a.pdf").into()),
        ("a file without name", FileData::new("application/pdf", "JVBERi0xLjdi").into()),
        ("a file of a rare type", FileData::new("application/zip", "UEsDBGFiY2Rl").into()),
        (
            "a resource with an image",
            EmbeddedResource::base64("https://image.example/", "iVBORw0KGgoAAAAO")
                .media_type("image/png")
                .into(),
        ),
        (
            "a resource with other data",
            EmbeddedResource::base64("https://data.example/", "AAECAwQFBgcI").into(),
        ),
    ] {
        let part: ContentPart = part;
        let marks = media(&part);
        found.push((kind, part, marks));
    }
    found
}

/// Returns a conversation with this call and these results.
fn with_results(call: &ToolCall, results: Vec<ToolResult>) -> Vec<Message> {
    vec![
        Message::user("text-of-user"),
        Message::Assistant { id: None, parts: vec![AssistantPart::Call(call.clone())] },
        Message::Tool { results },
    ]
}

/// Returns a conversation for each kind of content.
pub(super) fn samples() -> Vec<Sample> {
    let system = || Message::system("text-of-system");
    let user = || Message::user("text-of-user");
    let text = |text: &str| AssistantPart::Text { text: text.into() };
    let call = ToolCall::new("abcdefghi", "name_of_tool", json!({ "city": "value-of-argument" }));
    let written = |arguments: &str| ToolCall::new("bcdefghij", "name_of_tool", arguments);
    let generated = GeneratedFile::base64("another", "image/png", "iVBORw0KGgoAAAAP");
    let stored = GeneratedFile::stored("another", "id-of-file").name("a.csv");
    let success = ToolResult::success(&call, "text-of-result");
    let mut samples = vec![
        Sample::new(
            "a system message",
            vec![system(), user()],
            &["text-of-system", "text-of-user"],
        ),
        Sample::new(
            "a system message after others",
            vec![user(), Message::assistant("text-of-reply"), system(), user()],
            &["text-of-system", "text-of-reply"],
        ),
        Sample::new(
            "a text of the assistant",
            vec![user(), Message::assistant("text-of-reply"), user()],
            &["text-of-reply"],
        ),
        Sample::new(
            "reasoning of another provider beside a text",
            vec![
                user(),
                Message::Assistant {
                    id: None,
                    parts: vec![
                        AssistantPart::Reasoning(Reasoning::new("another", "Hm", json!({}))),
                        text("text-beside-reasoning"),
                    ],
                },
                user(),
            ],
            &["text-beside-reasoning"],
        ),
        Sample::new(
            "a source beside a text",
            vec![
                user(),
                Message::reply(vec![
                    text("text-beside-source"),
                    AssistantPart::Source(Source::web("https://source.example/")),
                ]),
                user(),
            ],
            &["text-beside-source"],
        ),
        Sample {
            kind: "a file of the assistant beside a text".into(),
            messages: vec![
                user(),
                Message::reply(vec![
                    text("text-beside-file"),
                    AssistantPart::File(generated.clone()),
                ]),
                user(),
            ],
            marks: vec![vec!["text-beside-file".to_owned()], vec![generated.note()]],
        },
        Sample {
            kind: "a file of the assistant".into(),
            messages: vec![
                user(),
                Message::reply(vec![AssistantPart::File(stored.clone())]),
                user(),
            ],
            marks: vec![vec![stored.note()]],
        },
        Sample::new(
            "a failed result",
            with_results(
                &call,
                vec![ToolResult::failure(&call, "TOOL_EXECUTION_FAILED", "text-of-failure")],
            ),
            &["text-of-failure"],
        ),
    ];
    let damaged = written("{\"city\": \"value-of-argument");
    let repeated = written("{\"city\": \"value-of-argument\"}");
    for (kind, call) in [
        ("a call", &call),
        ("a call with arguments as text", &repeated),
        ("a call with damaged arguments", &damaged),
    ] {
        let messages = with_results(call, vec![ToolResult::success(call, "text-of-result")]);
        samples.push(Sample::new(
            kind,
            messages,
            &["name_of_tool", "value-of-argument", "text-of-result"],
        ));
    }
    let two = [&call, &repeated].map(|call| AssistantPart::Call(call.clone()));
    let other = ToolResult::success(&repeated, "text-of-other");
    let results = Message::Tool { results: vec![success.clone(), other] };
    samples.push(Sample::new(
        "several calls beside a text",
        vec![
            user(),
            Message::Assistant {
                id: None,
                parts: [text("text-beside-calls")].into_iter().chain(two).collect(),
            },
            results,
        ],
        &["text-beside-calls", "text-of-result", "text-of-other"],
    ));
    for (kind, part, marks) in parts() {
        let parts = vec![ContentPart::text("text-beside"), part.clone()];
        let mut of_user = Sample::new(
            format!("{kind} of the user"),
            vec![Message::User { id: None, parts }],
            &["text-beside"],
        );
        of_user.marks.extend(marks.clone());
        let mut result = success.clone();
        result.parts = vec![part];
        let messages = with_results(&call, vec![result]);
        let mut of_result =
            Sample::new(format!("{kind} in a result"), messages, &["text-of-result"]);
        of_result.marks.extend(marks);
        samples.extend([of_user, of_result]);
    }
    samples
}

/// Checks that the content of a sample is in the request.
pub(super) async fn check(
    encode: &impl AsyncFn(ChatRequest<'_>) -> Result<Value, ModelError>,
    sample: &Sample,
) -> Result<(), Violation> {
    let Some(body) = body(encode, ChatRequest::new(&sample.messages)).await? else {
        return Ok(());
    };
    for marks in &sample.marks {
        let is_sent = marks.iter().any(|mark| contains(&body, mark));
        let expected = format!("`{}` of {}", marks.join("` or `"), sample.kind);
        ensure(is_sent, CONTENT, &expected, || excerpt(&body))?;
    }
    Ok(())
}

fn excerpt(body: &Value) -> String {
    let text = body.to_string();
    let beginning: String = text.chars().take(600).collect();
    let rest = if beginning.len() < text.len() { "…" } else { "" };
    format!("the request {beginning}{rest}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};
    use tool_core::message::ResourceData;
    use tool_core::{Arguments, AssistantPart, ContentPart, Message};

    use super::{parts, samples};
    use crate::variants::variants;

    /// Fails as soon as an enum gets a variant that no sample has.
    #[test]
    fn samples_have_each_variant_of_messages_and_parts() {
        let messages: Vec<_> = samples().into_iter().flat_map(|sample| sample.messages).collect();
        let tags = |values: Vec<Value>, tag: &str| -> BTreeSet<String> {
            values.iter().filter_map(|it| it[tag].as_str().map(str::to_owned)).collect()
        };
        let value = |message: &Message| serde_json::to_value(message).unwrap_or_default();
        let roles = tags(messages.iter().map(value).collect(), "role");
        assert_eq!(roles, variants::<Message>(json!({ "role": "?" })));

        let (mut of_users, mut of_results, mut of_replies) = (Vec::new(), Vec::new(), Vec::new());
        for message in messages {
            let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let value = value(&message);
            let parts = list(&value["parts"]);
            match message {
                Message::Assistant { .. } => of_replies.extend(parts),
                _ => of_users.extend(parts),
            }
            of_results.extend(list(&value["results"]).iter().flat_map(|it| list(&it["parts"])));
        }
        let content = variants::<ContentPart>(json!({ "type": "?" }));
        assert_eq!(tags(of_users, "type"), content);
        assert_eq!(tags(of_results, "type"), content);
        let parts = variants::<AssistantPart>(json!({ "type": "?" }));
        assert_eq!(tags(of_replies, "type"), parts);
    }

    /// Does not compile with another variant. These enums are exhaustive.
    #[test]
    fn samples_have_each_variant_of_arguments_and_resources() {
        let messages: Vec<_> = samples().into_iter().flat_map(|sample| sample.messages).collect();
        let calls = messages.iter().flat_map(Message::calls);
        let arguments: BTreeSet<_> = calls
            .map(|call| match call.arguments {
                Arguments::Text(_) => "text",
                Arguments::Value(_) => "value",
            })
            .collect();
        assert_eq!(arguments, BTreeSet::from(["text", "value"]));
        let data: BTreeSet<_> = parts()
            .into_iter()
            .filter_map(|(_, part, _)| match part {
                ContentPart::Resource(resource) => Some(resource.data),
                _ => None,
            })
            .map(|data| match data {
                ResourceData::Text(_) => "text",
                ResourceData::Base64(_) => "base64",
            })
            .collect();
        assert_eq!(data, BTreeSet::from(["base64", "text"]));
    }
}
