//! Finds the compiler, and the sources of dependencies.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program of the toolchain may take to describe itself.
const LIMIT: Duration = Duration::from_secs(10);

/// How often the end of a program is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// An installed toolchain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Toolchain {
    /// The folder with `bin/cargo` and `bin/rustc`: not the proxies of rustup, which need the home
    /// folder.
    pub(super) sysroot: PathBuf,
    /// The platform of the compiler, such as `x86_64-unknown-linux-gnu`.
    pub(super) host: String,
    /// The folder of cargo, whose `registry` has the sources of dependencies.
    pub(super) cargo_home: PathBuf,
}

impl Toolchain {
    /// Finds the toolchain that `rustc` on `PATH` belongs to.
    ///
    /// # Errors
    /// Returns the reason why there is none.
    pub(super) fn find() -> Result<Self, String> {
        let sysroot = output(Path::new("rustc"), &["--print", "sysroot"], LIMIT)?;
        let sysroot = PathBuf::from(sysroot.trim());
        let cargo = sysroot.join("bin/cargo");
        if !cargo.is_file() {
            return Err(format!("the toolchain {} has no cargo", sysroot.display()));
        }
        let version = output(&sysroot.join("bin/rustc"), &["-vV"], LIMIT)?;
        let host = host(&version).ok_or_else(|| format!("`rustc -vV` names no host: {version}"))?;
        let in_home = || Some(env::home_dir()?.join(".cargo"));
        let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(in_home);
        let cargo_home = cargo_home.ok_or("there is no home folder, so cargo has no registry")?;
        if !cargo_home.join("registry").is_dir() {
            return Err(format!("{} has no registry: run `cargo fetch`", cargo_home.display()));
        }
        Ok(Self { sysroot, host: host.to_owned(), cargo_home })
    }
}

/// Runs a program of the toolchain and returns its output, which is short.
///
/// It can be a proxy of rustup, which may install a toolchain first: that is not awaited.
fn output(program: &Path, arguments: &[&str], limit: Duration) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let not_run = |error: io::Error| format!("{} can't run: {error}", program.display());
    let mut child = command.spawn().map_err(not_run)?;
    let end = Instant::now().checked_add(limit);
    while child.try_wait().map_err(not_run)?.is_none() {
        if end.is_some_and(|end| Instant::now() >= end) {
            // It may have ended in the meantime.
            let _ = child.kill();
            child.wait().map_err(not_run)?;
            return Err(format!("{} did not end within {limit:?}", program.display()));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let output = child.wait_with_output().map_err(not_run)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} failed: {}", program.display(), error.trim()))
}

/// Returns the platform in the output of `rustc -vV`.
fn host(version: &str) -> Option<&str> {
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(str::trim)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::{host, output};

    #[test]
    fn host_is_in_the_verbose_version() {
        let version = "rustc 1.95.0 (5980 2026-04-14)\nbinary: rustc\nhost: x86_64-x-linux-gnu\n";
        assert_eq!(host(version), Some("x86_64-x-linux-gnu"));
        assert_eq!(host("rustc 1.95.0"), None);
    }

    #[test]
    fn missing_program_is_the_reason() {
        let limit = Duration::from_secs(10);
        let error = output(Path::new("no-such-rustc"), &["-vV"], limit).unwrap_err();
        assert!(error.starts_with("no-such-rustc can't run: "), "{error}");
        let error = output(Path::new("/bin/sh"), &["-c", "echo no >&2; false"], limit).unwrap_err();
        assert_eq!(error, "/bin/sh failed: no");
        assert_eq!(output(Path::new("/bin/echo"), &["yes"], limit).unwrap(), "yes\n");
    }

    #[test]
    fn program_that_does_not_end_is_killed() {
        let limit = Duration::from_millis(50);
        let error = output(Path::new("/bin/sleep"), &["600"], limit).unwrap_err();
        assert_eq!(error, "/bin/sleep did not end within 50ms");
    }
}
