//! Temporary files, under names that no other program uses.
//!
//! A process that is killed leaves such a file behind, and the next process that opens the
//! workspace removes it. For that, all temporary names are in the folder of the workspace, which is
//! locked while one exists.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::thread;

use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock, linkat, openat, unlinkat,
};
use rustix::io::Errno;

use super::ChangeError;
use crate::path::RelativePath;
use crate::root::{FileError, Root};

/// How often locking the folder is attempted while another process removes files.
const MAX_ATTEMPTS: u32 = 64;

/// Returns a name for a temporary file.
pub(super) fn temporary_name() -> String {
    format!(".tool-{:016x}.tmp", fastrand::u64(..))
}

fn is_temporary_name(name: &str) -> bool {
    let number = name.strip_prefix(".tool-").and_then(|rest| rest.strip_suffix(".tmp"));
    number.is_some_and(|it| it.len() == 16 && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Removes the files of processes that were killed.
pub(crate) fn remove_abandoned(root: &Root) -> Result<(), Errno> {
    let folder = root.folder(&RelativePath::root())?;
    let is_left = |(name, file_type): &(String, FileType)| {
        *file_type == FileType::RegularFile && is_temporary_name(name)
    };
    let mut left = root.entries(&RelativePath::root())?;
    left.retain(is_left);
    if left.is_empty() {
        return Ok(());
    }
    // Another process has such a file at this time, or the file system has no locks.
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    let left = root.entries(&RelativePath::root())?;
    for (name, _) in left.iter().filter(|it| is_left(it)) {
        unlinkat(&folder, name, AtFlags::empty())?;
    }
    Ok(())
}

/// Runs a function with the folder for temporary names: that of the workspace, or that of the file
/// if a file can't be moved between the two.
pub(super) fn with_place<T>(
    root: &Root,
    folder: &OwnedFd,
    function: impl Fn(&OwnedFd) -> Result<T, ChangeError>,
) -> Result<T, ChangeError> {
    let is_apart = |error: &ChangeError| {
        let apart = [Errno::XDEV, Errno::ACCESS, Errno::PERM, Errno::ROFS];
        matches!(error, ChangeError::File(FileError::System(errno)) if apart.contains(errno))
    };
    match function(&locked(root)?) {
        Err(error) if is_apart(&error) => function(folder),
        result => result,
    }
}

/// Opens the folder of the workspace, and locks it for as long as it is open.
fn locked(root: &Root) -> Result<OwnedFd, ChangeError> {
    let folder =
        root.folder(&RelativePath::root()).map_err(|error| ChangeError::File(error.into()))?;
    for _ in 0..MAX_ATTEMPTS {
        match flock(&folder, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK | Errno::INTR) => thread::yield_now(),
            // Some file systems have no locks: there, nothing is removed either.
            Ok(()) | Err(_) => break,
        }
    }
    Ok(folder)
}

/// A new file under a temporary name, which is removed when it is dropped.
pub(super) struct Temporary<'f> {
    folder: &'f OwnedFd,
    pub(super) name: String,
    pub(super) file: File,
    is_permanent: bool,
}

impl<'f> Temporary<'f> {
    pub(super) fn create(
        folder: &'f OwnedFd,
        bytes: &[u8],
        mode: u32,
    ) -> Result<Self, ChangeError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let name = temporary_name();
        let file = openat(folder, &name, flags, Mode::from_raw_mode(mode))
            .map_err(|error| ChangeError::File(error.into()))?;
        let mut temporary = Self { folder, name, file: File::from(file), is_permanent: false };
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
            let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Creates a file without a name; `None` if the file system has no such files.
pub(super) fn create_unnamed(
    folder: &OwnedFd,
    bytes: &[u8],
    mode: u32,
) -> Result<Option<File>, ChangeError> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let Ok(file) = openat(folder, ".", flags, Mode::from_raw_mode(mode)) else { return Ok(None) };
    let mut file = File::from(file);
    file.write_all(bytes).map_err(ChangeError::Io)?;
    Ok(Some(file))
}

/// Gives a file without a name this one, unless it is taken. Returns whether the system can do it.
pub(super) fn give_name(file: &File, folder: &OwnedFd, name: &str) -> Result<bool, ChangeError> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, path, folder, name, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Err(ChangeError::Conflict),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_temporary_name, temporary_name};

    #[test]
    fn only_names_of_this_module_are_temporary() {
        assert!(is_temporary_name(&temporary_name()));
        for name in [".tool-.tmp", ".tool-0123.tmp", "tool-0123456789abcdef.tmp", ".tool-notes.tmp"]
        {
            assert!(!is_temporary_name(name), "{name}");
        }
    }
}
