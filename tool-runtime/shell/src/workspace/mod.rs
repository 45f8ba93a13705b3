//! The folders that commands may write: what of them is mounted read-only, and what a command must
//! not leave in them.
//!
//! `system.rs` refuses folders of programs and certificates. Before each command, `scan.rs` visits
//! a folder by `walk.rs`. `git.rs` and `privileged.rs` select the parts that are mounted read-only.
//! After the command, when its last process (`namespace.rs`) has ended, `cleanup.rs` visits the
//! folder again, and `removal.rs` removes the links (`links.rs`) that are new in repositories.

mod cleanup;
mod git;
mod links;
mod namespace;
mod privileged;
mod removal;
mod scan;
mod system;
mod walk;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags, Stat, fstat, open};
use rustix::io::Errno;

use crate::command::Repositories;
use crate::error::SandboxError;
use crate::left_behind::LeftBehind;

pub(crate) use cleanup::Cleanup;
pub(crate) use namespace::Namespace;
pub(crate) use scan::Scan;
pub(crate) use system::refusal;

use git::is_nested;

/// The most parts of a folder. Each takes time when a command starts.
const MAX_PARTS: usize = 256;

/// A file or folder, with its place in the sandbox and its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    pub(crate) identity: String,
    pub(crate) is_writable: bool,
}

impl Part {
    /// Returns the open file or folder as a part.
    pub(crate) fn of(path: PathBuf, file: &OwnedFd, is_writable: bool) -> Result<Self, Errno> {
        Ok(Self { path, identity: identity(&fstat(file)?), is_writable })
    }
}

/// Returns what distinguishes a file from all others.
fn identity(stat: &Stat) -> String {
    format!("{}:{}", stat.st_dev, stat.st_ino)
}

/// An open folder that commands may write. Its path is without links.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    file: OwnedFd,
}

/// A folder that commands may write, as it was before the first of them.
#[derive(Debug)]
struct WrittenFolder {
    folder: Folder,
    first: Scan,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self, SandboxError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::empty()).map_err(|error| {
            SandboxError::new(format!("{} can't be opened: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Returns the folder as a part.
    pub(crate) fn part(&self, is_writable: bool) -> Result<Part, Errno> {
        Part::of(self.path.clone(), &self.file, is_writable)
    }
}

/// The folders that commands may write.
#[derive(Debug)]
pub(crate) struct WrittenFolders {
    folders: Vec<WrittenFolder>,
    /// Set when a repository could not be checked: it is read-only from then on.
    is_sealed: AtomicBool,
    /// The findings that no result has listed, because the calls were cancelled.
    reports: Mutex<LeftBehind>,
}

impl WrittenFolders {
    pub(crate) fn open<'p>(
        paths: impl IntoIterator<Item = &'p PathBuf>,
    ) -> Result<Self, SandboxError> {
        let open = |path: &'p PathBuf| {
            let folder = Folder::open(path)?;
            Ok(WrittenFolder { first: Scan::of(&folder), folder })
        };
        let folders = paths.into_iter().map(open).collect::<Result<_, SandboxError>>()?;
        Ok(Self { folders, is_sealed: AtomicBool::new(false), reports: Mutex::default() })
    }

    /// Visits all entries of the folders.
    pub(crate) fn scan(&self) -> Vec<Scan> {
        self.folders.iter().map(|written| Scan::of(&written.folder)).collect()
    }

    /// Returns the folders, and the parts of them that are mounted separately, outer ones first.
    ///
    /// # Errors
    /// Returns the reason why a part can't be protected.
    pub(crate) fn parts(
        &self,
        repositories: Repositories,
        scans: &[Scan],
    ) -> Result<(Vec<Part>, Vec<Part>), String> {
        let is_writable =
            repositories == Repositories::Writable && !self.is_sealed.load(Ordering::SeqCst);
        let (mut folders, mut protected) = (Vec::new(), Vec::new());
        for (WrittenFolder { folder, first }, scan) in self.folders.iter().zip(scans) {
            let is_sealed = !is_writable && git::is_bare(&folder.file);
            let part = folder.part(!is_sealed);
            folders.push(part.map_err(|error| {
                format!("{} can't be protected: {error}", folder.path.display())
            })?);
            protected.extend(git::protected_parts(&folder.file, &folder.path, is_writable)?);
            // A repository that a command has created can be removed by the next one.
            let nested = first.repositories.keys().filter(|path| is_nested(path));
            let mut parts = git::nested_parts(folder, nested, is_writable);
            let paths = privileged::paths(scan.privileged.clone(), &scan.unreadable);
            let privileged = paths.iter().map(|path| privileged::part(folder, path));
            parts.extend(privileged.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?);
            if parts.len() > MAX_PARTS {
                let (path, count) = (folder.path.display(), parts.len());
                return Err(format!(
                    "{path} has {count} files with setuid bits or capabilities, unreadable folders \
                     and repositories; at most {MAX_PARTS} can be protected"
                ));
            }
            protected.extend(parts);
        }
        Ok((folders, protected))
    }

    /// Returns the links of repositories that lead elsewhere, as one line; `None` without one.
    pub(crate) fn foreign_links(&self) -> Option<String> {
        let mut names = self.folders.iter().flat_map(|WrittenFolder { folder, first }| {
            let foreign = first.links.foreign(folder);
            foreign.map(|path| format!("{:?}", folder.path.join(path)))
        });
        let first = names.next()?;
        let more = match names.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        Some(format!("the link {first}{more}, which existed before and which git follows"))
    }

    /// Removes the links that have appeared in the repositories, and reports them.
    fn remove_new_links(&self, before: &[Scan]) {
        for (WrittenFolder { folder, .. }, before) in self.folders.iter().zip(before) {
            let outcome = removal::remove_new(folder, before);
            if !outcome.unchecked.is_empty() {
                self.is_sealed.store(true, Ordering::SeqCst);
            }
            self.reports().extend(outcome.describe());
        }
    }

    /// Makes the repositories read-only for the next commands, and reports the reason.
    fn seal(&self, reason: &str) {
        self.is_sealed.store(true, Ordering::SeqCst);
        self.reports().found.push(format!("{reason}; .git is read-only from now on"));
    }

    fn reports(&self) -> MutexGuard<'_, LeftBehind> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
