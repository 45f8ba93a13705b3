//! Checks that records and names which are hard to store are stored unchanged.

use std::collections::BTreeSet;

use serde_json::json;

use crate::Violation;
use crate::violation::{ensure_eq, failed};
use tool_core::agent::session::{SessionQuery, SessionRecord, SessionStore, SessionWrite};
use tool_core::message::{Audio, EmbeddedResource, FileData, GeneratedFile, ResourceLink, Source};
use tool_core::{AssistantPart, ContentPart, Image, Message, Reasoning, ToolCall, ToolResult};

/// Names that differ by little.
pub(super) const NAMES: [&str; 16] = [
    "",
    " ",
    "a",
    "A",
    "a ",
    "a\0",
    "a\0b",
    "a/b",
    "../a",
    "a%",
    "a_",
    "a'; DROP TABLE sessions; --",
    "\"a\"\\",
    "line\nbreak",
    "\u{e9}",
    "e\u{301} \u{1f980}",
];

/// Returns messages of every kind, with texts that are hard to store.
pub(super) fn messages() -> Vec<Message> {
    let text = "\0 \u{1f980} \u{202e}'\"\\\n\r\t\u{fffd}";
    let call = ToolCall::new("call_1", "t", "{\"a\": 1, \"a\": 2,");
    let value =
        ToolCall::new("call_2", "t", json!({ "a": [0.1, 18_446_744_073_709_551_615_u64, null] }));
    let reasoning =
        Reasoning::new("anthropic", "Hm", json!({ "type": "thinking", "signature": 0.1 }));
    let image = || Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
    let mut with_image = ToolResult::success(&value, text);
    with_image.parts = vec![
        image().into(),
        text.into(),
        Audio::new("audio/wav", "UklGRg==").into(),
        FileData::new("application/pdf", "JVBERi0=").name(text).into(),
        ResourceLink::new(text, text).description(text).media_type("text/plain").size(7).into(),
        EmbeddedResource::text(text, text).into(),
        EmbeddedResource::base64("a:b", "AAAA").media_type("image/png").into(),
    ];
    with_image.structured = Some(json!({ text: [0.1, u64::MAX, null, text] }));
    vec![
        Message::system(text),
        Message::user(""),
        Message::User {
            id: Some(text.into()),
            parts: vec![ContentPart::Text { text: text.into() }, ContentPart::Image(image())],
        },
        Message::Assistant {
            id: Some("".into()),
            parts: vec![
                AssistantPart::Reasoning(reasoning),
                AssistantPart::Text { text: text.into() },
                AssistantPart::File(GeneratedFile::base64(text, text, text).name(text)),
                AssistantPart::File(GeneratedFile::stored(text, text)),
                AssistantPart::Source(Source::web(text).quote(text).range(0..usize::MAX)),
                AssistantPart::Call(call.clone()),
                AssistantPart::Call(value),
            ],
        },
        Message::Tool {
            results: vec![ToolResult::failure(&call, "TOOL_TIMEOUT", text), with_image],
        },
        Message::assistant(text),
        Message::User { id: None, parts: Vec::new() },
    ]
}

/// Checks that records come back unchanged, whatever is in them and however long they are.
pub(super) async fn check_records(store: &dyn SessionStore) -> Result<(), Violation> {
    const RULE: &str = "a loaded record equals the saved one";
    let load = |name| async move { store.load(name).await.map_err(failed(RULE)) };
    ensure_eq(RULE, &load("s").await?, &None)?;
    let mut all = messages();
    let state = "\0{\"\u{1f980}\"}'\\\n";
    let ids = |messages: &[Message]| messages.iter().map(|it| it.id().cloned()).collect::<Vec<_>>();
    let write = SessionWrite::create().messages(0, &all).state(state);
    let first = store.save("s", write).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &load("s").await?, &Some(SessionRecord::new(all.clone(), state, first)))?;
    // Messages with other ids are equal, so their ids are compared apart.
    let loaded = load("s").await?.unwrap_or_else(|| SessionRecord::new(Vec::new(), "", 0));
    ensure_eq("a loaded message has the id of the saved one", &ids(&loaded.messages), &ids(&all))?;
    // Long ones, and many.
    let long = Message::user("\u{e9}x".repeat(400_000));
    let more: Vec<_> =
        (0..500).map(|index| Message::user(index.to_string())).chain([long]).collect();
    let state = "y".repeat(1_000_000);
    let write = SessionWrite::update(first).messages(all.len(), &more).state(&state);
    let second = store.save("s", write).await.map_err(failed(RULE))?;
    all.extend(more);
    ensure_eq(RULE, &load("s").await?, &Some(SessionRecord::new(all, state, second)))?;
    // And an empty one.
    let third = store.save("s", SessionWrite::update(second)).await.map_err(failed(RULE))?;
    ensure_eq(RULE, &load("s").await?, &Some(SessionRecord::new(Vec::new(), "", third)))
}

/// Checks that sessions are separate, however little their names differ.
pub(super) async fn check_names(store: &dyn SessionStore) -> Result<(), Violation> {
    const SEPARATE: &str = "sessions with different names are separate";
    const LISTED: &str = "all sessions are listed, sorted by name";
    let long = ["b", "c"].map(|end| "a".repeat(2_000) + end);
    let mut names: BTreeSet<_> = NAMES.into_iter().chain(long.iter().map(String::as_str)).collect();
    for name in &names {
        let write = SessionWrite::create().messages(0, &[]).state(name);
        store.save(name, write).await.map_err(failed(SEPARATE))?;
    }
    let deleted = "a";
    store.delete(deleted, None).await.map_err(failed(SEPARATE))?;
    names.remove(deleted);
    for name in &names {
        let record = store.load(name).await.map_err(failed(SEPARATE))?;
        ensure_eq(SEPARATE, &record.map(|it| it.state), &Some((*name).to_owned()))?;
    }
    let listed = store.list(SessionQuery::all()).await.map_err(failed(LISTED))?;
    let listed: Vec<_> = listed.iter().map(|it| it.session.as_str()).collect();
    ensure_eq(LISTED, &listed, &names.into_iter().collect())
}
