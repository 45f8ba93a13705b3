//! Files beside the database that the owners of leases keep locked until their process ends.
//!
//! The system ends the lock when it ends the process, however that ended. So a lease whose owner
//! holds no lock is free at once. Files are created and removed within a transaction that excludes
//! other writers, so that no process removes a file that another one is about to lock.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The files of one database that this process holds, by the ids of the owners.
#[derive(Debug)]
pub(super) struct OwnerFiles {
    /// `None` in memory, where all owners live as long as the database.
    database: Option<PathBuf>,
    files: Mutex<BTreeMap<String, File>>,
}

impl OwnerFiles {
    pub(super) fn of_database(database: Option<&Path>) -> Self {
        Self { database: database.map(Path::to_owned), files: Mutex::default() }
    }

    /// Locks the file of an owner of this process, unless that was done before. The first time, the
    /// files of owners that have ended are removed.
    pub(super) fn hold(&self, owner: &str) -> io::Result<()> {
        let Some(path) = self.path(owner) else { return Ok(()) };
        let mut files = self.files();
        if files.contains_key(owner) {
            return Ok(());
        }
        if files.is_empty() {
            self.remove_ended()?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        file.try_lock()?;
        files.insert(owner.to_owned(), file);
        Ok(())
    }

    /// Returns whether an owner may still run. It has ended if it holds no lock.
    pub(super) fn may_live(&self, owner: &str) -> bool {
        let Some(path) = self.path(owner) else { return true };
        self.files().contains_key(owner) || is_locked(&path)
    }

    /// Returns the file of an owner, or `None` if it has none.
    fn path(&self, owner: &str) -> Option<PathBuf> {
        // An id that was altered must not lead elsewhere.
        let is_id = !owner.is_empty() && owner.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut path = self.database.as_ref().filter(|_| is_id)?.as_os_str().to_owned();
        path.push(SUFFIX);
        path.push(owner);
        Some(path.into())
    }

    fn remove_ended(&self) -> io::Result<()> {
        let Some(database) = &self.database else { return Ok(()) };
        let name = database.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!("{name}{SUFFIX}");
        let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
        for entry in fs::read_dir(folder.unwrap_or_else(|| Path::new(".")))? {
            let entry = entry?;
            let is_owner = entry.file_name().to_string_lossy().starts_with(&prefix);
            if is_owner && !is_locked(&entry.path()) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, File>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text between the name of the database and the id of the owner.
const SUFFIX: &str = "-owner-";

/// Returns whether a process holds the lock of a file, as far as that can be found out.
fn is_locked(path: &Path) -> bool {
    match File::open(path) {
        // Shared, so that two processes that examine a file don't take each other for its owner.
        Ok(file) => file.try_lock_shared().is_err(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

impl Drop for OwnerFiles {
    /// Removes the files while they are locked: from then on, the owners have ended.
    fn drop(&mut self) {
        let owners: Vec<String> = self.files().keys().cloned().collect();
        for path in owners.iter().filter_map(|owner| self.path(owner)) {
            // Otherwise, the next process removes it.
            let _ = remove(&path);
        }
    }
}
