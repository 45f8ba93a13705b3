//! Programs that a tool runs, and that are gone with its call.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::{ToolContext, ToolError, ToolErrorKind};
use crate::event::EffectRecord;
use crate::guard::catch_panic;

/// The most bytes that are kept of what a program writes to one stream, unless set.
const OUTPUT_LIMIT: usize = 1 << 20;

/// How long what a program wrote is still read when it and all that it started are gone: somebody
/// who left its group may hold the pipe for ever.
const LINGER: Duration = Duration::from_secs(1);

impl ToolContext {
    /// A program to run: by its name on `PATH` or its path, without a shell. It has no input unless
    /// it is given one.
    ///
    /// It and all that it starts are gone when it ends, and when the call does, however that comes
    /// about: past its time, cancelled, by a panic, or because nobody waits for it any more. A group of
    /// processes is what is ended, on Windows a job; what takes itself out of its group, as a daemon
    /// does, is out of reach.
    ///
    /// ```
    /// use tool_runtime::{ToolContext, ToolError, tool};
    ///
    /// /// Tells what was changed last.
    /// #[tool(effect = "read", cli = "git", timeout = "10s")]
    /// async fn last_changes(ctx: &ToolContext) -> Result<String, ToolError> {
    ///     ctx.command("git").args(["log", "--oneline", "-n", "5"]).output().await?.into_text()
    /// }
    /// ```
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command<'_> {
        let mut command = tokio::process::Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Command { ctx: self, command, input: None, output_limit: OUTPUT_LIMIT }
    }
}

/// A program to run, by [`ToolContext::command`].
#[must_use = "it runs when `output` is awaited"]
pub struct Command<'c> {
    ctx: &'c ToolContext,
    command: tokio::process::Command,
    input: Option<Vec<u8>>,
    output_limit: usize,
}

impl Command<'_> {
    /// Gives it one more argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Gives it more arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets a variable of its environment, which is that of this process otherwise.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Gives it none of this process's environment, such as keys.
    pub fn env_clear(mut self) -> Self {
        self.command.env_clear();
        self
    }

    /// Runs it in this folder.
    pub fn current_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Gives it this to read.
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.command.stdin(Stdio::piped());
        self.input = Some(input.into());
        self
    }

    /// Keeps at most this many bytes of each stream, their head and their tail; a megabyte unless set.
    pub fn output_limit(mut self, bytes: usize) -> Self {
        self.output_limit = bytes;
        self
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// Where it can't be started, `Unavailable` if there is no such program; and where the call is
    /// over before it ends. How it ended is no error: see [`CommandOutput::into_text`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn output(self) -> Result<CommandOutput, ToolError> {
        let Self { ctx, command, input, output_limit } = self;
        // Ends it also where its tool alone loses interest.
        let stop = ctx.cancellation().child_token();
        if stop.is_cancelled() {
            return Err(stopped());
        }
        let shown = shown(command.as_std());
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let group = Group::spawn(command).map_err(|error| not_started(&program, error))?;
        ctx.record(EffectRecord::ProcessStarted { command: shown });
        let _ends = stop.clone().drop_guard();
        let run = ctx.run_to_its_end(drive(group, input.unwrap_or_default(), output_limit, stop));
        let ended = run.await.map_err(|_| stopped())?;
        let ended = ended.map_err(|error| {
            ToolError::failed(format!("`{program}` was lost sight of.")).with_source(error)
        })?;
        let (status, [stdout, stderr]) = ended.ok_or_else(stopped)?;
        let [stdout, stderr] = [stdout, stderr].map(|said| said.text(|text| ctx.secrets_in(text)));
        Ok(CommandOutput { status, stdout, stderr })
    }
}

/// The command line alone: its environment may hold keys.
fn shown(command: &std::process::Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" ")
}

fn not_started(program: &str, error: io::Error) -> ToolError {
    let kind = match error.kind() {
        ErrorKind::NotFound => ToolErrorKind::Unavailable,
        _ => ToolErrorKind::Failed,
    };
    ToolError::new(kind, format!("`{program}` could not be started.")).with_source(error)
}

#[cold]
fn stopped() -> ToolError {
    ToolError::new(ToolErrorKind::Cancelled, "The call is over, and the program with it.")
}

impl fmt::Debug for Command<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({})", shown(self.command.as_std()))
    }
}

/// What came of a program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommandOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote, where it was too much without the middle; bytes that are no UTF-8 are replaced.
    pub stdout: String,
    /// The same of its errors.
    pub stderr: String,
}

impl CommandOutput {
    /// What it wrote; where it did not end well, an error that shows its errors.
    ///
    /// # Errors
    /// `Failed`, with how it ended and what it wrote to its errors, or if that is nothing, at all.
    pub fn into_text(self) -> Result<String, ToolError> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        let said = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        Err(ToolError::failed(format!("It ended with {}.\n{}", self.status, said.trim())))
    }
}

/// A program and all that it starts, gone when this is dropped.
#[derive(Debug)]
struct Group {
    leader: Box<dyn ChildWrapper>,
    is_gone: bool,
}

impl Group {
    fn spawn(command: tokio::process::Command) -> io::Result<Self> {
        let mut command = CommandWrap::from(command);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        let leader = catch_panic(|| command.spawn()).map_err(io::Error::other)??;
        Ok(Self { leader, is_gone: false })
    }

    /// Waits for the program itself, and ends what it left behind.
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.leader.inner_mut().wait().await;
        self.end().await;
        status
    }

    async fn end(&mut self) {
        self.kill();
        let _ = self.leader.wait().await;
        self.is_gone = true;
    }

    fn kill(&mut self) {
        // It fails where nobody is left.
        let _ = self.leader.start_kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_gone {
            self.kill();
        }
    }
}

/// Runs a program to its end, or until it is stopped: then there is none.
async fn drive(
    mut group: Group,
    input: Vec<u8>,
    limit: usize,
    stop: CancellationToken,
) -> io::Result<Option<(ExitStatus, [Capture; 2])>> {
    let stdin = group.leader.stdin().take();
    let (stdout, stderr) = (group.leader.stdout().take(), group.leader.stderr().take());
    let (mut out, mut err) = (Capture::new(limit), Capture::new(limit));
    let status = {
        let write = async {
            if let Some(mut stdin) = stdin {
                // It need not read all that it is given.
                let _ = stdin.write_all(&input).await;
            }
        };
        let talk = async { tokio::join!(write, out.read(stdout), err.read(stderr)) };
        let mut talk = std::pin::pin!(talk);
        let run = async {
            tokio::select! {
                status = group.wait() => {
                    let _ = timeout(LINGER, talk).await;
                    status
                }
                _ = &mut talk => group.wait().await,
            }
        };
        stop.run_until_cancelled(run).await
    };
    let Some(status) = status else {
        group.end().await;
        return Ok(None);
    };
    Ok(Some((status?, [out, err])))
}
