//! Files that run with the rights of their owner or group, or with capabilities.
//!
//! The kernel takes these rights away when such a file is written, but not when it is changed
//! through a mapping in memory. So commands can't write to these files at all: they are mounted
//! read-only, and so are folders in which they can't be looked for.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, OFlags, lgetxattr, statat};
use rustix::io::Errno;

use super::walk::{Entry, open_folder, resolve, walk};
use super::{Folder, Part};

/// The bits of a mode by which a file runs with other rights.
const SET_ID: u32 = 0o6000;

/// The bits of a mode by which a file runs at all.
const EXECUTE: u32 = 0o111;

/// The most parts of a folder. Each takes time when a command starts.
const MAX_PARTS: usize = 256;

/// Returns the parts of a folder to mount read-only, outer ones first.
pub(super) fn parts(folder: &Folder) -> Result<Vec<Part>, String> {
    let root = &folder.file;
    let mut paths = Vec::new();
    let unreadable = walk(root, Path::new(""), open_folder, |entry| {
        if is_privileged(folder, entry) {
            paths.push(entry.path());
        }
    });
    for unreadable in unreadable {
        match unreadable.error {
            // A path that is too long can't be mounted on, but the folder above can.
            Errno::NAMETOOLONG => paths.extend(unreadable.path.parent().map(Path::to_owned)),
            _ => paths.push(unreadable.path),
        }
    }
    paths.sort();
    paths.dedup();
    if paths.len() > MAX_PARTS {
        let (path, count) = (folder.path.display(), paths.len());
        return Err(format!(
            "{path} has {count} files with setuid bits or capabilities and unreadable folders; at \
             most {MAX_PARTS} can be protected"
        ));
    }
    let parts = paths.into_iter().filter_map(|path| part(folder, root, &path).transpose());
    parts.collect()
}

/// Returns a path as a part; `None` if it is gone.
fn part(folder: &Folder, root: &OwnedFd, path: &Path) -> Result<Option<Part>, String> {
    let full_path = folder.path.join(path);
    let name = full_path.display().to_string();
    let part = resolve(root, path, OFlags::PATH).and_then(|it| Part::of(full_path, &it, false));
    match part {
        Ok(part) => Ok(Some(part)),
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(format!("{name} can't be protected: {error}")),
    }
}

fn is_privileged(folder: &Folder, entry: &Entry<'_>) -> bool {
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
