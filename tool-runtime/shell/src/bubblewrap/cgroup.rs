//! Limits of a command with all its processes, by cgroup v2, where the program may create groups.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Moves the shell into the group in `$1`, and becomes the program that follows.
const ENTER: &str = r#"echo 0 >"$1/cgroup.procs" || exit 125; shift; exec "$@""#;

/// A group below which commands get groups of their own.
#[derive(Debug)]
pub(crate) struct Cgroups {
    parent: PathBuf,
    /// Groups that could not be removed at once, because their processes were still ending.
    leftover: Arc<Mutex<Vec<PathBuf>>>,
}

/// The group of one command, which is removed on drop with all its processes.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    leftover: Arc<Mutex<Vec<PathBuf>>>,
}

impl Cgroups {
    /// Finds a group that this program may divide: its own, or the nearest one above it.
    pub(crate) fn find() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own_groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own_group = own_groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        candidates(&mounts, own_group).into_iter().find_map(|parent| {
            let groups = Self { parent, leftover: Arc::default() };
            groups.works().then_some(groups)
        })
    }

    /// Returns whether a process with limits can be started.
    fn works(&self) -> bool {
        let Ok(group) = self.create(1 << 30, 16) else { return false };
        let mut command = group.enter(Path::new("/bin/sh"));
        command.args(["-c", ":"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Creates a group with limits.
    ///
    /// # Errors
    /// The limits can't be set. Then nothing is left behind.
    pub(crate) fn create(&self, memory: u64, processes: u32) -> io::Result<Cgroup> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut leftover = self.leftover.lock().unwrap_or_else(PoisonError::into_inner);
        leftover.retain(|path| fs::remove_dir(path).is_err() && path.exists());
        drop(leftover);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tool-shell-{}-{number}", std::process::id());
        let path = self.parent.join(name);
        fs::create_dir(&path)?;
        let group = Cgroup { path, leftover: Arc::clone(&self.leftover) };
        group.set("memory.max", &memory.to_string())?;
        group.set("pids.max", &processes.to_string())?;
        // Kernels without swap lack the one, old ones the other.
        let _ = group.set("memory.swap.max", "0");
        let _ = group.set("memory.oom.group", "1");
        Ok(group)
    }
}

impl Cgroup {
    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        // Not `fs::write`, which would create the file in a folder that is no group.
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).open(self.path.join(file))?;
        io::Write::write_all(&mut file, value.as_bytes())
    }

    /// Returns a command that starts a program in the group, from its first instruction on.
    pub(crate) fn enter(&self, program: &Path) -> Command {
        let mut command = Command::new("/bin/sh");
        let words: [OsString; 3] = ["-c".into(), ENTER.into(), "enter".into()];
        command.args(words).arg(&self.path).arg(program);
        command
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = self.set("cgroup.kill", "1");
        if fs::remove_dir(&self.path).is_err() {
            let mut leftover = self.leftover.lock().unwrap_or_else(PoisonError::into_inner);
            leftover.push(self.path.clone());
        }
    }
}

/// Returns the folders of a group and of those above it, in each place where cgroup v2 is mounted.
fn candidates(mounts: &str, own_group: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in mounts.lines() {
        let Some((mount, file_system)) = line.split_once(" - ") else { continue };
        let mut fields = mount.split(' ').skip(3);
        let (Some(root), Some(point)) = (fields.next(), fields.next()) else { continue };
        let Some(path) = own_group.strip_prefix(root.trim_end_matches('/')) else { continue };
        if !file_system.starts_with("cgroup2 ") {
            continue;
        }
        let folder = Path::new(point).join(path.trim_start_matches('/'));
        let groups = folder.ancestors().take_while(|folder| folder.starts_with(point));
        folders.extend(groups.map(Path::to_owned));
    }
    folders
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use super::{Cgroups, candidates};

    #[test]
    fn candidates_are_the_group_and_those_above_it() {
        let mounts = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n\
            26 1 0:23 / /tmp rw - tmpfs tmpfs rw\n\
            27 1 0:24 /other /mnt rw - cgroup2 cgroup2 rw\n";
        let expected = ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"];
        assert_eq!(candidates(mounts, "/a/b"), expected.map(Path::new));
        let expected = ["/sys/fs/cgroup/other", "/sys/fs/cgroup", "/mnt"];
        assert_eq!(candidates(mounts, "/other"), expected.map(Path::new));
    }

    #[test]
    fn folder_without_controllers_is_no_parent() {
        let parent = std::env::temp_dir().join(format!("cgroup-{}", std::process::id()));
        fs::create_dir_all(&parent).unwrap();
        let groups = Cgroups { parent: parent.clone(), leftover: Arc::default() };
        assert!(groups.create(1, 1).is_err());
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
        fs::remove_dir_all(parent).unwrap();
    }
}
