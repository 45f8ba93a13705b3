//! Symbolic links below `.git`. Git follows them: a link from `.git/COMMIT_EDITMSG` to a file of
//! the home folder lets the next `git commit` of a person overwrite that file.
//!
//! A link that a command has created or changed is removed. So is one that leads elsewhere than
//! before, because something on its way is new. Others, such as links to a shared folder, stay.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, readlinkat, statat, unlinkat};
use rustix::io::Errno;

use super::Folder;
use super::git::{GIT, is_repository};
use super::walk::{Unreadable, open_folder, open_own_folder, walk};

/// The most links that a report names.
const MAX_NAMED: usize = 20;

/// The links below the repository of a folder, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Links(BTreeMap<PathBuf, Link>);

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
fn read_target(path: &Path, parent: &OwnedFd) -> Option<PathBuf> {
    let target = readlinkat(parent, path.file_name()?, Vec::new()).ok()?;
    Some(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// The links that were removed, and what could not be checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    removed: Vec<(PathBuf, PathBuf)>,
    pub(super) unchecked: Vec<(PathBuf, Errno)>,
}

impl Outcome {
    /// Describes the outcome for the result of the command, without control characters.
    pub(super) fn lines(&self) -> Vec<String> {
        let removed = self.removed.iter().map(|(path, target)| {
            format!("removed the link {path:?} -> {target:?}, which git would follow")
        });
        let unchecked = self.unchecked.iter().map(|(path, error)| {
            format!("{path:?} can't be checked for links: {error}; .git is read-only from now on")
        });
        let mut lines: Vec<_> = unchecked.chain(removed).collect();
        let more = lines.len().saturating_sub(MAX_NAMED);
        lines.truncate(MAX_NAMED);
        lines.extend((more > 0).then(|| format!("and {more} more")));
        lines
    }
}

impl Links {
    /// Returns the links below the repository of a folder; none if it is not a repository.
    pub(super) fn of(folder: &Folder) -> Self {
        let mut links = BTreeMap::new();
        visit(folder, open_folder, |path, parent| {
            let target = read_target(path, parent);
            let link = target.map(|target| Link::new(folder, path, target));
            links.extend(link.map(|link| (path.to_owned(), link)));
        });
        Self(links)
    }

    /// Returns the paths of the links that lead out of the repository.
    pub(super) fn foreign(&self, folder: &Folder) -> impl Iterator<Item = &Path> {
        let git = folder.path.join(GIT);
        let is_inside = move |link: &Link| link.end.as_ref().is_some_and(|it| it.starts_with(&git));
        let foreign = self.0.iter().filter(move |(_, link)| !is_inside(link));
        foreign.map(|(path, _)| path.as_path())
    }

    /// Removes the links of a repository that are not among these.
    pub(super) fn remove_others(&self, folder: &Folder) -> Outcome {
        let mut outcome = Outcome::default();
        let unreadable = visit(folder, open_own_folder, |path, parent| {
            let Some(target) = read_target(path, parent) else { return };
            let known = self.0.get(path).filter(|link| link.target == target);
            if known.is_some_and(|link| *link == Link::new(folder, path, target.clone())) {
                return;
            }
            let name = path.file_name().unwrap_or_default();
            match unlinkat(parent, name, AtFlags::empty()) {
                Ok(()) => outcome.removed.push((path.to_owned(), target)),
                Err(Errno::NOENT) => {}
                Err(error) => outcome.unchecked.push((path.to_owned(), error)),
            }
        });
        outcome.unchecked.extend(unreadable.into_iter().map(|it| (it.path, it.error)));
        outcome
    }
}

/// Visits the links of the repository of a folder, each with its path and its open parent.
fn visit(
    folder: &Folder,
    open: fn(&OwnedFd, &Path) -> Result<OwnedFd, Errno>,
    mut visit: impl FnMut(&Path, &OwnedFd),
) -> Vec<Unreadable> {
    let root = &folder.file;
    let start = match statat(root, GIT, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                visit(Path::new(GIT), root);
                return Vec::new();
            }
            FileType::Directory => GIT,
            // A file that names a repository elsewhere.
            _ => return Vec::new(),
        },
        Err(Errno::NOENT) if is_repository(root) => "",
        Err(Errno::NOENT) => return Vec::new(),
        Err(error) => return vec![Unreadable { path: GIT.into(), error }],
    };
    walk(root, Path::new(start), open, |entry| {
        if entry.file_type == FileType::Symlink {
            visit(&entry.path(), entry.folder);
        }
    })
}
