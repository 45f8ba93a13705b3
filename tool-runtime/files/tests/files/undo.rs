//! Undoing the changes of a turn.

use std::fs;

use crate::files::{DiffRecorder, Patch, UndoError};
use serde_json::json;
use tool_runtime::event::RunId;
use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, tools};

use super::fixture::{ApprovesAll, Fixture};

#[tokio::test]
async fn turns_are_undone_from_the_last() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let recorder = DiffRecorder::new(&fixture.files);
    let write = |content: &str| {
        let arguments = json!({ "path": "a.txt", "content": content });
        ChatReply::default().call("file_write", arguments.to_string())
    };
    let model = ScriptedModel::new([
        write("two\n").call("file_write", r#"{"path": "b.txt", "content": "new\n"}"#),
        write("three\n"),
        ChatReply::text("Done."),
    ]);
    let agent = Agent::new(model, tools![..fixture.files.clone()])
        .policy(Policy::new().approver(ApprovesAll))
        .observer(recorder.clone());
    agent.run("Edit.").await.unwrap();
    let (run, _) = recorder.turns()[0];
    let error = fixture.files.undo(run, 1).unwrap_err();
    let text = "turn can't be undone: files have changed since: a.txt; undo later turns first";
    assert_eq!(error.to_string(), text);
    assert_eq!(fixture.read("b.txt"), "new\n", "nothing was undone");
    assert_eq!(fixture.files.undo(run, 2).unwrap(), ["a.txt"]);
    assert_eq!(fixture.read("a.txt"), "two\n");
    // The patch leads from the folder of before to that of now.
    let patch = recorder.patch_of_run(run).to_string();
    assert!(patch.contains("+two\n") && !patch.contains("three"), "{patch}");
    assert_eq!(recorder.patch_of_turn(run, 2).as_str(), "");
    assert_eq!(fixture.files.undo(run, 1).unwrap(), ["a.txt", "b.txt"]);
    assert_eq!(recorder.patch_of_run(run).as_str(), "");
    assert_eq!(fixture.read("a.txt"), "one\n");
    assert!(!fixture.path("b.txt").exists());
    assert!(matches!(fixture.files.undo(run, 1), Err(UndoError::NoChanges { turn: 1, .. })));
}

#[tokio::test]
async fn change_of_others_is_not_undone() {
    let fixture = Fixture::new();
    fixture.text("file_write", json!({ "path": "a.txt", "content": "mine\n" })).await;
    fixture.write("a.txt", "theirs\n");
    let error = fixture.files.undo(RunId::default(), 0).unwrap_err();
    assert!(matches!(error, UndoError::Changed { paths } if paths == ["a.txt"]));
    assert_eq!(fixture.read("a.txt"), "theirs\n");
}

#[tokio::test]
async fn large_file_is_moved_back_but_not_restored() {
    let fixture = Fixture::new();
    fixture.write("large", vec![b'x'; 9 * 1024 * 1024]);
    fixture.text("file_move", json!({ "path": "large", "to": "moved" })).await;
    assert_eq!(fixture.files.undo(RunId::default(), 0).unwrap(), ["large", "moved"]);
    assert!(fixture.path("large").exists() && !fixture.path("moved").exists());
    fixture.text("file_delete", json!({ "path": "large" })).await;
    assert!(matches!(
        fixture.files.undo(RunId::default(), 0),
        Err(UndoError::ContentsUnavailable { turn: 0, .. })
    ));
}

/// Each move counts the content twice: 16 MiB.
#[tokio::test]
async fn oldest_turns_are_dropped_beyond_the_limit() {
    let fixture = Fixture::new();
    fixture.write("0", "x".repeat(8 * 1024 * 1024));
    let recorder = DiffRecorder::new(&fixture.files);
    let moves = (1..=5).map(|number| {
        let arguments = json!({ "path": (number - 1).to_string(), "to": number.to_string() });
        ChatReply::default().call("file_move", arguments.to_string())
    });
    let model = ScriptedModel::new(moves.chain([ChatReply::text("Done.")]));
    let agent = Agent::new(model, tools![..fixture.files.clone()])
        .policy(Policy::new().approver(ApprovesAll))
        .observer(recorder.clone());
    agent.run("Move it.").await.unwrap();
    assert!(recorder.has_evicted());
    let turns = recorder.turns();
    let run = turns[0].0;
    assert_eq!(turns, [2, 3, 4, 5].map(|turn| (run, turn)));
    assert_eq!(recorder.patch_of_turn(run, 1), Patch::default());
    // The text is too long for a patch.
    assert_eq!(recorder.patch_of_turn(run, 2).omitted(), ["1", "2"]);
    for turn in [5, 4, 3, 2] {
        let paths = [(turn - 1).to_string(), turn.to_string()];
        assert_eq!(fixture.files.undo(run, turn).unwrap(), paths);
    }
    let error = fixture.files.undo(run, 1).unwrap_err();
    assert!(matches!(error, UndoError::ContentsUnavailable { turn: 1, .. }), "{error}");
    assert!(fixture.path("1").exists());
}

#[tokio::test]
async fn deleted_file_is_restored_with_its_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let fixture = Fixture::new();
    fixture.write("dir/run.sh", "#!/bin/sh\n");
    let mode = fs::Permissions::from_mode(0o751);
    fs::set_permissions(fixture.path("dir/run.sh"), mode).unwrap();
    fixture.text("file_delete", json!({ "path": "dir/run.sh" })).await;
    fs::remove_dir(fixture.path("dir")).unwrap();
    fixture.files.undo(RunId::default(), 0).unwrap();
    let mode = fs::metadata(fixture.path("dir/run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o751);
}

#[tokio::test]
async fn file_is_restored_in_place_of_a_folder() {
    let fixture = Fixture::new();
    fixture.write("a", "file\n");
    fixture.write("b", "moved\n");
    let recorder = DiffRecorder::new(&fixture.files);
    let call = |tool: &str, arguments| ChatReply::default().call(tool, arguments);
    let model = ScriptedModel::new([
        call("file_delete", r#"{"path": "a"}"#).call("file_move", r#"{"path": "b", "to": "c"}"#),
        call("file_write", r#"{"path": "a/deep/x", "content": "x"}"#)
            .call("file_move", r#"{"path": "c", "to": "b/c"}"#),
        ChatReply::text("Done."),
    ]);
    let agent = Agent::new(model, tools![..fixture.files.clone()])
        .policy(Policy::new().approver(ApprovesAll))
        .observer(recorder.clone());
    agent.run("Make folders of files.").await.unwrap();
    let (run, _) = recorder.turns()[0];
    assert_eq!(fixture.files.undo(run, 2).unwrap(), ["a/deep/x", "b/c", "c"]);
    // A file of others is not removed with its folder.
    fixture.write("a/deep/theirs", "");
    let error = fixture.files.undo(run, 1).unwrap_err();
    assert!(matches!(error, UndoError::Changed { paths } if paths == ["a"]));
    assert_eq!(fixture.read("c"), "moved\n", "nothing was undone");
    fs::remove_file(fixture.path("a/deep/theirs")).unwrap();
    assert_eq!(fixture.files.undo(run, 1).unwrap(), ["a", "b", "c"]);
    assert_eq!((fixture.read("a"), fixture.read("b")), ("file\n".into(), "moved\n".into()));
}

#[tokio::test]
async fn model_reads_again_after_an_undo() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    fixture.text("file_write", json!({ "path": "a.txt", "content": "two\n" })).await;
    fixture.files.undo(RunId::default(), 0).unwrap();
    let arguments = json!({ "path": "a.txt", "content": "three\n" });
    let error = fixture.error("file_write", arguments).await;
    assert_eq!(error, "`a.txt` has changed since you read it: read it again.");
}
