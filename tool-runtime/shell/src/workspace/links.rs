//! Symbolic links in repositories. Git follows them: a link from `.git/COMMIT_EDITMSG` to a file of
//! the home folder lets the next `git commit` of a person overwrite that file.
//!
//! A link that a command has created or changed is removed. So is one that leads elsewhere than
//! before, because something on its way is new. Others, such as links to a shared folder, stay. A
//! repository in a subfolder that is new, or stands in the place of another one, is reported.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::readlinkat;

use super::Folder;
use super::git::is_git;
use super::walk::Entry;

/// The links in the repositories of a folder, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links(BTreeMap<PathBuf, Link>);

/// The place to which a link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    target: PathBuf,
    /// The place at the end of all links, if it exists.
    end: Option<PathBuf>,
}

impl Link {
    fn new(folder: &Folder, path: &Path, target: PathBuf) -> Self {
        let full_path = folder.path.join(path);
        let end = full_path.canonicalize().ok().or_else(|| {
            // A file that does not exist yet.
            let target = full_path.parent()?.join(&target);
            Some(target.parent()?.canonicalize().ok()?.join(target.file_name()?))
        });
        Self { target, end }
    }
}

/// Returns the target of a link; `None` if it is gone.
pub(crate) fn read_target(path: &Path, parent: &OwnedFd) -> Option<PathBuf> {
    let target = readlinkat(parent, path.file_name()?, Vec::new()).ok()?;
    Some(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

impl Links {
    /// Returns whether this link leads where it led before.
    pub(crate) fn has(&self, folder: &Folder, path: &Path, target: &Path) -> bool {
        let known = self.0.get(path).filter(|link| link.target == target);
        known.is_some_and(|link| *link == Link::new(folder, path, target.to_owned()))
    }

    /// Adds a link.
    pub(crate) fn add(&mut self, folder: &Folder, entry: &Entry<'_>) {
        let path = entry.path();
        let target = read_target(&path, entry.folder);
        let link = target.map(|target| Link::new(folder, &path, target));
        self.0.extend(link.map(|link| (path, link)));
    }

    /// Returns the paths of the links that lead out of their repository.
    pub(crate) fn foreign(&self, folder: &Folder) -> impl Iterator<Item = &Path> {
        let is_inside = move |path: &Path, link: &Link| {
            let git = path.ancestors().filter(|path| is_git(path)).last();
            let repository = git.map(|git| folder.path.join(git));
            repository.zip(link.end.as_ref()).is_some_and(|(git, end)| end.starts_with(git))
        };
        let foreign = self.0.iter().filter(move |(path, link)| !is_inside(path, link));
        foreign.map(|(path, _)| path.as_path())
    }
}
