//! The weaker sandbox by Landlock and a filter of system calls, for machines without user
//! namespaces.
//!
//! A thread restricts itself, starts the command, which inherits the restrictions, and ends.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};
use std::thread;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, set_capabilities,
    set_capabilities_secure_bits,
};
use seccompiler::BpfProgram;
use tokio::runtime::Handle;
use tool_core::process::{ChildProcess, ProcessBuilder};

use crate::command::{Command, Output, shell};
use crate::error::SandboxError;
use crate::filter;
use crate::limits::{NO_BASH, environment, limits, prlimit};
use crate::mounts;
use crate::sandbox::{Access, Sandbox};

/// Linux 6.12: the first version that also confines signals and abstract sockets.
const VERSION: ABI = ABI::V6;

/// Devices that programs use and that hold nothing.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Protections that this level does not provide.
const NOT_ENFORCED: [&str; 8] = [
    "descendants may outlive the command and the program",
    "commands see names, metadata and changes of files, and processes where /proc shows them",
    "commands change the metadata of the user's files, such as permissions and times",
    "commands change the priority and the limits of the user's other processes",
    "the memory of all processes together",
    "the number of processes (root has no limit, and for others all processes of the user count)",
    ".git/hooks and .git/config are writable",
    "files of the workspace with setuid bits or capabilities are writable",
];

/// The limits that are not enforced without the program that sets them.
const NO_LIMITS: &str =
    "the memory of each process, the number of processes and the size of files (no prlimit)";

/// Closes the files up to the descriptor `$1` that the program has opened without close-on-exec,
/// and becomes the command. Other shells than bash read one digit only.
const ENTRY: &str = r#"
output=$1 last=$2
shift 2
[ -n "$BASH_VERSION" ] || last=9
fd=3
while [ "$fd" -le "$last" ]; do
    eval "exec $fd>&-"
    fd=$((fd + 1))
done
[ "$output" != merged ] || exec 2>&1
exec "$@"
"#;

/// Descriptors of files that other threads open while a command starts.
const SPARE_DESCRIPTORS: u32 = 64;

/// Sandboxes of one workspace by Landlock.
#[derive(Debug)]
pub(crate) struct Landlock {
    workspace: PathBuf,
    sandbox: Sandbox,
    /// The further folders that commands may write, without links.
    writable: Vec<PathBuf>,
    filter: BpfProgram,
    /// The private folder for temporary files, removed on drop.
    temp: PathBuf,
}

impl Landlock {
    /// Finds out whether this machine can enforce the sandbox, by running a command in it.
    pub(crate) fn new(
        workspace: PathBuf,
        sandbox: Sandbox,
        writable: Vec<PathBuf>,
    ) -> Result<Self, SandboxError> {
        let filter = filter::program_without_ipc()
            .map_err(|error| SandboxError::new(format!("the filter can't be built: {error}")))?;
        let name = format!("tool-shell-{}-{:016x}", std::process::id(), fastrand::u64(..));
        let temp = std::env::temp_dir().join(name);
        fs::DirBuilder::new().mode(0o700).create(&temp).map_err(|error| {
            SandboxError::new(format!("{} can't be created: {error}", temp.display()))
        })?;
        let landlock = Self { workspace, sandbox, writable, filter, temp };
        landlock.probe().map_err(|error| SandboxError::new(format!("landlock: {error}")))?;
        Ok(landlock)
    }

    fn probe(&self) -> io::Result<()> {
        let mut process = self.process(&Command::Argv(vec!["true".to_owned()]), Output::Merged);
        let output = self.restricted(move || process.stdin(Stdio::null()).output())?;
        if output.status.success() {
            return Ok(());
        }
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(io::Error::other(format!("{} ({})", error.trim(), output.status)))
    }

    /// Returns what enforces the sandbox.
    pub(crate) fn name(&self) -> String {
        format!("landlock ABI {}", VERSION as u32)
    }

    /// Returns what this level does not enforce.
    pub(crate) fn not_enforced(&self) -> Vec<String> {
        let missing = [(prlimit().is_none(), NO_LIMITS), (!shell().ends_with("bash"), NO_BASH)];
        let missing = missing.into_iter().filter_map(|(is_missing, it)| is_missing.then_some(it));
        NOT_ENFORCED.into_iter().chain(missing).map(Into::into).collect()
    }

    /// Starts a command within the runtime of the calling thread.
    pub(crate) fn start(&self, command: &Command, output: Output) -> io::Result<ChildProcess> {
        // The process that ends others with the program must not be started by a restricted thread.
        let mut other = Process::new("/bin/sh");
        other.args(["-c", ":"]);
        drop(ProcessBuilder::from(other).spawn()?);
        let runtime = Handle::current();
        let process = self.process(command, output);
        self.restricted(move || {
            let _guard = runtime.enter();
            ProcessBuilder::from(process).spawn()
        })
    }

    fn process(&self, command: &Command, output: Output) -> Process {
        let mut process = Process::new(shell());
        process.env_clear().current_dir(&self.workspace);
        process.envs(environment(&self.sandbox)).env("HOME", &self.temp).env("TMPDIR", &self.temp);
        process.args(["-c", ENTRY, "entry", output.word(), &last_descriptor().to_string()]);
        process.args(limits(&self.sandbox)).args(command.argv());
        process
    }

    /// Runs a function on a new thread, after the thread has restricted itself.
    fn restricted<T: Send>(
        &self,
        function: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                drop_capabilities()?;
                self.restrict().map_err(io::Error::other)?;
                seccompiler::apply_filter(&self.filter).map_err(io::Error::other)?;
                function()
            });
            thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
        })
    }

    fn restrict(&self) -> Result<(), RulesetError> {
        let resolved = mounts::resolved(&self.sandbox.readable, &self.workspace, &self.writable);
        let mut written = self.writable.clone();
        written.push(self.temp.clone());
        let mut read: Vec<_> = mounts::installed(&self.sandbox.hidden).map(PathBuf::from).collect();
        read.extend(resolved.into_iter().map(|(path, _)| path));
        match self.sandbox.access {
            Access::WorkspaceWrite => written.push(self.workspace.clone()),
            _ => read.push(self.workspace.clone()),
        }
        let to_device = AccessFs::ReadFile | AccessFs::WriteFile;
        let device = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
        Ruleset::default()
            // By default, what the kernel lacks is left out in silence.
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(VERSION))?
            .handle_access(AccessNet::from_all(VERSION))?
            .scope(Scope::from_all(VERSION))?
            .create()?
            .add_rules(path_beneath_rules(read, AccessFs::from_read(VERSION)))?
            .add_rules(path_beneath_rules(written, AccessFs::from_all(VERSION) & !device))?
            .add_rules(path_beneath_rules(DEVICES, to_device))?
            .restrict_self()?;
        Ok(())
    }
}

/// Drops the capabilities of the thread, and of what it starts. Root gets none back by starting a
/// program, either.
fn drop_capabilities() -> io::Result<()> {
    let failed = |error| io::Error::other(format!("capabilities can't be dropped: {error}"));
    if rustix::process::getuid().is_root() || rustix::process::geteuid().is_root() {
        let (bit, lock) = (CapabilitiesSecureBits::NO_ROOT, CapabilitiesSecureBits::NO_ROOT_LOCKED);
        set_capabilities_secure_bits(bit | lock).map_err(failed)?;
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).map_err(failed)
}

/// Returns the highest descriptor that a command may inherit.
fn last_descriptor() -> u32 {
    let files = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = files.filter_map(|file| file.file_name().to_str()?.parse::<u32>().ok());
    // Without /proc, those of the usual limit.
    numbers.max().unwrap_or(1024).saturating_add(SPARE_DESCRIPTORS)
}

impl Drop for Landlock {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.temp);
    }
}
