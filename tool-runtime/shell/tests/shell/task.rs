//! A real task: a scripted model fixes a failing test of a small Rust project in the sandbox.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tool_runtime::files::{DiffRecorder, Files};
use tool_runtime::shell::Sandbox;
use tool_runtime::{Agent, ChatReply, Message, Policy, ScriptedModel, tools};

use super::fixture::{ApprovesAll, Fixture};

const MANIFEST: &str = "[package]\nname = \"stats\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

const LIBRARY: &str = "\
/// Returns the mean of the numbers; 0 without numbers.
pub fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / (numbers.len() + 1) as f64
}

#[cfg(test)]
mod tests {
    #[test]
    fn mean_of_three() {
        assert_eq!(super::mean(&[1.0, 2.0, 6.0]), 3.0);
    }

    #[test]
    fn mean_of_none() {
        assert_eq!(super::mean(&[]), 0.0);
    }
}
";

fn write_project(folder: &Path) {
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), MANIFEST).unwrap();
    fs::write(folder.join("src/lib.rs"), LIBRARY).unwrap();
}

/// Returns the folder of the toolchain that runs this test.
fn toolchain() -> PathBuf {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

#[tokio::test]
async fn failing_test_is_fixed_and_the_patch_applies_elsewhere() {
    let toolchain = toolchain();
    let sandbox = Sandbox::workspace_write()
        .readable(&toolchain)
        .env("PATH", format!("{}/bin:/usr/bin:/bin", toolchain.display()))
        .env("CARGO_HOME", "/tmp/cargo")
        .env("CARGO_TARGET_DIR", "/tmp/target");
    let fixture = Fixture::with(sandbox, write_project);
    let files = Files::open(fixture.path("")).unwrap();
    let diffs = DiffRecorder::new(&files);
    let test = json!({ "command": "cargo test --offline --lib 2>&1", "timeout": 300 }).to_string();
    let read = json!({ "path": "src/lib.rs" }).to_string();
    let edit = json!({ "path": "src/lib.rs", "edits": [{
        "old": "    numbers.iter().sum::<f64>() / (numbers.len() + 1) as f64",
        "new": "    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64",
    }] })
    .to_string();
    let model = ScriptedModel::new([
        ChatReply::default().call("shell_exec", test.as_str()),
        ChatReply::default().call("file_read", read.as_str()),
        ChatReply::default().call("file_edit", edit.as_str()),
        ChatReply::default().call("shell_exec", test.as_str()),
        ChatReply::text("The mean divided by the wrong number."),
    ]);
    let agent = Agent::new(model, tools![..files, ..fixture.shell.clone()])
        .policy(Policy::new().approver(ApprovesAll))
        .observer(diffs.clone());
    let answer = agent.run("Make the tests pass.").await.unwrap();
    let results: Vec<_> = answer
        .transcript
        .iter()
        .filter_map(|message| match message {
            Message::Tool { results } => Some(results[0].text.as_str()),
            _ => None,
        })
        .collect();
    assert!(results[0].contains("mean_of_three ... FAILED"), "{}", results[0]);
    assert!(results[3].contains("test result: ok. 2 passed"), "{}", results[3]);

    let copy = fixture.folder.join("copy");
    write_project(&copy);
    let (run, _) = diffs.turns()[0];
    fs::write(fixture.folder.join("patch"), diffs.patch_of_run(run).as_str()).unwrap();
    let status =
        Command::new("git").args(["apply", "../patch"]).current_dir(&copy).status().unwrap();
    assert!(status.success());
    let fixed = fs::read_to_string(copy.join("src/lib.rs")).unwrap();
    assert_eq!(fixed, fs::read_to_string(fixture.path("src/lib.rs")).unwrap());
    assert_ne!(fixed, LIBRARY);
}
