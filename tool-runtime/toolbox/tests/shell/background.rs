//! Processes in the background.

use serde_json::json;
use tool_runtime::agent::session::MemoryStore;
use tool_runtime::{Agent, ChatReply, EffectRecord, Policy, ScriptedModel, ToolCall, tools};
use tool_toolbox::{Sandbox, Shell};

use super::fixture::{ApprovesAll, Fixture, dispatcher, eventually, is_running};

fn unique(number: u64) -> u64 {
    number * 10_000_000 + u64::from(std::process::id())
}

#[tokio::test]
async fn output_is_returned_once_and_waited_for() {
    for sandbox in [Sandbox::workspace_write(), Sandbox::none()] {
        let fixture = Fixture::new(sandbox);
        let command = "echo ready; while read -r line; do echo got $line; done; echo bye; exit 5";
        let started = fixture.value("shell_start", json!({ "command": command })).await;
        assert_eq!(started["process"], 1);
        let look = async |arguments| fixture.value("shell_output", arguments).await;
        let value = look(json!({ "process": 1, "pattern": "^ready$" })).await;
        assert_eq!((&value["output"], &value["running"]), (&json!("ready\n"), &json!(true)));
        let value = look(json!({ "process": 1 })).await;
        assert_eq!(value["output"], "");

        let input = json!({ "process": 1, "input": "one\n" });
        let execution = fixture.call("shell_input", input).await;
        assert_eq!(execution.result.text, "Wrote 4 bytes to process 1.");
        let [EffectRecord::Other { name, data }] = &execution.effects[..] else {
            panic!("{:?}", execution.effects)
        };
        assert_eq!((&**name, &data["input"]), ("process_input", &json!("one\n")));
        let value = look(json!({ "process": 1, "pattern": "got \\w+" })).await;
        assert_eq!(value["output"], "got one\n");

        let close = json!({ "process": 1, "input": "two\n", "close": true });
        assert!(fixture.call("shell_input", close.clone()).await.is_success());
        let value = look(json!({ "process": 1, "wait": 30 })).await;
        assert_eq!(value["output"], "got two\nbye\n");
        assert_eq!((&value["exit_code"], &value["running"]), (&json!(5), &json!(false)));
        let error = fixture.error("shell_input", close).await;
        assert!(error.contains("closed") || error.contains("does not read"), "{error}");
    }
}

#[tokio::test]
async fn partial_line_is_shown_until_it_is_complete() {
    let fixture = Fixture::new(Sandbox::read_only());
    let command = "printf 'name? '; read -r name; echo hello $name";
    fixture.value("shell_start", json!({ "command": command })).await;
    let value = fixture.value("shell_output", json!({ "process": 1, "pattern": "\\? $" })).await;
    assert_eq!((&value["output"], &value["partial_line"]), (&json!(""), &json!("name? ")));
    fixture.call("shell_input", json!({ "process": 1, "input": "ada\n" })).await;
    let value = fixture.value("shell_output", json!({ "process": 1, "wait": 30 })).await;
    assert_eq!(value["output"], "name? hello ada\n");
}

#[tokio::test]
async fn stopped_process_ends_with_its_descendants() {
    for (index, sandbox) in [Sandbox::workspace_write(), Sandbox::none()].into_iter().enumerate() {
        let fixture = Fixture::new(sandbox);
        let number = unique(3 + index as u64);
        let command = format!("echo up; sleep {number} & sleep {number}");
        let execution = fixture.call("shell_start", json!({ "command": command })).await;
        let EffectRecord::ProcessStarted(started) = &execution.effects[0] else { panic!() };
        assert!(started.background && started.pid.is_some());
        fixture.value("shell_output", json!({ "process": 1, "pattern": "up" })).await;
        assert!(eventually(|| is_running(&format!("sleep\0{number}"))));
        let execution = fixture.call("shell_stop", json!({ "process": 1 })).await;
        assert!(execution.result.text.starts_with("running: false"), "{}", execution.result.text);
        let [EffectRecord::ProcessEnded(ended)] = &execution.effects[..] else {
            panic!("{:?}", execution.effects)
        };
        assert_eq!(ended.pid, started.pid);
        assert!(eventually(|| !is_running(&format!("sleep\0{number}"))));
        let error = fixture.error("shell_output", json!({ "process": 1 })).await;
        assert_eq!(error, "There is no process 1. Processes: none.");
    }
}

#[tokio::test]
async fn processes_end_with_the_shell() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let shell = Shell::new(fixture.path(""), Sandbox::workspace_write());
    let dispatcher = dispatcher(&shell, Policy::new());
    let number = unique(5);
    let arguments = json!({ "command": format!("sleep {number}") }).to_string();
    dispatcher.dispatch(vec![ToolCall::new("1", "shell_start", arguments)]).await;
    let text = format!("sleep\0{number}");
    assert!(eventually(|| is_running(&text)));
    drop((shell, dispatcher));
    tokio::task::spawn_blocking(move || assert!(eventually(|| !is_running(&text)))).await.unwrap();
}

fn agent(shell: &Shell, replies: Vec<ChatReply>) -> Agent {
    Agent::new(ScriptedModel::new(replies), tools![..shell.clone()])
        .policy(Policy::new().approver(ApprovesAll))
        .observer(shell.clone())
}

fn start(number: u64) -> ChatReply {
    let arguments = json!({ "command": format!("sleep {number}") }).to_string();
    ChatReply::default().call("shell_start", arguments.as_str())
}

#[tokio::test]
async fn processes_end_with_the_run() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let number = unique(6);
    let replies = vec![start(number), ChatReply::text("Started.")];
    agent(&fixture.shell, replies).run("Start it.").await.unwrap();
    let text = format!("sleep\0{number}");
    tokio::task::spawn_blocking(move || assert!(eventually(|| !is_running(&text)))).await.unwrap();
}

#[tokio::test]
async fn processes_of_a_session_live_for_its_next_run_only() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let number = unique(7);
    let replies = vec![
        start(number),
        ChatReply::text("Started."),
        ChatReply::default().call("shell_output", r#"{"process": 1}"#),
        ChatReply::text("It runs."),
        ChatReply::default().call("shell_output", r#"{"process": 1}"#),
        ChatReply::text("There is none."),
    ];
    let agent = agent(&fixture.shell, replies);
    let store = MemoryStore::new();
    agent.session(store.clone(), "one").run("Start it.").await.unwrap();
    let answer = agent.session(store, "one").run("Does it run?").await.unwrap();
    let text = format!("{:?}", answer.transcript);
    assert!(text.contains("running: true"), "{text}");
    // Another run must neither see nor stop it.
    let answer = agent.run("Does it run?").await.unwrap();
    let text = format!("{:?}", answer.transcript);
    assert!(text.contains("There is no process 1. Processes: none."), "{text}");
}
