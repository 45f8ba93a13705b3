//! The folder of the workspace as a capability: every system call resolves its path below it.
//!
//! # Invariants
//! - Each path is resolved by `openat2` with [`CONFINED`], in one system call: the kernel refuses
//!   `..`, links, magic links such as those in `/proc`, and other mounts on the way, also if they
//!   are swapped in meanwhile. Nothing is checked first and used later.
//! - A change names one entry of an open folder, without following a link.
//! - Only regular files are opened. A device or a FIFO is never opened for reading or writing.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, mkdirat, openat2, statat,
};
use rustix::io::Errno;

use crate::path::RelativePath;

/// Confines the resolution of a path.
const CONFINED: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// The kernel answers `EAGAIN` if a folder is renamed while it resolves a path.
const MAX_ATTEMPTS: u32 = 64;

/// An open folder, which nothing below it leads out of.
#[derive(Debug)]
pub(crate) struct Root(OwnedFd);

impl Root {
    /// Opens a folder. The path is the program's: links in it are followed.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = Self(rustix::fs::open(folder, flags, Mode::empty())?);
        // Kernels before 5.6 and some sandboxes refuse `openat2`.
        root.folder(&RelativePath::root())?;
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

    /// Returns what is at a path, without opening it.
    pub(crate) fn stat(&self, path: &RelativePath) -> Result<Stat, Errno> {
        fstat(self.resolve(path, OFlags::PATH | OFlags::NOFOLLOW)?)
    }

    /// Opens a folder for its entries, or to change one of them.
    pub(crate) fn folder(&self, path: &RelativePath) -> Result<OwnedFd, Errno> {
        self.resolve(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// Opens a regular file for reading.
    pub(crate) fn file(&self, path: &RelativePath) -> Result<(File, Stat), FileError> {
        // Opening a device may have effects, so it is not opened to find out what it is.
        check_regular(&self.stat(path)?)?;
        self.listed_file(path)
    }

    /// Opens a file that was listed as a regular one.
    pub(crate) fn listed_file(&self, path: &RelativePath) -> Result<(File, Stat), FileError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let file = self.resolve(path, flags)?;
        let stat = fstat(&file)?;
        check_regular(&stat)?;
        Ok((File::from(file), stat))
    }

    /// Opens the folder of a file, and creates it and the folders above it if they are missing.
    pub(crate) fn create_folder(&self, path: &RelativePath) -> Result<OwnedFd, Errno> {
        match self.folder(path) {
            Err(Errno::NOENT) if !path.is_root() => {}
            result => return result,
        }
        let (parent, name) = path.split();
        match mkdirat(self.create_folder(&parent)?, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.folder(path),
            Err(error) => Err(error),
        }
    }

    /// Returns the entries of a folder with their types, in no order. A name that is not UTF-8
    /// can't be sent as an argument, and is omitted.
    pub(crate) fn entries(&self, path: &RelativePath) -> Result<Vec<(String, FileType)>, Errno> {
        let folder = self.folder(path)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = match entry.file_name().to_str() {
                Ok("." | "..") | Err(_) => continue,
                Ok(name) => name,
            };
            let file_type = match entry.file_type() {
                // Some file systems do not return the type with the name.
                FileType::Unknown => match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                },
                file_type => file_type,
            };
            entries.push((name.to_owned(), file_type));
        }
        Ok(entries)
    }
}

/// Returns an error unless this is a regular file.
pub(crate) fn check_regular(stat: &Stat) -> Result<(), FileError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(FileError::Folder),
        FileType::Symlink => Err(FileError::System(Errno::LOOP)),
        _ => Err(FileError::Special),
    }
}

/// The reason why something is not opened as a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileError {
    /// The path is that of a folder.
    Folder,
    /// The path is that of a device, a FIFO or a socket.
    Special,
    /// The kernel refused the path.
    System(Errno),
}

impl From<Errno> for FileError {
    fn from(error: Errno) -> Self {
        Self::System(error)
    }
}
