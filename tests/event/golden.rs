//! Events that earlier versions wrote are read.

use std::collections::BTreeSet;

use serde_json::Value;
use tool_runtime::event::{FileChange, FileOp, NetworkRequest, ProcessStart, ToolEvent};
use tool_runtime::report::RunReport;
use tool_runtime::{EffectRecord, Event};

/// One `tool finished` event for each kind of effect, before effects carried data.
const EFFECTS: &str = include_str!("../golden/event/effects.jsonl");

/// The events of three runs, one nested: calls that succeed, fail, panic, are repaired, retried,
/// approved and refused.
const RUNS: &str = include_str!("../golden/event/runs.jsonl");

#[test]
fn effects_of_earlier_versions_deserialize() {
    let effects: Vec<_> = EFFECTS
        .lines()
        .map(|line| {
            let event: Event = serde_json::from_str(line).unwrap();
            let [effect] = &event.execution().unwrap().effects[..] else { panic!("{line}") };
            effect.clone()
        })
        .collect();
    let known: [EffectRecord; 3] = [
        FileChange::new("notes/a.txt", FileOp::Write).into(),
        ProcessStart::new(r#""git" "push""#).into(),
        NetworkRequest::new("POST", "https://rail.example/seats?from=Oslo").into(),
    ];
    assert_eq!(effects[..3], known);
    // The other kinds are written as before.
    for (line, effect) in EFFECTS.lines().zip(&effects).skip(3) {
        assert!(line.contains(&serde_json::to_string(effect).unwrap()), "{line}");
    }
    assert_eq!(effects.len(), 7);
    RunReport::from_json_lines(EFFECTS.as_bytes()).unwrap();
}

#[test]
fn arguments_of_an_approval_request_that_were_a_value_deserialize() {
    let line = r#"{"run":"ab","turn":2,"at":9,"layer":"tool","action":"asked","call":"c1","tool":"pay","arguments":{"to":"Ada"}}"#;
    let event: Event = serde_json::from_str(line).unwrap();
    let Some(ToolEvent::ApprovalRequested { json, .. }) = event.tool_event() else { panic!() };
    assert_eq!(json, r#"{"to":"Ada"}"#);
}

#[test]
fn events_of_earlier_versions_are_written_as_before() {
    let mut actions = BTreeSet::new();
    for line in RUNS.lines() {
        let mut written: Value = serde_json::from_str(line).unwrap();
        actions.insert(format!("{} {}", written["layer"], written["action"]).replace('"', ""));
        let event: Event = serde_json::from_str(line).unwrap();
        if let Some(ToolEvent::ApprovalRequested { json, .. }) = event.tool_event() {
            // A text has all digits of numbers.
            written["arguments"] = json.as_str().into();
        }
        assert_eq!(serde_json::to_value(&event).unwrap(), written);
    }
    let of_runs = ["started", "said", "finished"].map(|action| format!("run {action}"));
    let of_models = ["asked", "replied"].map(|action| format!("model {action}"));
    let of_tools = ["started", "asked", "approved", "blocked", "retried", "progress", "finished"];
    let of_tools = of_tools.map(|action| format!("tool {action}"));
    assert_eq!(actions, of_runs.into_iter().chain(of_models).chain(of_tools).collect());
    RunReport::from_json_lines(RUNS.as_bytes()).unwrap();
}
