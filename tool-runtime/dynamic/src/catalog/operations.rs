//! Operations on the entries of a catalog, each of which is one write.

use std::fmt;
use std::sync::Arc;

use tool_core::ToolDefinition;

use super::content::EntryContent;
use super::entry::CatalogEntry;
use super::error::CatalogError;
use super::id::EntryId;
use super::store::CatalogStore;
use super::validation::check;

/// The maximum number of entries of a catalog.
pub const MAX_ENTRIES: usize = 1_000;

/// The kind of the records of the pins of servers.
pub(super) const PINS: &str = "pins";

/// How often a write is based on a fresh record, when other writers come between.
pub(super) const MAX_ATTEMPTS: usize = 16;

/// Tools and connections that a program adds at run time, in a store. Clones share the store.
///
/// Each change is durable when its method returns. It has no effect on the tools of this process
/// until a [`Registrar`](crate::Registrar) applies it. So change a catalog through a registrar, and
/// call this type directly only in a program without a registry, such as an administration command.
///
/// ```
/// use tool_runtime::dynamic::catalog::MemoryCatalog;
/// use tool_runtime::dynamic::{Catalog, Connection, EntryId};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
/// let catalog = Catalog::new(MemoryCatalog::new());
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
#[derive(Clone)]
pub struct Catalog {
    store: Arc<dyn CatalogStore>,
}

/// The entries of a catalog at one moment.
///
/// ```
/// use tool_runtime::dynamic::Catalog;
/// use tool_runtime::dynamic::catalog::MemoryCatalog;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
/// let contents = Catalog::new(MemoryCatalog::new()).contents().await?;
/// assert_eq!(contents.entries.len() + contents.skipped.len(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CatalogContents {
    /// The revision of the last write that the entries include.
    pub revision: u64,
    /// The entries in the order of their kinds and names.
    pub entries: Vec<CatalogEntry>,
    /// The records that can't be decoded.
    pub skipped: Vec<SkippedRecord>,
}

/// A record of a catalog that can't be decoded, and has no effect.
///
/// ```
/// use tool_runtime::dynamic::Catalog;
/// use tool_runtime::dynamic::catalog::{CatalogRecord, CatalogStore, MemoryCatalog};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
/// let store = MemoryCatalog::new();
/// store.save(&CatalogRecord::new("tool", "add", "{}")).await?;
/// let skipped = Catalog::new(store).contents().await?.skipped.remove(0);
/// assert_eq!((&*skipped.kind, &*skipped.name), ("tool", "add"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedRecord {
    /// The kind of the record.
    pub kind: String,
    /// The name of the record.
    pub name: String,
    /// The reason why it can't be decoded.
    pub reason: String,
    /// The revision of the record.
    pub revision: u64,
}

impl Catalog {
    /// Creates a catalog of the entries of a store.
    pub fn new(store: impl CatalogStore + 'static) -> Self {
        Self { store: Arc::new(store) }
    }

    pub(crate) fn store(&self) -> &Arc<dyn CatalogStore> {
        &self.store
    }

    /// Returns all entries of the catalog.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::catalog::MemoryCatalog;
    /// use tool_runtime::dynamic::{Catalog, Connection};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryCatalog::new());
    /// catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
    /// assert_eq!(catalog.contents().await?.entries.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn contents(&self) -> Result<CatalogContents, CatalogError> {
        let stored = self.store.list().await?;
        let (mut entries, mut skipped) = (Vec::new(), Vec::new());
        for record in stored.records.into_iter().filter(|record| record.kind != PINS) {
            match CatalogEntry::decode(&record) {
                Ok(entry) => entries.push(entry),
                Err(error) => skipped.push(SkippedRecord {
                    reason: error.to_string(),
                    kind: record.kind,
                    name: record.name,
                    revision: record.revision,
                }),
            }
        }
        Ok(CatalogContents { revision: stored.revision, entries, skipped })
    }

    /// Returns the entry of this kind and name, if there is one.
    ///
    /// # Errors
    /// [`CatalogError::CorruptRecord`] if it can't be decoded, and
    /// [`CatalogError::Unavailable`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::catalog::MemoryCatalog;
    /// use tool_runtime::dynamic::{Catalog, Connection, EntryId};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryCatalog::new());
    /// catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
    /// let id = EntryId::connection("docs");
    /// let entry = catalog.entry(&id).await?.expect("it was created");
    /// assert_eq!(entry.current().number, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn entry(&self, id: &EntryId) -> Result<Option<CatalogEntry>, CatalogError> {
        let record = self.store.load(id.kind().as_str(), id.name()).await?;
        record.map(|record| CatalogEntry::decode(&record)).transpose()
    }

    /// Adds an entry, whose version is 1.
    ///
    /// # Errors
    /// - [`CatalogError::Exists`] if there is an entry of this kind and name.
    /// - [`CatalogError::Invalid`] if the name or the content is invalid.
    /// - [`CatalogError::Full`] if there are [`MAX_ENTRIES`](crate::catalog::MAX_ENTRIES) entries.
    ///   Concurrent writers can exceed this limit, each by one entry.
    /// - [`CatalogError::Unavailable`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::catalog::MemoryCatalog;
    /// use tool_runtime::dynamic::{Catalog, CatalogError, Connection};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), CatalogError> {
    /// let catalog = Catalog::new(MemoryCatalog::new());
    /// let docs = Connection::http("https://example.com/mcp");
    /// catalog.create("docs", docs.clone()).await?;
    /// let error = catalog.create("docs", docs).await.unwrap_err();
    /// assert!(matches!(error, CatalogError::Exists { .. }));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create(
        &self,
        name: impl Into<String>,
        content: impl Into<EntryContent>,
    ) -> Result<CatalogEntry, CatalogError> {
        let (id, content) = checked(name, content)?;
        let mut count = self.store.count().await?;
        if count >= MAX_ENTRIES {
            // Without the pins of servers.
            let listed = self.store.list().await?;
            count = listed.records.iter().filter(|record| record.kind != PINS).count();
        }
        if count >= MAX_ENTRIES {
            return Err(CatalogError::Full { count, limit: MAX_ENTRIES });
        }
        match self.save(CatalogEntry::new(id.clone(), content)).await {
            Err(CatalogError::Conflict { .. }) => Err(CatalogError::Exists { id }),
            saved => saved,
        }
    }

    /// Adds a version to an entry, which takes effect instead of the current one.
    ///
    /// # Errors
    /// - [`CatalogError::NotFound`] if there is no entry of this kind and name.
    /// - [`CatalogError::Invalid`] if the content is invalid.
    /// - [`CatalogError::Unavailable`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::catalog::MemoryCatalog;
    /// use tool_runtime::dynamic::{Catalog, Connection};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryCatalog::new());
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
    ///   latest [`MAX_VERSIONS`](crate::catalog::MAX_VERSIONS) versions.
    /// - [`CatalogError::Unavailable`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::catalog::MemoryCatalog;
    /// use tool_runtime::dynamic::{Catalog, Connection, EntryId};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryCatalog::new());
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
                let (kind, name) = (id.kind().as_str(), id.name());
                return Err(CatalogError::conflict(kind, name, entry.revision()));
            }
            entry.rolled_back(version).map(Some)
        })
        .await
    }

    /// Removes an entry with all of its versions. Returns the revision of the removal.
    ///
    /// # Errors
    /// - [`CatalogError::NotFound`] if there is no entry of this kind and name.
    /// - [`CatalogError::Unavailable`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::catalog::MemoryCatalog;
    /// use tool_runtime::dynamic::{Catalog, Connection, EntryId};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryCatalog::new());
    /// catalog.create("docs", Connection::http("https://example.com/mcp")).await?;
    /// let id = EntryId::connection("docs");
    /// catalog.remove(&id).await?;
    /// assert_eq!(catalog.entry(&id).await?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn remove(&self, id: &EntryId) -> Result<u64, CatalogError> {
        let (kind, name) = (id.kind().as_str(), id.name());
        for _ in 0..MAX_ATTEMPTS {
            // Not decoded: a record that can't be decoded can be removed.
            let record = self.store.load(kind, name).await?;
            let record = record.ok_or_else(|| CatalogError::NotFound { id: id.clone() })?;
            match self.store.delete(kind, name, record.revision).await {
                Err(CatalogError::Conflict { .. }) => {}
                deleted => return deleted,
            }
        }
        Err(CatalogError::conflict(kind, name, 0))
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
            match self.save(next).await {
                Err(CatalogError::Conflict { .. }) => {}
                saved => return saved,
            }
        }
        Err(CatalogError::conflict(id.kind().as_str(), id.name(), 0))
    }

    /// Saves an entry, and returns it as other processes read it.
    async fn save(&self, entry: CatalogEntry) -> Result<CatalogEntry, CatalogError> {
        let record = entry.encode()?;
        let revision = self.store.save(&record).await?;
        CatalogEntry::decode(&record.at_revision(revision))
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

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("store", &self.store).finish()
    }
}
