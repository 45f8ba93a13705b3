//! The links and repositories that a command has left behind.

/// The lines for the result of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftBehind {
    /// The links that were removed, and what could not be checked.
    pub(crate) found: Vec<String>,
    /// The repositories in subfolders that are new.
    pub(crate) created: Vec<String>,
}

impl LeftBehind {
    #[cfg(target_os = "linux")]
    pub(crate) fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.created.extend(other.created);
    }

    pub(crate) fn into_lines(mut self) -> Vec<String> {
        self.found.extend(self.created);
        self.found
    }
}
