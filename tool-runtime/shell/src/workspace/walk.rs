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

/// An entry of a folder.
pub(crate) struct Entry<'a> {
    pub(crate) folder: &'a OwnedFd,
    pub(crate) folder_path: &'a Path,
    pub(crate) name: &'a CStr,
    pub(crate) file_type: FileType,
}

impl Entry<'_> {
    /// Returns the path of the entry below the root.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder_path.join(OsStr::from_bytes(self.name.to_bytes()))
    }
}

/// A folder that can't be listed, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) path: PathBuf,
    pub(crate) error: Errno,
}

/// Visits the entries below a folder, those of outer folders first. Returns the folders that can't
/// be listed.
pub(crate) fn walk(
    root: &OwnedFd,
    start: &Path,
    open: impl Fn(&OwnedFd, &Path) -> Result<OwnedFd, Errno>,
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
                visit(&entry);
                if file_type == FileType::Directory {
                    queue.push_back(entry.path());
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
pub(crate) fn open_folder(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    resolve(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a folder for its entries, also if a command has taken the right to list it away: git can
/// still reach a file in it by its name.
pub(crate) fn open_own_folder(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    match open_folder(root, path) {
        Err(Errno::ACCESS) => {
            take_rights(&resolve(root, path, OFlags::PATH | OFlags::DIRECTORY)?)?;
            open_folder(root, path)
        }
        opened => opened,
    }
}

/// Gives the owner of a folder the rights to list it and to change its entries.
pub(crate) fn take_rights(folder: &OwnedFd) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode((fstat(folder)?.st_mode & 0o7777) | OWNER);
    chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), mode)
}

/// Opens an entry below a folder without following a link.
pub(crate) fn resolve(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
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
