//! Logs and the rows that they become.

mod costs;
mod requests;

use serde_json::{Value, json};

use super::Trace;
use crate::report::layout::order_rows;
use crate::report::row::{Detail, Fact, Mark, Row, RowKind, RowState};
use crate::report::totals::Totals;
use tool_core::Event;

/// Creates rows from events: `run at name`, and the other members.
fn log(lines: &[(&str, Value)]) -> Vec<Row> {
    let mut trace = Trace::default();
    for (head, more) in lines {
        let [run, at, name] = head.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{head}");
        };
        let mut event = json!({
            "run": run, "turn": 1, "at": at.parse::<u64>().unwrap(), "event": name,
        });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        trace.add(&serde_json::from_value::<Event>(event).unwrap());
    }
    order_rows(trace.into_rows())
}

/// Formats each row as `depth name start..end state code`, and marks continued rows.
fn formatted(rows: &[Row]) -> Vec<String> {
    let mut depths = Vec::new();
    let line = |row: &Row| {
        let depth = row.parent.map_or(0, |parent: usize| depths[parent] + 1);
        depths.push(depth);
        let Row { name, start, end, state, .. } = row;
        let state = match state {
            RowState::Done => "",
            state => &format!(" {state:?}"),
        };
        let code = row.code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
        let continued = if row.is_continued { ", continued" } else { "" };
        format!("{depth} {name} {start}..{end}{state}{code}{continued}")
    };
    rows.iter().map(line).collect()
}

fn call(id: &str, name: &str) -> Value {
    json!({"call": {"id": id, "name": name, "arguments": "{}"}})
}

fn finished(id: &str, name: &str, duration: u64, error: Option<&str>) -> Value {
    let mut events = call(id, name);
    events["result"] = json!({"call": id, "tool": name, "text": "noon", "error": error});
    events["attempts"] = json!(1);
    events["started_at"] = json!(0);
    events["duration_us"] = json!(duration);
    events
}

fn waiting(id: &str, name: &str, duration: u64) -> Value {
    let mut events = finished(id, name, duration, Some("TOOL_AWAITING_APPROVAL"));
    events["blocked_by"] = json!("pending");
    events
}

fn waits(duration: u64) -> Value {
    json!({"duration_us": duration, "code": "AWAITING_APPROVAL", "error": "a call waits for approval"})
}

fn nested_in(parent: &str, depth: u32, mut events: Value) -> Value {
    events["parent"] = json!(parent);
    events["depth"] = json!(depth);
    events
}

fn replied(duration: u64) -> Value {
    json!({"text": "Hi.", "calls": [], "duration_us": duration})
}

#[test]
fn starts_are_joined_with_their_ends() {
    let none = || json!({});
    for (name, events, expected) in [
        ("nothing", vec![], &[][..]),
        (
            "two calls at once, the first ends last",
            vec![
                ("1 0 run.started", none()),
                ("1 1 model.requested", none()),
                ("1 3 model.replied", replied(2)),
                ("1 4 tool.started", call("a", "now")),
                ("1 5 tool.started", call("b", "pay")),
                ("1 6 tool.finished", finished("b", "pay", 1, Some("TOOL_TIMEOUT"))),
                ("1 9 tool.finished", finished("a", "now", 5, None)),
                ("1 10 run.finished", json!({"duration_us": 10})),
            ],
            &["0 run 0..10", "1 model 1..3", "1 now 4..9", "1 pay 5..6 Failed TOOL_TIMEOUT"],
        ),
        (
            "a killed run: unfinished rows end at the last event",
            vec![
                ("1 0 run.started", none()),
                ("1 4 tool.started", call("a", "now")),
                ("1 5 tool.started", call("b", "pay")),
                ("1 6 tool.finished", finished("b", "pay", 1, None)),
            ],
            &["0 run 0..6 Open", "1 now 4..6 Open", "1 pay 5..6"],
        ),
        (
            "a model request without a reply stopped the run",
            vec![
                ("1 0 run.started", none()),
                ("1 1 model.requested", none()),
                (
                    "1 7 run.finished",
                    json!({"duration_us": 7, "code": "MODEL_FAILED", "error": "no network"}),
                ),
            ],
            &["0 run 0..7 Failed MODEL_FAILED", "1 model 1..7 Failed no reply"],
        ),
        (
            "a second model request ends an unanswered one",
            vec![
                ("1 1 model.requested", none()),
                ("1 5 model.requested", none()),
                ("1 8 model.replied", replied(3)),
            ],
            &["0 run 1..8 Open", "1 model 1..5 Failed no reply", "1 model 5..8"],
        ),
        (
            "the start was dropped",
            vec![
                ("1 5 model.replied", replied(2)),
                ("1 9 tool.finished", finished("a", "now", 3, None)),
                ("1 10 run.finished", json!({"duration_us": 9})),
            ],
            &["0 run 3..10", "1 model 3..5", "1 now 6..9"],
        ),
        (
            "calls within calls",
            vec![
                ("1 0 run.started", none()),
                ("1 1 tool.started", call("a", "outer")),
                ("1 2 tool.started", nested_in("a", 1, call("a/1", "inner"))),
                ("1 3 tool.started", nested_in("a/1", 2, call("a/1/1", "innermost"))),
                ("1 4 tool.finished", nested_in("a/1", 2, finished("a/1/1", "innermost", 1, None))),
                ("1 5 tool.finished", nested_in("a", 1, finished("a/1", "inner", 3, None))),
                ("1 6 tool.finished", finished("a", "outer", 5, None)),
            ],
            &["0 run 0..6 Open", "1 outer 1..6", "2 inner 2..5", "3 innermost 3..4"],
        ),
        (
            "two concurrent sub-agents with equal call ids",
            vec![
                ("1 0 run.started", none()),
                ("1 1 tool.started", call("a", "left")),
                ("1 1 tool.started", call("b", "right")),
                ("2 2 run.started", nested_in("a", 1, none())),
                ("3 2 run.started", nested_in("b", 1, json!({"agent": "Ada"}))),
                ("2 3 tool.started", nested_in("a", 1, call("c", "now"))),
                ("3 4 tool.started", nested_in("b", 1, call("c", "now"))),
                ("2 5 tool.finished", nested_in("a", 1, finished("c", "now", 2, None))),
                ("3 9 tool.finished", nested_in("b", 1, finished("c", "now", 5, None))),
                ("2 6 run.finished", nested_in("a", 1, json!({"duration_us": 4}))),
            ],
            &[
                "0 run 0..9 Open",
                "1 left 1..9 Open",
                "2 agent 2..6",
                "3 now 3..5",
                "1 right 1..9 Open",
                "2 Ada 2..9 Open",
                "3 now 4..9",
            ],
        ),
        (
            "a sub-agent that waits for approval and is resumed in the same call",
            vec![
                ("1 0 run.started", none()),
                ("1 1 tool.started", call("a", "helper")),
                ("2 2 run.started", nested_in("a", 1, json!({"agent": "helper"}))),
                ("2 3 run.finished", nested_in("a", 1, waits(1))),
                ("1 4 tool.finished", waiting("a", "helper", 3)),
                ("1 5 run.finished", waits(5)),
                ("1 10 run.started", none()),
                ("1 11 tool.started", call("a", "helper")),
                ("2 12 run.started", nested_in("a", 1, json!({"agent": "helper"}))),
                ("2 13 run.finished", nested_in("a", 1, json!({"duration_us": 1}))),
                ("1 14 tool.finished", finished("a", "helper", 3, None)),
            ],
            &[
                "0 run 0..5 Waiting AWAITING_APPROVAL, continued",
                "1 helper 1..4 Waiting TOOL_AWAITING_APPROVAL, continued",
                "2 helper 2..3 Waiting AWAITING_APPROVAL, continued",
                "0 run 10..14 Open",
                "1 helper 11..14",
                "2 helper 12..13",
            ],
        ),
        (
            "an agent in the same run",
            vec![
                ("1 0 run.started", none()),
                ("1 1 tool.started", call("a", "ask")),
                ("1 2 run.started", nested_in("a", 1, none())),
                ("1 3 model.requested", nested_in("a", 1, none())),
                ("1 4 model.replied", nested_in("a", 1, replied(1))),
                ("1 5 run.finished", nested_in("a", 1, json!({"duration_us": 3}))),
                ("1 6 tool.finished", finished("a", "ask", 5, None)),
            ],
            &["0 run 0..6 Open", "1 ask 1..6", "2 agent 2..5", "3 model 3..4"],
        ),
        (
            "a call with an unknown caller belongs to its run",
            vec![("1 4 tool.started", nested_in("gone", 3, call("a", "now")))],
            &["0 run 4..4 Open", "1 now 4..4 Open"],
        ),
        (
            "a run that waited and was resumed",
            vec![
                ("1 0 run.started", none()),
                ("1 1 tool.started", call("a", "pay")),
                ("1 2 tool.finished", waiting("a", "pay", 1)),
                ("1 3 run.finished", waits(3)),
                ("1 8 run.started", none()),
                ("1 9 tool.started", call("a", "pay")),
                ("1 10 tool.finished", finished("a", "pay", 1, None)),
                ("1 11 run.finished", json!({"duration_us": 3})),
            ],
            &[
                "0 run 0..3 Waiting AWAITING_APPROVAL, continued",
                "1 pay 1..2 Waiting TOOL_AWAITING_APPROVAL, continued",
                "0 run 8..11",
                "1 pay 9..10",
            ],
        ),
        (
            "a stopped run has a code; a killed run is continued",
            vec![
                ("1 0 run.started", none()),
                (
                    "1 3 run.finished",
                    json!({"duration_us": 3, "code": "TRUNCATED_REPLY", "error": "cut"}),
                ),
                ("2 4 run.started", none()),
                ("2 5 tool.started", call("a", "now")),
                ("2 8 run.started", none()),
                ("2 9 run.finished", json!({"duration_us": 1})),
            ],
            &[
                "0 run 0..3 Failed TRUNCATED_REPLY",
                "0 run 4..5 Open, continued",
                "1 now 5..5 Open",
                "0 run 8..9",
            ],
        ),
        (
            "calls outside runs, a blocked one, and dropped events",
            vec![
                ("0 1 tool.started", call("a", "rm")),
                ("0 2 tool.finished", {
                    let mut events = finished("a", "rm", 1, Some("TOOL_DENIED"));
                    events["blocked_by"] = json!("permission");
                    events
                }),
                ("0 3 log.dropped", json!({"count": 3})),
            ],
            &["0 outside runs 1..3 Open", "1 rm 1..2 Blocked permission", "1 log.dropped 3..3"],
        ),
        (
            "a clock that was set back",
            vec![("1 9 run.started", none()), ("1 4 run.finished", json!({"duration_us": 2}))],
            &["0 run 9..9"],
        ),
    ] {
        assert_eq!(formatted(&log(&events)), expected, "{name}");
    }
}

#[test]
fn events_of_a_call_become_its_notes() {
    let rows = log(&[
        ("1 0 run.started", json!({})),
        ("1 1 tool.started", call("a", "pay")),
        ("1 2 tool.approved", json!({"call": "a", "approved_by": "Ada"})),
        (
            "1 3 tool.retried",
            json!({"call": "a", "attempt": 1, "error": "E", "text": "no answer", "delay_us": 1_500}),
        ),
        ("1 4 tool.progress", json!({"call": "a", "progress": {"done": 1.0, "total": 2.0}})),
        ("1 5 tool.blocked", json!({"call": "b", "blocked_by": "depth", "reason": "too deep"})),
    ]);
    let notes: Vec<_> = rows[1].notes.iter().map(|note| (note.at, note.text.as_str())).collect();
    let retry_note = "attempt 1 failed with E; next attempt in 0.002 s: no answer";
    assert_eq!(notes, [(2, "approved_by: Ada"), (3, retry_note), (4, "1 of 2")]);
    // An unknown call has its own row.
    assert_eq!((rows[2].kind, rows[2].name.as_str()), (RowKind::Event, "tool.blocked"));
    assert_eq!(rows[2].summary, "blocked_by: depth; reason: too deep");
}

#[test]
fn extreme_times_are_valid() {
    for at in [0, u64::MAX] {
        let rows =
            log(&[(&format!("1 {at} run.started"), json!({})), ("1 5 model.requested", json!({}))]);
        assert!(rows.iter().all(|row| row.end >= row.start));
    }
}

/// Returns the texts of a row's details, with their titles.
fn texts(row: &Row) -> Vec<(&'static str, &str)> {
    let text = |part| match part {
        &Detail::Text { title, ref text, .. } => Some((title, text.as_str())),
        _ => None,
    };
    row.details.iter().filter_map(text).collect()
}

fn notes(row: &Row) -> Vec<(u64, &str, &str)> {
    row.notes.iter().map(|note| (note.at, note.name.as_str(), note.text.as_str())).collect()
}

#[test]
fn first_prompt_is_a_detail_and_later_messages_are_notes() {
    let message = |by: &str, text: &str| json!({"source": by, "text": text, "turn": 0});
    let rows = log(&[
        ("1 0 run.started", json!({"turn": 0})),
        ("1 0 run.message_added", message("system", "Be brief.")),
        (
            "1 0 run.message_added",
            json!({"source": "user", "text": "What\nnow?", "turn": 0, "attachments": [
                {"media_type": "image/png", "byte_len": 7},
                {"name": "a.pdf", "media_type": "application/pdf"},
            ]}),
        ),
        ("1 1 model.requested", json!({})),
        ("1 2 model.replied", replied(1)),
        (
            "1 3 run.message_added",
            json!({"source": "untrusted", "source_name": "a mail", "text": "Obey!"}),
        ),
        ("1 4 run.message_added", json!({"source": "steering", "text": "Quick."})),
        ("1 5 run.message_added", json!({"source": "loop", "text": "As JSON."})),
        ("1 6 run.message_added", json!({"source": "user", "text": "Hm."})),
        (
            "1 7 run.finished",
            json!({"duration_us": 7, "cost": 0.012, "usage": {"input_tokens": 7, "output_tokens": 3}}),
        ),
    ]);
    let prompt = "What\nnow?\n[image/png, 7 bytes]\n[a.pdf, application/pdf]";
    assert_eq!(texts(&rows[0]), [("System prompt", "Be brief."), ("Prompt", prompt)]);
    assert_eq!(rows[0].summary, "What now? [image/png, 7 bytes] [a.pdf, application/pdf]");
    let expected = [
        (3, "untrusted message", "from a mail: Obey!"),
        (4, "steering message", "Quick."),
        (5, "value requested", "As JSON."),
        (6, "user message", "Hm."),
    ];
    assert_eq!(notes(&rows[0]), expected);
    let Some(Detail::Facts { facts }) = rows[0].details.first() else { panic!("{rows:?}") };
    assert!(facts.contains(&("Cost", Fact::Text("0.012".into()))), "{facts:?}");
    assert!(facts.contains(&("Tokens in", Fact::Count(7))), "{facts:?}");
}

#[test]
fn call_has_the_kind_of_its_tool() {
    for (kind, expected) in [
        (json!("function"), "function"),
        (json!({"program": "git"}), "program git"),
        (json!({"remote": "github"}), "remote github"),
        (json!({"dynamic": "rust"}), "dynamic rust"),
    ] {
        let mut events = finished("a", "now", 3, None);
        events["tool_kind"] = kind;
        let rows = log(&[
            ("1 0 run.started", json!({"prompt": []})),
            ("1 1 tool.started", call("a", "now")),
            ("1 4 tool.finished", events),
        ]);
        let Some(Detail::Facts { facts }) = rows[1].details.first() else { panic!("{rows:?}") };
        assert!(facts.contains(&("Kind", Fact::Text(expected.into()))), "{facts:?}");
    }
}

#[test]
fn refused_reply_has_the_reason() {
    let refused = |attempt: u32| json!({"text": "soon", "reason": "a number!", "attempt": attempt});
    let rows = log(&[
        ("1 0 run.started", json!({})),
        ("1 1 model.requested", json!({})),
        // By a driver, before the reply; and as a value, after it.
        ("1 2 model.extraction_failed", refused(1)),
        ("1 3 model.extraction_failed", refused(2)),
        ("1 4 model.replied", replied(3)),
        ("1 5 model.validation_failed", refused(1)),
        ("1 6 model.requested", json!({})),
        ("1 7 model.replied", replied(1)),
    ]);
    let note = |attempt: u32| format!("attempt {attempt}: a number!\n\nReply: soon");
    let expected = [
        (2, "model.extraction_failed", &*note(1)),
        (3, "model.extraction_failed", &*note(2)),
        (5, "model.validation_failed", &*note(1)),
    ];
    assert_eq!(notes(&rows[1]), expected);
    assert_eq!((&rows[1].marks[..], rows[2].notes.len()), (&[Mark::Refused][..], 0));
}

/// A resumed run is one run with its last state, and a call that waited is one with the call made
/// later.
#[test]
fn resumed_run_is_counted_once() {
    let none = || json!({});
    let mut events = vec![
        ("1 0 run.started", none()),
        ("1 1 tool.started", call("a", "pay")),
        ("1 2 tool.finished", waiting("a", "pay", 1)),
        ("1 3 run.finished", waits(3)),
    ];
    let totals = Totals::of(&log(&events));
    assert_eq!((totals.runs, totals.paused, totals.answered, totals.stopped), (1, 1, 0, 0));
    assert_eq!((totals.tool, totals.waiting), (1, 1));
    events.extend([
        ("1 8 run.started", none()),
        ("1 9 tool.started", call("a", "pay")),
        ("1 10 tool.finished", finished("a", "pay", 1, None)),
        ("1 11 run.finished", json!({"duration_us": 3, "cost": 0.5})),
        ("2 12 run.started", none()),
        ("2 13 run.finished", json!({"duration_us": 1, "cost": 0.25})),
    ]);
    let rows = log(&events);
    let totals = Totals::of(&rows);
    assert_eq!((totals.runs, totals.paused, totals.answered, totals.stopped), (2, 0, 2, 0));
    assert_eq!((totals.tool, totals.waiting), (1, 0));
    assert_eq!(totals.cost.as_deref(), Some("0.75"));
    let before: Vec<_> = rows.iter().map(|row| row.previous).collect();
    assert_eq!(before, [None, None, Some(0), None, None]);
}

#[test]
fn unobserved_end_of_a_call_is_the_last_event_of_its_process() {
    let none = || json!({});
    let rows = log(&[
        ("1 0 run.started", none()),
        ("1 1 tool.started", call("a", "send")),
        ("1 2 tool.started", call("b", "read")),
        ("1 3 tool.progress", json!({"call": "b", "progress": {"done": 1.0}})),
        ("1 900 run.started", none()),
        ("1 901 tool.finished", finished("a", "send", 0, Some("TOOL_INDETERMINATE"))),
        ("1 902 tool.started", call("b", "read")),
        ("1 903 tool.finished", finished("b", "read", 1, None)),
        ("1 904 run.finished", json!({"duration_us": 4})),
    ]);
    let expected = [
        "0 run 0..3 Open, continued",
        "1 send 1..3 Failed TOOL_INDETERMINATE",
        "1 read 2..3 Open, continued",
        "0 run 900..904",
        "1 read 902..903",
    ];
    assert_eq!(formatted(&rows), expected);
}

/// A nested run that waits for its own call is counted once, with that call.
#[test]
fn wait_within_a_call_is_counted_once() {
    let mut events = vec![
        ("1 0 run.started", json!({})),
        ("1 1 tool.started", call("a", "helper")),
        ("2 2 run.started", nested_in("a", 1, json!({"parent_run": "1"}))),
        ("2 3 tool.started", nested_in("a", 1, call("b", "pay"))),
        ("2 3 tool.started", nested_in("a", 1, call("c", "pay"))),
        ("2 4 tool.finished", nested_in("a", 1, waiting("b", "pay", 1))),
        ("2 4 tool.finished", nested_in("a", 1, waiting("c", "pay", 1))),
        ("2 5 run.finished", nested_in("a", 1, waits(3))),
        ("1 6 tool.finished", waiting("a", "helper", 5)),
        ("1 6 tool.started", call("d", "pay")),
        ("1 7 tool.finished", waiting("d", "pay", 1)),
        ("1 8 run.finished", waits(8)),
    ];
    let totals = Totals::of(&log(&events));
    assert_eq!((totals.tool, totals.waiting), (4, 3));
    // A nested run of which nothing else was recorded.
    events.drain(2..8);
    let totals = Totals::of(&log(&events));
    assert_eq!((totals.tool, totals.waiting), (2, 2));
}
