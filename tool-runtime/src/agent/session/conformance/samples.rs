//! Messages of every kind, and names that a store may trip over.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Violation, refused, same};
use crate::agent::session::{SessionRecord, SessionStore, SessionWrite};
use crate::message::{AssistantPart, Image, Message, Reasoning, ToolCall, ToolResult, UserPart};

/// Names that differ, if only by little.
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

/// Messages of every kind, with texts that a store may trip over.
pub(super) fn messages() -> Vec<Message> {
    let text = "\0 \u{1f980} \u{202e}'\"\\\n\r\t\u{fffd}";
    let call = ToolCall::new("call_1", "t", "{\"a\": 1, \"a\": 2,");
    let value =
        ToolCall::new("call_2", "t", json!({ "a": [0.1, 18_446_744_073_709_551_615_u64, null] }));
    let thought =
        Reasoning::new("anthropic", "Hm", json!({ "type": "thinking", "signature": 0.1 }));
    let image = || Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
    let mut seen = ToolResult::success(&value, text);
    seen.images.push(image());
    vec![
        Message::system(text),
        Message::user(""),
        Message::User {
            parts: vec![UserPart::Text { text: text.into() }, UserPart::Image(image())],
        },
        Message::Assistant {
            parts: vec![
                AssistantPart::Reasoning(thought),
                AssistantPart::Text { text: text.into() },
                AssistantPart::Call(call.clone()),
                AssistantPart::Call(value),
            ],
        },
        Message::Tool { results: vec![ToolResult::failure(&call, "TOOL_TIMEOUT", text), seen] },
        Message::assistant(text),
        Message::User { parts: Vec::new() },
    ]
}

/// What is kept is what was given, whatever is in it and however long.
pub(super) async fn are_kept(store: &dyn SessionStore) -> Result<(), Violation> {
    const LAW: &str = "what is kept comes back as it was";
    let load = |name| async move { store.load(name).await.map_err(refused(LAW)) };
    same(LAW, &load("s").await?, &None)?;
    let mut all = messages();
    let state = "\0{\"\u{1f980}\"}'\\\n";
    let write = SessionWrite::first().messages(0, &all).state(state);
    let first = store.save("s", write).await.map_err(refused(LAW))?;
    same(LAW, &load("s").await?, &Some(SessionRecord::new(all.clone(), state, first)))?;
    // Long, and many.
    let long = Message::user("\u{e9}x".repeat(400_000));
    let more: Vec<_> =
        (0..500).map(|place| Message::user(place.to_string())).chain([long]).collect();
    let state = "y".repeat(1_000_000);
    let write = SessionWrite::on(first).messages(all.len(), &more).state(&state);
    let second = store.save("s", write).await.map_err(refused(LAW))?;
    all.extend(more);
    same(LAW, &load("s").await?, &Some(SessionRecord::new(all, state, second)))?;
    // And nothing.
    let third = store.save("s", SessionWrite::on(second)).await.map_err(refused(LAW))?;
    same(LAW, &load("s").await?, &Some(SessionRecord::new(Vec::new(), "", third)))
}

/// Sessions of different names are different sessions, however little the names differ.
pub(super) async fn have_names_of_their_own(store: &dyn SessionStore) -> Result<(), Violation> {
    const LAW: &str = "names that differ are of sessions that differ";
    let long = ["b", "c"].map(|end| "a".repeat(2_000) + end);
    let mut names: BTreeSet<_> = NAMES.into_iter().chain(long.iter().map(String::as_str)).collect();
    for name in &names {
        let write = SessionWrite::first().messages(0, &[]).state(name);
        store.save(name, write).await.map_err(refused(LAW))?;
    }
    let deleted = "a";
    store.delete(deleted).await.map_err(refused(LAW))?;
    names.remove(deleted);
    for name in &names {
        let kept = store.load(name).await.map_err(refused(LAW))?;
        same(LAW, &kept.map(|it| it.state), &Some((*name).to_owned()))?;
    }
    const LISTED: &str = "all sessions are listed, sorted by their names";
    let listed = store.list().await.map_err(refused(LISTED))?;
    let listed: Vec<_> = listed.iter().map(|it| it.session.as_str()).collect();
    same(LISTED, &listed, &names.into_iter().collect())
}
