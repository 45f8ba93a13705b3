//! Approvals of commands, with the exact command and its sandbox.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::shell::Sandbox;
use tool_runtime::{Dispatcher, Policy, Registry, RunContext, ToolCall, async_trait, tools};

use super::fixture::Fixture;

/// Denies every call, and keeps the previews.
#[derive(Clone, Default)]
struct Denies(Arc<Mutex<Vec<Option<String>>>>);

#[async_trait]
impl Approver for Denies {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        self.0.lock().unwrap().push(request.preview.clone());
        Approval::Deny("not now".into())
    }
}

#[tokio::test]
async fn approver_receives_the_command_and_its_sandbox() {
    for (sandbox, status) in [
        (Sandbox::read_only(), "sandbox: read-only, enforced by bubblewrap "),
        (Sandbox::workspace_write(), "sandbox: workspace-write, enforced by bubblewrap "),
        (Sandbox::none(), "sandbox: none: commands have all rights of the program"),
    ] {
        let fixture = Fixture::new(sandbox);
        fixture.value("shell_start", json!({ "command": "cat -u" })).await;
        let denies = Denies::default();
        let policy = Policy::new().approver(denies.clone()).previewer(fixture.shell.clone());
        let registry = Registry::try_from(tools![..fixture.shell.clone()]).unwrap();
        let dispatcher = Dispatcher::new(registry).policy(policy);
        for (tool, arguments, action) in [
            ("shell_exec", json!({ "command": "touch a;\nrm b" }), "$ touch a;\n> rm b\n"),
            // No line of a command looks like a part of the preview.
            (
                "shell_exec",
                json!({ "command": "sh\nsandbox: forged", "input": "a\nsandbox: forged" }),
                "$ sh\n> sandbox: forged\ninput: a\n> sandbox: forged\n",
            ),
            ("shell_exec", json!({ "argv": ["touch", "a b"] }), "$ touch 'a b'\n"),
            ("shell_exec", json!({ "command": "sh", "input": "ls" }), "$ sh\ninput: ls\n"),
            ("shell_start", json!({ "command": "echo \u{202e}x" }), "$ echo <U+202E>x\n"),
            ("shell_exec", json!({}), "Send either `command` or `argv`."),
            (
                "shell_input",
                json!({ "process": 1, "input": "rm x\n" }),
                "input: rm x\n> \nto process 1: $ cat -u\n",
            ),
            (
                "shell_input",
                json!({ "process": 1, "input": "", "close": true }),
                "input: \nto process 1: $ cat -u\nthen its standard input is closed\n",
            ),
        ] {
            let call = ToolCall::new("1", tool, arguments.to_string());
            let execution = dispatcher.dispatch(vec![call]).await.remove(0);
            assert!(execution.is_blocked(), "{tool}");
            let preview = denies.0.lock().unwrap().pop().unwrap().unwrap();
            let rest = preview.strip_prefix(action).unwrap_or_else(|| panic!("{preview}"));
            assert!(rest.is_empty() || rest.starts_with(status), "{preview}");
        }
        assert!(!fixture.path("a").exists());
    }
}

#[tokio::test]
async fn preview_without_an_approver_shows_control_characters() {
    let fixture = Fixture::new(Sandbox::none());
    let arguments = json!({ "command": "rm b\r# ls\u{1b}[2K\u{202e}" });
    let preview = fixture.shell.preview_of("shell_exec", &arguments).unwrap();
    assert!(preview.starts_with("$ rm b<U+000D># ls<U+001B>[2K<U+202E>\n"), "{preview}");
}

#[tokio::test]
async fn long_input_does_not_displace_the_command() {
    let fixture = Fixture::new(Sandbox::none());
    let input = "\n".repeat(100_000);
    for (tool, arguments) in [
        ("shell_exec", json!({ "command": "sh", "input": input })),
        ("shell_input", json!({ "process": 1, "input": input })),
    ] {
        let preview = fixture.shell.preview_of(tool, &arguments).unwrap();
        assert!(preview.len() < 200_000, "{}", preview.len());
        assert!(preview.contains("\n> [34464 more bytes]\n"), "{tool}");
    }
}

#[tokio::test]
async fn running_and_writing_need_an_approval() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let registry = Registry::try_from(tools![..fixture.shell.clone()]).unwrap();
    let dispatcher = Dispatcher::new(registry);
    for (tool, arguments, is_blocked) in [
        ("shell_exec", json!({ "command": "ls" }), true),
        ("shell_start", json!({ "command": "ls" }), true),
        ("shell_input", json!({ "process": 1, "input": "" }), true),
        ("shell_output", json!({ "process": 1 }), false),
        ("shell_stop", json!({ "process": 1 }), false),
    ] {
        let call = ToolCall::new("1", tool, arguments.to_string());
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        assert_eq!(execution.is_blocked(), is_blocked, "{tool}");
    }
}
