//! Options of a child process.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::Stdio;

use super::child::{ChildProcess, Pipes};
use super::group::{Group, command_line};
use super::stderr::{OnLine, Stderr};

/// The default limit of a line of the standard output or error, in bytes.
const MAX_LINE_BYTES: usize = 4 << 20;

/// The default size of the tail of the standard error that is kept, in bytes.
const STDERR_TAIL_BYTES: usize = 64 << 10;

/// Options of a [`ChildProcess`], which [`ChildProcess::builder`] creates.
///
/// ```
/// use tool_runtime::process::ChildProcess;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// # if cfg!(windows) { return Ok(()) }
/// let mut child = ChildProcess::builder("sh")
///     .args(["-c", "echo $GREETING >&2"])
///     .env_clear()
///     .env("GREETING", "hello")
///     .current_dir("/")
///     .on_stderr_line(|line| println!("stderr: {line}"))
///     .spawn()?;
/// assert!(child.wait().await?.success());
/// assert_eq!(child.stderr_tail(), "hello\n");
/// # Ok(())
/// # }
/// ```
#[must_use = "the program starts with `spawn`"]
pub struct ProcessBuilder {
    command: tokio::process::Command,
    max_line_bytes: usize,
    max_stderr_bytes: usize,
    on_stderr_line: Option<OnLine>,
    is_outside_cgroup: bool,
}

impl ChildProcess {
    /// Prepares a program to start, by its name on `PATH` or its path.
    pub fn builder(program: impl AsRef<OsStr>) -> ProcessBuilder {
        std::process::Command::new(program).into()
    }
}

impl ProcessBuilder {
    fn new(command: tokio::process::Command) -> Self {
        Self {
            command,
            max_line_bytes: MAX_LINE_BYTES,
            max_stderr_bytes: STDERR_TAIL_BYTES,
            on_stderr_line: None,
            is_outside_cgroup: false,
        }
    }

    /// Adds an argument to the command line.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds several arguments to the command line.
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable. Default: the environment of this process.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes the environment of this process, which may contain keys, and all variables that were
    /// set before.
    pub fn env_clear(mut self) -> Self {
        self.command.env_clear();
        self
    }

    /// Sets the working directory. Default: that of this process.
    pub fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Limits the lines of the standard output and error. Default: 4 MiB.
    ///
    /// A longer line of the standard output is an error of
    /// [`next_line`](ChildProcess::next_line). One of the standard error is not passed to
    /// [`on_stderr_line`](Self::on_stderr_line).
    pub fn max_line_bytes(mut self, bytes: usize) -> Self {
        self.max_line_bytes = bytes;
        self
    }

    /// Sets how many bytes at the end of the standard error are kept for
    /// [`stderr_tail`](ChildProcess::stderr_tail). Default: 64 KiB.
    pub fn max_stderr_bytes(mut self, bytes: usize) -> Self {
        self.max_stderr_bytes = bytes;
        self
    }

    /// Calls a function for each line of the standard error, as it arrives. The line has no line
    /// ending; invalid UTF-8 is replaced. The function must not block. If it panics, the panic is
    /// caught.
    pub fn on_stderr_line(mut self, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        self.on_stderr_line = Some(Box::new(on_line));
        self
    }

    /// Starts the program outside of the cgroup that, on Linux, [ends with this program](super).
    ///
    /// Use it for a program that moves itself to another cgroup: otherwise the two moves compete.
    pub fn outside_cgroup(mut self) -> Self {
        self.is_outside_cgroup = true;
        self
    }

    /// Starts the program, as the leader of a new process group and without a shell.
    ///
    /// # Errors
    /// [`NotFound`](io::ErrorKind::NotFound) if the program does not exist; other errors of the
    /// system, such as a missing permission; an error outside of a tokio runtime.
    pub fn spawn(self) -> io::Result<ChildProcess> {
        let Self {
            mut command,
            max_line_bytes,
            max_stderr_bytes,
            on_stderr_line,
            is_outside_cgroup,
        } = self;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let command_line = command_line(command.as_std());
        let mut group = if is_outside_cgroup {
            Group::spawn_in_other_cgroup(command)?
        } else {
            Group::spawn(command)?
        };
        let leader = group.leader();
        let pipes = Pipes { stdin: leader.stdin().take(), stdout: leader.stdout().take() };
        let stderr = leader.stderr().take();
        let stderr = Stderr::read(stderr, max_stderr_bytes, max_line_bytes, on_stderr_line);
        Ok(ChildProcess::new(group, command_line, pipes, stderr, max_line_bytes))
    }
}

/// Takes over the program, the arguments, the environment and the folder of a command, and settings
/// that the builder lacks, such as the user id. Its standard streams are replaced.
impl From<std::process::Command> for ProcessBuilder {
    fn from(command: std::process::Command) -> Self {
        Self::new(command.into())
    }
}

impl fmt::Debug for ProcessBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessBuilder({})", command_line(self.command.as_std()))
    }
}
