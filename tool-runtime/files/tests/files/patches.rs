//! Patches of a `DiffRecorder`, applied by git to a fresh copy.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::files::{DiffRecorder, Files};
use proptest::prelude::{Just, Strategy, prop, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tool_runtime::event::RunId;
use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, tools};

use super::fixture::{ApprovesAll, Fixture, dispatcher, tree};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Applies a patch in a folder that is no repository.
fn apply(patch: &str, folder: &Path) {
    let mut git = Command::new("git")
        .args(["apply", "--whitespace=nowarn", "-"])
        .current_dir(folder)
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(patch.as_bytes()).unwrap();
    let output = git.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{patch}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the path and the content of each file, and whether its owner may execute it.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>, bool)> {
    let path = |path: &Path| path.strip_prefix(folder).unwrap().display().to_string();
    let is_executable = |path: &Path| fs::metadata(path).unwrap().mode() & 0o100 != 0;
    let files = tree(folder).into_iter();
    files.map(|(file, content)| (path(&file), content, is_executable(&file))).collect()
}

fn path() -> impl Strategy<Value = String> {
    let names =
        ["a.txt", "b c.txt", "dir", "dir/d.txt", "dir/æ.txt", "quo\"te", "back\\slash", "-x"];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("same\n".to_owned()),
        Just("\n".to_owned()),
        Just("crlf\r\n".to_owned()),
        Just("lone\rcarriage\n".to_owned()),
        Just("-- dashes\n".to_owned()),
        Just("@@ -1 +1 @@\n".to_owned()),
        "[a-zæ\\\\ ]{0,6}\n",
    ];
    (prop::collection::vec(line, 0..12), "[a-c]{0,2}")
        .prop_map(|(lines, end)| lines.concat() + &end)
}

fn call() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        4 => (path(), text())
            .prop_map(|(path, content)| ("file_write", json!({ "path": path, "content": content }))),
        4 => (path(), "[a-c]{0,3}").prop_map(|(path, new)| {
            let edits = json!([{ "old": "same\n", "new": format!("{new}\n"), "all": true }]);
            ("file_edit", json!({ "path": path, "edits": edits }))
        }),
        2 => (path(), path())
            .prop_map(|(path, to)| ("file_move", json!({ "path": path, "to": to }))),
        1 => path().prop_map(|path| ("file_delete", json!({ "path": path }))),
    ]
}

fn apply_random_changes(cases: u32) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let strategy =
        (prop::collection::btree_map(path(), text(), 0..5), prop::collection::vec(call(), 1..12));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let result = TestRunner::new(config).run(&strategy, |(initial, calls)| {
        let fixture = Fixture::new();
        // `dir` is a file or a folder.
        let is_file = initial.contains_key("dir");
        for (path, content) in initial.iter().filter(|it| !is_file || !it.0.starts_with("dir/")) {
            fixture.write(path, content);
            if path.ends_with(".txt") {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(fixture.path(path), mode).unwrap();
            }
        }
        let fresh = fixture.folder.join("fresh");
        copy(&fixture.path(""), &fresh);
        let before = contents(&fixture.path(""));
        let recorder = DiffRecorder::new(&fixture.files);
        let dispatcher = dispatcher(&fixture.files, Policy::new()).observer(recorder.clone());
        for (number, (tool, arguments)) in calls.into_iter().enumerate() {
            let id = number.to_string();
            let call = tool_runtime::ToolCall::new(id, tool, arguments.to_string());
            runtime.block_on(dispatcher.dispatch(vec![call]));
        }
        let patch = recorder.patch_of_run(RunId::default());
        assert_eq!(patch.omitted(), &[] as &[String]);
        let after = contents(&fixture.path(""));
        if !patch.as_str().is_empty() {
            apply(patch.as_str(), &fresh);
        }
        assert_eq!(contents(&fresh), after, "{patch}");
        if after != before || !recorder.turns().is_empty() {
            fixture.files.undo(RunId::default(), 0).unwrap();
            assert_eq!(contents(&fixture.path("")), before);
        }
        Ok(())
    });
    result.unwrap();
}

#[test]
fn patch_of_random_changes_applies_and_undoing_reverts_them() {
    apply_random_changes(50);
}

#[test]
#[ignore = "takes minutes"]
fn patch_of_ten_thousand_random_changes_applies() {
    apply_random_changes(10_000);
}

#[tokio::test]
async fn patches_belong_to_turns_and_runs() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let fresh = fixture.folder.join("fresh");
    copy(&fixture.path(""), &fresh);
    let recorder = DiffRecorder::new(&fixture.files);
    let write = |path: &str, content: &str| {
        let arguments = json!({ "path": path, "content": content });
        ChatReply::default().call("file_write", arguments.to_string())
    };
    let model = ScriptedModel::new([
        write("a.txt", "two\n"),
        write("a.txt", "three\n").call("file_write", r#"{"path": "b.txt", "content": "new\n"}"#),
        write("a.txt", "one\n"),
        ChatReply::text("Done."),
    ]);
    let agent = Agent::new(model, tools![..fixture.files.clone()])
        .policy(Policy::new().approver(ApprovesAll))
        .observer(recorder.clone());
    agent.run("Edit.").await.unwrap();
    let turns = recorder.turns();
    let run = turns[0].0;
    assert_eq!(turns, [(run, 1), (run, 2), (run, 3)]);
    let second = recorder.patch_of_turn(run, 2);
    assert_eq!(second.paths(), ["a.txt", "b.txt"]);
    assert!(second.as_str().contains("-two\n+three\n"), "{second}");
    // The run as a whole has changed one file only.
    let patch = recorder.patch_of_run(run);
    assert_eq!(patch.paths(), ["b.txt"]);
    for turn in 1..=3 {
        apply(recorder.patch_of_turn(run, turn).as_str(), &fresh);
    }
    assert_eq!(contents(&fresh), contents(&fixture.path("")));
    assert!(recorder.patch_of_turn(run, 4).as_str().is_empty());
}

#[tokio::test]
async fn patch_names_what_it_omits() {
    let fixture = Fixture::new();
    fixture.write("image.png", b"\x89PNG\r\n\x1A\n\0");
    let recorder = DiffRecorder::new(&fixture.files);
    let fixture = fixture.observed(recorder.clone());
    fixture.text("file_move", json!({ "path": "image.png", "to": "b.png" })).await;
    fixture.text("file_write", json!({ "path": "a.txt", "content": "" })).await;
    let patch = recorder.patch_of_turn(RunId::default(), 0);
    assert_eq!(patch.omitted(), ["b.png", "image.png"]);
    assert_eq!(patch.as_str(), "diff --git a/a.txt b/a.txt\nnew file mode 100644\n");
}

#[tokio::test]
async fn patch_contains_no_secret() {
    let fixture = Fixture::new();
    fixture.write("config", "key = k3y-0f-th3-h0us3\nname = a\n");
    let recorder = DiffRecorder::new(&fixture.files);
    let dispatcher = dispatcher(&fixture.files, Policy::new().secrets(["k3y-0f-th3-h0us3"]))
        .observer(recorder.clone());
    let edits = json!([{ "old": "name = a", "new": "name = b" }]);
    let arguments = json!({ "path": "config", "edits": edits }).to_string();
    let call = tool_runtime::ToolCall::new("1", "file_edit", arguments);
    let execution = dispatcher.dispatch(vec![call]).await.remove(0);
    assert!(execution.is_success(), "{}", execution.result.text);
    let patch = recorder.patch_of_run(RunId::default());
    let hunk = "@@ -1,2 +1,2 @@\n key = [redacted]\n-name = a\n+name = b\n";
    assert!(patch.as_str().ends_with(hunk), "{patch}");
    let effects = serde_json::to_string(&execution.effects).unwrap();
    assert!(effects.contains("name = b") && !effects.contains("k3y"), "{effects}");
    // The content itself is restored with it.
    fixture.files.undo(RunId::default(), 0).unwrap();
    assert_eq!(fixture.read("config"), "key = k3y-0f-th3-h0us3\nname = a\n");
}

#[tokio::test]
async fn patch_names_a_file_in_which_only_a_secret_changed() {
    let fixture = Fixture::new();
    fixture.write("config", "key = k3y-0f-th3-h0us3\n");
    let recorder = DiffRecorder::new(&fixture.files);
    let secrets = ["k3y-0f-th3-h0us3", "k3y-0f-th3-c4r"];
    let dispatcher =
        dispatcher(&fixture.files, Policy::new().secrets(secrets)).observer(recorder.clone());
    let [old, new] = secrets;
    for (old, new, expected) in [(old, new, vec!["config".to_owned()]), (new, old, vec![])] {
        let edits = json!([{ "old": old, "new": new }]);
        let arguments = json!({ "path": "config", "edits": edits }).to_string();
        let call = tool_runtime::ToolCall::new("1", "file_edit", arguments);
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        assert!(execution.is_success(), "{}", execution.result.text);
        let patch = recorder.patch_of_run(RunId::default());
        assert_eq!((patch.as_str(), patch.omitted()), ("", &*expected));
    }
}

#[test]
fn recorder_of_another_workspace_records_nothing() {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let recorder = DiffRecorder::new(&Files::open(&other.folder).unwrap());
    let fixture = fixture.observed(recorder.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(fixture.text("file_write", json!({ "path": "a", "content": "" })));
    assert_eq!(recorder.turns(), []);
}
