//! The identity of an entry in a catalog.

use std::fmt;

use super::content::EntryKind;

/// The kind and the name of an entry, which identify it in a catalog.
///
/// ```
/// use tool_runtime::dynamic::{EntryId, EntryKind};
///
/// let id = EntryId::new(EntryKind::Tool, "add");
/// assert_eq!(id, EntryId::tool("add"));
/// assert_eq!(id.to_string(), "tool `add`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    kind: EntryKind,
    name: String,
}

impl EntryId {
    /// Creates the id of an entry of any kind.
    pub fn new(kind: EntryKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }

    /// Creates the id of a dynamic tool.
    pub fn tool(name: impl Into<String>) -> Self {
        Self::new(EntryKind::Tool, name)
    }

    /// Creates the id of a connection to an MCP server.
    pub fn connection(name: impl Into<String>) -> Self {
        Self::new(EntryKind::Connection, name)
    }

    /// Returns the kind of the entry.
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// Returns the name of the entry.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the key of the entry's record.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }

    /// Returns the entry that has this key.
    pub(super) fn parse(key: &str) -> Option<Self> {
        let (kind, name) = key.split_once('/')?;
        let kind = EntryKind::ALL.into_iter().find(|it| it.as_str() == kind)?;
        Some(Self::new(kind, name))
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, self.name)
    }
}
