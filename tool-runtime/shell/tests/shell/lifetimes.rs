//! How long processes live: as long as the program, whichever thread has started them.

use std::env;
use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;
use tool_runtime::shell::Sandbox;

use super::fixture::{Fixture, eventually, is_running};

/// The variable with the number of seconds, of the program that is killed.
const NUMBER: &str = "LIFETIME_NUMBER";

#[tokio::test(flavor = "multi_thread")]
async fn process_survives_the_thread_that_called() {
    let fixture = Fixture::new(Sandbox::workspace_write());
    let runtime = tokio::runtime::Handle::current();
    std::thread::scope(|scope| {
        let start = fixture.value("shell_start", json!({ "command": "echo up; sleep 1000" }));
        scope.spawn(|| runtime.block_on(start)).join().unwrap();
    });
    let value = fixture.value("shell_output", json!({ "process": 1, "pattern": "up" })).await;
    assert_eq!(value["output"], "up\n");
    // A process that ends with its thread does so within this time.
    let value = fixture.value("shell_output", json!({ "process": 1, "wait": 2 })).await;
    assert_eq!(value["running"], true);
}

#[test]
fn processes_end_with_a_program_that_is_killed() {
    for sandbox in ["workspace-write", "none"] {
        let number = (9_000_000 + u64::from(std::process::id())).to_string();
        let folder = env::temp_dir().join(format!("tool-shell-killed-{number}"));
        fs::create_dir_all(&folder).unwrap();
        let test = "lifetimes::program_that_is_killed";
        let mut program = Command::new(env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env(NUMBER, &number)
            .env("LIFETIME_SANDBOX", sandbox)
            .env("TMPDIR", &folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let text = format!("sleep\0{number}");
        assert!(eventually(|| is_running(&text)), "{sandbox}");
        program.kill().unwrap();
        program.wait().unwrap();
        assert!(eventually(|| !is_running(&text)), "{sandbox}");
        fs::remove_dir_all(folder).unwrap();
    }
}

#[tokio::test]
#[ignore = "another test runs and kills it"]
async fn program_that_is_killed() {
    let Ok(number) = env::var(NUMBER) else { return };
    let sandbox = match env::var("LIFETIME_SANDBOX").as_deref() {
        Ok("none") => Sandbox::none(),
        _ => Sandbox::workspace_write(),
    };
    let fixture = Fixture::new(sandbox);
    let command = format!("setsid sleep {number} & (sleep {number} & disown); sleep {number}");
    let arguments = json!({ "command": command, "timeout": 600 });
    fixture.call("shell_exec", arguments).await;
}
