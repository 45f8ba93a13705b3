//! Processes that a tool starts. They end with its call.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::event::{ProcessEnd, ProcessStart};
use crate::process::{Group, command_line};
use crate::tool::work::capture::Capture;
use crate::tool::{ToolContext, ToolError, ToolErrorKind};

/// The default limit of the captured output of one stream, in bytes.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// How long the output is read after the process group has ended. A process that left the group can
/// keep the pipe open forever.
const LINGER: Duration = Duration::from_secs(1);

impl ToolContext {
    /// Prepares a program to run, by its name on `PATH` or its path, without a shell.
    ///
    /// The program and all processes that it starts are killed when the program ends and when the
    /// call ends, whether by its result, a timeout, a cancellation, a panic or a dropped future.
    /// The process group (on Windows the job) is killed. A process that leaves the group, as a
    /// daemon does, lives until [this program ends](crate::process#when-this-program-ends).
    ///
    /// The execution records the start and the end of the program, with its process id, exit code
    /// and signal, as [effects](crate::EffectRecord::ProcessStarted).
    ///
    /// ```
    /// use tool_runtime::{ToolContext, ToolError, tool};
    ///
    /// /// Shows the last commits.
    /// #[tool(effect = "read", cli = "git", timeout = "10s")]
    /// async fn last_commits(ctx: &ToolContext) -> Result<String, ToolError> {
    ///     ctx.command("git").args(["log", "--oneline", "-n", "5"]).output().await?.into_text()
    /// }
    /// ```
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command<'_> {
        let mut command = tokio::process::Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Command { ctx: self, command, input: None, max_output_bytes: MAX_OUTPUT_BYTES }
    }
}

/// A program to run, which [`ToolContext::command`] prepares.
///
/// ```
/// use tool_runtime::{ToolContext, ToolError, tool};
///
/// /// Counts the lines of a text.
/// #[tool(effect = "none", cli = "wc", timeout = "10s")]
/// async fn count_lines(ctx: &ToolContext, text: String) -> Result<String, ToolError> {
///     ctx.command("wc").arg("-l").env_clear().stdin(text).output().await?.into_text()
/// }
/// ```
#[must_use = "the program runs when `output` is awaited"]
pub struct Command<'c> {
    ctx: &'c ToolContext,
    command: tokio::process::Command,
    input: Option<Vec<u8>>,
    max_output_bytes: usize,
}

impl Command<'_> {
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

    /// Removes the environment of this process, which may contain keys.
    pub fn env_clear(mut self) -> Self {
        self.command.env_clear();
        self
    }

    /// Sets the working directory. Default: that of this process.
    pub fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Sets the standard input. Default: empty.
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.command.stdin(Stdio::piped());
        self.input = Some(input.into());
        self
    }

    /// Limits the captured bytes of each stream. Of a longer output, the head and the tail are
    /// kept. Default: 1 MiB.
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.max_output_bytes = bytes;
        self
    }

    /// Runs the program and waits for it to end.
    ///
    /// The exit status does not cause an error: see [`CommandOutput::into_text`].
    ///
    /// # Errors
    /// - [`ToolErrorKind::Unavailable`] if the program does not exist.
    /// - [`ToolErrorKind::ExecutionFailed`] if it can't be started or waited for.
    /// - [`ToolErrorKind::Cancelled`] if the call ends before the program.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    ///
    /// # Cancellation
    /// Dropping the future kills the program and all processes that it started.
    ///
    /// ```
    /// use tool_runtime::{ToolCall, ToolContext};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::ToolError> {
    /// let ctx = ToolContext::new(ToolCall::new("call_1", "count_words", "{}"));
    /// let output = ctx.command("wc").arg("-w").stdin("three short words").output().await?;
    /// assert_eq!(output.into_text()?.trim(), "3");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn output(self) -> Result<CommandOutput, ToolError> {
        let Self { ctx, command, input, max_output_bytes } = self;
        // A child token, so that dropping this future alone ends the program too.
        let cancellation = ctx.cancellation().child_token();
        if cancellation.is_cancelled() {
            return Err(stopped());
        }
        let command_line = command_line(command.as_std());
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let group = Group::spawn(command).map_err(|error| not_started(&program, error))?;
        let pid = group.pid;
        ctx.record(ProcessStart { pid, ..ProcessStart::new(command_line) });
        let _guard = cancellation.clone().drop_guard();
        let input = input.unwrap_or_default();
        let recorder = ctx.clone();
        // The task records the end, because this future may be dropped before it.
        let run = ctx.spawn_until_end(async move {
            let ended = drive(group, input, max_output_bytes, cancellation).await;
            if let Ok(status) = ended.status {
                recorder.record(ProcessEnd { pid, ..ProcessEnd::from(status) });
            }
            ended
        });
        let Ended { status, output } = run.await.map_err(|_| stopped())?;
        let [stdout, stderr] = output.ok_or_else(stopped)?;
        let status = status.map_err(|error| {
            ToolError::failed(format!("Waiting for `{program}` failed.")).with_source(error)
        })?;
        let [stdout, stderr] =
            [stdout, stderr].map(|it| it.into_text(|text| ctx.secret_ranges(text)));
        Ok(CommandOutput { status, stdout, stderr })
    }
}

fn not_started(program: &str, error: io::Error) -> ToolError {
    let kind = match error.kind() {
        ErrorKind::NotFound => ToolErrorKind::Unavailable,
        _ => ToolErrorKind::ExecutionFailed,
    };
    ToolError::new(kind, format!("`{program}` could not be started.")).with_source(error)
}

fn stopped() -> ToolError {
    ToolError::new(ToolErrorKind::Cancelled, "The program was stopped, because its call ended.")
}

impl fmt::Debug for Command<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({})", command_line(self.command.as_std()))
    }
}

/// The exit status and the output of a program.
///
/// ```
/// use tool_runtime::{ToolContext, ToolError, tool};
///
/// /// Returns whether two files are equal.
/// #[tool(effect = "read", cli = "cmp")]
/// async fn is_equal(ctx: &ToolContext, a: &str, b: &str) -> Result<bool, ToolError> {
///     let output = ctx.command("cmp").args(["--silent", a, b]).output().await?;
///     Ok(output.status.success())
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommandOutput {
    /// The exit status of the program.
    pub status: ExitStatus,
    /// The standard output of the program. The middle of a long output is left out; invalid UTF-8
    /// is replaced.
    pub stdout: String,
    /// The standard error, captured like the standard output.
    pub stderr: String,
}

impl CommandOutput {
    /// Returns the standard output of a program that succeeded.
    ///
    /// # Errors
    /// [`ToolErrorKind::ExecutionFailed`] if the exit status is not success. The text for the model
    /// contains the status and the standard error, or the standard output if the former is empty.
    pub fn into_text(self) -> Result<String, ToolError> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        let output = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        Err(ToolError::failed(format!(
            "The program ended with {}.\n{}",
            self.status,
            output.trim()
        )))
    }
}

/// How a process group ended.
struct Ended {
    status: io::Result<ExitStatus>,
    /// The standard output and error; `None` if the group was killed by a cancellation.
    output: Option<[Capture; 2]>,
}

/// Runs a process group to its end.
async fn drive(
    mut group: Group,
    input: Vec<u8>,
    limit: usize,
    cancellation: CancellationToken,
) -> Ended {
    let leader = group.leader();
    let stdin = leader.stdin().take();
    let (stdout, stderr) = (leader.stdout().take(), leader.stderr().take());
    let (mut out, mut err) = (Capture::new(limit), Capture::new(limit));
    let status = {
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program need not read all of its input.
                let _ = stdin.write_all(&input).await;
            }
        };
        let transfer = async { tokio::join!(write, out.read(stdout), err.read(stderr)) };
        let mut transfer = std::pin::pin!(transfer);
        let run = async {
            tokio::select! {
                status = group.wait() => {
                    let _ = timeout(LINGER, transfer).await;
                    status
                }
                _ = &mut transfer => group.wait().await,
            }
        };
        cancellation.run_until_cancelled(run).await
    };
    match status {
        Some(status) => Ended { status, output: Some([out, err]) },
        None => Ended { status: group.end().await, output: None },
    }
}
