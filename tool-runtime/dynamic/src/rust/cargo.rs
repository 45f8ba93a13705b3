//! Runs cargo in a sandbox.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tool_shell::{Sandbox, SandboxError, SandboxLauncher};

use super::support::Sources;
use super::toolchain::Toolchain;

/// The longest line of output that is read. Longer ones are ignored.
const MAX_LINE_BYTES: usize = 8 << 20;

/// The largest file that a build may write.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// How long output is read after cargo has ended.
const LINGER: Duration = Duration::from_secs(1);

/// The folders of a build.
#[derive(Clone, Debug)]
pub(super) struct Folders {
    /// The crate of the dynamic tool, which is the workspace of the sandbox.
    pub(super) tool: PathBuf,
    /// The support crate.
    pub(super) support: PathBuf,
    /// The build folder of all tools.
    pub(super) target: PathBuf,
}

/// Cargo in the folder of one crate.
#[derive(Clone, Debug)]
pub(super) struct Cargo {
    launcher: SandboxLauncher,
    program: String,
}

/// The end of a run of cargo.
#[derive(Debug)]
pub(super) enum End {
    Exited(ExitStatus),
    TimedOut,
}

impl Cargo {
    /// Prepares the sandbox. It has no network and no home folder, and the paths inside are those
    /// outside: otherwise cargo would build everything again.
    pub(super) async fn new(
        folders: &Folders,
        toolchain: &Toolchain,
        sources: &Sources,
        memory: u64,
    ) -> Result<Self, SandboxError> {
        let bin = toolchain.sysroot.join("bin");
        let mut sandbox = Sandbox::workspace_write()
            .writable(&folders.target)
            .readable(&folders.support)
            .readable(&toolchain.sysroot)
            // Without the settings and the keys beside it.
            .readable(toolchain.cargo_home.join("registry"))
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("CARGO_HOME", toolchain.cargo_home.to_string_lossy())
            .env("CARGO_TARGET_DIR", folders.target.to_string_lossy())
            .hidden("/etc/passwd")
            .hidden("/etc/group")
            .max_memory_bytes(memory)
            .max_file_bytes(MAX_FILE_BYTES);
        for path in &sources.readable {
            sandbox = sandbox.readable(path);
        }
        let program = bin.join("cargo").to_string_lossy().into_owned();
        Ok(Self { launcher: launcher(&folders.tool, sandbox).await?, program })
    }

    /// Runs cargo until it ends or a time limit passes, and passes each line of its output on.
    /// Returns the end of its standard error too.
    ///
    /// All output is read: cargo would stop to build if it could not write.
    pub(super) async fn run(
        &self,
        arguments: &[&str],
        limit: Duration,
        on_line: impl FnMut(&str),
    ) -> io::Result<(End, String)> {
        let words = std::iter::once(self.program.as_str()).chain(arguments.iter().copied());
        let mut process = self.launcher.spawn(words).await?;
        let stdout = process.take_stdout();
        let ended = timeout(limit, async {
            read_lines(stdout, on_line).await;
            timeout(LINGER, process.wait()).await
        });
        let end = match ended.await {
            Ok(Ok(status)) => End::Exited(status?),
            // It has closed its output and lives on.
            Ok(Err(_)) => End::Exited(process.kill().await?),
            Err(_) => {
                process.kill().await?;
                End::TimedOut
            }
        };
        Ok((end, process.stderr_tail()))
    }
}

/// Creates a launcher on a thread that may block.
pub(super) async fn launcher(
    folder: &Path,
    sandbox: Sandbox,
) -> Result<SandboxLauncher, SandboxError> {
    let folder = folder.to_owned();
    let created = spawn_blocking(move || SandboxLauncher::new(folder, sandbox)).await;
    match created {
        Ok(launcher) => launcher,
        // A blocking task is not cancelled.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Reads a stream to its end, and passes on each line that is not too long.
async fn read_lines(stdout: Option<ChildStdout>, mut on_line: impl FnMut(&str)) {
    let Some(mut stdout) = stdout else { return };
    let mut buffer = vec![0; 64 << 10];
    let (mut line, mut is_too_long) = (Vec::new(), false);
    while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
        let mut parts = buffer.get(..count).unwrap_or_default().split(|byte| *byte == b'\n');
        let mut next = parts.next();
        while let Some(part) = next {
            is_too_long |= line.len() + part.len() > MAX_LINE_BYTES;
            if is_too_long {
                line.clear();
            } else {
                line.extend_from_slice(part);
            }
            next = parts.next();
            if next.is_some() {
                on_line(&String::from_utf8_lossy(&line));
                line.clear();
                is_too_long = false;
            }
        }
    }
    on_line(&String::from_utf8_lossy(&line));
}

/// Writes the files of a crate. An earlier build may have put links in their places, which are not
/// followed.
pub(super) fn write(folder: &Path, files: &[(&str, &str)]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    files.iter().try_for_each(|(name, text)| {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::create_new(path)?.write_all(text.as_bytes())
    })
}
