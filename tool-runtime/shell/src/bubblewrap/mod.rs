//! The command line of bubblewrap.

pub(crate) mod cgroup;
mod own_files;
mod program;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::command::{Command, Output, Repositories, shell};
use crate::error::SandboxError;
use crate::filter;
use crate::limits::{NO_BASH, NO_FILE_LIMIT, environment, limits, prlimit};
use crate::mounts;
use crate::sandbox::{Access, Sandbox};
use crate::workspace::{Folder, Namespace, Part, Scan, WrittenFolders};
use cgroup::{Cgroup, Cgroups};
use own_files::OwnFiles;
use program::Program;

/// Runs in the sandbox before the command.
const ENTRY: &str = include_str!("entry.sh");

/// The most bytes of each private file system.
const TMPFS_BYTES: &str = "268435456";

/// The protection that takes a mount namespace outside of the sandbox.
const NO_OWN_FILES: &str = "the modes and times of bubblewrap and of devices that belong to the user \
    (no mount namespace)";

/// Options for what a sandbox unshares and drops. `--unshare-all` would only try.
const NAMESPACES: [&str; 11] = [
    "--unshare-user",
    "--disable-userns",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
];

/// Sandboxes of one workspace by bubblewrap.
#[derive(Debug)]
pub(crate) struct Bubblewrap {
    program: Program,
    workspace: PathBuf,
    root: Folder,
    written: Arc<WrittenFolders>,
    sandbox: Sandbox,
    /// The paths that the program lets commands read: without links, and in the sandbox.
    readable: Vec<(PathBuf, PathBuf)>,
    filter: Vec<u8>,
    cgroups: Option<Cgroups>,
    own_files: Option<OwnFiles>,
}

/// The means of a machine to enforce limits and to close files.
#[derive(Clone, Copy, Debug)]
struct Machine {
    has_groups: bool,
    has_prlimit: bool,
    has_bash: bool,
    is_root: bool,
    has_own_files: bool,
}

impl Machine {
    fn not_enforced(self) -> impl Iterator<Item = &'static str> {
        let Self { has_groups, has_prlimit, has_bash, is_root, has_own_files } = self;
        [
            (!has_groups, "the memory of all processes together (no writable cgroup v2)"),
            (!has_groups && is_root, "the number of processes (root, and no writable cgroup v2)"),
            (!has_groups && !has_prlimit, "the memory and the number of processes (no prlimit)"),
            (!has_prlimit, NO_FILE_LIMIT),
            (!has_bash, NO_BASH),
            (has_own_files, NO_OWN_FILES),
        ]
        .into_iter()
        .filter_map(|(is_missing, text)| is_missing.then_some(text))
    }
}

/// A process that is ready to be started, by the thread that holds this.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) process: Process,
    pub(crate) cgroup: Option<Cgroup>,
    pub(crate) namespace: Namespace,
    /// Open until the process has started. They are inherited, so they must not live longer.
    _files: [File; 3],
}

impl Bubblewrap {
    /// Finds out whether this machine can enforce the sandbox, by running a command in it.
    pub(crate) fn new(
        workspace: PathBuf,
        sandbox: Sandbox,
        writable: &[PathBuf],
        written: Arc<WrittenFolders>,
    ) -> Result<Self, SandboxError> {
        let folders: Vec<_> = writable.iter().chain([&workspace]).cloned().collect();
        let program = Program::find(&folders).map_err(SandboxError::new)?;
        let root = Folder::open(&workspace)?;
        let filter = filter::bytes().map_err(SandboxError::new)?;
        let cgroups = Cgroups::find();
        let own_files = OwnFiles::find(&program.path);
        let readable = mounts::resolved(&sandbox.readable, &workspace, writable);
        let bubblewrap = Self {
            program,
            workspace,
            root,
            written,
            sandbox,
            readable,
            filter,
            cgroups,
            own_files,
        };
        bubblewrap.probe()?;
        Ok(bubblewrap)
    }

    fn probe(&self) -> Result<(), SandboxError> {
        let failed = |reason: String| SandboxError::new(reason.trim().replace('\n', "; "));
        let probe = Command::Argv(vec!["true".to_owned()]);
        let parts = self.parts(Repositories::ReadOnly, &self.written.scan());
        let launch = parts.and_then(|parts| self.launch(&probe, Output::Merged, &parts));
        let mut launch = launch.map_err(|error| failed(error.to_string()))?;
        let output = launch.process.stdin(Stdio::null()).output();
        let output = output.map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        let error = String::from_utf8_lossy(&output.stderr);
        Err(failed(format!("{error} ({})", output.status)))
    }

    /// Returns what enforces the sandbox.
    pub(crate) fn name(&self) -> String {
        format!("bubblewrap {}", self.program.version)
    }

    /// Returns what this machine can't enforce.
    pub(crate) fn not_enforced(&self) -> Vec<String> {
        let machine = Machine {
            has_groups: self.cgroups.is_some(),
            has_prlimit: prlimit().is_some(),
            has_bash: shell().ends_with("bash"),
            is_root: rustix::process::geteuid().is_root(),
            has_own_files: self.own_files.as_ref().is_some_and(|it| it.starter().is_none()),
        };
        machine.not_enforced().map(Into::into).collect()
    }

    /// Prepares a process that runs a command. The calling thread must start it at once, and live
    /// as long as it is to run: bubblewrap ends with the thread that started it.
    pub(crate) fn launch(
        &self,
        command: &Command,
        output: Output,
        parts: &[Part],
    ) -> io::Result<Launch> {
        // The namespace reads what bubblewrap writes through another handle.
        let info = File::from(memfd_create("info", MemfdFlags::empty())?);
        let namespace = Namespace::new(info.try_clone()?);
        let filter = inheritable_file(&self.filter)?;
        // Every user can see the arguments of a process.
        let environment = inheritable_file(&self.environment())?;
        let cgroup = match &self.cgroups {
            Some(cgroups) => {
                Some(cgroups.create(self.sandbox.max_memory_bytes, self.sandbox.max_processes)?)
            }
            None => None,
        };
        let mut process = self.process(cgroup.as_ref());
        // The first process of the sandbox shows the environment that bubblewrap was started with.
        process.env_clear().current_dir("/");
        process.arg("--seccomp").arg(filter.as_raw_fd().to_string());
        process.arg("--info-fd").arg(info.as_raw_fd().to_string());
        process.args(NAMESPACES).arg("--args").arg(environment.as_raw_fd().to_string());
        process.args(mounts::system(&self.sandbox.hidden));
        process.args(["--proc", "/proc", "--dev", "/dev"]).args(mounts::masks());
        for path in ["/dev/shm", "/tmp"] {
            process.args(["--size", TMPFS_BYTES, "--tmpfs", path]);
        }
        for (source, path) in &self.readable {
            process.arg("--ro-bind").arg(source).arg(path);
        }
        for part in parts {
            let option = if part.is_writable { "--bind" } else { "--ro-bind" };
            process.arg(option).arg(&part.path).arg(&part.path);
        }
        for path in ["/", "/proc", "/dev"] {
            process.args(["--remount-ro", path]);
        }
        process.arg("--chdir").arg(&self.workspace).arg("--");
        process.args(limits(&self.sandbox));
        process
            .args([shell(), "-c", ENTRY, "entry", output.word()])
            .args(parts.iter().flat_map(check));
        process.arg("--").args(command.argv());
        Ok(Launch { process, cgroup, namespace, _files: [filter, environment, info] })
    }

    /// Returns the process of bubblewrap, to which the options are added.
    fn process(&self, cgroup: Option<&Cgroup>) -> Process {
        let program = self.program.path.as_os_str();
        let starter = self.own_files.as_ref().and_then(OwnFiles::starter);
        let [words, options] = starter.map_or([&[][..]; 2], |it| [&it.words, &it.options]);
        let mut words = words.iter().map(OsString::as_os_str).chain([program]);
        let first = Path::new(words.next().unwrap_or(program));
        let mut process = match cgroup {
            Some(cgroup) => cgroup.enter(first),
            None => Process::new(first),
        };
        process.args(words).args(options);
        process
    }

    /// Returns the workspace and the other folders that commands may write, and what of them is
    /// protected.
    pub(crate) fn parts(
        &self,
        repositories: Repositories,
        scans: &[Scan],
    ) -> io::Result<Vec<Part>> {
        let parts = self.written.parts(repositories, scans).map_err(io::Error::other)?;
        let (mut parts, protected) = parts;
        if self.sandbox.access != Access::WorkspaceWrite {
            parts.push(self.root.part(false)?);
        }
        // Outer folders first: a later mount covers what is below it.
        parts.sort_by(|part, other| part.path.cmp(&other.path));
        parts.extend(protected);
        Ok(parts)
    }

    /// Returns the options that set the environment, as bubblewrap reads them from a file.
    fn environment(&self) -> Vec<u8> {
        let options = environment(&self.sandbox);
        let options = options.flat_map(|(name, value)| ["--setenv", name, value]);
        let words = std::iter::once("--clearenv").chain(options);
        words.flat_map(|word| word.bytes().chain([0])).collect()
    }
}

/// Returns the words with which `entry.sh` checks a mount.
fn check(part: &Part) -> [OsString; 3] {
    let mut entry = escaped(part.path.as_os_str());
    entry.push(if part.is_writable { " rw" } else { " ro" });
    [part.path.clone().into(), part.identity.clone().into(), entry]
}

/// Escapes a path as the kernel does in the table of mounts.
fn escaped(path: &OsStr) -> OsString {
    let mut escaped = Vec::new();
    for &byte in path.as_bytes() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => escaped.extend(format!("\\{byte:03o}").bytes()),
            _ => escaped.push(byte),
        }
    }
    OsString::from_vec(escaped)
}

/// Returns a file in memory that a process inherits and no process can change.
fn inheritable_file(bytes: &[u8]) -> io::Result<File> {
    let file = memfd_create("filter", MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(file);
    file.write_all(bytes)?;
    file.rewind()?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::{Machine, escaped};

    #[test]
    fn everything_that_a_machine_lacks_is_named() {
        let all = Machine {
            has_groups: true,
            has_prlimit: true,
            has_bash: true,
            is_root: true,
            has_own_files: false,
        };
        for (machine, expected) in [
            (all, &[][..]),
            (Machine { has_groups: false, ..all }, &["the memory of all", "the number of"]),
            (Machine { has_groups: false, is_root: false, ..all }, &["the memory of all"]),
            (Machine { has_prlimit: false, ..all }, &["the size of files"]),
            (Machine { has_bash: false, ..all }, &["the hiding of files"]),
            (Machine { has_own_files: true, ..all }, &["the modes and times of bubblewrap"]),
            (
                Machine { has_groups: false, has_prlimit: false, is_root: false, ..all },
                &["the memory of all", "the memory and the number", "the size of files"],
            ),
        ] {
            let missing: Vec<_> = machine.not_enforced().collect();
            assert_eq!(missing.len(), expected.len(), "{machine:?}: {missing:?}");
            let mut pairs = missing.iter().zip(expected);
            assert!(pairs.all(|(text, start)| text.starts_with(start)), "{machine:?}: {missing:?}");
        }
    }

    #[test]
    fn paths_are_escaped_like_those_of_mounts() {
        assert_eq!(escaped(OsStr::new("/a b\\c\n\té")), OsStr::new(r"/a\040b\134c\012\011é"));
    }
}
