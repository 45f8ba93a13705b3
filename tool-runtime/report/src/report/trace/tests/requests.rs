//! Rows of model requests that failed and of calls that waited.

use super::*;

/// Returns the names of the facts of a row, with the text of those that have one.
fn facts(row: &Row) -> Vec<String> {
    let all = row.details.iter().filter_map(|detail| match detail {
        Detail::Facts { facts } => Some(facts),
        _ => None,
    });
    let line = |(name, fact): &(&'static str, Fact)| match fact {
        Fact::Text(text) => format!("{name}: {text}"),
        Fact::Count(count) => format!("{name}: {count}"),
        Fact::Duration { duration } => format!("{name}: {duration} µs"),
        _ => (*name).to_owned(),
    };
    all.flatten().map(line).collect()
}

#[test]
fn failed_request_is_a_row_with_its_code_and_what_had_arrived() {
    let failed = json!({
        "code": "MODEL_INTERRUPTED", "error": "the connection was closed", "text": "Once upon",
        "provider": "openai", "model": "gpt-5", "duration_us": 7,
        "usage": {"input_tokens": 4, "output_tokens": 2, "estimated_tokens": 6},
    });
    let rows = log(&[
        ("1 0 run.started", json!({})),
        ("1 1 model.requested", json!({})),
        ("1 8 model.failed", failed),
        ("1 9 run.finished", json!({"code": "MODEL_INTERRUPTED", "duration_us": 9})),
    ]);
    let lines = formatted(&rows);
    assert_eq!(lines[1], "1 model 1..8 Failed MODEL_INTERRUPTED");
    let found = facts(&rows[1]);
    assert!(found.contains(&"Model: gpt-5 (openai)".to_owned()), "{found:?}");
    assert!(found.contains(&"Tokens estimated: 6".to_owned()), "{found:?}");
    let expected = [("Error", "the connection was closed"), ("Text that had arrived", "Once upon")];
    assert_eq!(texts(&rows[1]), expected);
}

#[test]
fn reply_lists_its_sources() {
    let sources = json!([
        {"url": "https://w.example/a", "title": "W", "quote": "Wet.", "range": {"start": 4, "end": 9}},
        {"file_name": "a.pdf", "location": "page 3", "range": {"start": 4, "end": 900}},
    ]);
    let replied = json!({"text": "Yes. Rain", "calls": [], "sources": sources, "duration_us": 1});
    let rows = log(&[
        ("1 0 run.started", json!({})),
        ("1 1 model.requested", json!({})),
        ("1 2 model.replied", replied),
        ("1 3 run.finished", json!({"duration_us": 3})),
    ]);
    let table = rows[1].details.iter().find_map(|detail| match detail {
        Detail::Table { title: "Sources", cells, .. } => Some(cells.clone()),
        _ => None,
    });
    let expected = [["W, https://w.example/a", "Wet.", " Rain"], ["a.pdf, page 3", "", ""]];
    assert_eq!(table.unwrap(), expected);
}

#[test]
fn reply_lists_its_files() {
    let files = json!([{"media_type": "image/png", "byte_len": 70}, {"name": "a.csv"}]);
    let replied = json!({"text": "", "calls": [], "attachments": files, "duration_us": 1});
    let rows = log(&[
        ("1 0 run.started", json!({})),
        ("1 1 model.requested", json!({})),
        ("1 2 model.replied", replied),
        ("1 3 run.finished", json!({"duration_us": 3})),
    ]);
    let table = rows[1].details.iter().find_map(|detail| match detail {
        Detail::Table { title: "Files", cells, .. } => Some(cells.clone()),
        _ => None,
    });
    assert_eq!(table.unwrap(), [["", "image/png", "70"], ["a.csv", "", ""]]);
}

#[test]
fn run_with_several_models_lists_their_tokens() {
    let of_model = |model: &str| json!({"model": model, "usage": {"input_tokens": 9}, "cost": 0.5});
    for models in [vec![of_model("large")], vec![of_model("large"), of_model("small")]] {
        let is_listed = models.len() > 1;
        let rows = log(&[
            ("1 0 run.started", json!({})),
            ("1 3 run.finished", json!({"usage_by_model": models, "duration_us": 3})),
        ]);
        let table = rows[0].details.iter().find_map(|detail| match detail {
            Detail::Table { title: "Models", cells, .. } => Some(cells.clone()),
            _ => None,
        });
        let expected = [["large", "9", "0", "0.50"], ["small", "9", "0", "0.50"]];
        assert_eq!(table.is_some_and(|cells| cells == expected), is_listed);
    }
}

#[test]
fn call_that_waited_says_how_long() {
    for (running_at, expected) in [(5_001, true), (9, false)] {
        let rows = log(&[
            ("1 0 run.started", json!({})),
            ("1 1 tool.started", call("c1", "pay")),
            (&format!("1 {running_at} tool.running"), json!({"call": "c1", "attempt": 1})),
            ("1 6000 tool.finished", finished("c1", "pay", 5_999, None)),
            ("1 6001 run.finished", json!({"duration_us": 6_001})),
        ]);
        let found = facts(&rows[1]);
        let fact = "Waited before it ran: 5000 µs".to_owned();
        assert_eq!(found.contains(&fact), expected, "{found:?}");
    }
}
