//! The versions of files that a run has read, so that it overwrites no change of others.

use std::collections::{BTreeMap, VecDeque};
use std::fs::Metadata;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use tool_core::event::RunId;

use crate::path::RelativePath;

/// The largest file that is changed, in bytes. A larger one is read, but not loaded.
pub(crate) const MAX_CONTENT: u64 = 8 * 1024 * 1024;

/// The most runs whose versions are remembered. Beyond that, the oldest are evicted.
const MAX_RUNS: usize = 64;

/// The most files of a run. Beyond that, those that were recorded first are evicted.
const MAX_FILES: usize = 10_000;

/// The most runs that are known to have had versions.
const MAX_EVICTED_RUNS: usize = 10_000;

/// The version of a file: its content, or the metadata of a large one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Content([u8; 32]),
    Metadata { id: u64, len: u64, modified: Option<SystemTime> },
}

impl Version {
    pub(crate) fn of_content(bytes: &[u8]) -> Self {
        Self::Content(hmac_sha256::Hash::hash(bytes))
    }

    pub(crate) fn of_large_file(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let id = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(windows)]
        let id = std::os::windows::fs::MetadataExt::creation_time(metadata);
        Self::Metadata { id, len: metadata.len(), modified: metadata.modified().ok() }
    }

    /// Returns the digest of the content for the record of a change.
    pub(crate) fn digest(&self) -> Option<String> {
        let Self::Content(hash) = self else { return None };
        let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(format!("sha256:{digits}"))
    }
}

/// The knowledge that a run has of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The version that the run has read or written.
    Version(Version),
    /// The run has neither read nor written the file.
    Nothing,
    /// The run may have read the file: older versions were evicted.
    Evicted,
}

/// The latest version of each file that each run has read or written.
#[derive(Debug, Default)]
pub(crate) struct Versions(Mutex<Runs>);

#[derive(Debug, Default)]
struct Runs {
    /// The runs, the one that was used last at the end.
    runs: VecDeque<(RunId, RunVersions)>,
    /// The runs whose versions were evicted, oldest first.
    evicted: VecDeque<RunId>,
}

#[derive(Debug, Default)]
struct RunVersions {
    /// The version of each file, with its number in the order in which they were recorded.
    files: BTreeMap<RelativePath, (Version, u64)>,
    order: BTreeMap<u64, RelativePath>,
    next_number: u64,
    has_evicted: bool,
}

impl RunVersions {
    fn insert(&mut self, path: &RelativePath, version: Version) {
        self.remove(path);
        self.files.insert(path.clone(), (version, self.next_number));
        self.order.insert(self.next_number, path.clone());
        self.next_number += 1;
        if self.files.len() > MAX_FILES
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.files.remove(&oldest);
            self.has_evicted = true;
        }
    }

    fn remove(&mut self, path: &RelativePath) {
        if let Some((_, number)) = self.files.remove(path) {
            self.order.remove(&number);
        }
    }
}

impl Versions {
    /// Returns what the run knows about a file.
    pub(crate) fn known(&self, run: RunId, path: &RelativePath) -> Known {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let versions = runs.runs.iter().find(|(id, _)| *id == run).map(|(_, versions)| versions);
        let version = versions.and_then(|versions| versions.files.get(path));
        if let Some((version, _)) = version {
            return Known::Version(*version);
        }
        let has_evicted = versions.is_some_and(|versions| versions.has_evicted);
        if has_evicted || runs.evicted.contains(&run) { Known::Evicted } else { Known::Nothing }
    }

    /// Records the version that the run knows; `None` if the file was removed.
    pub(crate) fn record(&self, run: RunId, path: &RelativePath, version: Option<Version>) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = runs.runs.iter().position(|(id, _)| *id == run);
        let known = index.and_then(|at| runs.runs.remove(at));
        let mut versions = known.map(|(_, versions)| versions).unwrap_or_default();
        match version {
            Some(version) => versions.insert(path, version),
            None => versions.remove(path),
        }
        runs.runs.push_back((run, versions));
        if runs.runs.len() > MAX_RUNS
            && let Some((oldest, _)) = runs.runs.pop_front()
        {
            runs.evicted.retain(|id| *id != oldest);
            runs.evicted.push_back(oldest);
            if runs.evicted.len() > MAX_EVICTED_RUNS {
                runs.evicted.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tool_core::event::RunId;

    use super::{Known, MAX_FILES, MAX_RUNS, RelativePath, Version, Versions};

    #[test]
    fn evicted_versions_are_not_forgotten_in_silence() {
        let versions = Versions::default();
        let (run, other) = (RunId::random(), RunId::random());
        let path = |number: usize| RelativePath::parse("path", &format!("file {number}")).unwrap();
        let version = Version::of_content(b"");
        for number in 0..=MAX_FILES {
            versions.record(run, &path(number), Some(version));
        }
        assert_eq!(versions.known(run, &path(0)), Known::Evicted);
        assert_eq!(versions.known(run, &path(1)), Known::Version(version));
        assert_eq!(versions.known(other, &path(0)), Known::Nothing);
        // The file is read again.
        versions.record(run, &path(0), Some(version));
        assert_eq!(versions.known(run, &path(0)), Known::Version(version));
        assert_eq!(versions.known(run, &path(1)), Known::Evicted);
        for _ in 0..MAX_RUNS {
            versions.record(RunId::random(), &path(0), Some(version));
        }
        assert_eq!(versions.known(run, &path(0)), Known::Evicted);
        assert_eq!(versions.known(other, &path(0)), Known::Nothing);
    }

    #[test]
    fn removed_file_is_not_known() {
        let (versions, run) = (Versions::default(), RunId::random());
        let path = RelativePath::parse("path", "a").unwrap();
        versions.record(run, &path, Some(Version::of_content(b"")));
        versions.record(run, &path, None);
        assert_eq!(versions.known(run, &path), Known::Nothing);
    }
}
