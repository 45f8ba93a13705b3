//! The folder of the workspace as a capability: each path is resolved below it.
//!
//! On Linux, the kernel resolves a path in one system call (`linux.rs`). On other systems, the
//! folders of a path are opened one after the other (`portable.rs`). Tests also run the latter on
//! Linux, with `cfg(portable)`.
//!
//! # Invariants
//! - No path leads out of the folder: links are refused, also if they are swapped in while a path
//!   is resolved. Nothing is checked by its path first and used by its path later.
//! - A change names one entry of an open folder, without following a link.
//! - Only regular files are opened. A device or a FIFO is never opened for reading or writing.

#[cfg(all(target_os = "linux", not(portable)))]
mod linux;
#[cfg(any(not(target_os = "linux"), portable))]
mod portable;

use std::fs::{File, FileType, Metadata};
use std::io;

use crate::path::RelativePath;

#[cfg(all(target_os = "linux", not(portable)))]
pub(crate) use linux::{Folder, Root};
#[cfg(any(not(target_os = "linux"), portable))]
pub(crate) use portable::{Folder, Root};

/// The error of the operating system for a link that is not followed.
#[cfg(unix)]
const LINK_ERROR: i32 = rustix::io::Errno::LOOP.raw_os_error();
#[cfg(not(unix))]
const LINK_ERROR: i32 = 681;

// The methods that do not depend on the system.
impl Root {
    /// Opens a regular file for reading.
    pub(crate) fn file(&self, path: &RelativePath) -> Result<(File, Metadata), FileError> {
        // Opening a device may have effects, so it is not opened to find out what it is.
        let (kind, _) = self.stat(path)?;
        kind.check_regular()?;
        self.listed_file(path)
    }

    /// Returns the entries of a folder with their types, in no order.
    pub(crate) fn entries(&self, path: &RelativePath) -> Result<Vec<(String, Kind)>, FileError> {
        self.folder(path)?.entries()
    }

    /// Opens the folder of a file, and creates it and the folders above it if they are missing.
    pub(crate) fn create_folder(&self, path: &RelativePath) -> Result<Folder, FileError> {
        match self.folder(path) {
            Err(error) if error.has_kind(io::ErrorKind::NotFound) && !path.is_root() => {}
            result => return result,
        }
        let (parent, name) = path.split();
        match self.create_folder(&parent)?.create_folder(name) {
            Err(error) if !error.has_kind(io::ErrorKind::AlreadyExists) => Err(error),
            _ => self.folder(path),
        }
    }
}

/// The type of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

impl Kind {
    /// Returns an error unless this is a regular file.
    pub(crate) fn check_regular(self) -> Result<(), FileError> {
        match self {
            Self::File => Ok(()),
            Self::Folder => Err(FileError::Folder),
            Self::Link => Err(FileError::Link),
            Self::Other => Err(FileError::Special),
        }
    }
}

impl From<FileType> for Kind {
    fn from(file_type: FileType) -> Self {
        if file_type.is_file() {
            Self::File
        } else if file_type.is_dir() {
            Self::Folder
        } else if file_type.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}

/// Returns an open file with its metadata if it is a regular one.
fn regular(file: File) -> Result<(File, Metadata), FileError> {
    let metadata = file.metadata()?;
    Kind::from(metadata.file_type()).check_regular()?;
    Ok((file, metadata))
}

/// The reason why something is not opened or changed.
#[derive(Debug)]
pub(crate) enum FileError {
    /// The path is that of a folder.
    Folder,
    /// The path is that of a device, a FIFO or a socket.
    Special,
    /// The path is that of a link, or leads through one.
    Link,
    /// The path leads out of the workspace or into another mount.
    OtherMount,
    /// The system refused the path.
    System(io::Error),
}

impl FileError {
    /// Whether the system refused the path for this reason.
    pub(crate) fn has_kind(&self, kind: io::ErrorKind) -> bool {
        matches!(self, Self::System(error) if error.kind() == kind)
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        if error.raw_os_error() == Some(LINK_ERROR) {
            Self::Link
        } else if error.kind() == io::ErrorKind::CrossesDevices {
            Self::OtherMount
        } else {
            Self::System(error)
        }
    }
}

#[cfg(unix)]
impl From<rustix::io::Errno> for FileError {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}
