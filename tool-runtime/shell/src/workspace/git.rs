//! The parts of a git repository that commands must not change: hooks and settings run programs
//! with the rights of the person who uses git next.
//!
//! A mount protects each part. The folder `.git` is mounted separately, so that it can't be renamed
//! and replaced. The mounts are made by path, which a background process may change meanwhile; so
//! the identity of each part is taken from the open folder without following links, and checked in
//! the sandbox before the command starts.
//!
//! A workspace may also be a bare repository, whose parts are in its own folder.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;

use super::{Part, walk};

/// The name of the folder or file of a repository.
pub(super) const GIT: &str = ".git";

/// Returns the parts to mount, outer ones first; none if the workspace is not a repository.
/// Missing ones are created, because a mount needs something to be mounted on.
pub(super) fn protected_parts(root: &OwnedFd, workspace: &Path) -> Result<Vec<Part>, String> {
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
        parts.push(part(GIT, &git, is_folder)?);
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

/// Returns whether the folder itself is a repository, without a folder `.git`.
pub(super) fn is_bare(folder: &OwnedFd) -> bool {
    matches!(resolve(folder, GIT), Err(Errno::NOENT)) && is_repository(folder)
}

/// Returns whether git takes the folder for a repository: whether it has these three entries.
pub(super) fn is_repository(folder: &OwnedFd) -> bool {
    ["HEAD", "objects", "refs"].into_iter().all(|name| resolve(folder, name).is_ok())
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
        let parts = protected_parts(&root, Path::new("/w")).map(|parts| {
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
