//! Processes in the background.

use serde_json::json;
use tool_runtime::agent::session::MemorySessions;
use tool_runtime::dispatch::{Approval, AskLater, Permissions};
use tool_runtime::shell::{Sandbox, Shell};
use tool_runtime::{
    Agent, ChatReply, EffectRecord, Permission, Policy, ScriptedModel, StopReason, ToolCall, tools,
};

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
        let execution = fixture.call("shell_input", close.clone()).await;
        let text = "Wrote 4 bytes to process 1, and closed its standard input.";
        assert_eq!(execution.result.text, text);
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
async fn process_without_a_sandbox_may_end_by_itself() {
    let fixture = Fixture::new(Sandbox::none());
    let command =
        "trap 'echo done; exit 4' TERM; echo up; while :; do read -r x || sleep 0.05; done";
    fixture.value("shell_start", json!({ "command": command })).await;
    fixture.value("shell_output", json!({ "process": 1, "pattern": "up" })).await;
    let value = fixture.value("shell_stop", json!({ "process": 1 })).await;
    assert!(value["output"].as_str().unwrap().ends_with("done\n"), "{value}");
    assert_eq!(value["exit_code"], 4, "{value}");
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
async fn processes_survive_a_pause_of_the_run() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let number = unique(13);
    let start = json!({ "argv": ["cat", "-", number.to_string()] }).to_string();
    let replies = vec![
        ChatReply::default().call("shell_start", start.as_str()),
        ChatReply::default().call("shell_input", r#"{"process": 1, "input": "pause\n"}"#),
        ChatReply::default().call("shell_output", r#"{"process": 1, "pattern": "pause"}"#),
        ChatReply::text("It answers."),
    ];
    let permissions = Permissions::default().tool("shell_start", Permission::Allow);
    let agent = Agent::new(ScriptedModel::new(replies), tools![..fixture.shell.clone()])
        .policy(Policy::new().permissions(permissions).approver(AskLater))
        .observer(fixture.shell.clone());
    let stopped = agent.run("Ask it.").await.unwrap_err();
    let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!("{stopped}") };
    paused.decide_each(|_| Approval::Once, "Grace");
    let answer = agent.resume(*paused).finish().await.unwrap();
    let text = format!("{:?}", answer.transcript);
    assert!(text.contains("Wrote 6 bytes to process 1."), "{text}");
    assert!(text.contains("running: true") && !text.contains("There is no process"), "{text}");
    let text = format!("cat\0-\0{number}");
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
    let store = MemorySessions::new();
    agent.session(store.clone(), "one").run("Start it.").await.unwrap();
    let answer = agent.session(store, "one").run("Does it run?").await.unwrap();
    let text = format!("{:?}", answer.transcript);
    assert!(text.contains("running: true"), "{text}");
    // Another run must neither see nor stop it.
    let answer = agent.run("Does it run?").await.unwrap();
    let text = format!("{:?}", answer.transcript);
    assert!(text.contains("There is no process 1. Processes: none."), "{text}");
}

#[tokio::test]
async fn secret_is_not_returned_in_parts() {
    let mut fixture = Fixture::new(Sandbox::workspace_write());
    let secret = "k3y-0f-th3-h0us3";
    fixture.dispatcher = dispatcher(&fixture.shell, Policy::new().secrets([secret]));
    // Each part is written when a line arrives.
    let parts = secret.chars().map(|c| format!("read -r x; printf '{c}'; "));
    let command = format!("printf 'key: '; {} read -r x; echo", parts.collect::<String>());
    fixture.value("shell_start", json!({ "command": command })).await;
    for length in 0..=secret.len() {
        let pattern = format!("key: {}", &secret[..length]);
        let arguments = json!({ "process": 1, "pattern": pattern });
        let value = fixture.value("shell_output", arguments).await;
        assert_eq!(value["partial_line"], "key: ", "{value}");
        fixture.call("shell_input", json!({ "process": 1, "input": "\n" })).await;
    }
    let value = fixture.value("shell_output", json!({ "process": 1, "wait": 30 })).await;
    assert_eq!(value["output"], "key: [redacted]\n");
}

#[tokio::test]
async fn processes_that_have_ended_do_not_accumulate() {
    let fixture = Fixture::new(Sandbox::none());
    for number in 1..=40 {
        fixture.value("shell_start", json!({ "command": "echo done" })).await;
        let value = fixture.value("shell_output", json!({ "process": number, "wait": 30 })).await;
        assert_eq!((&value["output"], &value["running"]), (&json!("done\n"), &json!(false)));
    }
    let error = fixture.error("shell_output", json!({ "process": 1 })).await;
    let known = error.rsplit(": ").next().unwrap().split(", ").count();
    assert_eq!(known, 33, "{error}");
}

#[tokio::test]
async fn pattern_that_takes_long_to_search_is_refused() {
    let fixture = Fixture::new(Sandbox::none());
    fixture.value("shell_start", json!({ "command": "cat" })).await;
    for (pattern, is_refused) in
        [(r"(a{1,50}){1,50}", true), (r"^test result: (ok|FAILED)\. \d+ passed", false)]
    {
        let arguments = json!({ "process": 1, "pattern": pattern, "wait": 0 });
        let execution = fixture.call("shell_output", arguments).await;
        assert_eq!(!execution.is_success(), is_refused, "{pattern}");
    }
}

#[tokio::test]
async fn file_that_a_process_writes_is_read_again() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    std::fs::write(fixture.path("log"), "one").unwrap();
    let files = tool_runtime::files::Files::open(fixture.path("")).unwrap();
    let call = |name: &str, arguments: serde_json::Value| {
        ChatReply::default().call(name, arguments.to_string())
    };
    let read = || call("file_read", json!({ "path": "log" }));
    let write =
        |text: &str| call("shell_input", json!({ "process": 1, "input": format!("{text}\n") }));
    let wait = |pattern: &str| call("shell_output", json!({ "process": 1, "pattern": pattern }));
    let command = "read -r x; echo $x >log; echo 1st; read -r x; echo $x >log; echo 2nd; read -r x";
    let model = ScriptedModel::new([
        read(),
        call("shell_start", json!({ "command": command })),
        read(),
        write("two"),
        wait("1st"),
        read(),
        write("three"),
        read(),
        wait("2nd"),
        read(),
        ChatReply::text("Done."),
    ]);
    let agent = Agent::new(model, tools![..fixture.shell.clone(), ..files])
        .policy(Policy::new().approver(ApprovesAll));
    let recorder = tool_runtime::event::Recorder::new(1000);
    agent.observer(recorder.clone()).run("Watch it.").await.unwrap();
    let executions = recorder.executions();
    let reads: Vec<_> =
        executions.iter().filter(|execution| execution.call.name == "file_read").collect();
    assert!(reads.iter().all(|execution| !execution.cached));
    let texts: Vec<_> = [0, 1, 2, 4].map(|index| &*reads[index].result.text).into();
    assert_eq!(texts, ["1\tone", "1\tone", "1\ttwo", "1\tthree"]);
}
