//! Builds dynamic tools: from their source to a program.
//!
//! All tools of a folder share one build folder, in which the support crate is built once.
//!
//! There is no `cargo check` first: it would compile the support crate and its dependencies a
//! second time in another form. A build reports an error of a body before it generates code, after
//! as much CPU time as `cargo check`: see `benches/README.md`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, OnceCell};
use tool_core::{ToolError, ToolErrorKind};

use super::allowed::{Metadata, violations};
use super::cargo::{Cargo, End, Folders, write};
use super::diagnostics::Diagnostics;
use super::programs::{StoredProgram, prune};
use super::source::Source;
use super::support::{self, Sources};
use super::toolchain::Toolchain;

/// The time limit of the first build, which compiles the support crate.
const FIRST_LIMIT: Duration = Duration::from_secs(30 * 60);

/// The name of the tool that is built to build the support crate.
const FIRST_NAME: &str = "dynamic-first";

/// One build at a time: cargo would wait for its lock, and the wait would count as time of the
/// build.
static TURN: Mutex<()> = Mutex::const_new(());

/// The folders, the toolchain and the limits of builds.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) folder: PathBuf,
    pub(super) toolchain: Toolchain,
    pub(super) sources: Sources,
    pub(super) limit: Duration,
    pub(super) memory: u64,
    /// How long a program is kept without use.
    pub(super) unused_retention: Duration,
}

/// Builds the tools of a folder.
#[derive(Debug)]
pub(super) struct Builder {
    setup: Setup,
    is_prepared: OnceCell<()>,
}

impl Builder {
    pub(super) fn new(setup: Setup) -> Self {
        Self { setup, is_prepared: OnceCell::new() }
    }

    /// Builds the support crate, unless it is up to date.
    pub(super) async fn prepare(&self) -> Result<(), ToolError> {
        let prepared = self.is_prepared.get_or_try_init(|| async {
            let _turn = TURN.lock().await;
            let crate_folder = self.create(FIRST_NAME, &Source::empty()).map_err(not_written)?;
            self.check(&crate_folder).await?;
            let built = self.cargo_build(&crate_folder, FIRST_LIMIT, 1).await;
            built.map_err(|error| {
                let text = "The crates that all Rust tools share do not compile";
                unavailable(text).with_source(error.text().to_owned())
            })
        });
        prepared.await.copied()
    }

    /// Returns the program of a source that was built before.
    pub(super) fn find(&self, source: &Source) -> Option<StoredProgram> {
        StoredProgram::open(&self.programs().join(self.name(source)))
    }

    /// Builds the program of a source.
    pub(super) async fn build(&self, source: &Source) -> Result<StoredProgram, ToolError> {
        self.prepare().await?;
        let _turn = TURN.lock().await;
        if let Some(built) = self.find(source) {
            return Ok(built);
        }
        let name = self.name(source);
        let crate_folder = self.create(&name, source).map_err(not_written)?;
        let body_lines = source.body.lines().count().saturating_sub(2);
        let built = self.cargo_build(&crate_folder, self.setup.limit, body_lines).await;
        let published = built.and_then(|()| {
            let program = self.setup.folder.join("target/debug").join(&name);
            StoredProgram::publish(&program, &self.programs().join(&name)).map_err(not_written)
        });
        self.remove_parts(&name);
        prune(&self.programs(), &self.setup.folder.join("crates"), self.setup.unused_retention);
        published
    }

    fn programs(&self) -> PathBuf {
        self.setup.folder.join("programs")
    }

    /// Returns the name of a source, which is that of no other source.
    fn name(&self, source: &Source) -> String {
        let Setup { toolchain: Toolchain { sysroot, host, cargo_home }, sources, .. } = &self.setup;
        let lock = support::lock("");
        let texts: [&str; 6] =
            [&source.main, &source.body, host, &lock, support::LIB, env!("CARGO_PKG_VERSION")];
        let manifests = [sources.support_manifest(), sources.manifest("", Path::new(""))];
        let texts = texts.into_iter().chain(manifests.iter().map(String::as_str));
        // Manifests are text, in which two paths may look alike.
        let paths = [sysroot, cargo_home].into_iter().chain(&sources.readable);
        let paths = paths.map(|path| path.as_os_str().as_encoded_bytes());
        let mut hash = hmac_sha256::Hash::new();
        for part in texts.map(str::as_bytes).chain(paths) {
            // With its length, so that no two sequences of parts have the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        let digits = digest.iter().take(16).map(|byte| format!("{byte:02x}"));
        format!("dynamic-{}", digits.collect::<String>())
    }

    /// Writes the support crate and the crate of a tool.
    fn create(&self, name: &str, source: &Source) -> io::Result<CrateFolder> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Setup { folder, sources, .. } = &self.setup;
        let support = folder.join("support");
        let manifest = sources.support_manifest();
        for (file, text) in [("Cargo.toml", manifest.as_str()), ("lib.rs", support::LIB)] {
            // A file that is written again would be compiled again.
            if fs::read_to_string(support.join(file)).ok().as_deref() != Some(text) {
                write(&support, &[(file, text)])?;
            }
        }
        // Cargo identifies a crate by its folder, and the first one is always the same.
        let suffix = match name {
            FIRST_NAME => String::new(),
            _ => format!("-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)),
        };
        let tool = folder.join("crates").join(format!("{name}{suffix}"));
        let manifest = sources.manifest(name, &support);
        let lock = support::lock(name);
        let files = [
            ("Cargo.toml", manifest.as_str()),
            ("Cargo.lock", &lock),
            ("main.rs", &source.main),
            ("body.rs", &source.body),
        ];
        let is_written = |(file, text): &(&str, &str)| {
            fs::read_to_string(tool.join(file)).ok().as_deref() == Some(*text)
        };
        if !files.iter().all(is_written) {
            write(&tool, &files)?;
        }
        let target = folder.join("target");
        fs::create_dir_all(&target)?;
        let is_permanent = name == FIRST_NAME;
        Ok(CrateFolder { folders: Folders { tool, support, target }, is_permanent })
    }

    async fn cargo(&self, crate_folder: &CrateFolder) -> Result<Cargo, ToolError> {
        let Setup { toolchain, sources, memory, .. } = &self.setup;
        let cargo = Cargo::new(&crate_folder.folders, toolchain, sources, *memory).await;
        cargo.map_err(|error| {
            unavailable("The sandbox of the build can't be started").with_source(error)
        })
    }

    /// Compares the packages that run code during a build with the list of those that may.
    async fn check(&self, crate_folder: &CrateFolder) -> Result<(), ToolError> {
        let cargo = self.cargo(crate_folder).await?;
        let host = self.setup.toolchain.host.as_str();
        let mut arguments = vec!["metadata", "--format-version", "1", "--offline", "--frozen"];
        arguments.extend(["--filter-platform", host]);
        let mut text = String::new();
        let ended = cargo.run(&arguments, FIRST_LIMIT, |line| text.push_str(line)).await;
        let (_, error) = ended.map_err(not_started)?;
        let metadata: Metadata = serde_json::from_str(&text).map_err(|_| {
            let text = "The dependencies of Rust tools are not on this machine, or differ from \
                the locked ones";
            unavailable(text).with_source(error.trim())
        })?;
        let violations = violations(&metadata, &support::lock(""), &self.setup.sources);
        if violations.is_empty() {
            return Ok(());
        }
        let list = format!("packages that would run code: {}", violations.join(", "));
        Err(unavailable("A dependency of Rust tools would run unknown code").with_source(list))
    }

    async fn cargo_build(
        &self,
        crate_folder: &CrateFolder,
        limit: Duration,
        body_lines: usize,
    ) -> Result<(), ToolError> {
        let cargo = self.cargo(crate_folder).await?;
        let arguments = ["build", "--offline", "--frozen", "--message-format", "json", "--quiet"];
        let mut diagnostics = Diagnostics::default();
        let ended = cargo.run(&arguments, limit, |line| diagnostics.read(line, body_lines)).await;
        let (end, error) = ended.map_err(not_started)?;
        if let Some(text) = diagnostics.text() {
            return Err(ToolError::invalid_arguments(text));
        }
        match end {
            End::Exited(status) if status.success() => Ok(()),
            End::Exited(status) => {
                let text = "The compiler failed without an error of the body: it may need too \
                    much memory. Make the body simpler.";
                Err(ToolError::invalid_arguments(text)
                    .with_source(format!("{status}: {}", error.trim())))
            }
            End::TimedOut => {
                let seconds = limit.as_secs();
                let text = format!(
                    "The body does not compile within {seconds} seconds. Make it simpler, and \
                     compute no constants."
                );
                Err(ToolError::invalid_arguments(text))
            }
        }
    }

    /// Removes what cargo keeps of a tool beside its program. The next build of the same source
    /// does not need it.
    fn remove_parts(&self, name: &str) {
        let debug = self.setup.folder.join("target/debug");
        let in_file_names = name.replace('-', "_");
        for folder in [debug.clone(), debug.join("deps"), debug.join(".fingerprint")] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let file_name = entry.file_name();
                let file_name = file_name.to_string_lossy();
                if !file_name.starts_with(name) && !file_name.starts_with(&in_file_names) {
                    continue;
                }
                // What can't be removed only takes space.
                let path = entry.path();
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            }
        }
    }
}

/// The folder of a crate, removed on drop.
#[derive(Debug)]
struct CrateFolder {
    folders: Folders,
    is_permanent: bool,
}

impl Drop for CrateFolder {
    fn drop(&mut self) {
        if !self.is_permanent {
            let _ = fs::remove_dir_all(&self.folders.tool);
        }
    }
}

/// Returns an error that the model can't correct.
fn unavailable(text: &str) -> ToolError {
    let text = format!("{text}. Rust tools can't be made now: use another `language`.");
    ToolError::new(ToolErrorKind::Unavailable, text)
}

fn not_written(error: io::Error) -> ToolError {
    unavailable("The files of the build can't be written").with_source(error)
}

fn not_started(error: io::Error) -> ToolError {
    unavailable("The compiler can't be started").with_source(error)
}
