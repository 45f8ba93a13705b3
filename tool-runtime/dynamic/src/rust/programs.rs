//! The folder of the programs: one folder for each source that was built.
//!
//! Processes share it. A process has a shared lock on each program that it uses, which the system
//! releases when the process ends. A program is removed only under an exclusive lock.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

/// The name of the program in its folder.
const PROGRAM: &str = "tool";

/// How old the files of a process that has ended have to be, before they are removed.
const ABANDONED_AGE: Duration = Duration::from_secs(60 * 60);

/// A program that is not removed before this is dropped.
#[derive(Debug)]
pub(super) struct StoredProgram {
    folder: PathBuf,
    lock: File,
}

impl StoredProgram {
    /// Returns the program in a folder, if there is one.
    pub(super) fn open(folder: &Path) -> Option<Self> {
        let path = folder.join(PROGRAM);
        let lock = File::open(&path).ok()?;
        flock(&lock, FlockOperation::NonBlockingLockShared).ok()?;
        // It may have been removed before it was locked.
        let program = Self { folder: folder.to_owned(), lock };
        path.is_file().then(|| {
            program.mark_used();
            program
        })
    }

    /// Copies a program into a new folder, which appears with the whole program.
    ///
    /// # Errors
    /// The program can't be copied, unless another process has published it.
    pub(super) fn publish(built: &Path, folder: &Path) -> io::Result<Self> {
        let mut partial = folder.as_os_str().to_owned();
        partial.push(format!(".{}", std::process::id()));
        let partial = PathBuf::from(partial);
        let published = copy(built, &partial).and_then(|()| fs::rename(&partial, folder));
        if published.is_err() {
            // What can't be removed only takes space.
            let _ = fs::remove_dir_all(&partial);
        }
        // Another process may have built the same source, and removed what cargo made of it.
        Self::open(folder)
            .ok_or_else(|| published.err().unwrap_or_else(|| io::Error::from(ErrorKind::NotFound)))
    }

    /// Returns the folder of the program.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the program.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(PROGRAM)
    }

    /// Counts the time without use from now on.
    pub(super) fn mark_used(&self) {
        // Otherwise it is removed earlier, and built again.
        let _ = self.lock.set_modified(SystemTime::now());
    }

    /// Removes a program that does not start, so that it is built again.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.folder)
    }
}

/// Copies a program into a new folder, and writes it to the disk: a rename can survive a power
/// failure that loses what was renamed.
fn copy(built: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let copied = folder.join(PROGRAM);
    fs::copy(built, &copied)?;
    File::open(&copied)?.sync_all()?;
    File::open(folder)?.sync_all()
}

/// Removes the programs that were not used for this time, and what processes that have ended left
/// in the folders of programs and crates.
pub(super) fn prune(programs: &Path, crates: &Path, unused_for: Duration) {
    for folder in entries(programs) {
        if !is_abandoned(&folder, '.') {
            let program = folder.join(PROGRAM);
            let is_unused = age(&program).is_some_and(|age| age > unused_for);
            let locked = File::open(program).ok().filter(|_| is_unused);
            let locked =
                locked.filter(|file| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok());
            if locked.is_none() {
                continue;
            }
        }
        let _ = fs::remove_dir_all(folder);
    }
    let abandoned = entries(crates).into_iter().filter(|folder| is_abandoned(folder, '-'));
    for folder in abandoned {
        let _ = fs::remove_dir_all(folder);
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Returns whether a folder belongs to a process that has ended. Its name is `dynamic-HASH`, a
/// separator, and the id of the process.
fn is_abandoned(folder: &Path, separator: char) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let rest = name.strip_prefix("dynamic-").and_then(|name| name.split_once(separator));
    let id = rest.and_then(|(_, id)| id.split('-').next()?.parse::<u32>().ok());
    // The id of a process in another container is not known here, so its files have to be old.
    id.is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists())
        && age(folder).is_some_and(|age| age > ABANDONED_AGE)
}

fn age(path: &Path) -> Option<Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant, SystemTime};

    use super::{PROGRAM, StoredProgram, entries, prune};

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    /// Returns an empty folder for a test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("programs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn set_age(path: &Path, age: Duration) {
        File::open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = entries(folder).into_iter();
        let mut names: Vec<_> =
            names.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn program_is_published_by_the_first_of_two_builds() {
        let folder = folder("publish");
        let (built, finished) = (folder.join("built"), folder.join("dynamic-1"));
        let missing = StoredProgram::publish(&built, &finished).unwrap_err();
        assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
        assert_eq!(names(&folder), [""; 0]);
        fs::write(&built, "program").unwrap();
        let first = StoredProgram::publish(&built, &finished).unwrap();
        assert_eq!(fs::read_to_string(first.path()).unwrap(), "program");
        // The first build has removed what cargo made, as a build in another process would.
        fs::remove_file(&built).unwrap();
        StoredProgram::publish(&built, &finished).unwrap();
        fs::write(&built, "program").unwrap();
        StoredProgram::publish(&built, &finished).unwrap();
        assert_eq!(names(&folder), ["built", "dynamic-1"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn programs_without_use_are_removed() {
        let folder = folder("prune");
        let (programs, crates) = (folder.join("programs"), folder.join("crates"));
        let age = 40 * DAY;
        for name in ["dynamic-old", "dynamic-new", "dynamic-locked"] {
            fs::create_dir_all(programs.join(name)).unwrap();
            fs::write(programs.join(name).join(PROGRAM), "program").unwrap();
        }
        for name in ["dynamic-old", "dynamic-locked"] {
            set_age(&programs.join(name).join(PROGRAM), age);
        }
        // Opening it is a use, and it is locked after its time.
        let locked = StoredProgram::open(&programs.join("dynamic-locked")).unwrap();
        set_age(&locked.path(), age);
        // No process has the first id.
        let (ended, running) = (u32::MAX, std::process::id());
        for path in [
            programs.join(format!("dynamic-a.{ended}")),
            programs.join(format!("dynamic-a.{running}")),
            crates.join(format!("dynamic-a-{ended}-0")),
            crates.join(format!("dynamic-a-{running}-0")),
            crates.join("dynamic-first"),
        ] {
            fs::create_dir_all(&path).unwrap();
            set_age(&path, age);
        }
        fs::create_dir_all(crates.join(format!("dynamic-young-{ended}-0"))).unwrap();

        prune(&programs, &crates, 30 * DAY);
        let expected =
            [format!("dynamic-a.{running}"), "dynamic-locked".into(), "dynamic-new".into()];
        assert_eq!(names(&programs), expected);
        let expected = [
            format!("dynamic-a-{running}-0"),
            "dynamic-first".into(),
            format!("dynamic-young-{ended}-0"),
        ];
        assert_eq!(names(&crates), expected);
        drop(locked);
        // A child that another test forks meanwhile has the lock until it executes its program.
        let limit = Instant::now() + Duration::from_secs(60);
        while names(&programs).contains(&"dynamic-locked".to_owned()) {
            assert!(Instant::now() < limit, "the program is still there");
            prune(&programs, &crates, 30 * DAY);
        }
        assert!(StoredProgram::open(&programs.join("dynamic-old")).is_none());
        fs::remove_dir_all(folder).unwrap();
    }
}
