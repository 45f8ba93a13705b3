//! Removes the links that a command has left in repositories, and lists the repositories that it
//! has created.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use super::super::left_behind::LeftBehind;
use super::Folder;
use super::git::is_nested;
use super::links::read_target;
use super::scan::{Scan, visit};
use super::walk::{Entry, open_own_folder, take_rights};

/// The most lines of one kind in a report.
const MAX_NAMED: usize = 20;

/// Removes the links in the repositories of a folder that are new since a scan, and reports them
/// and the new repositories.
pub(crate) fn remove_new(folder: &Folder, before: &Scan) -> Outcome {
    let (mut removed, mut unchecked) = (Vec::new(), Vec::new());
    // Read-only for the command.
    let was_unreadable = |path: &Path| before.unreadable.iter().any(|it| it.path == path);
    let open = |root: &OwnedFd, path: &Path| {
        if was_unreadable(path) { Err(Errno::NOENT) } else { open_own_folder(root, path) }
    };
    let remove = |entry: &Entry<'_>| {
        let (path, parent) = (entry.path(), entry.folder);
        let Some(target) = read_target(&path, parent) else { return };
        if before.links.has(folder, &path, &target) {
            return;
        }
        let unlink = || unlinkat(parent, entry.name, AtFlags::empty());
        let unlinked = match unlink() {
            Err(Errno::ACCESS) => take_rights(parent).and_then(|()| unlink()),
            unlinked => unlinked,
        };
        match unlinked {
            Ok(()) => removed.push((path, target)),
            Err(Errno::NOENT) => {}
            Err(error) => unchecked.push((path, error)),
        }
    };
    let (repositories, unreadable) = visit(folder, open, remove, |_| {});
    unchecked.extend(unreadable.into_iter().map(|it| (it.path, it.error)));
    let is_new = |(path, identity): &(PathBuf, String)| {
        is_nested(path) && before.repositories.get(path) != Some(identity)
    };
    let created = repositories.into_iter().filter(is_new).map(|(path, _)| path).collect();
    Outcome { removed, unchecked, created }
}

/// The links that were removed, what could not be checked, and the repositories that are new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    removed: Vec<(PathBuf, PathBuf)>,
    pub(crate) unchecked: Vec<(PathBuf, Errno)>,
    created: Vec<PathBuf>,
}

impl Outcome {
    /// Describes the outcome for the result of the command, without control characters.
    pub(crate) fn describe(&self) -> LeftBehind {
        let removed = self.removed.iter().map(|(path, target)| {
            format!("removed the link {path:?} -> {target:?}, which git would follow")
        });
        let unchecked = self.unchecked.iter().map(|(path, error)| {
            format!("{path:?} can't be checked for links: {error}; .git is read-only from now on")
        });
        let created = self.created.iter().map(|path| {
            format!("the repository {path:?} is new: git runs its hooks and what its settings name")
        });
        LeftBehind { found: limited(unchecked.chain(removed)), created: limited(created) }
    }
}

/// Returns the first lines, and the number of the others.
fn limited(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = lines.collect();
    let more = lines.len().saturating_sub(MAX_NAMED);
    lines.truncate(MAX_NAMED);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}
