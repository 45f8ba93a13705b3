//! Changes of others, at the same time as those of the tools, or long after a file was read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::files::Files;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde_json::json;
use tool_runtime::event::Recorder;
use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, tool, tools};

use super::fixture::{ApprovesAll, Fixture};

/// Exchanges a file for the next version all the time, or creates it, and returns all versions with
/// those that it took out again.
fn exchange_versions(
    path: &Path,
    spare: &Path,
    is_stopped: &AtomicBool,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut all, mut taken_out) = (BTreeSet::new(), BTreeSet::new());
    for number in 0.. {
        if is_stopped.load(Ordering::Relaxed) {
            break;
        }
        let version = format!("theirs {number}");
        fs::write(spare, &version).unwrap();
        all.insert(version);
        // Between the two calls, the file may be moved away or back.
        loop {
            let exchange = RenameFlags::EXCHANGE;
            if renameat_with(CWD, spare, CWD, path, exchange).is_ok() {
                taken_out.insert(fs::read_to_string(spare).unwrap());
                break;
            }
            match renameat_with(CWD, spare, CWD, path, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                result => break result.unwrap(),
            }
        }
    }
    (all, taken_out)
}

/// A version that the other program has not taken out, and that is no longer there, was deleted.
#[tokio::test]
async fn parallel_change_is_not_deleted() {
    let fixture = Fixture::new();
    let is_stopped = Arc::new(AtomicBool::new(false));
    let (path, spare) = (fixture.path("a.txt"), fixture.folder.join("spare"));
    let other = {
        let is_stopped = Arc::clone(&is_stopped);
        thread::spawn(move || exchange_versions(&path, &spare, &is_stopped))
    };
    let (mut deleted, mut refused) = (BTreeSet::new(), 0);
    while deleted.len() <= 100 || refused <= 100 {
        let read = fixture.call("file_read", json!({ "path": "a.txt" })).await;
        if !read.is_success() {
            thread::yield_now();
            continue;
        }
        if fixture.call("file_delete", json!({ "path": "a.txt" })).await.is_success() {
            deleted.insert(read.result.text.trim_start_matches("1\t").to_owned());
        } else {
            refused += 1;
        }
    }
    is_stopped.store(true, Ordering::Relaxed);
    let (mut missing, taken_out) = other.join().unwrap();
    missing.retain(|version| !taken_out.contains(version));
    // A refused call that can't move a file back, because the name is taken again, leaves it there.
    for entry in fs::read_dir(fixture.path("")).unwrap() {
        missing.remove(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    assert_eq!(missing, deleted);
}

/// More runs than those whose versions are remembered.
const RUNS: usize = 70;

/// Runs that read a file, while another one waits.
struct OtherRuns {
    files: Files,
    path: PathBuf,
}

fn reads() -> ChatReply {
    ChatReply::default().call("file_read", r#"{"path": "a.txt"}"#)
}

#[tool]
impl OtherRuns {
    /// Waits for the other runs, and changes the file.
    #[tool]
    async fn wait(&self) {
        for _ in 0..RUNS {
            let model = ScriptedModel::new([reads(), ChatReply::text("Read.")]);
            Agent::new(model, tools![..self.files.clone()]).run("Read it.").await.unwrap();
        }
        fs::write(&self.path, "theirs\n").unwrap();
    }
}

#[tokio::test]
async fn change_after_many_other_runs_is_not_overwritten() {
    let fixture = Fixture::new();
    fixture.write("a.txt", "one\n");
    let write = r#"{"path": "a.txt", "content": "mine\n"}"#;
    let model = ScriptedModel::new([
        reads(),
        ChatReply::default().call("wait", "{}"),
        ChatReply::default().call("file_write", write),
        reads(),
        ChatReply::default().call("file_write", write),
        ChatReply::text("Done."),
    ]);
    let recorder = Recorder::new(1000);
    let others = OtherRuns { files: fixture.files.clone(), path: fixture.path("a.txt") };
    let agent = Agent::new(model, tools![..fixture.files.clone(), ..others])
        .policy(Policy::new().approver(ApprovesAll))
        .observer(recorder.clone());
    agent.run("Overwrite it.").await.unwrap();
    let texts: Vec<_> = recorder.executions().into_iter().map(|it| it.result.text).collect();
    assert_eq!(texts[2], "`a.txt` may have changed since you read it: read it again.");
    assert_eq!(texts[3], "1\ttheirs");
    assert_eq!(fixture.read("a.txt"), "mine\n");
}
