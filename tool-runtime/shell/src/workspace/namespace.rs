//! The processes of a sandbox. When bubblewrap has ended, the kernel is still ending those that the
//! command has left behind.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::Deserialize;

/// How long the kernel may take to end the processes of a sandbox that was killed.
const LIMIT: Duration = Duration::from_secs(10);

/// The file to which bubblewrap writes what it has started.
#[derive(Debug)]
pub(crate) struct Namespace(File);

/// The first process of the sandbox, with which all others end.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Info {
    child_pid: i32,
    pid_namespace: Option<u64>,
}

impl Namespace {
    pub(crate) fn new(info: File) -> Self {
        Self(info)
    }

    /// Waits until no process of the sandbox runs.
    ///
    /// # Errors
    /// A process still runs at the time limit, or the system can't wait for it.
    pub(crate) fn wait(mut self) -> io::Result<()> {
        let mut text = String::new();
        self.0.rewind()?;
        self.0.read_to_string(&mut text)?;
        // Bubblewrap has ended before it started anything.
        let Ok(info) = serde_json::from_str::<Info>(&text) else { return Ok(()) };
        let Some(pid) = Pid::from_raw(info.child_pid) else { return Ok(()) };
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => process,
            Err(Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        // Another process may have the number by now.
        if info.pid_namespace.is_some_and(|number| namespace_of(pid) != Some(number)) {
            return Ok(());
        }
        let limit = Timespec::try_from(LIMIT).map_err(io::Error::other)?;
        loop {
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Returns the number of the namespace of a process; `None` if the process has ended.
fn namespace_of(pid: Pid) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{}/ns/pid", pid.as_raw_nonzero())).ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}
