//! Tools whose bodies are written in Rust.
//!
//! # From spec to tool
//! 1. `source.rs` generates the source of a crate from a checked spec: `main.rs` has the types of
//!    the arguments (`types.rs`, `literal.rs`) and one function under `#[tool]`, `body.rs` has the
//!    body.
//! 2. `build.rs` writes the crate with our manifest and lock file beside the support crate
//!    (`support.rs`), compares what would run code during the build with a list (`allowed.rs`), and
//!    runs cargo (`cargo.rs`) of the toolchain (`toolchain.rs`) in a sandbox. `diagnostics.rs`
//!    converts errors of the compiler into a text for the model.
//! 3. `programs.rs` stores the program. `program.rs` runs it in the sandbox of the tool, one
//!    process for each call, and speaks MCP with it.
//!
//! # Invariants
//! - Nothing that a model wrote runs during a build, and nothing of it runs outside of a sandbox.
//! - The definition of a tool is that of its spec: a program that serves another one is not called.
//! - No process outlives its call or its build.

mod allowed;
mod build;
mod cargo;
mod diagnostics;
mod literal;
mod program;
mod programs;
mod source;
mod support;
mod toolchain;
mod types;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tool_core::{Availability, Tool, ToolError, ToolErrorKind, async_trait};
use tool_shell::{Sandbox, SandboxLauncher, SandboxStatus};

use crate::{BodyLanguage, CheckedSpec, SpecError, ToolBackend};
use build::{Builder, Setup};
use program::Program;
use programs::StoredProgram;
use source::Source;
use support::Sources;
use toolchain::Toolchain;

/// The time limit of a build, after the first one.
const BUILD_TIMEOUT: Duration = Duration::from_secs(60);

/// The memory of each process of a build.
const BUILD_MEMORY: u64 = 4 << 30;

/// How long a program is kept without use.
const UNUSED_RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The memory of a call.
const CALL_MEMORY: u64 = 512 << 20;

/// The processes and threads of a call.
const CALL_PROCESSES: u32 = 32;

/// The largest file that a call may write.
const CALL_FILE_BYTES: u64 = 64 << 20;

/// Makes tools whose bodies are written in Rust. They are compiled and run in sandboxes.
///
/// A body is the body of an async function: `args` is a struct with the arguments, and the body
/// returns `Result<impl Serialize, ToolError>`, such as `Ok(args.text.len())`. It can use `std`,
/// `serde` and `serde_json`.
///
/// All tools share a folder, which only this program should write. The first build compiles what
/// they have in common, which takes minutes; each further one takes seconds. A tool that was built
/// before is not built again, not even after a restart.
///
/// Clones share the toolchain that was found, and the check that the crates of all tools are
/// compiled.
///
/// This requires Linux with bubblewrap, a Rust toolchain with a linker, and the sources of the
/// dependencies in the registry folder of cargo. Without them, the backend is
/// [unavailable](ToolBackend::availability), with the reason.
///
/// ```no_run
/// use tool_runtime::dynamic::{
///     ArgumentField, ArgumentType, BodyLanguage, RustTools, ToolBackend, ToolSpec,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::ToolError> {
/// let tools = RustTools::new("/var/lib/agent/rust-tools");
/// println!("{}", tools.status()?);
/// let body = "Ok(args.text.split_whitespace().count())";
/// let spec = ToolSpec::new(BodyLanguage::Rust, "count_words", "Counts words.", body)
///     .field(ArgumentField::new("text", ArgumentType::String))
///     .check()?;
/// let tool = tools.build(&spec).await?;
/// assert_eq!(tool.definition().name, "count_words");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct RustTools {
    folder: PathBuf,
    sources: PathBuf,
    grants: Vec<Grant>,
    build_timeout: Duration,
    max_build_memory_bytes: u64,
    unused_retention: Duration,
    max_memory_bytes: u64,
    /// The toolchain and the sandbox, if they were found. The next attempt can succeed.
    machine: Arc<Mutex<Option<Machine>>>,
}

/// The file or folder that a capability opens to a body.
#[derive(Clone, Debug)]
struct Grant {
    capability: String,
    path: PathBuf,
    is_writable: bool,
}

/// The toolchain and the sandbox of this machine.
#[derive(Clone)]
struct Machine {
    builder: Arc<Builder>,
    status: SandboxStatus,
}

/// A search for the toolchain and the sandbox, on any thread.
struct Search {
    folder: PathBuf,
    sources: PathBuf,
    limit: Duration,
    memory: u64,
    unused_retention: Duration,
    machine: Arc<Mutex<Option<Machine>>>,
}

/// The reason why tools in Rust can't be made on this machine.
///
/// ```
/// use tool_runtime::dynamic::RustTools;
///
/// let error = RustTools::new("rust-tools").sources("no/such/folder").status().unwrap_err();
/// assert!(error.to_string().starts_with("tools in Rust are unavailable: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tools in Rust are unavailable: {reason}")]
#[non_exhaustive]
pub struct RustToolsError {
    /// The reason, such as `rustc can't run: No such file or directory`.
    pub reason: String,
}

impl RustTools {
    /// Creates a backend that keeps its builds and programs in a folder, which is created.
    ///
    /// The folder takes about 400 MB for what all tools share, and 20 MB for each tool.
    ///
    /// ```
    /// use tool_runtime::dynamic::RustTools;
    ///
    /// let tools = RustTools::new("rust-tools").max_memory_bytes(256 << 20);
    /// # drop(tools);
    /// ```
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            sources: support::folder_of_sources(Path::new(env!("CARGO_MANIFEST_DIR"))).to_owned(),
            grants: Vec::new(),
            build_timeout: BUILD_TIMEOUT,
            max_build_memory_bytes: BUILD_MEMORY,
            unused_retention: UNUSED_RETENTION,
            max_memory_bytes: CALL_MEMORY,
            machine: Arc::default(),
        }
    }

    /// Sets where the sources of `tool-runtime` and its sibling crates are: a checkout of the
    /// project, or a folder with the published crates. Default: where this program found them when
    /// it was compiled.
    pub fn sources(mut self, folder: impl Into<PathBuf>) -> Self {
        self.sources = folder.into();
        self.unchecked()
    }

    /// Lets bodies with a capability read a file or folder.
    ///
    /// ```
    /// use tool_runtime::dynamic::RustTools;
    ///
    /// let tools = RustTools::new("rust-tools")
    ///     .readable("notes", "/srv/notes")
    ///     .writable("scratch", "/srv/scratch");
    /// # drop(tools);
    /// ```
    pub fn readable(self, capability: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.grant(capability.into(), path.into(), false)
    }

    /// Lets bodies with a capability read and write a folder.
    pub fn writable(self, capability: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        self.grant(capability.into(), folder.into(), true)
    }

    /// Forgets what was found on the machine, because an option of it has changed.
    fn unchecked(mut self) -> Self {
        self.machine = Arc::default();
        self
    }

    fn grant(mut self, capability: String, path: PathBuf, is_writable: bool) -> Self {
        self.grants.push(Grant { capability, path, is_writable });
        self
    }

    /// Limits the time of a build, without the crates that all tools share. Default: 1 minute.
    pub fn build_timeout(mut self, timeout: Duration) -> Self {
        self.build_timeout = timeout;
        self.unchecked()
    }

    /// Limits the memory of a build. Default: 4 GiB.
    pub fn max_build_memory_bytes(mut self, bytes: u64) -> Self {
        self.max_build_memory_bytes = bytes;
        self.unchecked()
    }

    /// Removes a program that was not used for this time, when another tool is built. Default: 30
    /// days.
    ///
    /// The program of a tool that exists in a process is never removed. A removed one is built
    /// again when its tool is made again, such as after a restart.
    pub fn unused_retention(mut self, limit: Duration) -> Self {
        self.unused_retention = limit;
        self.unchecked()
    }

    /// Limits the memory of a call. Default: 512 MiB.
    ///
    /// Without a writable cgroup v2, the limit applies to the data of each process.
    pub fn max_memory_bytes(mut self, bytes: u64) -> Self {
        self.max_memory_bytes = bytes;
        self
    }

    /// Returns the status of the sandbox of builds and calls, with what this machine can't enforce.
    ///
    /// Call it when the program starts. Until it succeeds, each call blocks the thread for about
    /// 0.2 seconds, and for at most 20 if the toolchain does not answer. Changes of the machine
    /// after the first success are not noticed.
    ///
    /// # Errors
    /// Returns the reason why tools can't be made, such as that there is no toolchain.
    pub fn status(&self) -> Result<SandboxStatus, RustToolsError> {
        self.search().machine().map(|machine| machine.status)
    }

    /// Compiles the crates that all tools share, so that the first tool takes seconds, too.
    ///
    /// If you do not call it, the first [build](ToolBackend::build) compiles them.
    ///
    /// # Errors
    /// Returns an error if the dependencies are not on this machine, would run unknown code during
    /// a build, or do not compile.
    ///
    /// # Cancellation
    /// If the future is dropped, the build stops. The next one continues.
    ///
    /// ```no_run
    /// use tool_runtime::dynamic::RustTools;
    ///
    /// # async fn prepare() -> Result<(), tool_runtime::ToolError> {
    /// RustTools::new("/var/lib/agent/rust-tools").prepare().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn prepare(&self) -> Result<(), ToolError> {
        self.builder().await?.prepare().await
    }

    fn search(&self) -> Search {
        Search {
            folder: self.folder.clone(),
            sources: self.sources.clone(),
            limit: self.build_timeout,
            memory: self.max_build_memory_bytes,
            unused_retention: self.unused_retention,
            machine: Arc::clone(&self.machine),
        }
    }

    async fn builder(&self) -> Result<Arc<Builder>, ToolError> {
        let search = self.search();
        let machine = spawn_blocking(move || search.machine()).await?;
        let machine = machine.map_err(|error| {
            let text = format!("The tool was not made: {error}. Use another `language`.");
            ToolError::new(ToolErrorKind::Unavailable, text)
        })?;
        Ok(machine.builder)
    }

    async fn program(
        &self,
        stored: StoredProgram,
        spec: &CheckedSpec,
    ) -> Result<Program, ToolError> {
        let (sandbox, definition) = (self.sandbox(spec), spec.definition().clone());
        Program::new(stored, sandbox, definition).await.map_err(|error| {
            let text = "The tool was not made: its sandbox can't be started.";
            ToolError::new(ToolErrorKind::Unavailable, text).with_source(error)
        })
    }

    /// Returns the sandbox of calls of a tool.
    fn sandbox(&self, spec: &CheckedSpec) -> Sandbox {
        let sandbox = Sandbox::read_only()
            .hidden("/etc/passwd")
            .hidden("/etc/group")
            .max_memory_bytes(self.max_memory_bytes)
            .max_processes(CALL_PROCESSES)
            .max_file_bytes(CALL_FILE_BYTES);
        let granted = self.grants.iter().filter(|grant| spec.has_capability(&grant.capability));
        granted.fold(sandbox, |sandbox, grant| {
            if grant.is_writable {
                sandbox.writable(&grant.path)
            } else {
                sandbox.readable(&grant.path)
            }
        })
    }
}

#[async_trait]
impl ToolBackend for RustTools {
    fn language(&self) -> BodyLanguage {
        BodyLanguage::Rust
    }

    fn availability(&self) -> Availability {
        match self.search().machine() {
            Ok(_) => Availability::Available,
            Err(error) => Availability::Unavailable(error.to_string()),
        }
    }

    fn capabilities(&self) -> Vec<String> {
        self.grants.iter().map(|grant| grant.capability.clone()).collect()
    }

    fn check(&self, spec: &CheckedSpec) -> Vec<SpecError> {
        let mut errors = spec.unsupported_capabilities(&self.capabilities());
        if !spec.spec().tools.is_empty() {
            errors.push(SpecError::new("tools", "remove it: a body in Rust can't call tools"));
        }
        errors
    }

    async fn build(&self, spec: &CheckedSpec) -> Result<Arc<dyn Tool>, ToolError> {
        let (builder, source) = (self.builder().await?, Source::of(spec));
        if let Some(stored) = builder.find(&source) {
            let program = self.program(stored, spec).await?;
            if program.check().await.is_ok() {
                return Ok(Arc::new(program));
            }
            // It may be damaged, such as by a failure of the disk.
            let _ = program.remove();
        }
        let program = self.program(builder.build(&source).await?, spec).await?;
        program.check().await?;
        Ok(Arc::new(program))
    }
}

impl Search {
    /// Returns what was found, or searches for it.
    fn machine(&self) -> Result<Machine, RustToolsError> {
        let mut known = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = &*known {
            return Ok(machine.clone());
        }
        let found = self.find().map_err(|reason| RustToolsError { reason })?;
        Ok(known.insert(found).clone())
    }

    fn find(&self) -> Result<Machine, String> {
        let toolchain = Toolchain::find()?;
        let sources = Sources::find(&self.sources)?;
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| format!("{} can't be created: {error}", self.folder.display()))?;
        let folder = self.folder.canonicalize().map_err(|error| error.to_string())?;
        let launcher = SandboxLauncher::new(&folder, Sandbox::read_only());
        let status = launcher.map_err(|error| error.reason)?.status().clone();
        let Self { limit, memory, unused_retention, .. } = *self;
        let setup = Setup { folder, toolchain, sources, limit, memory, unused_retention };
        Ok(Machine { builder: Arc::new(Builder::new(setup)), status })
    }
}

impl fmt::Debug for RustTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RustTools")
            .field("folder", &self.folder)
            .field("sources", &self.sources)
            .field("grants", &self.grants)
            .finish_non_exhaustive()
    }
}
