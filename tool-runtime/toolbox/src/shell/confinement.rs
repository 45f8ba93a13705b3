//! Runs commands on this machine, by bubblewrap or without a sandbox.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Arc;

use tool_runtime::process::{ChildProcess, ProcessBuilder};

use super::command::{Command, Output};
use super::error::SandboxError;
use super::sandbox::{Access, Sandbox};
use super::spawner;
use super::status::SandboxStatus;

#[cfg(target_os = "linux")]
use super::bubblewrap::Bubblewrap;
#[cfg(target_os = "linux")]
use super::cgroup::Cgroup;
#[cfg(target_os = "linux")]
use super::landlock::Landlock;
#[cfg(target_os = "linux")]
use super::sandbox::Mechanism;

/// A sandbox that this machine can enforce, of one workspace.
#[derive(Clone, Debug)]
pub(super) struct Confinement {
    status: Arc<SandboxStatus>,
    launcher: Arc<Launcher>,
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
pub(super) struct Running {
    pub(super) child: ChildProcess,
    /// Removed after the child has ended.
    #[cfg(target_os = "linux")]
    _cgroup: Option<Cgroup>,
}

impl From<ChildProcess> for Running {
    fn from(child: ChildProcess) -> Self {
        Self {
            child,
            #[cfg(target_os = "linux")]
            _cgroup: None,
        }
    }
}

impl Confinement {
    pub(super) fn new(folder: &Path, sandbox: Sandbox) -> Result<Self, SandboxError> {
        let workspace = folder.canonicalize().and_then(|folder| {
            if folder.is_dir() { Ok(folder) } else { Err(io::ErrorKind::NotADirectory.into()) }
        });
        let workspace = workspace.map_err(|error| {
            SandboxError::new(format!("{} can't be opened: {error}", folder.display()))
        })?;
        let name = sandbox.name();
        let (launcher, enforced_by, not_enforced) = match (sandbox.access, sandbox.mechanism) {
            (Access::Unconfined, _) if cfg!(unix) => {
                (Launcher::Unconfined { workspace, env: sandbox.env }, None, Vec::new())
            }
            #[cfg(target_os = "linux")]
            (Access::ReadOnly | Access::WorkspaceWrite, Mechanism::Landlock) => {
                let landlock = Landlock::new(workspace, sandbox)?;
                let (name, not_enforced) = (landlock.name(), landlock.not_enforced());
                (Launcher::Landlock(landlock), Some(name), not_enforced)
            }
            #[cfg(target_os = "linux")]
            (Access::ReadOnly | Access::WorkspaceWrite, Mechanism::Bubblewrap) => {
                let bubblewrap = Bubblewrap::new(workspace, sandbox)?;
                let (name, not_enforced) = (bubblewrap.name(), bubblewrap.not_enforced());
                (Launcher::Bubblewrap(bubblewrap), Some(name), not_enforced)
            }
            _ => {
                let system = std::env::consts::OS;
                return Err(SandboxError::new(format!("no sandbox is implemented for {system}")));
            }
        };
        let status = SandboxStatus { sandbox: name, enforced_by, not_enforced };
        Ok(Self { status: Arc::new(status), launcher: Arc::new(launcher) })
    }

    pub(super) fn status(&self) -> &SandboxStatus {
        &self.status
    }

    /// Starts a command. If its output is merged, the standard error of the child carries errors of
    /// the sandbox only.
    pub(super) async fn start(&self, command: Command, output: Output) -> io::Result<Running> {
        let launcher = Arc::clone(&self.launcher);
        spawner::run(move || launcher.start(&command, output)).await?
    }
}

impl Launcher {
    fn start(&self, command: &Command, output: Output) -> io::Result<Running> {
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
                let launch = bubblewrap.launch(command, output)?;
                let mut process = ProcessBuilder::from(launch.process);
                if launch.cgroup.is_some() {
                    process = process.outside_cgroup();
                }
                Ok(Running { child: process.spawn()?, _cgroup: launch.cgroup })
            }
            #[cfg(target_os = "linux")]
            Self::Landlock(landlock) => Ok(landlock.start(command, output)?.into()),
        }
    }
}
