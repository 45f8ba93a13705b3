//! The handle of a registrar for the program.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tool_core::records::CorruptRecord;
use tool_mcp::McpConnection;

use super::error::RegistrarError;
use super::registration::unregister;
use super::shared::Shared;
use super::status::{EntryState, EntryStatus};
use crate::backend::ToolBackend;
use crate::catalog::{
    Catalog, CatalogEntry, CatalogError, EntryContent, EntryId, EntryKind, validation,
};
use crate::spec::BodyLanguage;

/// Registers the entries of a [`Catalog`], and applies its changes to the registry.
///
/// A change through a registrar is stored first, and then applied to the registry. If it can't be
/// stored, nothing is registered. If it can't be applied, it stays stored: the returned
/// [`EntryStatus`] has the reason, and the registrar retries. A crash in between loses nothing: the
/// next start registers what is stored. Changes by other processes are applied as they are found.
///
/// Tools that were made at run time have the provider and the label `dynamic`. The tools of a
/// connection have its name as the provider, and the label `dynamic`. No other tool is ever
/// replaced or removed.
///
/// Clones share the state. Dropping all of them does not end the background work: see
/// [`stop`](Self::stop).
///
/// ```
/// use std::sync::Arc;
/// use tool_runtime::dynamic::{
///     BodyLanguage, Catalog, CheckedSpec, EntryId, EntryState, Registrar, RegistrarError,
///     ToolBackend, ToolSpec,
/// };
/// use tool_runtime::records::MemoryRecords;
/// use tool_runtime::{
///     Arguments, Registry, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, async_trait,
/// };
///
/// /// Makes tools that return their body.
/// struct Templates;
///
/// struct Template(CheckedSpec);
///
/// #[async_trait]
/// impl Tool for Template {
///     fn definition(&self) -> &ToolDefinition {
///         self.0.definition()
///     }
///
///     async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
///         Ok(ToolOutput::text(self.0.body()))
///     }
/// }
///
/// #[async_trait]
/// impl ToolBackend for Templates {
///     fn language(&self) -> BodyLanguage {
///         BodyLanguage::JavaScript
///     }
///
///     async fn build(&self, spec: &CheckedSpec) -> Result<Arc<dyn Tool>, ToolError> {
///         Ok(Arc::new(Template(spec.clone())))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), RegistrarError> {
/// // With `FileRecords` or a database, the tools survive a restart.
/// let registry = Registry::new();
/// let catalog = Catalog::new(MemoryRecords::new());
/// let registrar = Registrar::builder(catalog).backend(Templates).start(&registry).await?;
///
/// let spec = |body: &str| ToolSpec::new(BodyLanguage::JavaScript, "hello", "Greets.", body);
/// let status = registrar.create("hello", spec("Hello!")).await?;
/// assert_eq!((status.version, status.state), (1, EntryState::Active));
/// assert!(registry.snapshot().get("hello").is_some());
///
/// let id = EntryId::tool("hello");
/// registrar.replace("hello", spec("Good morning!")).await?;
/// assert_eq!(registrar.roll_back(&id, 1).await?.version, 3);
///
/// registrar.remove(&id).await?;
/// assert!(registry.snapshot().get("hello").is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Registrar {
    pub(super) shared: Arc<Shared>,
}

impl Registrar {
    /// Returns the catalog, to read entries with their versions.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// Stores and applies a new entry, and waits for the first attempt.
    ///
    /// # Errors
    /// - [`RegistrarError::NameTaken`] if a tool or a provider of the program has the name.
    /// - [`RegistrarError::NoBackend`] if the program has no backend for the language of a tool.
    /// - [`RegistrarError::Catalog`] with the errors of [`Catalog::create`].
    /// - [`RegistrarError::Stopped`] if the registrar was stopped.
    ///
    /// After any of these errors, nothing is stored. A failed attempt to build or to connect is not
    /// an error of this method: see [`EntryStatus::state`].
    ///
    /// # Cancellation
    /// If the future is dropped, the entry is stored and takes effect, or neither.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, Registrar};
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::{Registry, ToolPreference};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::RegistrarError> {
    /// let registry = Registry::new();
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// let registrar = Registrar::builder(catalog).start(&registry).await?;
    /// let hidden = ToolPreference::default().hidden();
    /// let status = registrar.create("jira__find", hidden).await?;
    /// assert!(status.state.is_active());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create(
        &self,
        name: impl Into<String>,
        content: impl Into<EntryContent>,
    ) -> Result<EntryStatus, RegistrarError> {
        self.put(self.store(name, content).await?).await
    }

    /// Stores a new entry, which [`put`](Self::put) applies at once, or the registrar as soon as it
    /// finds the change.
    pub(crate) async fn store(
        &self,
        name: impl Into<String>,
        content: impl Into<EntryContent>,
    ) -> Result<CatalogEntry, RegistrarError> {
        let (name, content) = (name.into(), content.into());
        self.check(&name, &content)?;
        Ok(self.shared.catalog.create(name, content).await?)
    }

    /// Stores and applies a further version of an entry, and waits for the first attempt.
    ///
    /// The previous version of a tool can be called until the new one is built. If the build fails,
    /// the tool is unavailable; [`roll_back`](Self::roll_back) restores the previous version.
    ///
    /// # Errors
    /// Returns the errors of [`create`](Self::create), with those of [`Catalog::replace`] instead
    /// of [`Catalog::create`].
    ///
    /// # Cancellation
    /// If the future is dropped, the version is stored and takes effect, or neither.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, Registrar};
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::{Registry, ToolPreference};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::RegistrarError> {
    /// let registry = Registry::new();
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// let registrar = Registrar::builder(catalog).start(&registry).await?;
    /// registrar.create("jira__find", ToolPreference::default().hidden()).await?;
    /// let status = registrar.replace("jira__find", ToolPreference::default()).await?;
    /// assert_eq!(status.version, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn replace(
        &self,
        name: impl Into<String>,
        content: impl Into<EntryContent>,
    ) -> Result<EntryStatus, RegistrarError> {
        let (name, content) = (name.into(), content.into());
        self.check(&name, &content)?;
        self.put(self.shared.catalog.replace(name, content).await?).await
    }

    /// Stores and applies a further version of an entry, with the content of an earlier version,
    /// and waits for the first attempt.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::roll_back`], and [`RegistrarError::Stopped`].
    ///
    /// # Cancellation
    /// If the future is dropped, the version is stored and takes effect, or neither.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, EntryId, EntryKind, Registrar};
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::{Registry, ToolPreference, tool, tools};
    ///
    /// /// Finds issues.
    /// #[tool(effect = "read")]
    /// async fn find(query: String) {}
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::RegistrarError> {
    /// let registry = Registry::try_from(tools![find]).unwrap();
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// let registrar = Registrar::builder(catalog).start(&registry).await?;
    /// registrar.create("find", ToolPreference::default().hidden()).await?;
    /// registrar.replace("find", ToolPreference::default()).await?;
    /// let id = EntryId::new(EntryKind::Preference, "find");
    /// assert_eq!(registrar.roll_back(&id, 1).await?.version, 3);
    /// assert!(registry.snapshot().definition("find").unwrap().preference.hidden);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn roll_back(
        &self,
        id: &EntryId,
        version: u64,
    ) -> Result<EntryStatus, RegistrarError> {
        self.check_running()?;
        self.put(self.shared.catalog.roll_back(id, version).await?).await
    }

    /// Returns to a version whose content has to be this one, and puts it into effect.
    pub(crate) async fn roll_back_to(
        &self,
        id: &EntryId,
        version: u64,
        content: EntryContent,
    ) -> Result<EntryStatus, RegistrarError> {
        self.check_running()?;
        self.put(self.shared.catalog.roll_back_to(id, version, &content).await?).await
    }

    /// Removes an entry with all of its versions from the catalog, and its tools from the registry.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::remove`], and [`RegistrarError::Stopped`]. Then nothing is
    /// changed.
    ///
    /// # Cancellation
    /// If the future is dropped, the entry is removed from both, or from neither.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, EntryId, EntryKind, Registrar};
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::{Registry, ToolPreference};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::RegistrarError> {
    /// let registry = Registry::new();
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// let registrar = Registrar::builder(catalog).start(&registry).await?;
    /// registrar.create("jira__find", ToolPreference::default().hidden()).await?;
    /// let id = EntryId::new(EntryKind::Preference, "jira__find");
    /// registrar.remove(&id).await?;
    /// assert!(registry.preferences().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn remove(&self, id: &EntryId) -> Result<(), RegistrarError> {
        self.check_running()?;
        let revision = self.shared.catalog.remove(id).await?;
        self.shared.apply_removal(id, revision);
        Ok(())
    }

    /// Returns all entries with their states in this process, in the order of their kinds and
    /// names.
    pub fn statuses(&self) -> Vec<EntryStatus> {
        self.shared.statuses()
    }

    /// Returns the records of the catalog that can't be decoded. They have no status. If an entry
    /// was applied before its record was damaged, it stays in effect.
    ///
    /// ```
    /// use tool_runtime::Registry;
    /// use tool_runtime::dynamic::{Catalog, Registrar};
    /// use tool_runtime::records::{Expected, MemoryRecords, Records};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemoryRecords::new();
    /// store.save("catalog", "tool/add", Expected::Absent, "{}", None).await?;
    /// let registry = Registry::new();
    /// let registrar = Registrar::builder(Catalog::new(store)).start(&registry).await?;
    /// assert_eq!(registrar.corrupt_records()[0].key, "tool/add");
    /// # Ok(())
    /// # }
    /// ```
    pub fn corrupt_records(&self) -> Vec<CorruptRecord> {
        self.shared.corrupt_records()
    }

    /// Returns the state of an entry in this process, if it is applied.
    pub fn status(&self, id: &EntryId) -> Option<EntryStatus> {
        self.shared.status(id)
    }

    /// Returns the connection to a server while it is established, such as to approve definitions
    /// that have changed, or to read resources.
    ///
    /// The connection has a separate registry, from which the registrar copies the tools. To end
    /// the connection, [remove](Self::remove) its entry.
    pub fn connection(&self, name: &str) -> Option<McpConnection> {
        let applied = self.shared.lock();
        applied.entries.get(&EntryId::connection(name))?.connection.clone()
    }

    /// Waits until the first attempt of each current entry has ended, for at most this time.
    /// Returns the states of all entries.
    ///
    /// Call it before you resume a run, so that the run finds its tools available.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_runtime::Registry;
    /// use tool_runtime::dynamic::{Catalog, Registrar};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::RegistrarError> {
    /// let registry = Registry::new();
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// let registrar = Registrar::builder(catalog).start(&registry).await?;
    /// for status in registrar.wait_until_settled(Duration::from_secs(10)).await {
    ///     println!("{}: {}", status.id, status.state);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_until_settled(&self, limit: Duration) -> Vec<EntryStatus> {
        // `None` is no limit.
        let deadline = Instant::now().checked_add(limit);
        let states: Vec<_> = {
            let applied = self.shared.lock();
            applied.entries.values().map(|entry| entry.state.subscribe()).collect()
        };
        let all_attempted = async {
            for state in states {
                attempted(state).await;
            }
        };
        match deadline {
            Some(deadline) => drop(timeout_at(deadline, all_attempted).await),
            None => all_attempted.await,
        }
        self.statuses()
    }

    /// Ends the background work and all connections, and removes the tools of the catalog from the
    /// registry. Preferences and descriptions stay in effect, and the catalog is not changed.
    ///
    /// ```
    /// use tool_runtime::dynamic::{Catalog, Registrar};
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::{Registry, ToolPreference};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::RegistrarError> {
    /// let registry = Registry::new();
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// let registrar = Registrar::builder(catalog).start(&registry).await?;
    /// registrar.create("jira__find", ToolPreference::default().hidden()).await?;
    /// registrar.stop().await;
    /// assert_eq!(registrar.catalog().contents().await?.entries.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn stop(&self) {
        self.shared.stopped.cancel();
        let entries = std::mem::take(&mut self.shared.lock().entries);
        if let Some(registry) = self.shared.registry.upgrade() {
            entries.keys().for_each(|id| unregister(&registry, id));
        }
        for entry in entries.into_values() {
            // A preference has no task.
            if !matches!(entry.content.kind(), EntryKind::Tool | EntryKind::Connection) {
                continue;
            }
            entry.ended.cancelled().await;
        }
    }

    fn check_running(&self) -> Result<(), RegistrarError> {
        self.shared.registry().map(drop).ok_or(RegistrarError::Stopped)
    }

    /// Returns whether the program has or reserves the name of an entry.
    pub(crate) fn is_taken(&self, id: &EntryId) -> Result<bool, RegistrarError> {
        let registry = self.shared.registry().ok_or(RegistrarError::Stopped)?;
        let is_applied = self.shared.lock().entries.contains_key(id);
        Ok(self.shared.is_taken(&registry.snapshot(), id, is_applied))
    }

    /// Returns whether a tool of this name can be called now.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        let registry = self.shared.registry();
        registry.is_some_and(|registry| registry.snapshot().definition(name).is_some())
    }

    /// Returns the languages in which the program builds tools.
    pub(crate) fn languages(&self) -> impl Iterator<Item = BodyLanguage> {
        self.shared.options.backends.keys().copied()
    }

    /// Returns the backend that builds tools in a language.
    pub(crate) fn backend(&self, language: BodyLanguage) -> Option<Arc<dyn ToolBackend>> {
        self.shared.options.backends.get(&language).cloned()
    }

    /// Refuses what could never take effect.
    pub(crate) fn check(&self, name: &str, content: &EntryContent) -> Result<(), RegistrarError> {
        self.check_running()?;
        if let EntryContent::Tool(spec) = content
            && !self.shared.options.backends.contains_key(&spec.language)
        {
            return Err(RegistrarError::NoBackend {
                name: name.to_owned(),
                language: spec.language,
            });
        }
        let id = EntryId::new(content.kind(), name);
        // Before anything is built.
        validation::check(&id, content)?;
        if self.is_taken(&id)? { Err(RegistrarError::NameTaken { id }) } else { Ok(()) }
    }

    /// Applies an entry that was stored, and waits for the first attempt.
    pub(crate) async fn put(&self, entry: CatalogEntry) -> Result<EntryStatus, RegistrarError> {
        let removed = || CatalogError::NotFound { id: entry.id().clone() };
        let Some(state) = self.shared.apply(&entry) else {
            self.check_running()?;
            return Err(removed().into());
        };
        attempted(state).await;
        Ok(self.status(entry.id()).ok_or_else(removed)?)
    }
}

/// Waits until the first attempt has ended, or the entry was replaced or removed.
async fn attempted(mut state: watch::Receiver<EntryState>) {
    let _ = state.wait_for(|state| *state != EntryState::Starting).await;
}

impl fmt::Debug for Registrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registrar").field("statuses", &self.statuses()).finish_non_exhaustive()
    }
}
