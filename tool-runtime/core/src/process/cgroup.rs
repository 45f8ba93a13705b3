//! The cgroup of all processes that this program starts, which the kernel ends as a whole.
//!
//! A process can leave its process group and clear its environment, but it stays in its cgroup. The
//! group is created below that of the program, without limits. The watchdog kills and removes it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A cgroup (v2) that this program has created.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Creates the cgroup of the program with this id. Returns `None` if the program may not create
    /// one, or if the kernel can't kill one as a whole, which Linux 5.14 introduced.
    pub(super) fn create(program: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own_groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own_group = own_groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        folders(&mounts, own_group).into_iter().find_map(|parent| {
            let path = parent.join(format!("tool-runtime-{program}"));
            fs::create_dir(&path).ok()?;
            if path.join("cgroup.kill").exists() {
                return Some(Self { path });
            }
            let _ = fs::remove_dir(&path);
            None
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves a process that has just started into the cgroup, with what it may have started by now.
    ///
    /// # Errors
    /// The program may not move the process.
    pub(super) fn add(&self, leader: u32) -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).open(self.path.join("cgroup.procs"))?;
        let (mut next, mut moved) = (vec![leader], BTreeSet::new());
        while let Some(pid) = next.pop() {
            if !moved.insert(pid) {
                continue;
            }
            match file.write_all(pid.to_string().as_bytes()) {
                Err(error) if has_ended(&error) => continue,
                result => result?,
            }
            // What it starts from now on is in its cgroup.
            next.extend(children(pid));
        }
        Ok(())
    }
}

/// Returns whether there was no process with the id.
fn has_ended(error: &io::Error) -> bool {
    const ESRCH: i32 = 3;
    error.raw_os_error() == Some(ESRCH)
}

fn children(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Returns the folder of a cgroup in each place where cgroup v2 is mounted.
fn folders(mounts: &str, group: &str) -> Vec<PathBuf> {
    let folder = |line: &str| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let path = group.strip_prefix(root.trim_end_matches('/'))?;
        let is_cgroup = file_system.starts_with("cgroup2 ");
        let is_visible = (path.is_empty() || path.starts_with('/')) && !path.contains("/..");
        (is_cgroup && is_visible).then(|| Path::new(point).join(path.trim_start_matches('/')))
    };
    mounts.lines().filter_map(folder).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::folders;

    #[test]
    fn folder_is_that_of_the_group_in_each_mount() {
        let mounts = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n\
            26 1 0:23 / /tmp rw - tmpfs tmpfs rw\n\
            27 1 0:24 /other /mnt rw - cgroup2 cgroup2 rw\n";
        for (group, expected) in [
            ("/a/b", &["/sys/fs/cgroup/a/b"][..]),
            ("/", &["/sys/fs/cgroup"]),
            ("/other/c", &["/sys/fs/cgroup/other/c", "/mnt/c"]),
            ("/others", &["/sys/fs/cgroup/others"]),
            // A group outside of the namespace of the program.
            ("/../a", &[]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(|it| Path::new(it).into()).collect();
            assert_eq!(folders(mounts, group), expected, "{group}");
        }
    }
}
