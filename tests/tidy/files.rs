//! The files that the rules read.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources of the crates that users import.
pub(crate) const LIBRARIES: [&str; 17] = [
    "tool-runtime/src",
    "tool-runtime/conformance/src",
    "tool-runtime/core/src",
    "tool-runtime/dynamic/src",
    "tool-runtime/files/src",
    "tool-runtime/html/src",
    "tool-runtime/http/src",
    "tool-runtime/json/src",
    "tool-runtime/knowledge/src",
    "tool-runtime/mcp/src",
    "tool-runtime/otel/src",
    "tool-runtime/providers/src",
    "tool-runtime/report/src",
    "tool-runtime/schedule/src",
    "tool-runtime/shell/src",
    "tool-runtime/store/src",
    "tool-runtime/web/src",
];

/// Returns the root folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_owned()
}

/// Returns all Rust files below a folder with their text.
pub(crate) fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    files(folder, &["rs"])
}

/// Returns all files below a folder that have one of these extensions, with their text.
pub(crate) fn files(folder: &str, extensions: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found_extension| {
                extensions.iter().any(|extension| found_extension == *extension)
            }) {
                let text = fs::read_to_string(&path).expect("text");
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "{folder} has no {extensions:?}");
    found.sort();
    found
}

/// Returns a path as it is written from the root of the workspace.
pub(crate) fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
