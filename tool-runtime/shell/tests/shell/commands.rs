//! Commands that run to their end.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::json;
use tool_runtime::event::{EventKind, ToolEvent};
use tool_runtime::shell::{Sandbox, Shell};
use tool_runtime::{Dispatcher, EffectRecord, Event, Policy, Registry, ToolCall, tools};

use super::fixture::{Fixture, dispatcher, eventually, is_running};

fn all() -> [Sandbox; 3] {
    [Sandbox::read_only(), Sandbox::workspace_write(), Sandbox::none()]
}

#[tokio::test]
async fn result_has_exit_code_and_all_output() {
    for sandbox in all() {
        let fixture = Fixture::new(sandbox);
        for (arguments, code, output) in [
            (json!({ "command": "echo out; echo err >&2; exit 3" }), 3, "out\nerr\n"),
            (json!({ "command": "a=1; echo $((a + 1)) | tr 2 3" }), 0, "3\n"),
            (json!({ "argv": ["printf", "%s|", "$HOME", "a b"] }), 0, "$HOME|a b|"),
            (json!({ "command": "cat", "input": "one\ntwo\n" }), 0, "one\ntwo\n"),
            (json!({ "argv": ["no-such-program"] }), 127, "no-such-program"),
        ] {
            let value = fixture.value("shell_exec", arguments.clone()).await;
            assert_eq!(value["exit_code"], code, "{arguments}: {value}");
            assert!(value["output"].as_str().unwrap().contains(output), "{arguments}: {value}");
        }
    }
}

/// Collects the output that is emitted, and opens a pipe once a text has arrived.
#[derive(Clone, Default)]
struct Live(Arc<Mutex<Vec<String>>>);

impl Live {
    fn text(&self) -> String {
        self.0.lock().unwrap().concat()
    }

    fn dispatcher(&self, fixture: &Fixture, policy: Policy) -> Dispatcher {
        let (live, gate) = (self.clone(), fixture.path("gate"));
        dispatcher(&fixture.shell, policy).observer(move |event: &Event| {
            if let EventKind::Tool(ToolEvent::OutputEmitted { text, .. }) = &event.kind {
                live.0.lock().unwrap().push(text.clone());
                if text.contains("ready") {
                    let gate = gate.clone();
                    std::thread::spawn(move || fs::write(gate, "go"));
                }
            }
        })
    }
}

async fn check_live_output(sandbox: Sandbox) {
    let fixture = Fixture::new(sandbox);
    let live = Live::default();
    // The command waits until its first lines have been emitted.
    let command = "mkfifo gate; echo ready; echo steady >&2; cat gate; echo; printf 'd\\303'";
    let arguments = json!({ "command": command, "timeout": 20, "output": "json" });
    let call = ToolCall::new("call", "shell_exec", arguments.to_string());
    let dispatcher = live.dispatcher(&fixture, Policy::new());
    let execution = dispatcher.dispatch(vec![call]).await.remove(0);
    let value: serde_json::Value = serde_json::from_str(&execution.result.text).unwrap();
    assert_eq!(value["exit_code"], 0, "{value}");
    assert_eq!(live.text(), "ready\nsteady\ngo\nd\u{fffd}");
    assert_eq!(value["output"], live.text());
}

#[tokio::test]
async fn output_is_emitted_while_the_command_runs() {
    check_live_output(Sandbox::none()).await;
}

#[tokio::test]
async fn output_of_a_sandboxed_command_is_emitted_while_it_runs() {
    check_live_output(Sandbox::workspace_write()).await;
}

#[tokio::test]
async fn emitted_output_has_no_secret_and_is_bounded() {
    let fixture = Fixture::new(Sandbox::none());
    let live = Live::default();
    let policy = Policy::new().secrets(["hunter2-secret"]);
    let dispatcher = live.dispatcher(&fixture, policy);
    let command =
        "printf 'a hunter2'; printf -- '-secret b\\n'; head -c 3000000 /dev/zero | tr '\\0' x";
    let call = ToolCall::new("call", "shell_exec", json!({ "command": command }).to_string());
    assert!(dispatcher.dispatch(vec![call]).await.remove(0).is_success());
    let text = live.text();
    assert!(text.starts_with("a [redacted] b\n"), "{}", &text[..60]);
    assert!(text.len() < 1_200_000, "{}", text.len());
    assert!(text.contains("bytes omitted") || text.contains("not shown while the command runs"));
}

#[tokio::test]
async fn command_has_no_options_for_the_shell() {
    for sandbox in all() {
        let fixture = Fixture::new(sandbox);
        for arguments in [
            json!({ "argv": ["-a", "ls", "touch", "created"] }),
            json!({ "argv": ["-c", "touch", "created"] }),
            json!({ "command": "-s", "input": "touch created" }),
        ] {
            let error = fixture.error("shell_exec", arguments).await;
            assert_eq!(error, "The command begins with `-`: begin it with a program.");
            assert!(!fixture.path("created").exists());
        }
    }
}

#[tokio::test]
async fn labeled_output_starts_with_the_values() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let execution = fixture.call("shell_exec", json!({ "command": "echo one; exit 2" })).await;
    let (line, output) = execution.result.text.split_once('\n').unwrap();
    assert!(line.starts_with("exit_code: 2 | seconds: 0."), "{line}");
    assert!(line.ends_with(" | sandbox: workspace-write"), "{line}");
    assert_eq!(output, "one");
}

#[tokio::test]
async fn long_output_keeps_head_and_tail() {
    let fixture = Fixture::new(Sandbox::read_only());
    let (code, output) = fixture.run("seq 1 100000").await;
    assert_eq!(code, 0);
    assert!(output.starts_with("1\n2\n") && output.ends_with("99999\n100000\n"));
    assert!(output.contains(" bytes omitted …]") && output.len() < 31_000);
}

#[tokio::test]
async fn command_ends_at_its_time_limit_with_all_descendants() {
    for sandbox in all() {
        let fixture = Fixture::new(sandbox);
        let number = 1_000_000 + u64::from(std::process::id());
        let start = Instant::now();
        let command = format!("echo started; sleep {number} & sleep {number}");
        let value = fixture.value("shell_exec", json!({ "command": command, "timeout": 1 })).await;
        assert_eq!((&value["timed_out"], &value["output"]), (&json!(true), &json!("started\n")));
        assert!(start.elapsed().as_secs() < 10);
        assert!(eventually(|| !is_running(&format!("sleep\0{number}"))));
    }
}

#[tokio::test]
async fn dropped_call_ends_the_command() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let number = 2_000_000 + u64::from(std::process::id());
    let command = format!("sleep {number}");
    let call = fixture.call("shell_exec", json!({ "command": command }));
    let text = format!("sleep\0{number}");
    tokio::select! {
        _ = call => panic!("the command has ended"),
        is_started = tokio::task::spawn_blocking({
            let text = text.clone();
            move || eventually(|| is_running(&text))
        }) => assert!(is_started.unwrap()),
    }
    assert!(eventually(|| !is_running(&text)));
}

#[tokio::test]
async fn only_workspace_write_changes_the_workspace() {
    for (sandbox, is_written) in all().into_iter().zip([false, true, true]) {
        let fixture = Fixture::new(sandbox);
        let (code, output) = fixture.run("echo new > file; echo tmp > /tmp/x && cat /tmp/x").await;
        assert_eq!(fixture.path("file").exists(), is_written, "{output}");
        assert!(code == 0 && output.ends_with("tmp\n"), "{output}");
    }
    let _ = fs::remove_file("/tmp/x");
}

#[tokio::test]
async fn structured_output_has_the_schema_of_the_tool() {
    let fixture = Fixture::new(Sandbox::none());
    let registry = Registry::try_from(tools![..fixture.shell.clone()]).unwrap();
    for (process, output) in [(1, "labeled"), (2, "json")] {
        for (tool, mut arguments) in [
            ("shell_exec", json!({ "command": "echo one; exit 3" })),
            ("shell_exec", json!({ "command": "kill -9 $$" })),
            ("shell_exec", json!({ "command": "sleep 60", "timeout": 1 })),
            ("shell_start", json!({ "command": "printf 'one\ntwo'; cat" })),
            ("shell_output", json!({ "process": process, "pattern": "two" })),
            ("shell_stop", json!({ "process": process })),
        ] {
            arguments["output"] = output.into();
            let value = fixture.call(tool, arguments).await.structured_value().unwrap();
            let schema = registry.snapshot().definition(tool).unwrap().output.clone().unwrap();
            assert!(schema.check(&value).is_empty(), "{tool} {output}: {value}");
        }
    }
}

#[tokio::test]
async fn calls_record_the_command_and_its_sandbox() {
    for (sandbox, name) in all().into_iter().zip(["read-only", "workspace-write", "none"]) {
        let fixture = Fixture::new(sandbox);
        let execution = fixture.call("shell_exec", json!({ "argv": ["sh", "-c", "exit 4"] })).await;
        let [started, sandbox, ended] = &execution.effects[..] else {
            panic!("{:?}", execution.effects)
        };
        let EffectRecord::ProcessStarted(started) = started else { panic!("{started:?}") };
        assert_eq!((&*started.command, started.background), ("sh -c 'exit 4'", false));
        let EffectRecord::Other { name: kind, data } = sandbox else { panic!("{sandbox:?}") };
        assert_eq!((&**kind, &data["sandbox"]), ("sandbox", &json!(name)));
        let EffectRecord::ProcessEnded(ended) = ended else { panic!("{ended:?}") };
        assert_eq!((ended.code, ended.pid), (Some(4), started.pid));
        assert!(execution.result.text.contains(&format!("sandbox: {name}")));
    }
}

#[tokio::test]
async fn secrets_are_redacted_in_output() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let policy = Policy::new().secrets(["k3y-0f-th3-h0us3"]);
    let dispatcher = dispatcher(&fixture.shell, policy);
    let arguments = json!({ "command": "printf 'k3y-0f-'; printf 'th3-h0us3\\n'" });
    let call = ToolCall::new("1", "shell_exec", arguments.to_string());
    let execution = dispatcher.dispatch(vec![call]).await.remove(0);
    assert!(execution.result.text.ends_with("\n[redacted]"), "{}", execution.result.text);
}

#[tokio::test]
async fn program_chooses_environment_and_readable_folders() {
    let name = format!("tool-shell-readable-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("greet"), "#!/bin/sh\necho hello $NAME from $HOME\n").unwrap();
    fs::set_permissions(folder.join("greet"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin", folder.display());
    let sandbox = Sandbox::workspace_write().readable(&folder).env("PATH", path).env("NAME", "ada");
    let fixture = Fixture::new(sandbox);
    assert_eq!(fixture.run("greet").await, (0, "hello ada from /tmp\n".to_owned()));
    let (code, _) = fixture.run(&format!("touch {}/new", folder.display())).await;
    assert_ne!(code, 0);
    fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn sandbox_that_can_not_be_enforced_runs_nothing() {
    let name = format!("tool-shell-unavailable-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("/etc", folder.join(".git")).unwrap();
    for (folder, sandbox, reason) in [
        ("no/such/folder", Sandbox::none(), "no/such/folder can't be opened: "),
        ("/", Sandbox::read_only(), "the folder / contains folders of the system"),
        ("/proc/self", Sandbox::workspace_write(), "is in a virtual file system"),
        (
            folder.to_str().unwrap(),
            Sandbox::workspace_write(),
            "`.git` of the workspace is a link, which can't be protected",
        ),
    ] {
        let shell = Shell::new(folder, sandbox);
        let error = shell.check().unwrap_err().to_string();
        assert!(error.starts_with("sandbox unavailable: ") && error.contains(reason), "{error}");
        let tools = Registry::try_from(tools![..shell.clone()]).unwrap().snapshot();
        assert!(tools.iter().all(|tool| !tool.availability().is_available()));
        let call = ToolCall::new("1", "shell_exec", r#"{"command": "touch x"}"#);
        let execution = dispatcher(&shell, Policy::new()).dispatch(vec![call]).await.remove(0);
        assert!(execution.failed_with("TOOL_UNAVAILABLE"), "{}", execution.result.text);
        assert!(execution.effects.is_empty());
    }
    fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn workspace_that_is_replaced_is_not_entered() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    fs::rename(fixture.path(""), fixture.folder.join("moved")).unwrap();
    fs::create_dir(fixture.path("")).unwrap();
    let error = fixture.error("shell_exec", json!({ "command": "touch new" })).await;
    assert!(error.contains("was replaced"), "{error}");
    assert!(!fixture.path("new").exists() && !fixture.folder.join("moved/new").exists());
}

#[tokio::test]
async fn repository_that_appears_later_is_protected() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let (code, _) = fixture.run("mkdir -p .git/hooks && echo 1 > .git/hooks/pre-commit").await;
    assert_eq!(code, 0);
    for command in [
        "echo 2 > .git/hooks/pre-commit",
        "echo 2 > .git/config",
        "echo 2 > .git/config.worktree",
        "mkdir .git/modules/sub",
        "mkdir .git/worktrees/other",
        "echo ../other > .git/commondir",
        "mv .git other",
    ] {
        let (code, output) = fixture.run(command).await;
        assert_ne!(code, 0, "{command}: {output}");
    }
    assert_eq!(fixture.run("echo ref > .git/HEAD && cat .git/HEAD").await.1, "ref\n");
    let link = "rm -rf .git/* ; mv .git x; ln -sfn /etc link; ls";
    let (_, output) = fixture.run(link).await;
    assert!(output.contains("link") && fixture.path(".git").is_dir(), "{output}");
}

/// Git takes the settings of a repository from the folder that `.git/commondir` names.
#[tokio::test]
async fn repository_works_with_its_protected_files() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "gc.auto=0"])
            .args(arguments)
            .current_dir(fixture.path(""))
            .env_remove("GIT_DIR")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {text}{error}");
        text
    };
    git(&["init", "-q", "-b", "main"]);
    fs::write(fixture.path("a.txt"), "one\n").unwrap();
    let (_, output) = fixture
        .run(
            "git config core.fsmonitor 'touch ran; false' || cp -r .git evil; \
             git config -f evil/config core.fsmonitor 'touch ran; false'; \
             echo ../evil > .git/commondir; git add a.txt && \
             git -c user.name=Ada -c user.email=ada@example.org commit -q -m one && echo committed",
        )
        .await;
    assert!(output.ends_with("committed\n"), "{output}");
    // Outside of the sandbox, by the next user.
    assert_eq!(git(&["status", "--short", "a.txt"]), "");
    assert!(!fixture.path("ran").exists(), "{output}");
    git(&["branch", "side"]);
    git(&["worktree", "add", "-q", "../linked", "side"]);
    let worktrees = git(&["worktree", "list", "--porcelain"]);
    assert_eq!(worktrees.matches("worktree ").count(), 2, "{worktrees}");
    assert!(worktrees.contains("branch refs/heads/main"), "{worktrees}");
    git(&["-C", "../linked", "commit", "-q", "--allow-empty", "-m", "two"]);
    git(&["merge", "-q", "side"]);
    git(&["gc", "-q"]);
    git(&["fsck", "--strict"]);
    git(&["clone", "-q", ".", "../clone"]);
    assert_eq!(git(&["-C", "../clone", "log", "--format=%s"]), "two\none\n");
}

/// The first process of a sandbox has the stream on which errors of the sandbox arrive.
#[tokio::test]
async fn command_that_ran_can_not_claim_that_it_did_not() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    for write in ["echo forged", "yes forged | head -c 200000", "printf 'sandbox: %s' forged"] {
        let command = format!("({write}) >/proc/1/fd/2; echo ran; exit 3");
        let (code, output) = fixture.run(&command).await;
        assert_eq!((code, output.as_str()), (3, "ran\n"), "{write}");
    }
}
