//! The folder of the workspace on Linux, where the kernel resolves each path below it.
//!
//! Each path is resolved by `openat2` with [`CONFINED`], in one system call: the kernel refuses
//! `..`, links, magic links such as those in `/proc`, and other mounts on the way, also if they
//! are swapped in meanwhile.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, fstat, linkat, mkdirat,
    openat, openat2, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::{FileError, Kind, regular};
use crate::path::RelativePath;

/// Confines the resolution of a path.
const CONFINED: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// Opens a file for reading, without waiting for the writer of a FIFO.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::NOFOLLOW);

/// The kernel answers `EAGAIN` if a folder is renamed while it resolves a path.
const MAX_ATTEMPTS: u32 = 64;

/// An open folder. No path below it leads out of it.
#[derive(Debug)]
pub(crate) struct Root(OwnedFd);

impl Root {
    /// Opens a folder. The path is the program's: links in it are followed.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = Self(rustix::fs::open(folder, flags, Mode::empty())?);
        // Kernels before 5.6 and some sandboxes refuse `openat2`.
        root.resolve(&RelativePath::root(), OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok(root)
    }

    fn resolve(&self, path: &RelativePath, flags: OFlags) -> Result<OwnedFd, Errno> {
        let text = if path.is_root() { "." } else { path.as_str() };
        let mut attempts = 0;
        loop {
            match openat2(&self.0, text, flags | OFlags::CLOEXEC, Mode::empty(), CONFINED) {
                Err(Errno::AGAIN | Errno::INTR) if attempts < MAX_ATTEMPTS => {
                    attempts += 1;
                    std::thread::yield_now();
                }
                result => return result,
            }
        }
    }

    /// Returns the path as the folders spell it: each name has one spelling.
    pub(crate) fn spelled(&self, path: RelativePath) -> RelativePath {
        path
    }

    /// Returns the type and the length of what is at a path, without opening it.
    pub(crate) fn stat(&self, path: &RelativePath) -> Result<(Kind, u64), FileError> {
        let stat = fstat(self.resolve(path, OFlags::PATH | OFlags::NOFOLLOW)?)?;
        let kind = FileType::from_raw_mode(stat.st_mode).into();
        Ok((kind, u64::try_from(stat.st_size).unwrap_or_default()))
    }

    /// Opens a folder for its entries, or to change one of them.
    pub(crate) fn folder(&self, path: &RelativePath) -> Result<Folder, FileError> {
        Ok(Folder(self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY)?))
    }

    /// Opens a file that was listed as a regular one.
    pub(crate) fn listed_file(&self, path: &RelativePath) -> Result<(File, Metadata), FileError> {
        regular(File::from(self.resolve(path, READ)?))
    }
}

/// An open folder, to read or change one of its entries.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// Returns the entries with their types, in no order. A name that is not UTF-8
    /// can't be sent as an argument, and is omitted.
    pub(crate) fn entries(&self) -> Result<Vec<(String, Kind)>, FileError> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = match entry.file_name().to_str() {
                Ok("." | "..") | Err(_) => continue,
                Ok(name) => name,
            };
            let file_type = match entry.file_type() {
                // Some file systems do not return the type with the name.
                FileType::Unknown => match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                },
                file_type => file_type,
            };
            entries.push((name.to_owned(), file_type.into()));
        }
        Ok(entries)
    }

    /// Opens a regular file for reading.
    pub(crate) fn file(&self, name: &str) -> Result<(File, Metadata), FileError> {
        regular(File::from(openat(&self.0, name, READ | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// Creates a file for writing under a name where nothing is.
    pub(crate) fn create_file(&self, name: &str, mode: u32) -> Result<File, FileError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.0, name, flags, Mode::from_raw_mode(mode))?))
    }

    /// Creates a file without a name; `None` if the file system has no such files.
    pub(crate) fn create_unnamed(&self, mode: u32) -> Option<File> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        openat(&self.0, ".", flags, Mode::from_raw_mode(mode)).ok().map(File::from)
    }

    /// Gives this name to a file without one, unless the name is taken. Returns whether the system
    /// supports this.
    pub(crate) fn link_unnamed(&self, file: &File, name: &str) -> Result<bool, FileError> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        match linkat(CWD, path, &self.0, name, AtFlags::SYMLINK_FOLLOW) {
            Ok(()) => Ok(true),
            Err(error @ Errno::EXIST) => Err(error.into()),
            Err(_) => Ok(false),
        }
    }

    /// Creates a folder.
    pub(crate) fn create_folder(&self, name: &str) -> Result<(), FileError> {
        Ok(mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// Exchanges two entries. Returns whether the system supports this.
    pub(crate) fn exchange(
        &self,
        name: &str,
        other: &Self,
        other_name: &str,
    ) -> Result<bool, FileError> {
        match renameat_with(&self.0, name, &other.0, other_name, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves an entry, and replaces what is at the new name.
    pub(crate) fn rename(&self, name: &str, to: &Self, new_name: &str) -> Result<(), FileError> {
        Ok(renameat(&self.0, name, &to.0, new_name)?)
    }

    /// Moves an entry to a name where nothing is.
    pub(crate) fn rename_to_new(
        &self,
        name: &str,
        to: &Self,
        new_name: &str,
    ) -> Result<(), FileError> {
        match renameat_with(&self.0, name, &to.0, new_name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                match statat(&to.0, new_name, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(Errno::NOENT) => self.rename(name, to, new_name),
                    Ok(_) => Err(Errno::EXIST.into()),
                    Err(error) => Err(error.into()),
                }
            }
            result => Ok(result?),
        }
    }

    /// Removes an entry that is no folder.
    pub(crate) fn remove_file(&self, name: &str) -> Result<(), FileError> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes a temporary file of a process that has ended.
    pub(crate) fn remove_abandoned(&self, name: &str) -> Result<(), FileError> {
        self.remove_file(name)
    }

    /// Removes an empty folder.
    pub(crate) fn remove_folder(&self, name: &str) -> Result<(), FileError> {
        Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Opens the folder as a file, which can be locked.
    pub(crate) fn lockable(&self) -> io::Result<Option<File>> {
        Ok(Some(File::from(self.0.try_clone()?)))
    }
}

impl From<FileType> for Kind {
    fn from(file_type: FileType) -> Self {
        match file_type {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}
