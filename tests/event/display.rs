//! Events as lines for people.

use tool_runtime::event::{Recorder, RunEvent};
use tool_runtime::{Agent, ChatReply, Event, Policy, ScriptedModel, tool, tools};

/// Adds two numbers.
#[tool(effect = "none")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Pays a person.
#[tool(permission = "ask")]
async fn pay(to: String) -> String {
    to
}

#[tokio::test(start_paused = true)]
async fn event_is_one_readable_line() {
    let model = ScriptedModel::new([
        ChatReply::default()
            .call("add", r#"{"a": 2, "b": 3}"#)
            .call("pay", r#"{"to": "Ada"}"#)
            .call("sub", r#"{"key": "hunter22"}"#),
        ChatReply::text(format!("It is 5.\nAda is {}.", "very ".repeat(100))),
    ]);
    let recorder = Recorder::new(100);
    let agent = Agent::new(model, tools![add, pay]).name("cashier").observer(recorder.clone());
    agent.policy(Policy::new().secrets(["hunter22"])).run("Add and pay.").await.unwrap();
    let mut lines: Vec<_> = recorder.events().iter().map(Event::to_string).collect();
    let ended = recorder.events().iter().find_map(|event| match &event.kind {
        tool_runtime::event::EventKind::Run(RunEvent::Finished { duration, .. }) => Some(*duration),
        _ => None,
    });
    let ended = format!("run.finished: after {:.1?}", ended.unwrap());
    assert_eq!(lines.pop().unwrap(), ended);
    let long = lines.pop().unwrap();
    assert!(long.starts_with("model.replied: It is 5. Ada is very very "), "{long}");
    assert!(long.ends_with('…') && long.chars().count() == 161, "{long}");
    lines.sort_unstable();
    let executions = recorder.executions();
    let id = &executions.iter().find(|it| it.call.name == "pay").unwrap().call.id;
    let added = &executions.iter().find(|it| it.call.name == "add").unwrap().call.id;
    let denied = "`pay` needs approval, but no approver is configured.";
    let expected = [
        r#"model.replied: add({"a": 2, "b": 3}), pay({"to": "Ada"}), sub({"key": "[redacted]"})"#
            .to_owned(),
        "model.requested".to_owned(),
        "model.requested".to_owned(),
        "run.message_added: Add and pay.".to_owned(),
        "run.started: cashier".to_owned(),
        format!("tool.blocked: {id}: {denied}"),
        "tool.finished: add: 5".to_owned(),
        format!("tool.finished: pay (TOOL_DENIED): {denied}"),
        "tool.finished: sub (TOOL_NOT_FOUND): ".to_owned(),
        format!("tool.running: {added}"),
        r#"tool.started: add({"a": 2, "b": 3})"#.to_owned(),
        r#"tool.started: pay({"to": "Ada"})"#.to_owned(),
        r#"tool.started: sub({"key": "[redacted]"})"#.to_owned(),
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(&expected), "{line}\n{expected}");
    }
}
