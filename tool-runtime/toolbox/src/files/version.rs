//! The versions of files that a run has read, so that it overwrites no change of others.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use rustix::fs::Stat;
use tool_runtime::event::RunId;

use super::path::RelativePath;

/// The largest file that is changed, in bytes. A larger one is read, but not loaded.
pub(super) const MAX_CONTENT: u64 = 8 * 1024 * 1024;

/// The most runs whose versions are remembered. Beyond that, the oldest are dropped.
const MAX_RUNS: usize = 64;

/// The most files of a run.
const MAX_FILES: usize = 10_000;

/// The version of a file: its content, or the metadata of a large one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Content([u8; 32]),
    Metadata { inode: u64, len: i64, modified: (i64, u64) },
}

impl Version {
    pub(super) fn of_content(bytes: &[u8]) -> Self {
        Self::Content(hmac_sha256::Hash::hash(bytes))
    }

    pub(super) fn of_large_file(stat: &Stat) -> Self {
        let modified = (stat.st_mtime, stat.st_mtime_nsec);
        Self::Metadata { inode: stat.st_ino, len: stat.st_size, modified }
    }

    /// Returns the digest of the content for the record of a change.
    pub(super) fn digest(&self) -> Option<String> {
        let Self::Content(hash) = self else { return None };
        let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(format!("sha256:{digits}"))
    }
}

/// The latest version of each file that each run has read or written.
#[derive(Debug, Default)]
pub(super) struct Versions(Mutex<VecDeque<(RunId, BTreeMap<RelativePath, Version>)>>);

impl Versions {
    /// Returns the version that the run knows; `None` if it has not read the file.
    pub(super) fn known(&self, run: RunId, path: &RelativePath) -> Option<Version> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, files) = runs.iter().find(|(id, _)| *id == run)?;
        files.get(path).copied()
    }

    /// Records the version that the run knows; `None` if the file was removed.
    pub(super) fn record(&self, run: RunId, path: &RelativePath, version: Option<Version>) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = runs.iter().position(|(id, _)| *id == run);
        let (_, mut files) = index.and_then(|at| runs.remove(at)).unwrap_or((run, BTreeMap::new()));
        match version {
            Some(version) if files.len() < MAX_FILES || files.contains_key(path) => {
                files.insert(path.clone(), version);
            }
            Some(_) => {}
            None => {
                files.remove(path);
            }
        }
        runs.push_back((run, files));
        if runs.len() > MAX_RUNS {
            runs.pop_front();
        }
    }
}
