//! Runs commands on this machine, by bubblewrap or without a sandbox.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tool_core::process::{ChildProcess, ProcessBuilder};

use crate::command::{Command, Output, Repositories};
use crate::error::SandboxError;
use crate::left_behind::LeftBehind;
use crate::processes::spawner;
use crate::sandbox::{Access, Sandbox};
use crate::status::SandboxStatus;

#[cfg(target_os = "linux")]
use crate::bubblewrap::Bubblewrap;
#[cfg(target_os = "linux")]
use crate::bubblewrap::cgroup::Cgroup;
#[cfg(target_os = "linux")]
use crate::landlock::Landlock;
#[cfg(target_os = "linux")]
use crate::mounts;
#[cfg(target_os = "linux")]
use crate::sandbox::Mechanism;
#[cfg(target_os = "linux")]
use crate::workspace::{Cleanup, Part, WrittenFolders, refusal};

/// A sandbox that this machine can enforce, of one workspace.
#[derive(Clone, Debug)]
pub(crate) struct Confinement {
    status: Arc<SandboxStatus>,
    launcher: Arc<Launcher>,
    /// `None` without a sandbox.
    #[cfg(target_os = "linux")]
    written: Option<Arc<WrittenFolders>>,
}

#[derive(Debug)]
enum Launcher {
    Unconfined {
        workspace: PathBuf,
        env: Vec<(String, String)>,
    },
    #[cfg(target_os = "linux")]
    Bubblewrap(Bubblewrap),
    #[cfg(target_os = "linux")]
    Landlock(Landlock),
}

/// A running command.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: ChildProcess,
    /// Removed after the child has ended.
    #[cfg(target_os = "linux")]
    _cgroup: Option<Cgroup>,
    /// Dropped after the child, which ends the child first.
    #[cfg(target_os = "linux")]
    cleanup: Option<Cleanup>,
}

impl Running {
    /// Removes what the command has left in repositories, after it has ended, and reports it.
    pub(crate) async fn finish(&mut self) -> LeftBehind {
        #[cfg(target_os = "linux")]
        if let Some(mut cleanup) = self.cleanup.take() {
            return cleanup.finish().await;
        }
        LeftBehind::default()
    }
}

impl From<ChildProcess> for Running {
    fn from(child: ChildProcess) -> Self {
        Self {
            child,
            #[cfg(target_os = "linux")]
            _cgroup: None,
            #[cfg(target_os = "linux")]
            cleanup: None,
        }
    }
}

impl Confinement {
    pub(crate) fn new(folder: &Path, sandbox: Sandbox) -> Result<Self, SandboxError> {
        let workspace = folder.canonicalize().and_then(|folder| {
            if folder.is_dir() { Ok(folder) } else { Err(io::ErrorKind::NotADirectory.into()) }
        });
        let workspace = workspace.map_err(|error| {
            SandboxError::new(format!("{} can't be opened: {error}", folder.display()))
        })?;
        let name = sandbox.name();
        match (sandbox.access, sandbox.mechanism) {
            (Access::Unconfined, _) if cfg!(unix) => {
                let launcher = Launcher::Unconfined { workspace, env: sandbox.env };
                let status =
                    SandboxStatus { sandbox: name, enforced_by: None, not_enforced: Vec::new() };
                Ok(Self {
                    status: Arc::new(status),
                    launcher: Arc::new(launcher),
                    #[cfg(target_os = "linux")]
                    written: None,
                })
            }
            #[cfg(target_os = "linux")]
            (Access::ReadOnly | Access::WorkspaceWrite, _) => Self::confined(workspace, sandbox),
            _ => Err(SandboxError::new(unsupported(&sandbox, std::env::consts::OS))),
        }
    }

    #[cfg(target_os = "linux")]
    fn confined(workspace: PathBuf, sandbox: Sandbox) -> Result<Self, SandboxError> {
        let (name, mechanism) = (sandbox.name(), sandbox.mechanism);
        let is_written = sandbox.access == Access::WorkspaceWrite;
        if let Some(reason) = refusal(&workspace, is_written) {
            return Err(SandboxError::new(reason));
        }
        let writable = mounts::writable(&sandbox.writable).map_err(SandboxError::new)?;
        let folders = is_written.then_some(&workspace).into_iter().chain(&writable);
        let written = Arc::new(WrittenFolders::open(folders)?);
        let (launcher, enforced_by, mut not_enforced) = match mechanism {
            Mechanism::Bubblewrap => {
                let bubblewrap =
                    Bubblewrap::new(workspace, sandbox, &writable, Arc::clone(&written))?;
                let (name, not_enforced) = (bubblewrap.name(), bubblewrap.not_enforced());
                (Launcher::Bubblewrap(bubblewrap), name, not_enforced)
            }
            Mechanism::Landlock => {
                let landlock = Landlock::new(workspace, sandbox, writable)?;
                let (name, not_enforced) = (landlock.name(), landlock.not_enforced());
                (Launcher::Landlock(landlock), name, not_enforced)
            }
        };
        not_enforced.extend(written.foreign_links());
        let enforced_by = Some(enforced_by);
        let status = SandboxStatus { sandbox: name, enforced_by, not_enforced };
        Ok(Self { status: Arc::new(status), launcher: Arc::new(launcher), written: Some(written) })
    }

    pub(crate) fn status(&self) -> &SandboxStatus {
        &self.status
    }

    /// Starts a command. If its output is merged, the standard error of the child carries errors of
    /// the sandbox only.
    pub(crate) async fn start(
        &self,
        command: Command,
        output: Output,
        repositories: Repositories,
    ) -> io::Result<Running> {
        let confinement = self.clone();
        let prepared = spawn_blocking(move || confinement.prepare(repositories)).await;
        let prepared = prepared.map_err(io::Error::other)??;
        let launcher = Arc::clone(&self.launcher);
        spawner::run(move || launcher.start(&command, output, prepared)).await?
    }

    /// Visits the folders that the command may write. This takes time if they have many files.
    #[cfg(target_os = "linux")]
    fn prepare(&self, repositories: Repositories) -> io::Result<Prepared> {
        let Some(written) = &self.written else {
            return Ok(Prepared { parts: Vec::new(), cleanup: None });
        };
        let scans = written.scan();
        let parts = match &*self.launcher {
            Launcher::Bubblewrap(bubblewrap) => bubblewrap.parts(repositories, &scans)?,
            Launcher::Unconfined { .. } | Launcher::Landlock(_) => Vec::new(),
        };
        let cleanup = Some(Cleanup::new(Arc::clone(written), scans));
        Ok(Prepared { parts, cleanup })
    }

    #[cfg(not(target_os = "linux"))]
    fn prepare(&self, _: Repositories) -> io::Result<Prepared> {
        Ok(Prepared)
    }
}

/// Returns the reason why this system runs no command in a sandbox.
fn unsupported(sandbox: &Sandbox, system: &str) -> String {
    match sandbox.access {
        Access::ReadOnly | Access::WorkspaceWrite => {
            let name = sandbox.name();
            format!("the sandbox {name} requires Linux, and this system is {system}")
        }
        Access::Unconfined => format!("commands run by /bin/sh, which {system} does not have"),
    }
}

/// The parts to mount for a command, and the links in repositories before it starts.
#[derive(Debug)]
#[cfg(target_os = "linux")]
struct Prepared {
    parts: Vec<Part>,
    cleanup: Option<Cleanup>,
}

#[derive(Debug)]
#[cfg(not(target_os = "linux"))]
struct Prepared;

impl Launcher {
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "nothing is prepared"))]
    fn start(&self, command: &Command, output: Output, prepared: Prepared) -> io::Result<Running> {
        match self {
            Self::Unconfined { workspace, env } => {
                let mut process = Process::new("/bin/sh");
                process.args(["-c", output.script(), "sh"]).args(command.argv());
                let variables = env.iter().map(|(name, value)| (name, value));
                process.envs(variables).current_dir(workspace);
                Ok(ProcessBuilder::from(process).spawn()?.into())
            }
            #[cfg(target_os = "linux")]
            Self::Bubblewrap(bubblewrap) => {
                let launch = bubblewrap.launch(command, output, &prepared.parts)?;
                let mut process = ProcessBuilder::from(launch.process);
                if launch.cgroup.is_some() {
                    process = process.outside_cgroup();
                }
                let child = process.spawn()?;
                let cleanup = prepared.cleanup.map(|it| it.after(launch.namespace));
                Ok(Running { child, _cgroup: launch.cgroup, cleanup })
            }
            #[cfg(target_os = "linux")]
            Self::Landlock(landlock) => {
                let running = Running::from(landlock.start(command, output)?);
                Ok(Running { cleanup: prepared.cleanup, ..running })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unsupported;
    use crate::sandbox::Sandbox;

    #[test]
    fn reason_names_what_a_system_lacks() {
        assert_eq!(
            unsupported(&Sandbox::workspace_write(), "macos"),
            "the sandbox workspace-write requires Linux, and this system is macos"
        );
        let reason = unsupported(&Sandbox::none(), "windows");
        assert_eq!(reason, "commands run by /bin/sh, which windows does not have");
    }
}
