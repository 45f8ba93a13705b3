//! Temporary files, under names that no other program uses.
//!
//! A process that is killed leaves such a file behind, and the next process that opens the
//! workspace removes it. For that, all temporary names are in the folder of the workspace, which is
//! locked while one exists.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::thread;

use super::ChangeError;
use crate::names::{is_temporary_name, temporary_name};
use crate::path::RelativePath;
use crate::root::{FileError, Folder, Kind, Root};

/// How often locking the folder is attempted while another process removes files.
const MAX_ATTEMPTS: u32 = 64;

/// Removes the files of processes that were killed.
pub(crate) fn remove_abandoned(root: &Root) -> Result<(), FileError> {
    let folder = root.folder(&RelativePath::root())?;
    let is_left = |(name, kind): &(String, Kind)| *kind == Kind::File && is_temporary_name(name);
    let mut left = root.entries(&RelativePath::root())?;
    left.retain(is_left);
    if left.is_empty() {
        return Ok(());
    }
    // Another process has such a file at this time, or the file system has no locks.
    let lock = folder.lockable()?;
    if let Some(lock) = &lock {
        lock.try_lock().map_err(io::Error::from)?;
    }
    let left = root.entries(&RelativePath::root())?;
    for (name, _) in left.iter().filter(|it| is_left(it)) {
        folder.remove_abandoned(name)?;
    }
    Ok(())
}

/// Runs a function with the folder for temporary names: that of the workspace, or that of the file
/// if a file can't be moved between the two.
pub(super) fn with_place<T>(
    root: &Root,
    folder: &Folder,
    function: impl Fn(&Folder) -> Result<T, ChangeError>,
) -> Result<T, ChangeError> {
    let place = root.folder(&RelativePath::root()).map_err(ChangeError::File)?;
    let _lock = lock(&place);
    match function(&place) {
        Err(ChangeError::File(error)) if is_apart(&error) => function(folder),
        result => result,
    }
}

fn is_apart(error: &FileError) -> bool {
    matches!(error, FileError::OtherMount)
        || error.has_kind(io::ErrorKind::PermissionDenied)
        || error.has_kind(io::ErrorKind::ReadOnlyFilesystem)
}

/// Locks the folder of the workspace for as long as the result exists.
fn lock(folder: &Folder) -> Option<File> {
    let lock = folder.lockable().ok().flatten()?;
    for _ in 0..MAX_ATTEMPTS {
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => thread::yield_now(),
            // Some file systems have no locks: there, nothing is removed either.
            Ok(()) | Err(TryLockError::Error(_)) => break,
        }
    }
    Some(lock)
}

/// A new file under a temporary name, which is removed when it is dropped.
pub(super) struct Temporary<'f> {
    folder: &'f Folder,
    pub(super) name: String,
    pub(super) file: File,
    is_permanent: bool,
}

impl<'f> Temporary<'f> {
    pub(super) fn create(folder: &'f Folder, bytes: &[u8], mode: u32) -> Result<Self, ChangeError> {
        let name = temporary_name();
        let file = folder.create_file(&name, mode).map_err(ChangeError::File)?;
        let mut temporary = Self { folder, name, file, is_permanent: false };
        temporary.file.write_all(bytes).map_err(ChangeError::Io)?;
        Ok(temporary)
    }

    /// Leaves the file, which has another name now.
    pub(super) fn keep(mut self) {
        self.is_permanent = true;
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_permanent {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}
