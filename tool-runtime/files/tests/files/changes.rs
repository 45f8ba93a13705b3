//! The tools that change files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use crate::files::Files;
use serde_json::{Value, json};
use tool_runtime::event::{FileChange, FileOp, Recorder, RunId};
use tool_runtime::{Agent, ChatReply, EffectRecord, Policy, ScriptedModel, ToolCall, tools};

use super::fixture::{ApprovesAll, Fixture, dispatcher};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "edits": [{ "old": old, "new": new }] })
}

#[tokio::test]
async fn files_are_written_edited_moved_and_deleted() {
    let fixture = Fixture::new();
    let arguments = json!({ "path": "a/b/new.txt", "content": "one\n" });
    let text = fixture.text("file_write", arguments).await;
    assert_eq!(text, "Created a/b/new.txt (4 bytes).");
    let text = fixture.text("file_edit", edit("a/b/new.txt", "one", "two")).await;
    assert_eq!(text, "Edited a/b/new.txt: 1 replacement.");
    let arguments = json!({ "path": "a/b/new.txt", "to": "c/moved.txt" });
    let text = fixture.text("file_move", arguments).await;
    assert_eq!(text, "Moved a/b/new.txt to c/moved.txt.");
    assert_eq!(fixture.read("c/moved.txt"), "two\n");
    assert_eq!(
        fixture.text("file_delete", json!({ "path": "c/moved.txt" })).await,
        "Deleted c/moved.txt."
    );
    assert!(!fixture.path("c/moved.txt").exists());
}

#[tokio::test]
async fn paths_of_folders_are_not_taken_for_those_of_files() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    for (tool, arguments, argument) in [
        ("file_write", json!({ "path": "new/", "content": "" }), "path"),
        ("file_move", json!({ "path": "a.txt", "to": "new/" }), "to"),
        ("file_delete", json!({ "path": "a.txt/" }), "path"),
    ] {
        let error = fixture.error(tool, arguments).await;
        let expected = format!("`{argument}` ends with `/`: send the path of a file.");
        assert_eq!(error, expected, "{tool}");
    }
    assert_eq!(fixture.read("a.txt"), "one\n");
    assert!(!fixture.path("new").exists());
}

#[tokio::test]
async fn changes_are_recorded_as_effects() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let digest = "sha256:27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a";
    let diff = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";
    let execution = fixture.call("file_edit", edit("a.txt", "one", "two")).await;
    let change = FileChange::new("a.txt", FileOp::Write).bytes_before(4).bytes_after(4);
    assert_eq!(execution.effects, [change.digest(digest).diff(diff).into()]);
    let execution = fixture.call("file_move", json!({ "path": "a.txt", "to": "b.txt" })).await;
    let [EffectRecord::FileChanged(change)] = &execution.effects[..] else { panic!() };
    assert_eq!(
        (change.path.as_str(), &change.op),
        ("a.txt", &FileOp::Rename { to: "b.txt".into() })
    );
    let execution = fixture.call("file_delete", json!({ "path": "b.txt" })).await;
    let [EffectRecord::FileChanged(change)] = &execution.effects[..] else { panic!() };
    assert_eq!(
        (&change.op, change.bytes_before, change.bytes_after),
        (&FileOp::Delete, Some(4), None)
    );
    let execution = fixture.call("file_edit", edit("b.txt", "one", "two")).await;
    assert_eq!(execution.effects, []);
}

#[tokio::test]
async fn edits_of_a_call_are_applied_together_or_not_at_all() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one two two\n");
    let edits = json!([{ "old": "one", "new": "1" }, { "old": "two", "new": "2" }]);
    let error = fixture.error("file_edit", json!({ "path": "a.txt", "edits": edits })).await;
    assert!(
        error.starts_with("`a.txt`: `edits[1].old` occurs 2 times, in lines 1, 1: "),
        "{error}"
    );
    assert_eq!(fixture.read("a.txt"), "one two two\n");
    let edits = json!([{ "old": "one", "new": "1" }, { "old": "two", "new": "2", "all": true }]);
    let text = fixture.text("file_edit", json!({ "path": "a.txt", "edits": edits })).await;
    assert_eq!(
        (text.as_str(), fixture.read("a.txt").as_str()),
        ("Edited a.txt: 3 replacements.", "1 2 2\n")
    );
}

#[tokio::test]
async fn edit_keeps_the_byte_order_mark_and_the_missing_line_break() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "\u{feff}one\r\ntwo");
    fixture.text("file_edit", edit("a.txt", "one\ntwo", "1\n2\n3")).await;
    assert_eq!(fixture.read("a.txt"), "\u{feff}1\r\n2\r\n3");
    // The replacement contains the text.
    let edits = json!([{ "old": "2", "new": "2 2" }, { "old": "2 2", "new": "2" }]);
    fixture.text("file_edit", json!({ "path": "a.txt", "edits": edits })).await;
    assert_eq!(fixture.read("a.txt"), "\u{feff}1\r\n2\r\n3");
    let error = fixture.error("file_edit", edit("a.txt", "3\n", "4\n")).await;
    assert!(error.contains("The nearest text:\n3\t3\n"), "{error}");
}

#[tokio::test]
async fn text_that_overlaps_itself_does_not_occur_once() {
    let fixture = Fixture::new();
    let text = "a {\n  b {\n    }\n    }\n    }\n";
    fixture.write("a.txt", text);
    let error = fixture.error("file_edit", edit("a.txt", "    }\n    }\n", "    }\n")).await;
    let expected = "`a.txt`: `edits[0].old` occurs several times, and overlaps itself, in lines 3, 4: \
                    send more of the text around it.";
    assert_eq!(error, expected);
    assert_eq!(fixture.read("a.txt"), text);
    fixture.text("file_edit", edit("a.txt", "b {\n    }\n    }\n", "b {\n    }\n")).await;
    assert_eq!(fixture.read("a.txt"), "a {\n  b {\n    }\n    }\n");
}

#[tokio::test]
async fn replaced_file_keeps_its_permissions_and_its_other_names() {
    let fixture = Fixture::new();
    for mode in [0o600, 0o644, 0o755, 0o640, 0o444] {
        let name = format!("script-{mode:o}.sh");
        let path = fixture.path(&name);
        fixture.write(&name, "one\n");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        fs::hard_link(&path, fixture.folder.join("link")).unwrap();
        let before = fs::metadata(&path).unwrap();
        fixture.text("file_write", json!({ "path": name, "content": "two\n" })).await;
        let after = fs::metadata(&path).unwrap();
        assert_eq!((after.mode(), after.uid()), (before.mode(), before.uid()));
        // A name outside of the workspace has the content of before.
        assert_eq!(fs::read_to_string(fixture.folder.join("link")).unwrap(), "one\n");
        fs::remove_file(fixture.folder.join("link")).unwrap();
        fs::remove_file(path).unwrap();
    }
    assert_eq!(fs::read_dir(fixture.path("")).unwrap().count(), 0, "no temporary file remains");
}

#[tokio::test]
async fn secrets_are_not_replaced_by_their_marks() {
    let fixture = Fixture::new();
    let content = "key = k3y-0f-th3-h0us3\nname = a\n";
    fixture.write("config", content);
    fixture.write("notes", "[redacted]\n");
    let dispatcher = dispatcher(&fixture.files, Policy::new().secrets(["k3y-0f-th3-h0us3"]));
    let call = async |tool: &str, arguments: Value| {
        let call = ToolCall::new("1", tool, arguments.to_string());
        dispatcher.dispatch(vec![call]).await.remove(0).result
    };
    let read = call("file_read", json!({ "path": "config" })).await;
    assert_eq!(read.text, "1\tkey = [redacted]\n2\tname = a");
    let refused = "`config` contains secrets, which you read as `[redacted]`, and this text would \
                   replace them: edit the other parts by `file_edit`.";
    for (tool, arguments) in [
        ("file_write", json!({ "path": "config", "content": "key = [redacted]\nname = b\n" })),
        ("file_edit", edit("config", "name = a", "key = [redacted]")),
    ] {
        assert_eq!(call(tool, arguments).await.text, refused);
        assert_eq!(fixture.read("config"), content);
    }
    for (tool, arguments, path, expected) in [
        ("file_edit", edit("config", "a\n", "b\n"), "config", "key = k3y-0f-th3-h0us3\nname = b\n"),
        ("file_write", json!({ "path": "config", "content": "" }), "config", ""),
        ("file_edit", edit("notes", "\n", " [redacted]\n"), "notes", "[redacted] [redacted]\n"),
        ("file_write", json!({ "path": "new", "content": "[redacted]" }), "new", "[redacted]"),
    ] {
        let result = call(tool, arguments).await;
        assert_eq!(fixture.read(path), expected, "{tool}: {}", result.text);
    }
}

/// The folder of the test that runs as another user.
const SHARED: &str = "SHARED_FOLDER";

#[test]
fn file_of_another_user_stays_the_file_of_its_group() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: not root");
        return;
    }
    let fixture = Fixture::new();
    let owned = |path: &str, (user, group): (u32, u32), mode| {
        let path = fixture.folder.join(path);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        std::os::unix::fs::chown(path, Some(user), Some(group)).unwrap();
    };
    for name in ["of-group", "of-strangers"] {
        fixture.write(name, "one\n");
    }
    owned("inside", (1234, 1234), 0o755);
    owned("inside/of-group", (4321, 2345), 0o660);
    owned("inside/of-strangers", (4321, 5432), 0o664);
    let program = fixture.folder.join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid", "1234", "--regid", "1234", "--groups", "2345", "--"])
        .arg(&program)
        .args(["--exact", "changes::write_as_another_user", "--ignored"])
        .env(SHARED, fixture.path(""))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    for (name, group, mode) in [("of-group", 2345, 0o660), ("of-strangers", 1234, 0o644)] {
        let metadata = fs::metadata(fixture.path(name)).unwrap();
        assert_eq!(fixture.read(name), "two\n");
        assert_eq!((metadata.gid(), metadata.mode() & 0o777), (group, mode), "{name}");
    }
}

#[tokio::test]
#[ignore = "another test runs it as another user"]
async fn write_as_another_user() {
    let Some(folder) = std::env::var_os(SHARED) else { return };
    let dispatcher = dispatcher(&Files::open(folder).unwrap(), Policy::new());
    for name in ["of-group", "of-strangers"] {
        let arguments = json!({ "path": name, "content": "two\n" }).to_string();
        let call = ToolCall::new("1", "file_write", arguments);
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        assert!(execution.is_success(), "{}", execution.result.text);
    }
}

/// Another thread looks at the temporary files of replacements all the time.
#[tokio::test]
async fn content_of_a_private_file_is_never_readable_by_others() {
    let fixture = Fixture::new();
    fixture.write(".env", "KEY=1\n");
    fs::set_permissions(fixture.path(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    let is_stopped = Arc::new(AtomicBool::new(false));
    let sightings = Arc::new(AtomicU32::new(0));
    let watcher = {
        let (is_stopped, sightings) = (Arc::clone(&is_stopped), Arc::clone(&sightings));
        let folder = fixture.path("");
        thread::spawn(move || {
            let mut modes = BTreeSet::new();
            while !is_stopped.load(Ordering::Relaxed) {
                for entry in fs::read_dir(&folder).unwrap().flatten() {
                    let Ok(metadata) = fs::symlink_metadata(entry.path()) else { continue };
                    modes.insert(metadata.mode() & 0o777);
                    let is_temporary = entry.file_name().to_string_lossy().ends_with(".tmp");
                    sightings.fetch_add(u32::from(is_temporary), Ordering::Relaxed);
                }
            }
            modes
        })
    };
    let content = "KEY=2\n".repeat(500_000);
    let mut round = 0;
    while sightings.load(Ordering::Relaxed) < 60 && round < 1000 {
        round += 1;
        let arguments = json!({ "path": ".env", "content": format!("{content}{round}") });
        fixture.text("file_write", arguments).await;
        fixture.text("file_delete", json!({ "path": ".env" })).await;
        // Creates the file again, and replaces its content.
        fixture.files.undo(RunId::default(), 0).unwrap();
    }
    is_stopped.store(true, Ordering::Relaxed);
    let modes = watcher.join().unwrap();
    assert!(sightings.load(Ordering::Relaxed) >= 60, "few temporary files were seen");
    let modes: Vec<_> = modes.iter().map(|mode| format!("{mode:o}")).collect();
    assert_eq!(modes, ["600"]);
}

#[tokio::test]
async fn content_that_is_no_text_is_not_edited() {
    let fixture = Fixture::new();
    fixture.write("latin", b"Troms\xF8");
    let error = fixture.error("file_edit", edit("latin", "Troms", "Bod")).await;
    assert_eq!(error, "`latin` is not UTF-8 text, so it can't be edited.");
    let error = fixture.error("file_edit", edit("missing", "a", "b")).await;
    assert_eq!(error, "`missing` does not exist: create it by `file_write`.");
    fixture.write("taken", "");
    let error = fixture.error("file_move", json!({ "path": "latin", "to": "taken" })).await;
    assert_eq!(error, "`taken` exists already: delete it first, or choose another path.");
    let error = fixture.error("file_move", json!({ "path": "latin", "to": "./latin" })).await;
    assert_eq!(error, "`latin` is the path of the file already: choose another one.");
    assert_eq!(fs::read(fixture.path("latin")).unwrap(), b"Troms\xF8");
    let error = fixture.error("file_delete", json!({ "path": "." })).await;
    assert_eq!(error, "`path` is empty: send the path of a file.");
}

#[tokio::test]
async fn file_that_changed_since_it_was_read_is_not_changed() {
    let fixture = Fixture::new();
    for (tool, arguments) in [
        ("file_write", json!({ "path": "a.txt", "content": "mine\n" })),
        ("file_edit", edit("a.txt", "theirs", "mine")),
        ("file_delete", json!({ "path": "a.txt" })),
        ("file_move", json!({ "path": "a.txt", "to": "b.txt" })),
    ] {
        fixture.write("a.txt", "one\n");
        fixture.text("file_read", json!({ "path": "a.txt", "limit": 1 })).await;
        fixture.write("a.txt", "theirs\n");
        let error = fixture.error(tool, arguments.clone()).await;
        assert_eq!(error, "`a.txt` has changed since you read it: read it again.", "{tool}");
        assert_eq!(fixture.read("a.txt"), "theirs\n", "{tool}");
        // The refused call has evicted the memoized text.
        let text = fixture.text("file_read", json!({ "path": "a.txt", "limit": 1 })).await;
        assert_eq!(text, "1\ttheirs", "{tool}");
        fixture.text(tool, arguments).await;
    }
    fixture.write("gone.txt", "");
    fixture.text("file_read", json!({ "path": "gone.txt" })).await;
    fs::remove_file(fixture.path("gone.txt")).unwrap();
    let arguments = json!({ "path": "gone.txt", "content": "" });
    let error = fixture.error("file_write", arguments.clone()).await;
    assert_eq!(error, "`gone.txt` has changed since you read it: read it again.");
    // The run knows now that there is none.
    let error = fixture.error("file_read", json!({ "path": "gone.txt" })).await;
    assert_eq!(error, "`gone.txt` does not exist.");
    fixture.text("file_write", arguments).await;
}

#[tokio::test]
async fn file_that_became_binary_can_be_changed_after_it_was_read() {
    let fixture = Fixture::new();
    for (content, reason) in [(vec![0; 10], "a binary file of 10 bytes"), (image(), "an image of ")]
    {
        fixture.write("a.out", "one\n");
        fixture.text("file_read", json!({ "path": "a.out" })).await;
        fixture.write("a.out", content);
        let error = fixture.error("file_delete", json!({ "path": "a.out" })).await;
        assert_eq!(error, "`a.out` has changed since you read it: read it again.");
        let error = fixture.error("file_read", json!({ "path": "a.out" })).await;
        assert!(error.starts_with(&format!("`a.out` is {reason}")), "{error}");
        fixture.text("file_delete", json!({ "path": "a.out" })).await;
    }
}

/// Returns an image that is too large to be sent.
fn image() -> Vec<u8> {
    let mut bytes = b"GIF89a".to_vec();
    bytes.resize(6 << 20, 0);
    bytes
}

#[tokio::test]
async fn versions_belong_to_a_run() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let read = || ChatReply::default().call("file_read", r#"{"path": "a.txt"}"#);
    let write =
        || ChatReply::default().call("file_write", r#"{"path": "a.txt", "content": "mine\n"}"#);
    let recorder = Recorder::new(1000);
    let model = ScriptedModel::new([
        read(),
        ChatReply::text("It says one."),
        write(),
        ChatReply::text("Done."),
    ]);
    let agent = Agent::new(model, tools![..fixture.files.clone()])
        .policy(Policy::new().approver(ApprovesAll))
        .observer(recorder.clone());
    agent.run("What does it say?").await.unwrap();
    fixture.write("a.txt", "theirs\n");
    agent.run("Overwrite it, whatever it says.").await.unwrap();
    assert_eq!(fixture.read("a.txt"), "mine\n");
    assert!(recorder.executions().iter().all(|it| it.is_success()));
}

/// Another program replaces the file all the time. If it sees its content replaced by that of a
/// call that succeeded, then that call has read it.
#[tokio::test]
#[cfg_attr(portable, ignore = "needs a system call that exchanges two files")]
async fn parallel_change_is_never_overwritten() {
    let fixture = Fixture::new();
    fixture.write("counter", "0");
    let is_stopped = Arc::new(AtomicBool::new(false));
    let (path, spare) = (fixture.path("counter"), fixture.folder.join("spare"));
    let other = {
        let is_stopped = Arc::clone(&is_stopped);
        thread::spawn(move || {
            let mut replaced = Vec::new();
            for number in 0.. {
                if is_stopped.load(Ordering::Relaxed) {
                    break;
                }
                let external = format!("theirs {number}");
                fs::write(&spare, &external).unwrap();
                fs::rename(&spare, &path).unwrap();
                // Waits for a call every other time, and is ahead of it otherwise.
                for _ in 0..if number % 2 == 0 { 10_000 } else { number % 50 } {
                    let content = fs::read_to_string(&path).unwrap();
                    if content != external {
                        replaced.push((external, content));
                        break;
                    }
                }
            }
            replaced
        })
    };
    let mut written = BTreeMap::new();
    let mut refused = 0;
    for round in 0..300 {
        let text = fixture.text("file_read", json!({ "path": "counter" })).await;
        let content = format!("mine {round}");
        let arguments = json!({ "path": "counter", "content": content });
        let execution = fixture.call("file_write", arguments).await;
        if execution.is_success() {
            written.insert(content, text.trim_start_matches("1\t").to_owned());
        } else {
            let text = execution.result.text;
            assert!(text.contains("has changed since"), "{text}");
            refused += 1;
        }
    }
    is_stopped.store(true, Ordering::Relaxed);
    let replaced = other.join().unwrap();
    let mut checked = 0;
    for (external, replacement) in replaced {
        // Several calls may have replaced the content of each other before it was seen.
        let mut read = written.get(&replacement);
        while let Some(earlier) = read.and_then(|content| written.get(content)) {
            read = Some(earlier);
        }
        if let Some(read) = read {
            assert_eq!(*read, external, "{replacement}");
            checked += 1;
        }
    }
    assert!(checked > 10 && refused > 10, "{checked} checked, {refused} refused");
    let names: Vec<_> = fs::read_dir(fixture.path("")).unwrap().collect();
    assert_eq!(names.len(), 1, "no temporary file remains");
}

/// Another program replaces the file all the time. A call moves what it has read, or nothing.
#[tokio::test]
async fn parallel_change_is_not_moved() {
    let fixture = Fixture::new();
    let is_stopped = Arc::new(AtomicBool::new(false));
    let (path, spare) = (fixture.path("a.txt"), fixture.folder.join("spare"));
    let other = {
        let is_stopped = Arc::clone(&is_stopped);
        thread::spawn(move || {
            for number in 0.. {
                if is_stopped.load(Ordering::Relaxed) {
                    break;
                }
                fs::write(&spare, format!("theirs {number}")).unwrap();
                fs::rename(&spare, &path).unwrap();
            }
        })
    };
    // A refused call that can't move back, because the name is taken again, leaves the file there.
    let (mut moved, mut refused) = (0, 0);
    while moved + refused < 100 || refused <= 10 {
        let read = fixture.call("file_read", json!({ "path": "a.txt" })).await;
        let to = format!("moved {moved}");
        if !read.is_success() {
            thread::yield_now();
            continue;
        }
        let execution = fixture.call("file_move", json!({ "path": "a.txt", "to": to })).await;
        if execution.is_success() {
            let text = read.result.text.trim_start_matches("1\t").to_owned();
            assert_eq!(fixture.read(&to), text);
            moved += 1;
        } else {
            // It may have left the file there.
            _ = fs::remove_file(fixture.path(&to));
            refused += 1;
        }
    }
    is_stopped.store(true, Ordering::Relaxed);
    other.join().unwrap();
}

#[tokio::test]
async fn run_reads_the_edited_text() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let model = ScriptedModel::new([
        ChatReply::default().call("file_read", r#"{"path": "a.txt"}"#),
        ChatReply::default().call("file_edit", edit("a.txt", "one", "two").to_string()),
        ChatReply::default().call("file_read", r#"{"path": "a.txt"}"#),
        ChatReply::text("Done."),
    ]);
    let recorder = Recorder::new(1000);
    let agent = Agent::new(model, tools![..fixture.files.clone()])
        .policy(Policy::new().approver(ApprovesAll))
        .observer(recorder.clone());
    agent.run("Replace one by two.").await.unwrap();
    let texts: Vec<_> = recorder.executions().into_iter().map(|it| it.result.text).collect();
    assert_eq!(texts, ["1\tone", "Edited a.txt: 1 replacement.", "1\ttwo"]);
}
