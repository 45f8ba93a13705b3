//! Operations on the entries of a catalog, each of which is one write.

use std::sync::Arc;

use tool_core::ToolDefinition;
use tool_core::records::{CorruptRecord, Expected, LargeRecords, Record, Records, StoreError};
use tool_mcp::RecordPins;

use super::content::EntryContent;
use super::entry::CatalogEntry;
use super::error::CatalogError;
use super::id::EntryId;
use super::validation::check;
use crate::spec::PROVIDER;

/// The collection of the entries.
const ENTRIES: &str = "catalog";

/// The collection of the pinned definitions of servers.
const PINS: &str = "catalog_pins";

/// How often a write is based on a fresh record, when other writers come between.
const MAX_ATTEMPTS: usize = 16;

/// Tools and connections that a program adds at run time, in a store. Clones share the store.
///
/// Each change is durable when its method returns. It has no effect on the tools of this process
/// until a [`Registrar`](crate::Registrar) applies it. So change a catalog through a registrar, and
/// call this type directly only in a program without a registry, such as an administration command.
///
/// Entries are records of the collection `catalog`, under keys such as `tool/add`, and the pinned
/// definitions of servers are records of `catalog_pins`. Both are JSON of [any size](LargeRecords).
///
/// ```
/// use tool_runtime::dynamic::{Catalog, Connection, EntryId};
/// use tool_runtime::records::MemoryRecords;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
/// let catalog = Catalog::new(MemoryRecords::new());
/// catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
/// catalog.replace("docs", Connection::http("https://example.com/v2/mcp")).await?;
///
/// let entry = catalog.roll_back(&EntryId::connection("docs"), 1).await?;
/// assert_eq!(entry.current().number, 3);
/// assert_eq!(entry.current().content, Connection::http("https://example.com/mcp").into());
///
/// catalog.remove(&EntryId::connection("docs")).await?;
/// assert!(catalog.contents().await?.entries.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Catalog {
    entries: LargeRecords,
    pins: RecordPins,
}

/// The entries of a catalog at one moment.
///
/// ```
/// use tool_runtime::dynamic::Catalog;
/// use tool_runtime::records::{Expected, MemoryRecords, Records};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
/// let store = MemoryRecords::new();
/// store.save("catalog", "tool/add", Expected::Absent, "{}", None).await?;
/// let contents = Catalog::new(store).contents().await?;
/// assert!(contents.entries.is_empty());
/// assert_eq!(contents.corrupt[0].key, "tool/add");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CatalogContents {
    /// The revision of the last write that the entries include. An entry that changed since may be
    /// newer.
    pub revision: u64,
    /// The entries in the order of their kinds and names.
    pub entries: Vec<CatalogEntry>,
    /// The records that can't be decoded. They have no effect.
    pub corrupt: Vec<CorruptRecord>,
}

impl Catalog {
    /// The maximum number of entries.
    pub const MAX_ENTRIES: usize = 1_000;

    /// The provider and the label of the tools that a catalog adds.
    pub const PROVIDER: &'static str = PROVIDER;

    /// Creates a catalog of the entries of a store.
    pub fn new(store: impl Records + 'static) -> Self {
        let store: Arc<dyn Records> = Arc::new(store);
        let entries = LargeRecords::new(Arc::clone(&store), ENTRIES);
        Self { entries, pins: RecordPins::in_collection(store, PINS) }
    }

    pub(crate) fn pins(&self) -> &RecordPins {
        &self.pins
    }

    /// Waits until there is a write after the revision `since`.
    pub(crate) async fn changed(&self, since: u64) -> Result<u64, CatalogError> {
        Ok(self.entries.changed(since).await?)
    }

    /// Deletes the records that unfinished changes of killed processes have left.
    pub(crate) async fn delete_unused_parts(&self) -> Result<(), CatalogError> {
        self.entries.delete_unused_parts().await?;
        self.pins.delete_unused_parts().await?;
        Ok(())
    }

    /// Returns all entries of the catalog.
    ///
    /// # Errors
    /// [`CatalogError::Store`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, Connection};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
    /// assert_eq!(catalog.contents().await?.entries.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn contents(&self) -> Result<CatalogContents, CatalogError> {
        let stored = self.entries.list().await?;
        let (mut entries, mut corrupt) = (Vec::new(), stored.corrupt);
        for record in stored.records {
            match CatalogEntry::decode(&record) {
                Ok(entry) => entries.push(entry),
                Err(error) => corrupt.push(error),
            }
        }
        corrupt.sort_by(|left, right| left.key.cmp(&right.key));
        Ok(CatalogContents { revision: stored.counter, entries, corrupt })
    }

    /// Returns the entry of this kind and name, if there is one.
    ///
    /// # Errors
    /// [`CatalogError::Store`] if it can't be decoded, or if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, Connection, EntryId};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
    /// let id = EntryId::connection("docs");
    /// let entry = catalog.entry(&id).await?.expect("it was created");
    /// assert_eq!(entry.current().number, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn entry(&self, id: &EntryId) -> Result<Option<CatalogEntry>, CatalogError> {
        let record = self.entries.load(&id.key()).await?;
        let entry = record.map(|record| CatalogEntry::decode(&record)).transpose();
        entry.map_err(|corrupt| StoreError::from(corrupt).into())
    }

    /// Adds an entry, whose version is 1.
    ///
    /// # Errors
    /// - [`CatalogError::AlreadyExists`] if there is an entry of this kind and name.
    /// - [`CatalogError::Invalid`] if the name or the content is invalid.
    /// - [`CatalogError::Full`] if there are [`MAX_ENTRIES`](Self::MAX_ENTRIES) entries.
    ///   Concurrent writers can exceed this limit, each by one entry.
    /// - [`CatalogError::Store`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, CatalogError, Connection};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), CatalogError> {
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// let docs = Connection::http("https://example.com/mcp");
    /// catalog.create("docs", docs.clone()).await?;
    /// let error = catalog.create("docs", docs).await.unwrap_err();
    /// assert!(matches!(error, CatalogError::AlreadyExists { .. }));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create(
        &self,
        name: impl Into<String>,
        content: impl Into<EntryContent>,
    ) -> Result<CatalogEntry, CatalogError> {
        let (id, content) = checked(name, content)?;
        let count = self.entries.count().await?;
        if count >= Self::MAX_ENTRIES {
            return Err(CatalogError::Full { count, max_entries: Self::MAX_ENTRIES });
        }
        let entry = CatalogEntry::new(id.clone(), content);
        let saved = self.save(entry, Expected::Absent).await?;
        saved.ok_or(CatalogError::AlreadyExists { id })
    }

    /// Adds a version to an entry, which takes effect instead of the current one.
    ///
    /// # Errors
    /// - [`CatalogError::NotFound`] if there is no entry of this kind and name.
    /// - [`CatalogError::Invalid`] if the content is invalid.
    /// - [`CatalogError::Store`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, Connection};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
    /// let entry = catalog.replace("docs", Connection::stdio("docs-server")).await?;
    /// assert_eq!(entry.current().number, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn replace(
        &self,
        name: impl Into<String>,
        content: impl Into<EntryContent>,
    ) -> Result<CatalogEntry, CatalogError> {
        let (id, content) = checked(name, content)?;
        self.change(&id, |entry| Ok(Some(entry.with_content(content.clone())))).await
    }

    /// Adds a version to an entry, with the content of an earlier version.
    ///
    /// # Errors
    /// - [`CatalogError::NotFound`] if there is no entry of this kind and name.
    /// - [`CatalogError::UnknownVersion`] if it does not have this version. An entry keeps its
    ///   latest [`MAX_VERSIONS`](CatalogEntry::MAX_VERSIONS) versions.
    /// - [`CatalogError::Store`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, Connection, EntryId};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
    /// catalog.replace("docs", Connection::stdio("docs-server")).await?;
    /// let entry = catalog.roll_back(&EntryId::connection("docs"), 1).await?;
    /// assert_eq!(entry.current().content, Connection::http("https://example.com/mcp").into());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn roll_back(
        &self,
        id: &EntryId,
        version: u64,
    ) -> Result<CatalogEntry, CatalogError> {
        self.change(id, |entry| entry.rolled_back(version).map(Some)).await
    }

    /// Adds a version to an entry, with the content of an earlier version that has to be this one.
    /// The version of a number changes if the entry is removed and created again.
    pub(crate) async fn roll_back_to(
        &self,
        id: &EntryId,
        version: u64,
        content: &EntryContent,
    ) -> Result<CatalogEntry, CatalogError> {
        self.change(id, |entry| {
            let found = entry.versions().find(|found| found.number == version);
            if found.is_some_and(|found| found.content != *content) {
                return Err(CatalogError::Conflict { id: id.clone() });
            }
            entry.rolled_back(version).map(Some)
        })
        .await
    }

    /// Removes an entry with all of its versions. Returns the revision of the removal.
    ///
    /// # Errors
    /// - [`CatalogError::NotFound`] if there is no entry of this kind and name.
    /// - [`CatalogError::Store`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, Connection, EntryId};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
    /// let id = EntryId::connection("docs");
    /// catalog.remove(&id).await?;
    /// assert_eq!(catalog.entry(&id).await?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn remove(&self, id: &EntryId) -> Result<u64, CatalogError> {
        let key = id.key();
        for _ in 0..MAX_ATTEMPTS {
            // A record that can't be decoded can be removed.
            let expected = match self.entries.load(&key).await {
                Ok(Some(record)) => Expected::Revision(record.revision),
                Ok(None) => return Err(CatalogError::NotFound { id: id.clone() }),
                Err(StoreError::Corrupt { .. }) => Expected::Any,
                Err(error) => return Err(error.into()),
            };
            match self.entries.delete(&key, expected).await {
                Err(error) if error.is_conflict() => {}
                deleted => return Ok(deleted?),
            }
        }
        Err(CatalogError::Conflict { id: id.clone() })
    }

    /// Forgets the pinned definitions of a server, which is named as in a
    /// [`PinStore`](tool_mcp::PinStore). The next connection to it pins what it lists then.
    ///
    /// # Errors
    /// [`CatalogError::Store`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::Catalog;
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// catalog.forget_pins("https://example.com/mcp").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn forget_pins(&self, server: &str) -> Result<(), CatalogError> {
        Ok(self.pins.delete(server).await?)
    }

    /// Stores the definitions of the tools of a connection, if they belong to its current version
    /// and differ.
    pub(crate) async fn save_definitions(
        &self,
        id: &EntryId,
        version: u64,
        definitions: Vec<ToolDefinition>,
    ) -> Result<CatalogEntry, CatalogError> {
        self.change(id, |entry| {
            let is_current = entry.current().number == version;
            if !is_current || entry.definitions() == definitions {
                return Ok(None);
            }
            Ok(Some(entry.with_definitions(definitions.clone())))
        })
        .await
    }

    /// Saves what `change` makes of an entry, again if another writer came between.
    async fn change(
        &self,
        id: &EntryId,
        change: impl Fn(&CatalogEntry) -> Result<Option<CatalogEntry>, CatalogError>,
    ) -> Result<CatalogEntry, CatalogError> {
        for _ in 0..MAX_ATTEMPTS {
            let entry = self.entry(id).await?;
            let entry = entry.ok_or_else(|| CatalogError::NotFound { id: id.clone() })?;
            let Some(next) = change(&entry)? else { return Ok(entry) };
            let expected = Expected::Revision(entry.revision());
            if let Some(saved) = self.save(next, expected).await? {
                return Ok(saved);
            }
        }
        Err(CatalogError::Conflict { id: id.clone() })
    }

    /// Saves an entry. Returns `None` if the stored one is not as expected.
    async fn save(
        &self,
        entry: CatalogEntry,
        expected: Expected,
    ) -> Result<Option<CatalogEntry>, CatalogError> {
        let (key, text) = (entry.id().key(), entry.encode()?);
        match self.entries.save(&key, expected, &text).await {
            Ok(revision) => {
                // As other processes read it.
                let entry = CatalogEntry::decode(&Record::new(key, revision, text));
                Ok(Some(entry.map_err(StoreError::from)?))
            }
            Err(error) if error.is_conflict() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn checked(
    name: impl Into<String>,
    content: impl Into<EntryContent>,
) -> Result<(EntryId, EntryContent), CatalogError> {
    let content = content.into();
    let id = EntryId::new(content.kind(), name);
    check(&id, &content)?;
    Ok((id, content))
}
