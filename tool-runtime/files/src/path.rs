//! Paths of files within the workspace, as a model writes them.

use std::fmt;

use tool_core::{ToolError, ToolErrorKind};

use crate::names::{is_git_metadata, windows_refusal};

/// The longest path that the kernel accepts, in bytes.
const MAX_LEN: usize = 4096;

/// A relative path without `..`, whose components are separated by one `/`.
///
/// The syntax alone does not confine anything: [`Root`](crate::root::Root) resolves the path below
/// the folder of the workspace, and refuses links on the way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RelativePath(String);

impl RelativePath {
    /// Returns the path of the workspace itself.
    pub(crate) fn root() -> Self {
        Self(String::new())
    }

    /// Parses a path. An error names the argument of the call that contains it.
    pub(crate) fn parse(argument: &str, text: &str) -> Result<Self, ToolError> {
        let refuse = |reason: &str| {
            let text = format!("`{argument}` {reason}.");
            Err(ToolError::new(ToolErrorKind::Denied, text))
        };
        if text.len() > MAX_LEN {
            return refuse("is too long: send a shorter path");
        }
        if text.contains(char::is_control) {
            return refuse("contains a control character: send a path without it");
        }
        if text.starts_with('/') {
            return refuse("is absolute: send a path relative to the workspace");
        }
        let mut path = String::with_capacity(text.len());
        for component in text.split('/') {
            match component {
                "" | "." => {}
                ".." => return refuse("contains `..`: send a path relative to the workspace"),
                name => {
                    if let Some(reason) = windows_refusal(name).filter(|_| cfg!(windows)) {
                        return refuse(reason);
                    }
                    if !path.is_empty() {
                        path.push('/');
                    }
                    path.push_str(name);
                }
            }
        }
        Ok(Self(path))
    }

    /// Parses the path of a file that is to be changed.
    pub(crate) fn parse_for_change(argument: &str, text: &str) -> Result<Self, ToolError> {
        let path = Self::parse(argument, text)?;
        path.check_changeable()?;
        if path.is_root() {
            let text = format!("`{argument}` is empty: send the path of a file.");
            return Err(ToolError::invalid_arguments(text));
        }
        if text.ends_with('/') {
            let text = format!("`{argument}` ends with `/`: send the path of a file.");
            return Err(ToolError::invalid_arguments(text));
        }
        Ok(path)
    }

    /// Refuses the metadata of git: a hook that a model writes would run with the rights of the
    /// person who commits next.
    pub(crate) fn check_changeable(&self) -> Result<(), ToolError> {
        if !self.names().any(is_git_metadata) {
            return Ok(());
        }
        let text = format!("`{self}` belongs to the metadata of git, which can't be changed.");
        Err(ToolError::new(ToolErrorKind::Denied, text))
    }

    /// Returns the names of the folders and of the file, in their order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// Returns the path of an entry of this folder.
    pub(crate) fn join(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}/{name}", self.0)) }
    }

    /// Returns the path of the folder, and the name within it.
    pub(crate) fn split(&self) -> (Self, &str) {
        match self.0.rsplit_once('/') {
            Some((folder, name)) => (Self(folder.to_owned()), name),
            None => (Self::root(), &self.0),
        }
    }

    /// Whether this is the folder of the workspace itself.
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path; empty for the workspace itself.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

/// Prints `.` for the workspace itself.
impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "." } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::RelativePath;

    #[test]
    fn paths_are_normalized() {
        for (text, expected) in [("", ""), (".", ""), ("./a//b/./c/", "a/b/c"), ("a b", "a b")] {
            assert_eq!(RelativePath::parse("path", text).unwrap().as_str(), expected, "{text}");
        }
    }

    #[test]
    fn folder_and_name_are_separated() {
        let path = RelativePath::parse("path", "a/b/c").unwrap();
        let (folder, name) = path.split();
        assert_eq!((folder.as_str(), name), ("a/b", "c"));
        assert_eq!(folder.join(name), path);
    }
}
