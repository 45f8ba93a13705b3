//! Process groups: the only place that starts, signals and kills processes.

use std::ffi::OsStr;
use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap};

#[cfg(unix)]
use super::watchdog;
use crate::guard::catch_panic;

/// A process group, which is killed on drop and when the program ends.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Box<dyn ChildWrapper>,
    /// The process id of the leader, which is also that of the group.
    pub(crate) pid: Option<u32>,
    has_ended: bool,
}

impl Group {
    /// Starts a command as the leader of a new group, in the cgroup of the program.
    ///
    /// # Errors
    /// The program can't be started, or there is no tokio runtime.
    pub(crate) fn spawn(command: tokio::process::Command) -> io::Result<Self> {
        let group = Self::spawn_in_other_cgroup(command)?;
        #[cfg(unix)]
        group.pid.into_iter().for_each(watchdog::confine);
        Ok(group)
    }

    /// Starts a command that moves to another cgroup.
    ///
    /// # Errors
    /// Returns the errors of [`spawn`](Self::spawn).
    #[cfg_attr(not(unix), expect(unused_mut, reason = "the watchdog needs a variable"))]
    pub(super) fn spawn_in_other_cgroup(mut command: tokio::process::Command) -> io::Result<Self> {
        #[cfg(unix)]
        command.env(watchdog::VARIABLE, watchdog::prepare());
        let mut command = CommandWrap::from(command);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        // The system kills the job when this program, which holds its handle, ends.
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::KillOnDrop).wrap(process_wrap::tokio::JobObject);
        let leader = catch_panic(|| command.spawn()).map_err(io::Error::other)??;
        let pid = leader.id();
        #[cfg(unix)]
        pid.into_iter().for_each(watchdog::watch);
        Ok(Self { leader, pid, has_ended: false })
    }

    /// Returns the leader, for its pipes.
    pub(crate) fn leader(&mut self) -> &mut dyn ChildWrapper {
        &mut *self.leader
    }

    /// Waits for the leader and kills what it left behind. If the future is dropped, call it again.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.leader.inner_mut().wait().await;
        let _ = self.end().await;
        status
    }

    /// Kills all processes and returns the status of the leader.
    pub(crate) async fn end(&mut self) -> io::Result<ExitStatus> {
        self.kill();
        let status = self.leader.wait().await;
        self.forget();
        self.has_ended = true;
        status
    }

    /// Asks all processes to end by SIGTERM. Returns `false` if the system has no such signal.
    pub(crate) fn terminate(&self) -> bool {
        #[cfg(unix)]
        if !self.has_ended {
            const SIGTERM: i32 = 15;
            // Fails if no process is left.
            let _ = self.leader.signal(SIGTERM);
        }
        cfg!(unix)
    }

    fn forget(&self) {
        #[cfg(unix)]
        if !self.has_ended {
            self.pid.into_iter().for_each(watchdog::forget);
        }
    }

    fn kill(&mut self) {
        // After the end, the id may belong to another group.
        if !self.has_ended {
            // Fails if no process is left.
            let _ = self.leader.start_kill();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        self.forget();
    }
}

/// Returns the command line without the environment, which may contain keys.
pub(crate) fn command_line(command: &std::process::Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// Quotes a word that has other characters than those of plain words and paths.
fn quoted(word: &OsStr) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    match word.to_str() {
        Some(word) if !word.is_empty() && word.chars().all(is_plain) => word.to_owned(),
        _ => format!("{word:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::command_line;

    #[test]
    fn only_words_with_other_characters_are_quoted() {
        for (words, expected) in [
            (&["git", "log", "--format=%H", "src/lib.rs"][..], "git log --format=%H src/lib.rs"),
            (&["echo", "", "a b", "$HOME", "it's", "é"], r#"echo "" "a b" "$HOME" "it's" "é""#),
            (&["say", "\"a\"", "b;c", "*"], r#"say "\"a\"" "b;c" "*""#),
        ] {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            assert_eq!(command_line(&command), expected);
        }
    }
}
