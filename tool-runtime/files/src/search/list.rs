//! The tools `file_list` and `glob`: the entries of a folder, and the files whose path matches.

use std::sync::{Mutex, PoisonError};

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Serialize;
use tool_core::{CancellationToken, OutputFormat, Row, ToolError};

use super::first::First;
use super::walk::Walk;
use crate::error::path_error;
use crate::path::RelativePath;
use crate::root::{Kind, Root};
use tool_core::__workspace::Rows;

/// The most rows of a list.
const MAX_ROWS: usize = 1000;

/// An entry of a folder.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Entry {
    /// The path within the workspace.
    path: String,
    /// `file`, `folder`, `link` or `other`.
    r#type: &'static str,
    /// The size of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

impl From<&Entry> for Row {
    fn from(entry: &Entry) -> Self {
        Self::new()
            .with("path", entry.path.clone())
            .with("type", entry.r#type)
            .with("bytes", entry.bytes)
    }
}

/// Lists a folder, and the folders in it down to `depth` levels.
pub(crate) fn list(
    root: &Root,
    folder: &RelativePath,
    depth: u8,
    (format, cancellation): (OutputFormat, CancellationToken),
) -> Result<Rows<Entry>, ToolError> {
    let mut entries = First::new(MAX_ROWS);
    let mut folders = vec![(folder.clone(), depth)];
    let mut unreadable = 0_u64;
    while let Some((parent, depth)) = folders.pop().filter(|_| !cancellation.is_cancelled()) {
        let names = match root.entries(&parent) {
            Ok(names) => names,
            Err(error) if parent == *folder => return Err(path_error(folder, error)),
            Err(_) => {
                unreadable += 1;
                continue;
            }
        };
        for (name, kind) in names {
            let path = parent.join(&name);
            let r#type = match kind {
                Kind::File => "file",
                Kind::Folder => "folder",
                Kind::Link => "link",
                Kind::Other => "other",
            };
            if kind == Kind::Folder && depth > 1 {
                folders.push((path.clone(), depth - 1));
            }
            entries.add((path, r#type));
        }
    }
    let (entries, total) = entries.into_sorted();
    let entries = entries.into_iter().map(|(path, r#type)| {
        let stat = if r#type == "file" { root.stat(&path).ok() } else { None };
        let bytes = stat.map(|(_, len)| len);
        Entry { path: path.into_string(), r#type, bytes }
    });
    let entries = entries.collect();
    let advice = "list one of the folders, or call `glob` with a pattern";
    Ok(Rows::new(format, entries, total, advice)?.note(unreadable_note(unreadable)))
}

/// A file whose path matches a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct MatchingFile {
    /// The path within the workspace.
    path: String,
}

impl From<&MatchingFile> for Row {
    fn from(file: &MatchingFile) -> Self {
        Self::new().with("path", file.path.clone())
    }
}

/// A pattern of paths below a folder. Without a `/`, it matches names in any folder. After a `!`,
/// it names the files to leave out.
pub(crate) struct PathPattern {
    matcher: GlobMatcher,
    excludes: bool,
    matches_names: bool,
    /// Whether the pattern itself names hidden files or folders.
    names_hidden: bool,
    /// The length of the folder's path and the `/` after it.
    prefix_len: usize,
}

impl PathPattern {
    pub(crate) fn parse(
        argument: &str,
        text: &str,
        folder: &RelativePath,
    ) -> Result<Self, ToolError> {
        let (excludes, text) = match text.strip_prefix('!') {
            Some(text) => (true, text),
            None => (false, text),
        };
        if text.split('/').any(|name| name == "..") {
            let text = format!("`{argument}` contains `..`: send a pattern of paths below `path`.");
            return Err(ToolError::invalid_arguments(text));
        }
        let glob = GlobBuilder::new(text.trim_start_matches("./").trim_start_matches('/'))
            .literal_separator(true)
            .build()
            .map_err(|error| {
                // Without the pattern, which may be long.
                let reason = error.kind();
                ToolError::invalid_arguments(format!(
                    "`{argument}` is not a valid pattern: {reason}."
                ))
            })?;
        let prefix_len = if folder.is_root() { 0 } else { folder.as_str().len() + 1 };
        let matches_names = !text.contains('/');
        let names_hidden =
            !excludes && text.split('/').any(|name| name.starts_with('.') && name != ".");
        let matcher = glob.compile_matcher();
        Ok(Self { matcher, excludes, matches_names, names_hidden, prefix_len })
    }

    /// Returns the note about a pattern of hidden files that matched none, because they were left
    /// out.
    pub(crate) fn hidden_note(&self, includes_all: bool) -> Option<String> {
        let is_left_out = self.names_hidden && !includes_all;
        is_left_out.then(|| "[hidden files are left out: set `all` to include them]".to_owned())
    }

    pub(crate) fn matches(&self, path: &RelativePath) -> bool {
        let below = path.as_str().get(self.prefix_len..).unwrap_or_default();
        let name = below.rsplit('/').next().unwrap_or_default();
        self.matcher.is_match(if self.matches_names { name } else { below }) != self.excludes
    }
}

/// Lists the files below a folder whose path matches a pattern.
pub(crate) fn glob(
    root: &Root,
    folder: &RelativePath,
    pattern: &str,
    includes_all: bool,
    (format, cancellation): (OutputFormat, CancellationToken),
) -> Result<Rows<MatchingFile>, ToolError> {
    let pattern = PathPattern::parse("pattern", pattern, folder)?;
    let files = Mutex::new(First::new(MAX_ROWS));
    let unreadable = Walk { root, includes_all, cancellation }.run(folder, || {
        |path: &RelativePath| {
            if pattern.matches(path) {
                let file = MatchingFile { path: path.as_str().to_owned() };
                files.lock().unwrap_or_else(PoisonError::into_inner).add(file);
            }
        }
    })?;
    let files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (files, total) = files.into_sorted();
    let advice = "send a narrower `pattern` or `path`";
    let hidden = if total == 0 { pattern.hidden_note(includes_all) } else { None };
    Ok(Rows::new(format, files, total, advice)?.note(unreadable_note(unreadable)).note(hidden))
}

/// Returns the note about folders that could not be read.
pub(crate) fn unreadable_note(count: u64) -> Option<String> {
    (count > 0).then(|| format!("[{count} folders can't be read]"))
}
