//! A running child process.

use std::fmt;
use std::future::pending;
use std::io::{self, ErrorKind};
use std::process::ExitStatus;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::group::Group;
use super::stderr::Stderr;
use super::{LineReader, Shutdown};
use crate::event::ProcessStart;

/// A child process that runs until it is shut down, with all processes that it starts.
///
/// Dropping the value kills the whole process group. The methods of lines exchange messages with
/// the process; [`take_stdin`](Self::take_stdin) and [`take_stdout`](Self::take_stdout) return the
/// pipes themselves, for two tasks or another protocol.
///
/// ```
/// use tool_runtime::process::{ChildProcess, Shutdown};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if cfg!(windows) { return Ok(()) }
/// let mut child = ChildProcess::builder("cat").spawn()?;
/// child.write_line("one").await?;
/// assert_eq!(child.next_line().await?.as_deref(), Some("one"));
/// assert!(child.shutdown(Shutdown::default()).await?.success());
/// # Ok(())
/// # }
/// ```
pub struct ChildProcess {
    group: Group,
    command_line: String,
    stdin: Option<ChildStdin>,
    stdout: Output,
    stderr: Stderr,
    max_line_bytes: usize,
}

/// The standard output.
enum Output {
    Bytes(ChildStdout),
    Lines(LineReader<ChildStdout>),
    Taken,
}

pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
}

impl ChildProcess {
    pub(super) fn new(
        group: Group,
        command_line: String,
        pipes: Pipes,
        stderr: Stderr,
        max_line_bytes: usize,
    ) -> Self {
        let stdout = pipes.stdout.map_or(Output::Taken, Output::Bytes);
        Self { group, command_line, stdin: pipes.stdin, stdout, stderr, max_line_bytes }
    }

    /// Returns the process id that the system assigned. It is also the id of the process group.
    pub fn id(&self) -> Option<u32> {
        self.group.pid
    }

    /// Writes a line to the standard input.
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput) if the line contains a line feed or a carriage
    ///   return, which would make two messages of it.
    /// - [`BrokenPipe`](ErrorKind::BrokenPipe) if the standard input was closed or taken, or if the
    ///   process closed it.
    ///
    /// # Cancellation
    /// If the future is dropped, a part of the line may have been written. Wait for it, or take the
    /// standard input and write to it in a task.
    ///
    /// ```
    /// use tool_runtime::process::ChildProcess;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// # if cfg!(windows) { return Ok(()) }
    /// let mut child = ChildProcess::builder("cat").spawn()?;
    /// child.write_line("a message").await?;
    /// assert!(child.write_line("two\nmessages").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn write_line(&mut self, line: &str) -> io::Result<()> {
        if line.contains(['\n', '\r']) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "line contains a line ending"));
        }
        let Some(stdin) = &mut self.stdin else {
            return Err(io::Error::new(ErrorKind::BrokenPipe, "standard input is closed"));
        };
        let mut message = Vec::with_capacity(line.len() + 1);
        message.extend_from_slice(line.as_bytes());
        message.push(b'\n');
        stdin.write_all(&message).await?;
        stdin.flush().await
    }

    /// Returns the next line of the standard output without its ending, or `None` at the end.
    /// Invalid UTF-8 is replaced by U+FFFD.
    ///
    /// # Errors
    /// - [`InvalidData`](io::ErrorKind::InvalidData) if the line exceeds
    ///   [`max_line_bytes`](super::ProcessBuilder::max_line_bytes). It is skipped.
    /// - Another error if the standard output can't be read.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing: the next call continues to read the same line.
    ///
    /// ```
    /// use tool_runtime::process::ChildProcess;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// # if cfg!(windows) { return Ok(()) }
    /// let mut child = ChildProcess::builder("printf").arg("one\ntwo").spawn()?;
    /// assert_eq!(child.next_line().await?.as_deref(), Some("one"));
    /// assert_eq!(child.next_line().await?.as_deref(), Some("two"));
    /// assert_eq!(child.next_line().await?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next_line(&mut self) -> io::Result<Option<String>> {
        self.stdout.read_lines(self.max_line_bytes);
        match &mut self.stdout {
            Output::Lines(lines) => lines.next_line().await,
            Output::Bytes(_) | Output::Taken => Ok(None),
        }
    }

    /// Takes the standard input. To close it, drop it.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// Takes the standard output as a stream of bytes. Returns `None` if it was taken, or if lines
    /// were read from it.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        match std::mem::replace(&mut self.stdout, Output::Taken) {
            Output::Bytes(stdout) => Some(stdout),
            other => {
                self.stdout = other;
                None
            }
        }
    }

    /// Takes the standard output as a reader of lines, such as for a task that receives messages.
    /// Returns `None` if it was taken.
    pub fn take_lines(&mut self) -> Option<LineReader<ChildStdout>> {
        self.stdout.read_lines(self.max_line_bytes);
        match std::mem::replace(&mut self.stdout, Output::Taken) {
            Output::Lines(lines) => Some(lines),
            Output::Bytes(_) | Output::Taken => None,
        }
    }

    /// Closes the standard input, unless it was taken. Many programs end then.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Returns the end of the standard error, of at most
    /// [`max_stderr_bytes`](super::ProcessBuilder::max_stderr_bytes) bytes. Invalid UTF-8 is
    /// replaced.
    ///
    /// It may contain secrets that the process printed.
    pub fn stderr_tail(&self) -> String {
        self.stderr.tail()
    }

    /// Waits for the process to end by itself, and kills what it left behind in its group.
    ///
    /// A process does not end while it waits for input, or while its standard output is full: close
    /// the one and read the other, or use [`shutdown`](Self::shutdown).
    ///
    /// # Errors
    /// The system can't wait for the process.
    ///
    /// # Cancellation
    /// Dropping the future does not end the process. Call it again.
    ///
    /// ```
    /// use tool_runtime::process::ChildProcess;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// # if cfg!(windows) { return Ok(()) }
    /// let mut child = ChildProcess::builder("sh").args(["-c", "exit 3"]).spawn()?;
    /// assert_eq!(child.wait().await?.code(), Some(3));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.group.wait().await;
        self.stderr.finish().await;
        status
    }

    /// Ends the process in the steps of [`Shutdown`], and kills what it left behind in its group.
    /// The rest of its standard output is dropped, unless it was taken.
    ///
    /// A standard input that was taken is not closed: drop it first.
    ///
    /// # Errors
    /// The system can't wait for the process.
    ///
    /// # Cancellation
    /// Dropping the future leaves the process running until the value is dropped. The standard
    /// input is closed already.
    ///
    /// ```
    /// use tool_runtime::process::{ChildProcess, Shutdown};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// # if cfg!(windows) { return Ok(()) }
    /// let mut child = ChildProcess::builder("cat").spawn()?;
    /// let status = child.shutdown(Shutdown::default()).await?;
    /// assert!(status.success());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn shutdown(&mut self, steps: Shutdown) -> io::Result<ExitStatus> {
        self.close_stdin();
        let group = &mut self.group;
        let end = async {
            if let Ok(status) = timeout(steps.close_timeout, group.wait()).await {
                return status;
            }
            if group.terminate()
                && let Ok(status) = timeout(steps.terminate_timeout, group.wait()).await
            {
                return status;
            }
            group.end().await
        };
        let drain = async {
            self.stdout.drain().await;
            pending().await
        };
        let status = tokio::select! {
            status = end => status,
            never = drain => never,
        };
        self.stderr.finish().await;
        status
    }

    /// Kills all processes of the group and returns the status of the process.
    ///
    /// # Errors
    /// The system can't wait for the process.
    ///
    /// ```
    /// use tool_runtime::process::ChildProcess;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// # if cfg!(windows) { return Ok(()) }
    /// let mut child = ChildProcess::builder("sleep").arg("1000").spawn()?;
    /// assert!(!child.kill_group().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn kill_group(&mut self) -> io::Result<ExitStatus> {
        let status = self.group.end().await;
        self.stderr.finish().await;
        status
    }
}

impl Output {
    fn read_lines(&mut self, max_bytes: usize) {
        *self = match std::mem::replace(self, Self::Taken) {
            Self::Bytes(stdout) => Self::Lines(LineReader::new(stdout, max_bytes)),
            other => other,
        };
    }

    async fn drain(&mut self) {
        self.read_lines(0);
        if let Self::Lines(lines) = self {
            lines.drain().await;
        }
    }
}

/// Creates the record of a process in the background, for
/// [`ToolContext::record`](crate::ToolContext::record).
impl From<&ChildProcess> for ProcessStart {
    fn from(child: &ChildProcess) -> Self {
        let start = Self::new(&child.command_line).in_background();
        match child.id() {
            Some(pid) => start.pid(pid),
            None => start,
        }
    }
}

impl fmt::Debug for ChildProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildProcess")
            .field("command", &self.command_line)
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
