//! Tools that run commands in a folder, in a sandbox that the kernel enforces.
//!
//! [`Shell`] are the tools, and [`SandboxLauncher`] starts programs in a [`Sandbox`] for your own
//! code. If the machine can't enforce the sandbox, nothing runs. Sandboxes require Linux; on other
//! systems, [`Shell::check`] returns an error that says so.
//!
//! tool-runtime exports this crate as `tool_runtime::shell`, by the feature `shell`. Its
//! [guide](https://docs.rs/tool-runtime) has the page `sandbox`.
#![cfg_attr(docsrs, feature(doc_cfg))]

// # The path of a command
// 1. `sandbox.rs`: the program chooses a `Sandbox`. `confinement.rs` finds out whether this machine
//    can enforce it; if it can't, no command runs.
// 2. `tools.rs`: the model sends a command (`command.rs`). `preview.rs` shows it to the approver.
// 3. `bubblewrap/` builds the command line of the sandbox, for the program that `program.rs` finds,
//    with the mounts of `mounts.rs`, the filter of `filter.rs`, the protected parts of the folders
//    that commands may write (`workspace`) and the limits of `cgroup.rs`. If the user owns
//    bubblewrap or the devices, it starts where `own_files.rs` has made them read-only. Inside,
//    `entry.sh` checks the mounts before it starts the command. Or `landlock.rs` restricts the
//    thread that starts the command. `limits.rs` has what both share.
// 4. `processes/spawner.rs` starts it from a thread that lives as long as the program.
// 5. `processes/exec.rs` waits for the command, or `processes/mod.rs` keeps it as a background
//    process. `capture.rs` and `lines.rs` bound the output.
// 6. When the last process of the command has ended, `workspace/cleanup.rs` removes the links that
//    it has left in repositories.
//
// `launcher.rs` starts programs for other code of the program, by steps 3 and 4.
//
// # Invariants
// - A command runs with all protections of its sandbox, except for those that the status lists as
//   not enforced, or it does not run.
// - Nothing that a command changes decides what the sandbox of the next one mounts.
// - No process outlives the program.
// - A command whose end is not awaited can't write to a repository.

mod command;
mod confinement;
mod error;
mod launcher;
mod left_behind;
mod preview;
mod processes;
mod sandbox;
mod status;
mod tools;

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod system_files;
#[cfg(target_os = "linux")]
mod workspace;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tool_core::Availability;

pub use error::SandboxError;
pub use launcher::{SandboxLauncher, SandboxedProcess};
pub use sandbox::Sandbox;
pub use status::SandboxStatus;

use confinement::Confinement;
use processes::Processes;

/// Tools that run commands in one folder: the workspace.
///
/// | tool | what it does |
/// |---|---|
/// | `shell_exec` | runs a command and waits for it to end |
/// | `shell_start` | starts a command that runs in the background |
/// | `shell_output` | returns the new output of a background process |
/// | `shell_input` | writes to the standard input of a background process |
/// | `shell_stop` | ends a background process |
///
/// Commands run in a [`Sandbox`], which the kernel enforces. If the machine can't enforce the
/// sandbox, the tools are unavailable, and [`check`](Self::check) returns the reason: nothing falls
/// back to a weaker sandbox. On systems other than Linux, no sandbox is implemented: on macOS, the
/// tools are available with [`Sandbox::none`] only, and on Windows never.
///
/// The tools that run commands or send input ask for an approval, unless the policy
/// [allows](tool_core::dispatch::Permissions::tool) them. Clones share the background processes.
///
/// ```
/// use tool_runtime::shell::{Sandbox, Shell};
/// use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, tools};
///
/// # let model = ScriptedModel::new([ChatReply::text("Done.")]);
/// let shell = Shell::new(".", Sandbox::workspace_write());
/// match shell.check() {
///     Ok(status) => println!("{status}"),
///     Err(error) => println!("{error}"),
/// }
/// // The approver, which is omitted here, sees the command and its sandbox.
/// let agent = Agent::new(model, tools![..shell.clone()])
///     .policy(Policy::new().previewer(shell.clone()))
///     // Ends the processes of a run with the run.
///     .observer(shell);
/// # drop(agent);
/// ```
#[derive(Clone)]
pub struct Shell(Arc<Inner>);

struct Inner {
    confinement: Result<Confinement, SandboxError>,
    processes: Processes,
}

impl Shell {
    /// Creates the tools for a folder, and checks whether this machine can enforce the sandbox.
    ///
    /// Blocks the thread for the time that a command takes to start, about 20 ms. Links in the path
    /// of the folder are followed now, and not when a command runs.
    ///
    /// ```
    /// use tool_runtime::shell::{Sandbox, Shell};
    ///
    /// let shell = Shell::new("no/such/folder", Sandbox::workspace_write());
    /// assert!(shell.check().is_err());
    /// ```
    pub fn new(folder: impl AsRef<Path>, sandbox: Sandbox) -> Self {
        let confinement = Confinement::new(folder.as_ref(), sandbox);
        Self(Arc::new(Inner { confinement, processes: Processes::default() }))
    }

    /// Returns the status of the sandbox: what enforces it, and what this machine can't enforce.
    ///
    /// Call it when the program starts, beside `Agent::check`.
    ///
    /// # Errors
    /// Returns the reason why no command can run, such as that bubblewrap is not installed.
    ///
    /// ```
    /// use tool_runtime::shell::{Sandbox, Shell};
    ///
    /// # if cfg!(not(unix)) { return Ok(()) }
    /// let status = Shell::new(".", Sandbox::none()).check()?;
    /// assert_eq!(status.to_string(), "none: commands have all rights of the program");
    /// # Ok::<(), tool_runtime::shell::SandboxError>(())
    /// ```
    pub fn check(&self) -> Result<SandboxStatus, SandboxError> {
        self.0.confinement.as_ref().map(|it| it.status().clone()).map_err(Clone::clone)
    }

    fn availability(&self) -> Availability {
        match &self.0.confinement {
            Ok(_) => Availability::Available,
            Err(error) => Availability::Unavailable(error.to_string()),
        }
    }
}

impl fmt::Debug for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shell").field("check", &self.check()).finish_non_exhaustive()
    }
}
