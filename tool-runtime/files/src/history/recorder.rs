//! Records the changes of runs as patches.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tool_core::event::{Observer, RunId};
use tool_core::{EffectRecord, Event};

use super::diff::file_diff;
use super::journal::{Change, JournalEntry, TurnId, net_states};
use crate::Files;
use crate::state::FileState;

/// The most bytes of contents that are kept. Beyond that, the oldest turns are evicted.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes of a patch.
const MAX_PATCH_LEN: usize = 4 * 1024 * 1024;

/// Records what tools of a [`Files`] change, by run and turn, and writes it as patches.
///
/// A recorder is an observer. Clones share the record: give one to the agent, and query another. A
/// patch is the difference between the states before the first and after the last change, so a
/// change that was reverted is not part of it. Apply it with `git apply`.
///
/// A turn that was [undone](Files::undo) is not part of a patch.
///
/// Secrets of the policy are replaced by `[redacted]`, so a patch near a secret does not apply. The
/// recorder keeps at most 64 MiB of contents, and drops the oldest turns first.
///
/// ```
/// use tool_runtime::dispatch::Permissions;
/// use tool_runtime::files::{DiffRecorder, Files};
/// use tool_runtime::{Agent, ChatReply, Permission, Policy, ScriptedModel, tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("recorder-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let model = ScriptedModel::new([
/// #     ChatReply::default().call("file_write", r#"{"path": "a.txt", "content": "one\n"}"#),
/// #     ChatReply::text("Done."),
/// # ]);
/// let files = Files::open(&folder)?;
/// let recorder = DiffRecorder::new(&files);
/// let allowed = Permissions::default().tool("file_write", Permission::Allow);
/// let agent = Agent::new(model, tools![..files])
///     .policy(Policy::new().permissions(allowed))
///     .observer(recorder.clone());
/// agent.run("Write a.txt.").await?;
///
/// let (run, turn) = recorder.turns()[0];
/// let patch = recorder.patch_of_run(run);
/// assert_eq!((turn, patch.paths()), (1, &["a.txt".to_owned()][..]));
/// assert!(patch.as_str().ends_with("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n"));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DiffRecorder {
    files: Files,
    record: Arc<Mutex<Record>>,
}

#[derive(Default)]
struct Record {
    turns: BTreeMap<TurnId, Vec<JournalEntry>>,
    bytes: usize,
    /// The turns in the order of their first changes.
    order: Vec<TurnId>,
    evicted: bool,
}

impl DiffRecorder {
    /// Creates a recorder of the changes that tools of `files` make.
    pub fn new(files: &Files) -> Self {
        Self { files: files.clone(), record: Arc::default() }
    }

    /// Returns the turns that changed files, in the order of their first changes.
    pub fn turns(&self) -> Vec<(RunId, u32)> {
        self.lock().order.clone()
    }

    /// Returns the patch of one turn; empty if it changed nothing, or was undone.
    pub fn patch_of_turn(&self, run: RunId, turn: u32) -> Patch {
        self.patch(|id| id == (run, turn))
    }

    /// Returns the patch of all turns of a run; empty if they changed nothing.
    pub fn patch_of_run(&self, run: RunId) -> Patch {
        self.patch(|(id, _)| id == run)
    }

    /// Returns whether contents were evicted because the recorder was full.
    pub fn has_evicted(&self) -> bool {
        self.lock().evicted
    }

    fn patch(&self, is_part: impl Fn(TurnId) -> bool) -> Patch {
        let record = self.lock();
        let turns = record.turns.iter().filter(|(turn, _)| is_part(**turn));
        let mut entries: Vec<_> = turns.flat_map(|(_, entries)| entries.iter().cloned()).collect();
        drop(record);
        entries.retain(|entry| !self.files.0.journal.is_undone(entry.number));
        entries.sort_by_key(|entry| entry.number);
        Patch::of(entries.iter().map(|entry| &entry.change))
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for DiffRecorder {
    fn observe(&self, event: &Event) {
        let Some(execution) = event.execution() else { return };
        let changes_files =
            execution.effects.iter().any(|effect| matches!(effect, EffectRecord::FileChanged(_)));
        if !changes_files {
            return;
        }
        let turn = (event.origin.run, event.origin.turn);
        let entries = self.files.0.journal.of_call(turn, &execution.call.id);
        let mut record = self.lock();
        let known = record.turns.get(&turn).map_or(&[][..], Vec::as_slice);
        // An id is not unique within a turn: outside of runs, all calls belong to one.
        let entries: Vec<_> = entries
            .into_iter()
            .filter(|entry| known.iter().all(|other| other.number != entry.number))
            .collect();
        if entries.is_empty() {
            return;
        }
        record.bytes += entries.iter().map(|entry| entry.change.size()).sum::<usize>();
        if !record.order.contains(&turn) {
            record.order.push(turn);
        }
        record.turns.entry(turn).or_default().extend(entries);
        while record.bytes > MAX_BYTES && !record.order.is_empty() {
            let oldest = record.order.remove(0);
            let entries = record.turns.remove(&oldest).unwrap_or_default();
            record.bytes -= entries.iter().map(|entry| entry.change.size()).sum::<usize>();
            record.evicted = true;
        }
    }
}

impl fmt::Debug for DiffRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.lock();
        f.debug_struct("DiffRecorder")
            .field("turns", &record.order.len())
            .field("bytes", &record.bytes)
            .finish_non_exhaustive()
    }
}

/// A patch of several files, in the format of git.
///
/// ```
/// use tool_runtime::event::RunId;
/// use tool_runtime::files::{DiffRecorder, Files};
///
/// let recorder = DiffRecorder::new(&Files::open(std::env::temp_dir())?);
/// assert!(recorder.patch_of_run(RunId::random()).as_str().is_empty());
/// # Ok::<(), tool_runtime::files::OpenFilesError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    text: String,
    paths: Vec<String>,
    omitted: Vec<String>,
}

impl Patch {
    fn of<'c>(changes: impl IntoIterator<Item = &'c Change>) -> Self {
        let mut patch = Self::default();
        for (path, (before, after)) in net_states(changes) {
            let path = path.as_str();
            let version = |state: Option<&FileState>| state.map(|state| state.version);
            match file_diff(path, before, after) {
                Some(diff) if diff.is_empty() && version(before) == version(after) => {}
                // Both contents are the same without their secrets.
                Some(diff) if diff.is_empty() => patch.omitted.push(path.to_owned()),
                Some(diff) if patch.text.len() + diff.len() <= MAX_PATCH_LEN => {
                    patch.text.push_str(&diff);
                    patch.paths.push(path.to_owned());
                }
                _ => patch.omitted.push(path.to_owned()),
            }
        }
        patch
    }

    /// Returns the text of the patch.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the paths of the changed files in the patch.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns the paths of changed files that are not in the patch: the content is binary or too
    /// large, only secrets in it changed, or the patch would have more than 4 MiB.
    pub fn omitted(&self) -> &[String] {
        &self.omitted
    }
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
