//! Tools on the files of one folder, confined to it on Linux, macOS and Windows.
//!
//! [`Files`] are the tools, [`DiffRecorder`] makes a patch of the changes of each turn, and
//! [`Files::undo`] reverts a turn.
//!
//! tool-runtime exports this crate as `tool_runtime::files`, by the feature `files`. Its
//! [guide](https://docs.rs/tool-runtime) has the pages `workspace_tools` and `diffs_and_undo`.
#![cfg_attr(docsrs, feature(doc_cfg))]

// # The path of a call
// 1. `path.rs`: the argument becomes a relative path without `..`, by the rules of `names.rs`.
// 2. `root/`: the path is resolved below the open folder of the workspace, by the kernel
//    (`linux.rs`) or folder by folder (`portable.rs`). Links, other mounts and everything but
//    regular files and folders are refused.
// 3. A tool reads: `read/` (with `content.rs` and `lines.rs`), or `search/` by path (`list.rs`) and
//    content (`grep.rs`).
// 4. Or it changes a file: `change/` compares the file with what the run has read (`version.rs`),
//    `edit.rs` computes the new content (with `line_ends.rs`), `atomic/` replaces the file, and
//    `history/journal.rs` keeps both contents.
// 5. `history/recorder.rs` makes patches of the journal by `diff.rs`, and `undo.rs` reverts a turn.
//
// # Invariants
// - Nothing outside of the folder is read, listed or changed, whatever the arguments are and
//   whatever is exchanged for a link meanwhile.
// - A file is replaced as a whole or not at all. If the run has read or written it, it is replaced
//   only in the version that the run knows.
// - Each change is recorded as an effect of its call.

mod change;
mod error;
mod history;
mod names;
mod path;
mod preview;
mod read;
mod root;
mod search;
mod state;
mod tools;
mod version;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use tool_core::ToolError;

pub use error::OpenFilesError;
pub use history::recorder::{DiffRecorder, Patch};
pub use history::undo::UndoError;

use change::atomic::{create, load, remove_abandoned, replace};
use change::{Workspace, change_error};
use history::journal::Journal;
use path::RelativePath;
use root::Root;
use version::Versions;

/// Tools on the files of one folder: the workspace.
///
/// | tool | what it does |
/// |---|---|
/// | `file_read` | reads lines of a text file, or an image |
/// | `file_list` | lists the entries of a folder |
/// | `glob` | lists the files whose path matches a pattern |
/// | `grep` | lists the lines that match a regular expression |
/// | `file_write` | creates a file, or replaces its content |
/// | `file_edit` | replaces exact texts in a file |
/// | `file_move` | moves or renames a file |
/// | `file_delete` | deletes a file |
///
/// The first four only read. The others ask for an approval, unless the policy
/// [allows](tool_core::dispatch::Permissions::tool) them. Clones share the workspace: pass one
/// to `tools!`, and keep another to show or undo changes.
///
/// On Windows, a change that another program makes in the instant in which a file is replaced is
/// lost, and the new file has the access rules of the workspace folder instead of its own.
///
/// ```
/// use tool_runtime::files::Files;
/// use tool_runtime::{Dispatcher, Registry, ToolCall, tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("workspace-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("notes.txt"), "buy milk\n")?;
/// let files = Files::open(&folder)?;
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![..files.clone()])?);
/// let call = ToolCall::new("1", "file_read", r#"{"path": "notes.txt"}"#);
/// let executions = dispatcher.dispatch(vec![call]).await;
/// assert_eq!(executions[0].result.text, "1\tbuy milk");
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Files(Arc<Workspace>);

impl Files {
    /// Opens a folder as a workspace. Links in the path of the folder itself are followed.
    ///
    /// The folder stays the same if it is renamed or another one takes its path. Temporary files
    /// (`.tool-*.tmp`) that killed processes have left directly in it are removed.
    ///
    /// # Errors
    /// Returns an error if the folder can't be opened, or if paths can't be confined to it. On
    /// Linux, this requires version 5.6 or later and the system call `openat2`, which old container
    /// runtimes forbid. On Windows, the folder must be on a local drive.
    ///
    /// ```
    /// use tool_runtime::files::Files;
    ///
    /// let files = Files::open(std::env::temp_dir())?;
    /// # drop(files);
    /// # Ok::<(), tool_runtime::files::OpenFilesError>(())
    /// ```
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, OpenFilesError> {
        let folder = folder.as_ref();
        let root = Root::open(folder).map_err(|error: io::Error| OpenFilesError {
            folder: folder.to_owned(),
            source: error,
        })?;
        // What can't be removed now does no harm.
        let _ = root.folder(&RelativePath::root()).and_then(|it| remove_abandoned(&it));
        Ok(Self(Arc::new(Workspace {
            root,
            versions: Versions::default(),
            journal: Journal::default(),
            change_lock: Mutex::default(),
            emits_texts: AtomicBool::new(false),
        })))
    }

    /// Emits the texts of a file before and after each change as
    /// [`FileTexts`](tool_core::event::FileTexts), for screens that show them side by side. Default:
    /// observers receive the difference only.
    ///
    /// A file that is not text, or is larger than 8 MiB, is left out, and so is a move. The setting
    /// applies to all clones.
    ///
    /// ```
    /// use tool_runtime::files::Files;
    ///
    /// let files = Files::open(std::env::temp_dir())?.emit_texts();
    /// # drop(files);
    /// # Ok::<(), tool_runtime::files::OpenFilesError>(())
    /// ```
    #[must_use]
    pub fn emit_texts(self) -> Self {
        self.0.emits_texts.store(true, Ordering::Relaxed);
        self
    }

    /// Writes a file of the program, such as a report, to a path in the folder.
    ///
    /// Use it instead of [`std::fs::write`] in a folder that a model or a sandboxed command has
    /// changed: it follows no link that leads to a file elsewhere. The folders above the file are
    /// created, and an existing file is replaced as a whole. The change belongs to no run, so it is
    /// not recorded and can't be undone.
    ///
    /// # Errors
    /// Returns an error if the path is absolute or contains `..`, if it is a link, leads through
    /// one or belongs to the metadata of git, or if the file can't be written.
    ///
    /// ```
    /// use tool_runtime::files::Files;
    ///
    /// # let folder = std::env::temp_dir().join(format!("files-write-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let files = Files::open(&folder)?;
    /// # #[cfg(unix)]
    /// std::os::unix::fs::symlink("/etc", folder.join("target"))?;
    /// # #[cfg(unix)]
    /// assert!(files.write("target/report.html", "<p>Done.</p>").is_err());
    /// files.write("out/report.html", "<p>Done.</p>")?;
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> io::Result<()> {
        let refused = |error: ToolError| io::Error::other(error.text().to_owned());
        let path = self.0.changed_path("path", path).map_err(refused)?;
        let failed = |error| refused(change_error(&path, error));
        let _guard = self.0.change_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match load(&self.0.root, &path).map_err(failed)? {
            Some(current) => replace(&self.0.root, &path, content.as_ref(), &current),
            None => create(&self.0.root, &path, content.as_ref(), None),
        };
        written.map(drop).map_err(failed)
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}
