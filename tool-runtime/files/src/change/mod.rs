//! The changes that tools make: checked against what the run has read, recorded, and reversible.

pub(crate) mod atomic;
pub(crate) mod edit;
mod line_ends;
mod nearest;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tool_core::event::{FileChange, FileOp, FileTexts};
use tool_core::{ToolContext, ToolError, ToolErrorKind};

use crate::error::{io_error, missing, path_error};
use crate::history::diff::{file_diff, first_lines};
use crate::history::journal::{Change, Journal, net_states};
use crate::path::RelativePath;
use crate::read::content::as_text;
use crate::root::Root;
use crate::state::FileState;
use crate::version::{Known, Versions};
use atomic::{ChangeError, load};

/// The mark that a model reads in the place of a secret.
const REDACTED: &[u8] = b"[redacted]";

/// The most bytes of a diff in the record of a change.
const MAX_DIFF_LEN: usize = 32 * 1024;

/// A workspace: its folder, the versions that runs know, and the changes that tools made.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: Root,
    pub(crate) versions: Versions,
    pub(crate) journal: Journal,
    /// Held while files are changed, so that the changes of parallel calls have an order.
    pub(crate) change_lock: Mutex<()>,
    /// Whether the texts of changed files are emitted.
    pub(crate) emits_texts: AtomicBool,
}

impl Workspace {
    /// Returns the path that an argument names, as the folders spell it.
    pub(crate) fn path(&self, argument: &str, text: &str) -> Result<RelativePath, ToolError> {
        Ok(self.root.spelled(RelativePath::parse(argument, text)?))
    }

    /// Returns the path of a file that is to be changed, as the folders spell it.
    pub(crate) fn changed_path(
        &self,
        argument: &str,
        text: &str,
    ) -> Result<RelativePath, ToolError> {
        let path = self.root.spelled(RelativePath::parse_for_change(argument, text)?);
        path.check_changeable()?;
        Ok(path)
    }

    /// Creates a file or replaces its content. `edit` returns the new content.
    pub(crate) fn write(
        &self,
        path: &RelativePath,
        ctx: &ToolContext,
        edit: impl FnOnce(Option<&FileState>) -> Result<Vec<u8>, ToolError>,
    ) -> Result<(), ToolError> {
        let _guard = self.change_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error| change_error(path, error);
        let current = load(&self.root, path).map_err(failed)?;
        let state = current.as_ref().map(|(state, _)| state);
        self.check_known(path, ctx, state)?;
        let bytes = edit(state)?;
        check_secrets(path, state, &bytes, ctx)?;
        let after = match &current {
            Some(current) => atomic::replace(&self.root, path, &bytes, current),
            None => atomic::create(&self.root, path, &bytes, None),
        };
        let after = after.map_err(failed)?;
        let before = current.map(|(state, _)| state);
        let op = if before.is_some() { FileOp::Write } else { FileOp::Create };
        let change = Change::Content { path: path.clone(), before, after: Some(after) };
        self.record(FileChange::new(path.as_str(), op), change, ctx);
        Ok(())
    }

    /// Removes a file.
    pub(crate) fn delete(&self, path: &RelativePath, ctx: &ToolContext) -> Result<(), ToolError> {
        let _guard = self.change_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.existing(path, ctx)?;
        atomic::remove(&self.root, path, before.version)
            .map_err(|error| change_error(path, error))?;
        let change = Change::Content { path: path.clone(), before: Some(before), after: None };
        self.record(FileChange::new(path.as_str(), FileOp::Delete), change, ctx);
        Ok(())
    }

    /// Moves a file to a path where nothing is.
    pub(crate) fn rename(
        &self,
        from: &RelativePath,
        to: &RelativePath,
        ctx: &ToolContext,
    ) -> Result<(), ToolError> {
        let _guard = self.change_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.existing(from, ctx)?;
        self.check_free(from, to)?;
        atomic::rename(&self.root, from, to, state.version)
            .map_err(|error| change_error(from, error))?;
        let op = FileOp::Rename { to: to.as_str().to_owned() };
        let change = Change::Rename { from: from.clone(), to: to.clone(), state };
        self.record(FileChange::new(from.as_str(), op), change, ctx);
        Ok(())
    }

    /// Returns an error if there is something at the new path of a file.
    pub(crate) fn check_free(
        &self,
        from: &RelativePath,
        path: &RelativePath,
    ) -> Result<(), ToolError> {
        match self.root.stat(path) {
            // The file must not be deleted first.
            Ok(_) if path == from => {
                let text = format!("`{path}` is the path of the file already: choose another one.");
                Err(ToolError::new(ToolErrorKind::ExecutionFailed, text))
            }
            Ok(_) => {
                let text =
                    format!("`{path}` exists already: delete it first, or choose another path.");
                Err(ToolError::new(ToolErrorKind::ExecutionFailed, text))
            }
            Err(error) if error.has_kind(io::ErrorKind::NotFound) => Ok(()),
            Err(error) => Err(path_error(path, error)),
        }
    }

    /// Returns the state of a file that exists and is in the version that the run knows.
    fn existing(&self, path: &RelativePath, ctx: &ToolContext) -> Result<FileState, ToolError> {
        let current = load(&self.root, path).map_err(|error| change_error(path, error))?;
        let state = current.map(|(state, _)| state);
        self.check_known(path, ctx, state.as_ref())?;
        state.ok_or_else(|| missing(path))
    }

    /// Refuses to change a file that others have changed since the run has read it.
    fn check_known(
        &self,
        path: &RelativePath,
        ctx: &ToolContext,
        state: Option<&FileState>,
    ) -> Result<(), ToolError> {
        match (self.versions.known(ctx.run_id(), path), state) {
            (Known::Version(known), Some(state)) if state.version == known => Ok(()),
            (Known::Version(_), _) => Err(changed_since(path)),
            (Known::Evicted, Some(_)) => {
                let text = format!("`{path}` may have changed since you read it: read it again.");
                Err(ToolError::new(ToolErrorKind::ExecutionFailed, text))
            }
            (Known::Evicted | Known::Nothing, _) => Ok(()),
        }
    }

    /// Records a change that was made: for undoing it, as an effect, and as what the run knows.
    fn record(&self, mut record: FileChange, change: Change, ctx: &ToolContext) {
        let change = redacted(change, &|text| ctx.redact(text));
        for (path, before, after) in change.states() {
            self.versions.record(ctx.run_id(), path, after.map(|state| state.version));
            if let Some(before) = before {
                record = record.bytes_before(before.len);
            }
            if let Some(after) = after {
                record = record.bytes_after(after.len);
                record.digest = after.version.digest();
            }
        }
        if let Change::Content { path, before, after } = &change
            && let Some(diff) = file_diff(path.as_str(), before.as_ref(), after.as_ref())
        {
            record = record.diff(first_lines(diff, MAX_DIFF_LEN));
        }
        ctx.record(record);
        if self.emits_texts.load(Ordering::Relaxed)
            && let Some(texts) = file_texts(&change)
        {
            ctx.emit(FileTexts::NAME, texts);
        }
        self.journal.add((ctx.run_id(), ctx.turn()), ctx.call_id().clone(), change);
    }
}

/// Returns the texts of a file before and after a change of its content; `None` if one of them is
/// not text or too large.
fn file_texts(change: &Change) -> Option<FileTexts> {
    let Change::Content { path, before, after } = change else { return None };
    let text = |state: &Option<FileState>| match state {
        None => Some(None),
        Some(state) => state.diff_text().map(|text| Some(text.to_owned())),
    };
    Some(FileTexts::new(path.as_str(), text(before)?, text(after)?))
}

/// Refuses a text that has marks in the place of the secrets of a file, which the model has not
/// read.
fn check_secrets(
    path: &RelativePath,
    state: Option<&FileState>,
    new: &[u8],
    ctx: &ToolContext,
) -> Result<(), ToolError> {
    let marks = |bytes| memchr::memmem::find_iter(bytes, REDACTED).count();
    let new_marks = marks(new);
    let Some(old) = state.and_then(|state| state.bytes.as_deref()).filter(|_| new_marks > 0) else {
        return Ok(());
    };
    let has_secrets = as_text(old).is_some_and(|text| ctx.redact(text) != text);
    if !has_secrets || new_marks <= marks(old) {
        return Ok(());
    }
    let text = format!(
        "`{path}` contains secrets, which you read as `[redacted]`, and this text would replace \
         them: edit the other parts by `file_edit`."
    );
    Err(ToolError::new(ToolErrorKind::ExecutionFailed, text))
}

/// Replaces the secrets in the texts that diffs show.
fn redacted(change: Change, redact: &impl Fn(&str) -> String) -> Change {
    match change {
        Change::Content { path, before, after } => Change::Content {
            path,
            before: before.map(|state| state.redact(redact)),
            after: after.map(|state| state.redact(redact)),
        },
        Change::Rename { from, to, state } => {
            Change::Rename { from, to, state: state.redact(redact) }
        }
    }
}

/// Returns the diff of a change that has not been made.
pub(crate) fn preview(change: &Change) -> Option<String> {
    let states = net_states([change]);
    let diffs = states.iter().map(|(path, (old, new))| file_diff(path.as_str(), *old, *new));
    diffs.collect::<Option<Vec<_>>>().map(|diffs| diffs.concat())
}

fn changed_since(path: &RelativePath) -> ToolError {
    let text = format!("`{path}` has changed since you read it: read it again.");
    ToolError::new(ToolErrorKind::ExecutionFailed, text)
}

/// Returns the error of a change that was not made.
pub(crate) fn change_error(path: &RelativePath, error: ChangeError) -> ToolError {
    match error {
        ChangeError::Conflict => changed_since(path),
        ChangeError::File(error) if error.has_kind(io::ErrorKind::NotADirectory) => {
            let text = format!("`{path}` leads through a file.");
            ToolError::new(ToolErrorKind::ExecutionFailed, text)
        }
        ChangeError::File(error) => path_error(path, error),
        ChangeError::Io(error) => io_error(path, error),
    }
}
