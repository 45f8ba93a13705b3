//! The parts of a git repository that commands must not change: hooks and settings run programs
//! with the rights of the person who uses git next.
//!
//! A mount protects each part. The folder `.git` is mounted separately, so that it can't be renamed
//! and replaced. The mounts are made by path, which a background process may change meanwhile; so
//! the identity of each part is taken from the open folder without following links, and checked in
//! the sandbox before the command starts.
//!
//! A workspace may also be a bare repository, whose parts are in its own folder. Repositories in
//! subfolders that existed before the first command are protected in the same way, or as a whole if
//! there are many, because each mount takes time.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;

use super::{Folder, Part, walk};

/// The name of the folder or file of a repository.
pub(crate) const GIT: &str = ".git";

/// The entries by which git takes a folder for a repository.
pub(crate) const BARE: [&str; 3] = ["HEAD", "objects", "refs"];

/// The most repositories in subfolders whose parts are mounted one by one.
const MAX_NESTED: usize = 16;

/// Returns the parts to mount, outer ones first; none if the workspace is not a repository.
/// Missing ones are created, because a mount needs something to be mounted on.
pub(crate) fn protected_parts(
    root: &OwnedFd,
    workspace: &Path,
    is_writable: bool,
) -> Result<Vec<Part>, String> {
    let failed = |name: &str, error: Errno| match error {
        Errno::LOOP => format!("`{name}` of the workspace is a link, which can't be protected"),
        error => format!("`{name}` of the workspace can't be protected: {error}"),
    };
    let part = |name: &str, file: &OwnedFd, is_writable| {
        Part::of(workspace.join(name), file, is_writable).map_err(|error| failed(name, error))
    };
    let (git, prefix) = match resolve(root, GIT) {
        Ok(git) => (git, ".git/"),
        Err(Errno::NOENT) if is_repository(root) => {
            let root = resolve(root, ".").map_err(|error| failed(".", error))?;
            (root, "")
        }
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Err(error) => return Err(failed(GIT, error)),
    };
    let is_folder =
        fstat(&git).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let mut parts = Vec::new();
    if !prefix.is_empty() {
        parts.push(part(GIT, &git, is_folder && is_writable)?);
    }
    if !is_folder {
        // A worktree or a submodule: a file with the path of the repository.
        return Ok(parts);
    }
    for (name, create) in [
        ("hooks", create_folder as fn(&OwnedFd, &str) -> Result<(), Errno>),
        ("config", create_file),
        ("config.worktree", create_file),
        ("commondir", create_common_folder),
        ("modules", create_folder),
        ("worktrees", create_folder),
    ] {
        let full_name = format!("{prefix}{name}");
        let file = match resolve(&git, name) {
            Err(Errno::NOENT) => create(&git, name).and_then(|()| resolve(&git, name)),
            file => file,
        };
        let file = file.map_err(|error| failed(&full_name, error))?;
        parts.push(part(&full_name, &file, false)?);
    }
    Ok(parts)
}

/// Returns the parts of repositories in subfolders to mount, outer ones first. The path of each is
/// that of its `.git`, or of a bare one. One whose parts can't be protected one by one is
/// read-only.
pub(crate) fn nested_parts<'p>(
    folder: &Folder,
    repositories: impl Iterator<Item = &'p PathBuf> + Clone,
    is_writable: bool,
) -> Vec<Part> {
    let is_writable = is_writable && repositories.clone().count() <= MAX_NESTED;
    repositories.flat_map(|path| nested_parts_of(folder, path, is_writable)).collect()
}

fn nested_parts_of(folder: &Folder, path: &Path, is_writable: bool) -> Vec<Part> {
    // What is gone, or is a link, can't be mounted on. The next scan finds a changed link.
    let Ok(file) = walk::resolve(&folder.file, path, OFlags::PATH) else { return Vec::new() };
    let stat = fstat(&file).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if stat == Ok(FileType::Symlink) {
        return Vec::new();
    }
    let above = if is_git(path) { path.parent().unwrap_or(path) } else { path };
    if is_writable
        && let Ok(root) = walk::resolve(&folder.file, above, OFlags::PATH | OFlags::DIRECTORY)
        && let Ok(parts) = protected_parts(&root, &folder.path.join(above), true)
    {
        return parts;
    }
    Part::of(folder.path.join(path), &file, false).into_iter().collect()
}

/// Returns whether the repository of this path is in a subfolder.
pub(crate) fn is_nested(path: &Path) -> bool {
    !path.as_os_str().is_empty() && path != Path::new(GIT)
}

/// Returns whether the path is that of a folder or file `.git`.
pub(crate) fn is_git(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new(GIT))
}

/// Returns whether the folder itself is a repository, without a folder `.git`.
pub(crate) fn is_bare(folder: &OwnedFd) -> bool {
    matches!(resolve(folder, GIT), Err(Errno::NOENT)) && is_repository(folder)
}

/// Returns whether git takes the folder for a repository.
fn is_repository(folder: &OwnedFd) -> bool {
    BARE.into_iter().all(|name| resolve(folder, name).is_ok())
}

/// Opens an entry of a folder without following a link.
fn resolve(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    // The entry itself may be a link, which `NO_SYMLINKS` lets `O_PATH | O_NOFOLLOW` open.
    walk::resolve(folder, Path::new(name), OFlags::PATH)
}

fn create_folder(folder: &OwnedFd, name: &str) -> Result<(), Errno> {
    mkdirat(folder, name, Mode::from_raw_mode(0o755))
}

fn create_file(folder: &OwnedFd, name: &str) -> Result<(), Errno> {
    open_new(folder, name).map(drop)
}

/// Creates the file that names the folder from which git takes the settings and hooks of a
/// repository: the repository itself, as without the file.
fn create_common_folder(folder: &OwnedFd, name: &str) -> Result<(), Errno> {
    rustix::io::write(open_new(folder, name)?, b".\n").map(drop)
}

fn open_new(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::from_raw_mode(0o644))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use rustix::fs::{Mode, OFlags, open};

    use super::protected_parts;

    fn parts_of(name: &str, prepare: impl Fn(&Path)) -> Result<Vec<(String, bool)>, String> {
        let folder = std::env::temp_dir().join(format!("git-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        prepare(&folder);
        let root = open(&folder, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let parts = protected_parts(&root, Path::new("/w"), true).map(|parts| {
            let name = |path: &Path| path.strip_prefix("/w").unwrap().display().to_string();
            parts.iter().map(|part| (name(&part.path), part.is_writable)).collect()
        });
        fs::remove_dir_all(folder).unwrap();
        parts
    }

    #[test]
    fn hooks_and_settings_of_a_repository_are_read_only() {
        assert_eq!(parts_of("none", |_| ()).unwrap(), []);
        let expected = [
            (".git".to_owned(), true),
            (".git/hooks".to_owned(), false),
            (".git/config".to_owned(), false),
            (".git/config.worktree".to_owned(), false),
            (".git/commondir".to_owned(), false),
            (".git/modules".to_owned(), false),
            (".git/worktrees".to_owned(), false),
        ];
        let empty = |folder: &Path| fs::create_dir(folder.join(".git")).unwrap();
        // Otherwise a command could create what is missing.
        assert_eq!(parts_of("empty", empty).unwrap(), expected);
        let repository = |folder: &Path| {
            fs::create_dir_all(folder.join(".git/modules")).unwrap();
            fs::write(folder.join(".git/config.worktree"), "[core]\n").unwrap();
        };
        assert_eq!(parts_of("folder", repository).unwrap(), expected);
        let worktree = |folder: &Path| fs::write(folder.join(".git"), "gitdir: /x").unwrap();
        assert_eq!(parts_of("file", worktree).unwrap(), [(".git".to_owned(), false)]);
    }

    #[test]
    fn hooks_and_settings_of_a_bare_repository_are_read_only() {
        let almost = |folder: &Path| {
            fs::create_dir(folder.join("objects")).unwrap();
            fs::create_dir(folder.join("refs")).unwrap();
        };
        assert_eq!(parts_of("almost", almost).unwrap(), []);
        let bare = |folder: &Path| {
            almost(folder);
            fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        };
        let names = ["hooks", "config", "config.worktree", "commondir", "modules", "worktrees"];
        let expected = names.map(|name| (name.to_owned(), false));
        assert_eq!(parts_of("bare", bare).unwrap(), expected);
    }

    #[test]
    fn links_are_refused() {
        let git = |folder: &Path| symlink("/etc", folder.join(".git")).unwrap();
        assert!(parts_of("link", git).unwrap_err().contains("`.git` of the workspace is a link"));
        for name in ["hooks", "config", "config.worktree", "commondir", "modules", "worktrees"] {
            let inner = |folder: &Path| {
                fs::create_dir(folder.join(".git")).unwrap();
                symlink("/etc", folder.join(".git").join(name)).unwrap();
            };
            let error = parts_of(name, inner).unwrap_err();
            assert!(
                error.contains(&format!("`.git/{name}` of the workspace is a link")),
                "{error}"
            );
        }
    }
}
