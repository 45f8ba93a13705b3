//! Entries with their versions, and how they are stored.

use serde::{Deserialize, Serialize};
use tool_core::ToolDefinition;
use tool_core::records::{CorruptRecord, Record};

use super::content::EntryContent;
use super::error::CatalogError;
use super::id::EntryId;
use super::validation::check_name_of;

/// One version of an entry, which never changes.
///
/// ```
/// use tool_runtime::dynamic::{Catalog, Connection};
/// use tool_runtime::records::MemoryRecords;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
/// let catalog = Catalog::new(MemoryRecords::new());
/// let entry = catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
/// assert_eq!(entry.current().number, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EntryVersion {
    /// The number of the version, from 1.
    pub number: u64,
    /// The content of this version.
    pub content: EntryContent,
}

/// An entry of a catalog with its versions.
///
/// ```
/// use tool_runtime::dynamic::{Catalog, Connection, EntryId};
/// use tool_runtime::records::MemoryRecords;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
/// let catalog = Catalog::new(MemoryRecords::new());
/// catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
/// let entry = catalog.replace("docs", Connection::http("https://example.com/v2/mcp")).await?;
/// assert_eq!(entry.versions().count(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogEntry {
    id: EntryId,
    earlier: Vec<EntryVersion>,
    current: EntryVersion,
    definitions: Vec<ToolDefinition>,
    revision: u64,
}

/// An entry as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredEntry {
    /// Oldest first.
    versions: Vec<EntryVersion>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    definitions: Vec<ToolDefinition>,
}

impl CatalogEntry {
    /// The maximum number of versions. The oldest version is dropped when another one is added.
    pub const MAX_VERSIONS: usize = 20;

    pub(super) fn new(id: EntryId, content: EntryContent) -> Self {
        let current = EntryVersion { number: 1, content };
        Self { id, earlier: Vec::new(), current, definitions: Vec::new(), revision: 0 }
    }

    /// Returns the kind and the name of the entry.
    pub fn id(&self) -> &EntryId {
        &self.id
    }

    /// Returns the version that is in effect.
    pub fn current(&self) -> &EntryVersion {
        &self.current
    }

    /// Returns the versions that are stored, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = &EntryVersion> {
        self.earlier.iter().chain([&self.current])
    }

    /// Returns the definitions of a connection's tools as its server last listed them, without
    /// secrets.
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.definitions
    }

    /// Returns the revision of the last write of the entry.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the entry with a further version.
    pub(super) fn with_content(&self, content: EntryContent) -> Self {
        let mut next = self.clone();
        let number = self.current.number.saturating_add(1);
        next.earlier.push(std::mem::replace(&mut next.current, EntryVersion { number, content }));
        let excess = (next.earlier.len() + 1).saturating_sub(Self::MAX_VERSIONS);
        next.earlier.drain(..excess);
        next.definitions.clear();
        next
    }

    /// Returns the entry with a further version, whose content is that of an earlier one.
    pub(super) fn rolled_back(&self, version: u64) -> Result<Self, CatalogError> {
        let found = self.versions().find(|it| it.number == version);
        let content = found.map(|it| it.content.clone()).ok_or_else(|| {
            let first = self.versions().next().map_or(version, |it| it.number);
            let (id, last) = (self.id.clone(), self.current.number);
            CatalogError::UnknownVersion { id, version, first, last }
        })?;
        Ok(self.with_content(content))
    }

    /// Returns the entry with the definitions of its tools. They belong to the current version.
    pub(super) fn with_definitions(&self, definitions: Vec<ToolDefinition>) -> Self {
        Self { definitions, ..self.clone() }
    }

    pub(super) fn encode(&self) -> Result<String, CatalogError> {
        let stored = StoredEntry {
            versions: self.versions().cloned().collect(),
            definitions: self.definitions.clone(),
        };
        serde_json::to_string(&stored).map_err(|error| CatalogError::Invalid {
            id: self.id.clone(),
            reason: error.to_string(),
        })
    }

    pub(super) fn decode(record: &Record) -> Result<Self, CorruptRecord> {
        let id = EntryId::parse(&record.key).ok_or_else(|| {
            record
                .corrupt("the kind is unknown: a newer version of the program may have written it")
        })?;
        let mut stored: StoredEntry = record.decode()?;
        let current = stored.versions.pop().ok_or_else(|| record.corrupt("it has no version"))?;
        let entry = Self {
            id,
            earlier: stored.versions,
            current,
            definitions: stored.definitions,
            revision: record.revision,
        };
        let kind = entry.id.kind();
        if let Some(other) = entry.versions().find(|it| it.content.kind() != kind) {
            let reason = format!("version {} is a {}", other.number, other.content.kind());
            return Err(record.corrupt(reason));
        }
        let named = entry.versions().try_for_each(|it| check_name_of(&entry.id, &it.content));
        named.map_err(|reason| record.corrupt(reason))?;
        let numbers = entry.versions().map(|it| it.number);
        if !numbers.is_sorted_by(|left, right| left < right) {
            return Err(record.corrupt("its versions are not in order"));
        }
        Ok(entry)
    }
}
