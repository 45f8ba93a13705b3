//! Starts programs in a sandbox, for code that is not a tool.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use tokio::process::{ChildStdin, ChildStdout};

use crate::command::{Command, Output, Repositories};
use crate::confinement::{Confinement, Running};
use crate::error::SandboxError;
use crate::sandbox::Sandbox;
use crate::status::SandboxStatus;

/// Starts programs in one folder, in a [`Sandbox`] that the kernel enforces.
///
/// [`Shell`](crate::Shell) gives commands to a model; a launcher starts what the program itself
/// wants to confine, such as a compiler or a server. Clones share the folder and the sandbox.
///
/// ```
/// use tokio::io::AsyncReadExt;
/// use tool_runtime::shell::{Sandbox, SandboxLauncher};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if SandboxLauncher::new(".", Sandbox::read_only()).is_err() { return Ok(()) }
/// let launcher = SandboxLauncher::new(".", Sandbox::read_only())?;
/// let mut process = launcher.spawn(["ls", "-a"]).await?;
/// let mut output = String::new();
/// if let Some(mut stdout) = process.take_stdout() {
///     stdout.read_to_string(&mut output).await?;
/// }
/// assert!(process.wait().await?.success());
/// assert!(output.contains("Cargo.toml"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SandboxLauncher {
    confinement: Confinement,
}

impl SandboxLauncher {
    /// Creates a launcher for a folder, and checks whether this machine can enforce the sandbox.
    ///
    /// Blocks the thread for the time that a program takes to start, about 20 ms. Links in the path
    /// of the folder are followed now, and not when a program starts.
    ///
    /// # Errors
    /// Returns an error if the machine can't enforce the sandbox, or if a folder does not exist.
    pub fn new(folder: impl AsRef<Path>, sandbox: Sandbox) -> Result<Self, SandboxError> {
        Confinement::new(folder.as_ref(), sandbox).map(|confinement| Self { confinement })
    }

    /// Returns the status of the sandbox: what enforces it, and what this machine can't enforce.
    pub fn status(&self) -> &SandboxStatus {
        self.confinement.status()
    }

    /// Starts a program by its name on `PATH` or its path, followed by its arguments.
    ///
    /// All its streams are pipes. Git repositories are read-only, because a program may run for
    /// long, and git follows the links that it could leave in them.
    ///
    /// # Errors
    /// Returns an error if the command is empty, if a word contains a NUL character, or if the
    /// sandbox can't be started. If the program does not exist, the process ends with code 127.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # if SandboxLauncher::new(".", Sandbox::read_only()).is_err() { return Ok(()) }
    /// use tool_runtime::shell::{Sandbox, SandboxLauncher};
    ///
    /// let launcher = SandboxLauncher::new(".", Sandbox::read_only())?;
    /// let status = launcher.spawn(["touch", "Cargo.toml"]).await?.wait().await?;
    /// assert!(!status.success()); // the folder is read-only
    /// # Ok(())
    /// # }
    /// ```
    pub async fn spawn<W: Into<String>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> io::Result<SandboxedProcess> {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        if words.first().is_none_or(String::is_empty) || words.iter().any(|it| it.contains('\0')) {
            let text = "the command is empty or contains a NUL character";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let running = self
            .confinement
            .start(Command::Argv(words), Output::Separate, Repositories::ReadOnly)
            .await?;
        Ok(SandboxedProcess(running))
    }
}

/// A program that a [`SandboxLauncher`] has started. Dropping it kills the program with all
/// processes that it started.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if SandboxLauncher::new(".", Sandbox::read_only()).is_err() { return Ok(()) }
/// use tool_runtime::shell::{Sandbox, SandboxLauncher};
///
/// let launcher = SandboxLauncher::new(".", Sandbox::read_only())?;
/// let mut process = launcher.spawn(["cat", "no-such-file"]).await?;
/// assert_eq!(process.wait().await?.code(), Some(1));
/// assert!(process.stderr_tail().contains("No such file"));
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it kills the program"]
pub struct SandboxedProcess(Running);

impl SandboxedProcess {
    /// Returns the standard input, once. Dropping it closes the input.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.0.child.take_stdin()
    }

    /// Returns the standard output, once.
    ///
    /// Read it to its end: a program waits while the pipe is full.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.0.child.take_stdout()
    }

    /// Returns the end of what the program or the sandbox has written to the standard error so far.
    /// The launcher reads the standard error continuously.
    pub fn stderr_tail(&self) -> String {
        self.0.child.stderr_tail()
    }

    /// Waits until the program ends, and kills the processes that it has left.
    ///
    /// # Errors
    /// Returns an error if the system can't wait for the process, or if the program has created a
    /// git repository with links in it: they are removed, because git would follow them.
    ///
    /// # Cancellation
    /// If the future is dropped, call it again.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # if SandboxLauncher::new(".", Sandbox::read_only()).is_err() { return Ok(()) }
    /// use tool_runtime::shell::{Sandbox, SandboxLauncher};
    ///
    /// let launcher = SandboxLauncher::new(".", Sandbox::read_only())?;
    /// assert!(launcher.spawn(["true"]).await?.wait().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.0.child.wait().await?;
        finish(&mut self.0).await.map(|()| status)
    }

    /// Kills the program with all processes that it started, and waits for its end.
    ///
    /// # Errors
    /// Returns the errors of [`wait`](Self::wait).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # if SandboxLauncher::new(".", Sandbox::read_only()).is_err() { return Ok(()) }
    /// use tool_runtime::shell::{Sandbox, SandboxLauncher};
    ///
    /// let launcher = SandboxLauncher::new(".", Sandbox::read_only())?;
    /// let mut process = launcher.spawn(["sleep", "1000"]).await?;
    /// assert!(!process.kill().await?.success());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn kill(&mut self) -> io::Result<ExitStatus> {
        let status = self.0.child.kill_group().await?;
        finish(&mut self.0).await.map(|()| status)
    }
}

async fn finish(running: &mut Running) -> io::Result<()> {
    match running.finish().await.found {
        lines if lines.is_empty() => Ok(()),
        lines => Err(io::Error::other(format!("links left behind: {}", lines.join("; ")))),
    }
}

impl fmt::Debug for SandboxedProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxedProcess").field("id", &self.0.child.id()).finish_non_exhaustive()
    }
}
