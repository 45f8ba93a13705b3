//! Visits everything below an open folder. No link is followed, whatever is exchanged meanwhile.

use std::collections::VecDeque;
use std::ffi::{CStr, OsStr};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, chmod, fstat, openat2, statat,
};
use rustix::io::Errno;

/// The rights with which the owner can list a folder and change its entries.
const OWNER: u32 = 0o700;

/// How often the kernel may answer that a folder is renamed while it resolves a path.
const MAX_ATTEMPTS: u32 = 64;

/// An entry that is not a folder.
pub(super) struct Entry<'a> {
    pub(super) folder: &'a OwnedFd,
    pub(super) folder_path: &'a Path,
    pub(super) name: &'a CStr,
    pub(super) file_type: FileType,
}

impl Entry<'_> {
    /// Returns the path of the entry below the root.
    pub(super) fn path(&self) -> PathBuf {
        self.folder_path.join(OsStr::from_bytes(self.name.to_bytes()))
    }
}

/// A folder that can't be listed, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub(super) path: PathBuf,
    pub(super) error: Errno,
}

/// Visits the entries below a folder, those of outer folders first. Returns the folders that can't
/// be listed.
pub(super) fn walk(
    root: &OwnedFd,
    start: &Path,
    open: fn(&OwnedFd, &Path) -> Result<OwnedFd, Errno>,
    mut visit: impl FnMut(&Entry<'_>),
) -> Vec<Unreadable> {
    let mut unreadable = Vec::new();
    let mut queue = VecDeque::from([start.to_owned()]);
    while let Some(path) = queue.pop_front() {
        let listed = open(root, &path).and_then(|folder| {
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                let file_type = match entry.file_type() {
                    // Some file systems do not return the type with the name.
                    FileType::Unknown => match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                        Err(Errno::NOENT) => continue,
                        Err(error) => return Err(error),
                    },
                    file_type => file_type,
                };
                let entry = Entry { folder: &folder, folder_path: &path, name, file_type };
                match file_type {
                    FileType::Directory => queue.push_back(entry.path()),
                    _ => visit(&entry),
                }
            }
            Ok(())
        });
        match listed {
            // It was removed or replaced in the meantime.
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(error) => unreadable.push(Unreadable { path, error }),
        }
    }
    unreadable
}

/// Opens a folder for its entries.
pub(super) fn open_folder(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    resolve(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a folder for its entries, and for changing them: a command may have taken the rights of
/// the owner away, with which git can still reach a file by its name.
pub(super) fn open_own_folder(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let folder = resolve(root, path, OFlags::PATH | OFlags::DIRECTORY)?;
    let stat = fstat(&folder)?;
    let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
    if is_own && stat.st_mode & OWNER != OWNER {
        let mode = Mode::from_raw_mode((stat.st_mode & 0o7777) | OWNER);
        chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), mode)?;
    }
    open_folder(root, path)
}

/// Opens an entry below a folder without following a link.
pub(super) fn resolve(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let confined = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let mut attempts = 0;
    loop {
        match openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), confined) {
            Err(Errno::AGAIN | Errno::INTR) if attempts < MAX_ATTEMPTS => attempts += 1,
            result => return result,
        }
    }
}
