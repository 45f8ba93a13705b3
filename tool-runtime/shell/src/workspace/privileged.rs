//! Files that run with the rights of their owner or group, or with capabilities.
//!
//! The kernel takes these rights away when such a file is written, but not when it is changed
//! through a mapping in memory. So commands can't write to these files at all: they are mounted
//! read-only, and so are folders in which they can't be looked for.

use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, OFlags, lgetxattr, statat};
use rustix::io::Errno;

use super::walk::{Entry, Unreadable, resolve};
use super::{Folder, Part};

/// The bits of a mode by which a file runs with other rights.
const SET_ID: u32 = 0o6000;

/// The bits of a mode by which a file runs at all.
const EXECUTE: u32 = 0o111;

/// Returns the paths of a folder to mount read-only, outer ones first.
pub(crate) fn paths(mut privileged: Vec<PathBuf>, unreadable: &[Unreadable]) -> Vec<PathBuf> {
    privileged.extend(unreadable.iter().filter_map(|unreadable| match unreadable.error {
        // A path that is too long can't be mounted on, but the folder above can.
        Errno::NAMETOOLONG => unreadable.path.parent().map(Path::to_owned),
        _ => Some(unreadable.path.clone()),
    }));
    privileged.sort();
    privileged.dedup();
    privileged
}

/// Returns a path as a part; `None` if it is gone.
pub(crate) fn part(folder: &Folder, path: &Path) -> Result<Option<Part>, String> {
    let full_path = folder.path.join(path);
    let name = full_path.display().to_string();
    let part =
        resolve(&folder.file, path, OFlags::PATH).and_then(|it| Part::of(full_path, &it, false));
    match part {
        Ok(part) => Ok(Some(part)),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(format!("{name} can't be protected: {error}")),
    }
}

/// Returns whether an entry is a file that runs with other rights.
pub(crate) fn is_privileged(folder: &Folder, entry: &Entry<'_>) -> bool {
    if entry.file_type != FileType::RegularFile {
        return false;
    }
    let Ok(stat) = statat(entry.folder, entry.name, AtFlags::SYMLINK_NOFOLLOW) else {
        return false;
    };
    let has_capabilities = || {
        let mut value = [0; 64];
        let path = folder.path.join(entry.path());
        lgetxattr(path, "security.capability", &mut value).is_ok_and(|len| len > 0)
    };
    stat.st_mode & SET_ID != 0 || stat.st_mode & EXECUTE != 0 && has_capabilities()
}
