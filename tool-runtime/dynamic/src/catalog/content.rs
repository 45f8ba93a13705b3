//! Contents of the entries of a catalog.

use std::fmt;

use serde::{Deserialize, Serialize};
use tool_core::ToolPreference;

use super::connection::Connection;
use crate::spec::ToolSpec;

/// The kind of an entry: a tool, a connection, a preference or a description.
///
/// ```
/// use tool_runtime::dynamic::EntryKind;
///
/// assert_eq!(EntryKind::Connection.to_string(), "connection");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// A connection to an MCP server.
    Connection,
    /// A dynamic tool, with its spec.
    Tool,
    /// A preference of a tool, by its full name.
    Preference,
    /// A description that replaces that of a tool.
    Description,
}

impl EntryKind {
    pub(super) const ALL: [Self; 4] =
        [Self::Connection, Self::Tool, Self::Preference, Self::Description];

    /// Returns the name of the kind in a store, such as `tool`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Tool => "tool",
            Self::Preference => "preference",
            Self::Description => "description",
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The content of a catalog's entry, which determines its kind.
///
/// ```
/// use tool_runtime::dynamic::{Connection, EntryContent, EntryKind};
///
/// let content = EntryContent::from(Connection::http("https://example.com/mcp"));
/// assert_eq!(content.kind(), EntryKind::Connection);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryContent {
    /// A connection to an MCP server, whose tools are registered under its name.
    Connection(Connection),
    /// A dynamic tool, described by its spec.
    Tool(Box<ToolSpec>),
    /// A preference of the tool whose full name is the name of the entry.
    Preference(ToolPreference),
    /// A description that replaces that of the tools whose name is the name of the entry.
    Description(String),
}

impl EntryContent {
    /// Returns the kind of the entry.
    pub fn kind(&self) -> EntryKind {
        match self {
            Self::Connection(_) => EntryKind::Connection,
            Self::Tool(_) => EntryKind::Tool,
            Self::Preference(_) => EntryKind::Preference,
            Self::Description(_) => EntryKind::Description,
        }
    }
}

impl From<Connection> for EntryContent {
    fn from(connection: Connection) -> Self {
        Self::Connection(connection)
    }
}

impl From<ToolSpec> for EntryContent {
    fn from(spec: ToolSpec) -> Self {
        Self::Tool(Box::new(spec))
    }
}

impl From<ToolPreference> for EntryContent {
    fn from(preference: ToolPreference) -> Self {
        Self::Preference(preference)
    }
}
