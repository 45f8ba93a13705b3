//! The folders that commands may write: what of them is mounted read-only, and what a command must
//! not leave in them.
//!
//! `system.rs` refuses folders of programs and certificates. `git.rs` and `privileged.rs` find the
//! parts that are mounted read-only. `links.rs` finds the links that a command leaves below `.git`,
//! and `cleanup.rs` removes them when the last process of the command (`namespace.rs`) has ended.
//! `walk.rs` visits the entries of a folder.

mod cleanup;
mod git;
mod links;
mod namespace;
mod privileged;
mod system;
mod walk;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::io::Errno;

use crate::command::Repositories;
use crate::error::SandboxError;

pub(crate) use cleanup::Cleanup;
pub(crate) use namespace::Namespace;
pub(crate) use system::refusal;

use links::Links;

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
        let stat = fstat(file)?;
        Ok(Self { path, identity: format!("{}:{}", stat.st_dev, stat.st_ino), is_writable })
    }
}

/// An open folder that commands may write. Its path is without links.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    file: OwnedFd,
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
    folders: Vec<Folder>,
    /// Set when a repository could not be checked: it is read-only from then on.
    is_sealed: AtomicBool,
    /// The removed links that no result has listed, because their calls were cancelled.
    reports: Mutex<Vec<String>>,
}

impl WrittenFolders {
    pub(crate) fn open<'p>(
        paths: impl IntoIterator<Item = &'p PathBuf>,
    ) -> Result<Self, SandboxError> {
        let folders = paths.into_iter().map(|path| Folder::open(path));
        let folders = folders.collect::<Result<_, _>>()?;
        Ok(Self { folders, is_sealed: AtomicBool::new(false), reports: Mutex::default() })
    }

    /// Returns the folders, and the parts of them that are mounted separately, outer ones first.
    ///
    /// # Errors
    /// Returns the reason why a part can't be protected.
    pub(crate) fn parts(
        &self,
        repositories: Repositories,
    ) -> Result<(Vec<Part>, Vec<Part>), String> {
        let is_writable =
            repositories == Repositories::Writable && !self.is_sealed.load(Ordering::SeqCst);
        let failed = |path: &Path, error| format!("{} can't be protected: {error}", path.display());
        let (mut folders, mut protected) = (Vec::new(), Vec::new());
        for folder in &self.folders {
            let is_sealed = !is_writable && git::is_bare(&folder.file);
            let part = folder.part(!is_sealed).map_err(|error| failed(&folder.path, error))?;
            folders.push(part);
            let mut parts = git::protected_parts(&folder.file, &folder.path)?;
            // The first one is `.git` itself.
            if !is_writable && let Some(git) = parts.first_mut() {
                git.is_writable = false;
            }
            parts.extend(privileged::parts(folder)?);
            protected.extend(parts);
        }
        Ok((folders, protected))
    }

    /// Returns the links below the repositories.
    fn links(&self) -> Vec<Links> {
        self.folders.iter().map(Links::of).collect()
    }

    /// Returns the links below `.git` that lead elsewhere, as one line; `None` without one.
    pub(crate) fn foreign_links(&self) -> Option<String> {
        let links = self.links();
        let mut names = links.iter().zip(&self.folders).flat_map(|(links, folder)| {
            links.foreign(folder).map(|path| format!("{:?}", folder.path.join(path)))
        });
        let first = names.next()?;
        let more = match names.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        Some(format!("the link {first}{more}, which existed before and which git follows"))
    }

    /// Removes the links that have appeared below the repositories, and reports them.
    fn remove_new_links(&self, before: &[Links]) -> Vec<String> {
        let pairs = self.folders.iter().zip(before);
        let outcomes: Vec<_> = pairs.map(|(folder, before)| before.remove_others(folder)).collect();
        if outcomes.iter().any(|outcome| !outcome.unchecked.is_empty()) {
            self.is_sealed.store(true, Ordering::SeqCst);
        }
        outcomes.iter().flat_map(links::Outcome::lines).collect()
    }

    /// Makes the repositories read-only for the next commands, and reports the reason.
    fn seal(&self, reason: &str) {
        self.is_sealed.store(true, Ordering::SeqCst);
        self.reports().push(format!("{reason}; .git is read-only from now on"));
    }

    fn reports(&self) -> MutexGuard<'_, Vec<String>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
