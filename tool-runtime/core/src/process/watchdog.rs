//! Kills the processes of this program when it ends, however it ends.
//!
//! A shell waits beside the program, in another process group, and reads the ids of process groups
//! from a socket. The system closes the socket when the program ends, also by SIGKILL. Then the
//! shell kills the groups, and, where `/proc` shows the environment of processes, also those that
//! left their group: all of them have inherited an environment variable. Where the program may
//! create a cgroup (`cgroup.rs`), all processes are in it, and the shell kills it as a whole.
//!
//! A process that a tool has started could kill the shell or stop it, so a thread waits for both
//! and starts another one. Writes never block: if the socket is full, another shell replaces the
//! one that does not read.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::{env, process, thread};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

#[cfg(target_os = "linux")]
use super::cgroup::Cgroup;

/// The environment variable with the ids of the programs that have started a process: this one, and
/// those that have started it.
pub(super) const VARIABLE: &str = "TOOL_RUNTIME_PROGRAM";

/// Reads lines such as `+ 123` and `- 123` until the input ends. `$1` is the id of the program, and
/// `$2` the folder of its cgroup, if it has one. The groups so far follow.
///
/// The cgroup can be removed once its processes have ended. A program that one of them started may
/// have groups below it.
///
/// A process may start others while the shell kills, so it looks until it finds none. A process
/// that can't be killed ends the search.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
program=$1
cgroup=$2
shift 2
groups=" $* "
while read -r change id; do
    case $change in
        +) groups="$groups$id " ;;
        -) case $groups in
            *" $id "*) groups="${groups%%" $id "*} ${groups#*" $id "}" ;;
        esac ;;
    esac
done
[ -z "$cgroup" ] || echo 1 >"$cgroup/cgroup.kill"
for id in $groups; do
    kill -s KILL -- "-$id"
done
rounds=0
while [ "$rounds" -lt 100 ]; do
    files=$(grep -lF -e "$program" /proc/[0-9]*/environ)
    [ -n "$files" ] || break
    for file in $files; do
        file=${file%/environ}
        kill -s KILL "${file#/proc/}"
    done
    rounds=$((rounds + 1))
done
rounds=0
while [ -n "$cgroup" ] && [ -d "$cgroup" ] && [ "$rounds" -lt 100 ]; do
    echo 1 >"$cgroup/cgroup.kill"
    find "$cgroup" -depth -type d -exec rmdir {} \;
    [ ! -d "$cgroup" ] || sleep 0.05
    rounds=$((rounds + 1))
done
"#;

/// Identifies this program among all that have run.
static PROGRAM: LazyLock<String> =
    LazyLock::new(|| format!("{}-{:016x}", process::id(), fastrand::u64(..)));

/// The cgroup of all processes, created with the first one.
#[cfg(target_os = "linux")]
static CGROUP: LazyLock<Option<Cgroup>> = LazyLock::new(|| Cgroup::create(&PROGRAM));

static WATCHDOG: Mutex<Watchdog> =
    Mutex::new(Watchdog { groups: BTreeSet::new(), shell: None, killed: Vec::new() });

struct Watchdog {
    /// The ids of the groups that live.
    groups: BTreeSet<u32>,
    shell: Option<Shell>,
    /// Shells that were replaced and may not have ended yet.
    killed: Vec<Child>,
}

struct Shell {
    process: Child,
    /// Nonblocking. Its buffer holds a few hundred changes, many fewer than that of a pipe, so a
    /// shell that does not read is noticed early.
    input: UnixStream,
}

/// Makes sure that the shell waits, and returns the value of the environment variable for the
/// process that is to be started.
///
/// Without `/bin/sh`, what this program starts outlives it if it is killed.
pub(super) fn prepare() -> String {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    watchdog.reap();
    if !watchdog.is_running() {
        watchdog.restart();
    }
    let outer = env::var(VARIABLE).unwrap_or_default();
    if outer.is_empty() { PROGRAM.clone() } else { format!("{outer} {}", *PROGRAM) }
}

/// Moves a process that has just started into the cgroup of the program, if it has one.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only Linux has cgroups"))]
pub(super) fn confine(leader: u32) {
    #[cfg(target_os = "linux")]
    if let Some(cgroup) = &*CGROUP {
        // If the process may not be moved, the shell finds it in the other ways.
        let _ = cgroup.add(leader);
    }
}

fn cgroup_folder() -> OsString {
    #[cfg(target_os = "linux")]
    if let Some(cgroup) = &*CGROUP {
        return cgroup.path().into();
    }
    OsString::new()
}

/// Registers a group to be killed when this program ends.
pub(super) fn watch(group: u32) {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    watchdog.groups.insert(group);
    watchdog.send(&format!("+ {group}\n"));
}

/// Unregisters a group that has ended: its id may soon belong to another one.
pub(super) fn forget(group: u32) {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if watchdog.groups.remove(&group) {
        watchdog.send(&format!("- {group}\n"));
    }
}

impl Watchdog {
    fn is_running(&mut self) -> bool {
        self.shell.as_mut().is_some_and(|shell| matches!(shell.process.try_wait(), Ok(None)))
    }

    /// Sends a change to the shell. A shell that can't receive it is replaced; the next one starts
    /// with all groups.
    fn send(&mut self, line: &str) {
        let Some(shell) = &mut self.shell else { return };
        if !matches!(shell.input.write(line.as_bytes()), Ok(length) if length == line.len()) {
            self.restart();
        }
    }

    /// Replaces a shell that has ended, or does not read.
    fn restart(&mut self) {
        if let Some(Shell { mut process, input }) = self.shell.take() {
            // Before its input ends: otherwise it would kill the groups.
            let _ = process.kill();
            drop(input);
            self.killed.push(process);
            self.reap();
        }
        self.shell = Shell::start(&self.groups).ok();
    }

    /// Forgets killed shells that have ended. It does not wait: a process can take long to end.
    fn reap(&mut self) {
        self.killed.retain_mut(|process| matches!(process.try_wait(), Ok(None)));
    }
}

impl Shell {
    /// Starts a shell for these groups, and a thread that replaces it when it has ended.
    fn start(groups: &BTreeSet<u32>) -> io::Result<Self> {
        let (input, end_of_shell) = UnixStream::pair()?;
        input.set_nonblocking(true)?;
        let process = command(groups).stdin(OwnedFd::from(end_of_shell)).spawn()?;
        let id = process.id();
        // Without a thread, the next process to start replaces a shell that has ended.
        let _ = thread::Builder::new().spawn(move || replace_after_end(id));
        Ok(Self { process, input })
    }
}

/// Waits until the shell with this id has ended or is stopped, and starts another one.
fn replace_after_end(id: u32) {
    let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return };
    // The code that replaces the shell reaps it.
    let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if watchdog.shell.as_ref().is_some_and(|shell| shell.process.id() == id) {
        watchdog.restart();
    }
}

/// Returns the command of the shell for these groups.
fn command(groups: &BTreeSet<u32>) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "watchdog", &PROGRAM]).arg(cgroup_folder());
    // As arguments, because a shell that has just started may not read for a while.
    command.args(groups.iter().map(u32::to_string));
    // It is none of the processes to kill, and pins no folder.
    command.env_clear().env("PATH", search_path()).current_dir("/");
    // Ctrl-C at a terminal reaches the group of the program only.
    command.process_group(0);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns the folders in which the shell finds its programs. Those of the system come first: what
/// this program starts in a sandbox may be able to write to another folder on its `PATH`.
fn search_path() -> OsString {
    let mut path = OsString::from("/usr/bin:/bin");
    if let Some(inherited) = env::var_os("PATH") {
        path.push(":");
        path.push(inherited);
    }
    path
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::command;

    #[test]
    fn programs_of_the_system_are_preferred() {
        let command = command(&BTreeSet::new());
        assert_eq!(command.get_program(), "/bin/sh");
        let path = command.get_envs().find(|(name, _)| *name == "PATH");
        let path = path.and_then(|(_, value)| value).unwrap_or_default().to_string_lossy();
        assert!(path == "/usr/bin:/bin" || path.starts_with("/usr/bin:/bin:"), "{path}");
    }
}
