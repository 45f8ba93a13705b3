//! Finds the compiler, and the sources of dependencies.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
        let sysroot = output(Path::new("rustc"), &["--print", "sysroot"])?;
        let sysroot = PathBuf::from(sysroot.trim());
        let cargo = sysroot.join("bin/cargo");
        if !cargo.is_file() {
            return Err(format!("the toolchain {} has no cargo", sysroot.display()));
        }
        let version = output(&sysroot.join("bin/rustc"), &["-vV"])?;
        let host = host(&version).ok_or_else(|| format!("rustc has no host: {version}"))?;
        let in_home = || Some(env::home_dir()?.join(".cargo"));
        let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(in_home);
        let cargo_home = cargo_home.ok_or("there is no home folder, so cargo has no registry")?;
        if !cargo_home.join("registry").is_dir() {
            return Err(format!("{} has no registry: run `cargo fetch`", cargo_home.display()));
        }
        Ok(Self { sysroot, host: host.to_owned(), cargo_home })
    }
}

/// Runs a program of the toolchain and returns its output.
fn output(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{} can't run: {error}", program.display()))?;
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

    use super::{host, output};

    #[test]
    fn host_is_in_the_verbose_version() {
        let version = "rustc 1.95.0 (5980 2026-04-14)\nbinary: rustc\nhost: x86_64-x-linux-gnu\n";
        assert_eq!(host(version), Some("x86_64-x-linux-gnu"));
        assert_eq!(host("rustc 1.95.0"), None);
    }

    #[test]
    fn missing_program_is_the_reason() {
        let error = output(Path::new("no-such-rustc"), &["-vV"]).unwrap_err();
        assert!(error.starts_with("no-such-rustc can't run: "), "{error}");
    }
}
