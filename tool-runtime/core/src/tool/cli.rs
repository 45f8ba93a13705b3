use std::path::Path;
use std::{env, fs};

use super::Availability;

/// Returns whether an executable of this name is on `PATH`.
pub(super) fn availability(binary: &str) -> Availability {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_found = env::split_paths(&path).any(|folder| {
        is_executable(&folder.join(binary))
            || is_executable(&folder.join(format!("{binary}{}", env::consts::EXE_SUFFIX)))
    });
    if is_found {
        Availability::Available
    } else {
        Availability::Unavailable(format!("`{binary}` is not on PATH"))
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file())
}
