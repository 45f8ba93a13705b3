//! Finds repositories with their links, files with other rights, and folders that can't be listed,
//! in one walk over a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;

use super::git::{BARE, GIT};
use super::links::Links;
use super::privileged::is_privileged;
use super::walk::{Entry, Unreadable, open_folder, walk};
use super::{Folder, identity};

/// A folder before a command runs.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) repositories: RepositoryIds,
    pub(crate) links: Links,
    pub(crate) privileged: Vec<PathBuf>,
    pub(crate) unreadable: Vec<Unreadable>,
}

/// The repositories in a folder. The path of each is that of its `.git`, or of a bare one. The
/// value is its identity.
pub(crate) type RepositoryIds = BTreeMap<PathBuf, String>;

impl Scan {
    pub(crate) fn of(folder: &Folder) -> Self {
        let (mut links, mut privileged) = (Links::default(), Vec::new());
        let (repositories, unreadable) = visit(
            folder,
            open_folder,
            |entry| links.add(folder, entry),
            |entry| {
                if is_privileged(folder, entry) {
                    privileged.push(entry.path());
                }
            },
        );
        Self { repositories, links, privileged, unreadable }
    }
}

/// Visits the links of all repositories in a folder, and all entries. Returns the repositories and
/// the folders that can't be listed.
pub(crate) fn visit(
    folder: &Folder,
    open: impl Fn(&OwnedFd, &Path) -> Result<OwnedFd, Errno>,
    mut visit_link: impl FnMut(&Entry<'_>),
    mut visit_entry: impl FnMut(&Entry<'_>),
) -> (RepositoryIds, Vec<Unreadable>) {
    let (mut repositories, mut bare) = (RepositoryIds::new(), BareSearch::default());
    let mut unreadable = walk(&folder.file, Path::new(""), &open, |entry| {
        visit_entry(entry);
        let is_inside = entry.folder_path.components().any(|part| part.as_os_str() == GIT);
        let is_git = entry.name.to_bytes() == GIT.as_bytes();
        if is_git && !is_inside {
            let stat = statat(entry.folder, entry.name, AtFlags::SYMLINK_NOFOLLOW);
            repositories.extend(stat.map(|stat| (entry.path(), identity(&stat))));
        }
        if entry.file_type == FileType::Symlink && (is_git || is_inside) {
            visit_link(entry);
        }
        if !is_inside {
            bare.add(entry);
        }
    });
    for path in bare.found {
        if let Ok(stat) = open(&folder.file, &path).and_then(|file| rustix::fs::fstat(&file)) {
            repositories.insert(path.clone(), identity(&stat));
        }
        unreadable.extend(walk(&folder.file, &path, &open, |entry| {
            if entry.file_type == FileType::Symlink {
                visit_link(entry);
            }
        }));
    }
    (repositories, unreadable)
}

/// The search for folders that git takes for repositories, without a folder `.git`.
#[derive(Default)]
struct BareSearch {
    folder: PathBuf,
    names: BTreeSet<&'static str>,
    found: Vec<PathBuf>,
}

impl BareSearch {
    /// Adds an entry. All entries of a folder follow each other.
    fn add(&mut self, entry: &Entry<'_>) {
        if self.folder != entry.folder_path {
            self.folder = entry.folder_path.to_owned();
            self.names.clear();
        }
        let is_named = |name: &&str| entry.name.to_bytes() == name.as_bytes();
        if let Some(name) = BARE.into_iter().find(is_named)
            && self.names.insert(name)
            && self.names.len() == BARE.len()
        {
            self.found.push(self.folder.clone());
        }
    }
}
