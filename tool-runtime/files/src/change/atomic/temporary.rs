//! Temporary files, under names that no other program uses.
//!
//! A process that is killed leaves such a file behind, and the next process that opens the
//! workspace removes it. For that, temporary names are in the folder of the workspace, which is
//! locked while one exists. If they must be in the folder of the changed file instead, that folder
//! is locked, and the next such change there removes what was left.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::thread;

use super::ChangeError;
use crate::names::{is_temporary_name, temporary_name};
use crate::path::RelativePath;
use crate::root::{FileError, Folder, Kind, Root};

/// How often locking the folder is attempted while another process removes files.
const MAX_ATTEMPTS: u32 = 64;

/// Removes the files that killed processes have left in a folder.
pub(crate) fn remove_abandoned(folder: &Folder) -> Result<(), FileError> {
    let is_left = |(name, kind): &(String, Kind)| *kind == Kind::File && is_temporary_name(name);
    if !folder.entries()?.iter().any(is_left) {
        return Ok(());
    }
    // Another process has such a file at this time, or the file system has no locks.
    let lock = folder.lockable()?;
    if let Some(lock) = &lock {
        lock.try_lock().map_err(io::Error::from)?;
    }
    for (name, _) in folder.entries()?.iter().filter(|it| is_left(it)) {
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
        Err(ChangeError::File(error)) if is_apart(&error) => {
            // What can't be removed now does no harm.
            let _ = remove_abandoned(folder);
            let _lock = lock(folder);
            function(folder)
        }
        result => result,
    }
}

fn is_apart(error: &FileError) -> bool {
    matches!(error, FileError::OtherMount)
        || error.has_kind(io::ErrorKind::PermissionDenied)
        || error.has_kind(io::ErrorKind::ReadOnlyFilesystem)
}

/// Locks a folder for temporary names for as long as the result exists.
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, File};
    use std::io;

    use super::{ChangeError, with_place};
    use crate::path::RelativePath;
    use crate::root::{FileError, Root};

    #[test]
    fn files_left_beside_a_changed_file_are_removed_at_the_next_change_there() {
        let path = std::env::temp_dir().join(format!("temporary-{}", std::process::id()));
        fs::create_dir_all(path.join("a")).unwrap();
        let left = path.join("a/.tool-0123456789abcdef.tmp");
        fs::write(&left, "left").unwrap();
        let root = Root::open(&path).unwrap();
        let change = || {
            let folder = root.folder(&RelativePath::parse("path", "a").unwrap()).unwrap();
            let folders = std::cell::Cell::new(0);
            let result = with_place(&root, &folder, |_| {
                folders.set(folders.get() + 1);
                if folders.get() == 1 {
                    // As in a folder of the workspace that can't be written.
                    let error = io::Error::from(io::ErrorKind::PermissionDenied);
                    return Err(ChangeError::File(FileError::System(error)));
                }
                // Others don't remove the file of this change.
                Ok(File::open(path.join("a")).unwrap().try_lock().is_err())
            });
            assert!(result.unwrap());
        };
        // A process that lives has such a file.
        let other = File::open(path.join("a")).unwrap();
        other.lock_shared().unwrap();
        change();
        assert!(left.exists());
        drop(other);
        change();
        assert!(!left.exists());
        fs::remove_dir_all(path).unwrap();
    }
}
