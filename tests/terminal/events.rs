//! Lines of single events.

use serde_json::{Value, json};
use tool_runtime::Event;
use tool_runtime::event::Observer;
use tool_runtime::terminal::Terminal;

use super::Output;

/// Creates an event of one run at the given depth.
pub(super) fn event(depth: u32, name: &str, more: Value) -> Event {
    let mut json = json!({ "run": "1", "turn": 1, "at": 0, "event": name });
    json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    if depth > 0 {
        (json["depth"], json["parent"]) = (json!(depth), json!("c"));
    }
    serde_json::from_value(json).unwrap()
}

#[test]
fn different_sources_of_a_reply_are_listed_up_to_a_limit() {
    let output = Output::default();
    let terminal = Terminal::plain(output.clone());
    let page =
        |number: usize| json!({ "url": format!("https://w.example/{number}"), "title": "W" });
    let mut sources: Vec<_> = (0..7).map(page).collect();
    sources.insert(1, page(0));
    sources.push(json!({ "media_type": "text/plain" }));
    let replied = json!({ "text": "Rain.", "calls": [], "sources": sources, "duration_us": 0 });
    terminal.observe(&event(0, "model.replied", replied));
    let lines = output.lines();
    assert_eq!(lines.len(), 7, "{lines:?}");
    assert!(lines[0].contains("Rain."), "{lines:?}");
    assert!(lines[1].ends_with("source  W, https://w.example/0"), "{lines:?}");
    assert!(lines[5].ends_with("source  W, https://w.example/4"), "{lines:?}");
    assert!(lines[6].ends_with("source  and 2 more"), "{lines:?}");
}

#[test]
fn files_of_a_reply_are_listed_with_their_size() {
    let output = Output::default();
    let terminal = Terminal::plain(output.clone());
    let files = json!([{ "media_type": "image/png", "byte_len": 70 }, { "name": "a.csv" }]);
    let replied = json!({ "text": "Here.", "calls": [], "attachments": files, "duration_us": 0 });
    terminal.observe(&event(0, "model.replied", replied));
    let lines = output.lines();
    assert!(lines[1].ends_with("file  image/png, 70 bytes"), "{lines:?}");
    assert!(lines[2].ends_with("file  a.csv"), "{lines:?}");
}

#[test]
fn end_of_a_run_with_several_models_lists_their_tokens() {
    let of_model = |model: &str, input: u64| json!({ "provider": "acme", "model": model, "usage": { "input_tokens": input }, "cost": 0.5 });
    for (models, expected) in [
        (vec![of_model("large", 9)], vec![]),
        (
            vec![of_model("large", 9), of_model("small", 3)],
            vec!["large (acme)  9 → 0 tokens  cost 0.50", "small (acme)  3 → 0 tokens  cost 0.50"],
        ),
    ] {
        let output = Output::default();
        let terminal = Terminal::plain(output.clone());
        let ended = json!({ "usage_by_model": models, "duration_us": 0 });
        terminal.observe(&event(0, "run.finished", ended));
        let lines = output.lines();
        assert_eq!(lines.len(), 1 + expected.len(), "{lines:?}");
        for (line, expected) in lines[1..].iter().zip(expected) {
            assert!(line.ends_with(expected), "{lines:?}");
        }
    }
}
