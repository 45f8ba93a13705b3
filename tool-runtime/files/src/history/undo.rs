//! Undoes the changes of a turn.

use std::error::Error;
use std::sync::PoisonError;
use std::{fmt, io};

use tool_core::event::RunId;

use super::journal::{Change, JournalEntry, net_states};
use crate::Files;
use crate::change::atomic::{self, ChangeError, load};
use crate::change::{Workspace, change_error};
use crate::path::RelativePath;
use crate::root::{FileError, Kind};
use crate::state::FileState;

/// The reason why a turn was not undone, or only in part.
///
/// ```
/// use tool_runtime::event::RunId;
/// use tool_runtime::files::Files;
///
/// let files = Files::open(std::env::temp_dir()).unwrap();
/// let error = files.undo(RunId::random(), 1).unwrap_err();
/// assert!(error.to_string().starts_with("turn can't be undone: no changes of turn 1 of run "));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum UndoError {
    /// The turn changed no file, or was undone already.
    NoChanges {
        /// The id of the run.
        run: RunId,
        /// The number of the turn.
        turn: u32,
    },
    /// The contents before the turn were evicted by those of later changes, or were too large to be
    /// kept.
    ContentsUnavailable {
        /// The id of the run.
        run: RunId,
        /// The number of the turn.
        turn: u32,
    },
    /// Files have changed since the turn, by a later turn or by others. Nothing was undone.
    Changed {
        /// The paths of the files.
        paths: Vec<String>,
    },
    /// A file can't be restored. Later changes of the turn were undone, and earlier ones were not.
    Failed {
        /// The path of the file.
        path: String,
        /// The error of the file system, or the reason for which the file was not replaced.
        source: io::Error,
    },
}

impl fmt::Display for UndoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Failed { path, source } = self {
            return write!(
                f,
                "turn was undone in part: {path}: {source}; later changes of the turn were undone, \
                 earlier ones were not"
            );
        }
        f.write_str("turn can't be undone: ")?;
        match self {
            Self::NoChanges { run, turn } => write!(f, "no changes of turn {turn} of run {run}"),
            Self::ContentsUnavailable { run, turn } => {
                write!(f, "contents before turn {turn} of run {run} were evicted or too large")
            }
            Self::Changed { paths } => {
                let paths = paths.join(", ");
                write!(f, "files have changed since: {paths}; undo later turns first")
            }
            Self::Failed { .. } => Ok(()),
        }
    }
}

impl Error for UndoError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed { source, .. } => Some(source),
            Self::NoChanges { .. } | Self::ContentsUnavailable { .. } | Self::Changed { .. } => {
                None
            }
        }
    }
}

impl Files {
    /// Restores the files that a turn changed, and returns their paths.
    ///
    /// Changes outside of a run belong to turn 0 of `RunId::default()`. Of several turns, undo the
    /// latest first. Folders that were created remain, unless a file that is restored was in their
    /// place. Blocks the thread while files are written.
    ///
    /// The model is not notified. If it edits a restored file, the call is refused.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if the turn changed nothing or was undone already, if
    /// contents are not kept, or if a file has changed since. Over all turns, 64 MiB of contents
    /// and 100,000 changes are kept; contents of more than 8 MiB are not. Returns
    /// [`UndoError::Failed`] if a file can't be restored: later changes of the turn are then
    /// undone, and earlier ones are not.
    pub fn undo(&self, run: RunId, turn: u32) -> Result<Vec<String>, UndoError> {
        let workspace = &self.0;
        let _guard = workspace.change_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = workspace
            .journal
            .of_turn((run, turn))
            .ok_or(UndoError::ContentsUnavailable { run, turn })?;
        if entries.is_empty() {
            return Err(UndoError::NoChanges { run, turn });
        }
        if !entries.iter().all(has_contents) {
            return Err(UndoError::ContentsUnavailable { run, turn });
        }
        let states = net_states(entries.iter().map(|entry| &entry.change));
        let is_removed = |path: &RelativePath| matches!(states.get(path), Some((None, Some(_))));
        let is_unchanged = |path: &RelativePath, last: Option<_>| {
            workspace.is_in_state(path, last)
                || last.is_none() && workspace.has_only(path, &is_removed)
        };
        let changed = states.iter().filter(|(path, (_, last))| !is_unchanged(path, *last));
        let paths: Vec<_> = changed.map(|(path, _)| path.as_str().to_owned()).collect();
        if !paths.is_empty() {
            return Err(UndoError::Changed { paths });
        }
        for entry in entries.iter().rev() {
            workspace.revert(&entry.change)?;
            workspace.journal.remove(entry.number);
        }
        Ok(states.keys().map(|path| path.as_str().to_owned()).collect())
    }
}

/// Whether the content before the change is known.
fn has_contents(entry: &JournalEntry) -> bool {
    match &entry.change {
        Change::Content { before, .. } => before.as_ref().is_none_or(|it| it.bytes.is_some()),
        Change::Rename { .. } => true,
    }
}

impl Workspace {
    fn is_in_state(&self, path: &RelativePath, state: Option<&FileState>) -> bool {
        load(&self.root, path).is_ok_and(|current| {
            current.map(|(current, _)| current.version) == state.map(|state| state.version)
        })
    }

    /// Whether this is a folder whose files are removed by the undo.
    fn has_only(&self, folder: &RelativePath, is_removed: &impl Fn(&RelativePath) -> bool) -> bool {
        let is_free = |(name, kind): &(String, Kind)| {
            let path = folder.join(name);
            if *kind == Kind::Folder { self.has_only(&path, is_removed) } else { is_removed(&path) }
        };
        self.root.entries(folder).is_ok_and(|entries| entries.iter().all(is_free))
    }

    /// Removes a folder without files, which is in the place of a file that is restored.
    fn remove_folders(&self, path: &RelativePath) -> Result<(), ChangeError> {
        let kind = self.root.stat(path).map(|(kind, _)| kind);
        if !kind.is_ok_and(|kind| kind == Kind::Folder) {
            return Ok(());
        }
        for (name, _) in self.root.entries(path)? {
            self.remove_folders(&path.join(&name))?;
        }
        let (parent, name) = path.split();
        Ok(self.root.folder(&parent)?.remove_folder(name)?)
    }

    fn revert(&self, change: &Change) -> Result<(), UndoError> {
        let (path, result) = match change {
            Change::Rename { from, to, state } => {
                let result = self
                    .remove_folders(from)
                    .and_then(|()| atomic::rename(&self.root, to, from, state.version));
                (from, result)
            }
            Change::Content { path, before, after } => {
                (path, self.restore(path, before.as_ref(), after.as_ref()))
            }
        };
        result.map_err(|error| {
            let source = match error {
                ChangeError::Io(error) | ChangeError::File(FileError::System(error)) => error,
                other => io::Error::other(change_error(path, other).text()),
            };
            UndoError::Failed { path: path.as_str().to_owned(), source }
        })
    }

    fn restore(
        &self,
        path: &RelativePath,
        before: Option<&FileState>,
        after: Option<&FileState>,
    ) -> Result<(), ChangeError> {
        let content = before.and_then(|state| Some((state.bytes.as_deref()?, state.mode)));
        match (content, after) {
            (None, None) => Ok(()),
            (None, Some(after)) => atomic::remove(&self.root, path, after.version),
            (Some((bytes, mode)), None) => {
                self.remove_folders(path)?;
                atomic::create(&self.root, path, bytes, Some(mode)).map(drop)
            }
            (Some((bytes, _)), Some(after)) => match load(&self.root, path)? {
                Some(current) if current.0.version == after.version => {
                    atomic::replace(&self.root, path, bytes, &current).map(drop)
                }
                _ => Err(ChangeError::Conflict),
            },
        }
    }
}
