//! The rights that a program gives to commands.

use std::path::PathBuf;

/// The default limit of memory, in bytes.
const MAX_MEMORY_BYTES: u64 = 4 << 30;

/// The default limit of processes and threads.
const MAX_PROCESSES: u32 = 512;

/// The default limit of the size of a file.
const MAX_FILE_BYTES: u64 = 8 << 30;

/// The rights of the commands of a [`Shell`](crate::Shell) and of the programs of a
/// [`SandboxLauncher`](crate::SandboxLauncher).
///
/// | | reads | writes | network, other processes |
/// |---|---|---|---|
/// | [`read_only`](Self::read_only) | the workspace and installed programs | a private `/tmp` | no |
/// | [`workspace_write`](Self::workspace_write), the default | the same | the workspace and a private `/tmp` | no |
/// | [`none`](Self::none) | all that the program may | all that the program may | yes |
///
/// The first two run commands by bubblewrap (`bwrap` on `PATH`, version 0.8 or later, not setuid)
/// with namespaces and a filter of system calls, which only Linux has. They hide home folders, the
/// environment of the program and `/etc` except for a few files. The last one requires `/bin/sh`,
/// so Windows has none of the three.
///
/// ```
/// use tool_runtime::shell::{Sandbox, Shell};
///
/// let sandbox =
///     Sandbox::workspace_write().env("CARGO_TERM_COLOR", "never").max_memory_bytes(1 << 30);
/// let shell = Shell::new(".", sandbox);
/// # drop(shell);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Sandbox {
    pub(crate) access: Access,
    pub(crate) mechanism: Mechanism,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) max_memory_bytes: u64,
    pub(crate) max_processes: u32,
    pub(crate) max_file_bytes: u64,
}

/// The parts that commands may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    ReadOnly,
    WorkspaceWrite,
    Unconfined,
}

/// The mechanism that enforces the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    Bubblewrap,
    Landlock,
}

impl Sandbox {
    fn new(access: Access) -> Self {
        Self {
            access,
            mechanism: Mechanism::Bubblewrap,
            readable: Vec::new(),
            writable: Vec::new(),
            hidden: Vec::new(),
            env: Vec::new(),
            max_memory_bytes: MAX_MEMORY_BYTES,
            max_processes: MAX_PROCESSES,
            max_file_bytes: MAX_FILE_BYTES,
        }
    }

    /// Lets commands read the workspace, and write to a private `/tmp` only.
    ///
    /// ```
    /// use tool_runtime::shell::Sandbox;
    ///
    /// assert_ne!(Sandbox::read_only(), Sandbox::default());
    /// ```
    pub fn read_only() -> Self {
        Self::new(Access::ReadOnly)
    }

    /// Lets commands write to the workspace, except for the hooks and settings of git, and to a
    /// private `/tmp`. This is the default.
    ///
    /// A workspace that is in a folder of programs or certificates or contains one, such as
    /// `/usr/local` or a folder on `PATH`, makes the sandbox unavailable.
    ///
    /// ```
    /// use tool_runtime::shell::Sandbox;
    ///
    /// assert_eq!(Sandbox::workspace_write(), Sandbox::default());
    /// ```
    pub fn workspace_write() -> Self {
        Self::new(Access::WorkspaceWrite)
    }

    /// Runs commands without a sandbox, with all rights and the environment of the program.
    ///
    /// Of the other settings, only [`env`](Self::env) applies: memory, processes and files are not
    /// limited. Previews for approvers, the results and effects of calls, and
    /// [`Shell::check`](crate::Shell::check) show that there is no sandbox.
    ///
    /// ```
    /// use tool_runtime::shell::{Sandbox, Shell};
    ///
    /// # if cfg!(not(unix)) { return Ok(()) }
    /// assert!(!Shell::new(".", Sandbox::none()).check()?.is_confined());
    /// # Ok::<(), tool_runtime::shell::SandboxError>(())
    /// ```
    pub fn none() -> Self {
        Self::new(Access::Unconfined)
    }

    /// Enforces the sandbox by Landlock and a filter of system calls instead of bubblewrap: a
    /// weaker level for machines without user namespaces.
    ///
    /// Requires Linux 6.12. Commands read and write the same files as under bubblewrap, with a
    /// private folder instead of `/tmp`. They can't create sockets. The
    /// [status](crate::SandboxStatus::not_enforced) lists what is not enforced: descendants may
    /// outlive the command, `.git/hooks`, `.git/config` and files with setuid bits are writable,
    /// and limits apply to single processes.
    ///
    /// ```
    /// use tool_runtime::shell::{Sandbox, Shell};
    ///
    /// let shell = Shell::new(".", Sandbox::workspace_write());
    /// let shell = match shell.check() {
    ///     Ok(_) => shell,
    ///     // The decision to accept less is the program's.
    ///     Err(_) => Shell::new(".", Sandbox::workspace_write().landlock()),
    /// };
    /// # drop(shell);
    /// ```
    pub fn landlock(mut self) -> Self {
        self.mechanism = Mechanism::Landlock;
        self
    }

    /// Lets commands also read a file or folder outside of the workspace, such as a toolchain below
    /// the home folder. Some paths are ignored: those that do not exist, and those that are in a
    /// folder which commands may write, or lead there by a link.
    ///
    /// ```
    /// use tool_runtime::shell::Sandbox;
    ///
    /// let sandbox = Sandbox::workspace_write()
    ///     .readable("/opt/toolchain")
    ///     .env("PATH", "/opt/toolchain/bin:/usr/bin");
    /// # drop(sandbox);
    /// ```
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.readable.push(path.into());
        self
    }

    /// Lets commands also write to a folder outside of the workspace, such as a shared build
    /// folder.
    ///
    /// The files of a git repository that are protected in the workspace are protected there, too.
    /// A folder that can't be opened makes the sandbox unavailable.
    ///
    /// ```
    /// use tool_runtime::shell::Sandbox;
    ///
    /// let sandbox = Sandbox::read_only().writable("/srv/build");
    /// # drop(sandbox);
    /// ```
    pub fn writable(mut self, folder: impl Into<PathBuf>) -> Self {
        self.writable.push(folder.into());
        self
    }

    /// Hides a file of `/etc` that commands can read by default, such as `/etc/passwd`.
    ///
    /// ```
    /// use tool_runtime::shell::Sandbox;
    ///
    /// let sandbox = Sandbox::read_only().hidden("/etc/passwd");
    /// # drop(sandbox);
    /// ```
    pub fn hidden(mut self, path: impl Into<PathBuf>) -> Self {
        self.hidden.push(path.into());
        self
    }

    /// Sets an environment variable for commands. A sandboxed command has `PATH`, `HOME`, `LANG`,
    /// `TERM` and those that are set here.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Limits the memory of a command with all processes that it starts. Default: 4 GiB.
    ///
    /// This requires a writable cgroup v2. Without one, the limit applies to the data of each
    /// process, and the [status](crate::SandboxStatus::not_enforced) lists this.
    pub fn max_memory_bytes(mut self, bytes: u64) -> Self {
        self.max_memory_bytes = bytes;
        self
    }

    /// Limits the processes and threads of a command. Default: 512.
    ///
    /// If the program runs as root, this requires a writable cgroup v2. Without one, the limit is
    /// not enforced, and the [status](crate::SandboxStatus::not_enforced) lists it.
    pub fn max_processes(mut self, count: u32) -> Self {
        self.max_processes = count;
        self
    }

    /// Limits the size of each file that a command writes. Default: 8 GiB.
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Returns the name of what is allowed, as it appears in approvals and results.
    pub(crate) fn name(&self) -> &'static str {
        match self.access {
            Access::ReadOnly => "read-only",
            Access::WorkspaceWrite => "workspace-write",
            Access::Unconfined => "none",
        }
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::workspace_write()
    }
}
