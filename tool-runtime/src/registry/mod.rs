//! Which tools there are, and which of them a model may see.
//!
//! A [`Registry`] is shared and changes; a [`Snapshot`] is what it held at one moment and never
//! changes, so that what a model is offered and what is called for it are the same. Readers never
//! wait: a snapshot is taken without a lock.

mod cell;
mod contents;
mod descriptions;
mod error;
mod filter;
mod nearest;
mod provider;
mod select;
mod snapshot;
mod tools;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

pub use contents::Entry;
pub use descriptions::{DescriptionStore, MemoryDescriptions};
pub use error::RegistryError;
pub use provider::Withdrawn;
pub use select::{AllTools, ByWeight, Callable, Selection, Selector, definition_bytes};
#[cfg(feature = "search")]
pub use select::{BySearch, SearchTools, ToolIndex};
pub use snapshot::{Snapshot, ToolStatus};
pub use tools::Tools;

use crate::tool::{Tool, ToolPreference};
use cell::Cell;
use contents::{Contents, entries};
use filter::Filter;

/// The tools of a program. Clones share one set.
///
/// A tool is asked for its definition when it is registered; what it said then holds.
///
/// ```
/// use tool_runtime::{Registry, tool, tools};
///
/// /// Says hello.
/// #[tool]
/// async fn hello(
///     /// Whom to greet.
///     name: String,
/// ) -> String {
///     format!("Hello, {name}!")
/// }
///
/// let registry = Registry::try_from(tools![hello])?;
/// assert!(registry.snapshot().get("hello").is_some());
///
/// // A view of the same tools: what is registered later is seen in it as well.
/// let harmless = registry.without(["hello"]);
/// assert!(harmless.snapshot().get("hello").is_none());
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    contents: Arc<Cell<Contents>>,
    filter: Filter,
}

impl Registry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, or puts it in the place of the one of the same name, which comes back.
    ///
    /// # Errors
    /// The tool's definition is not one that providers take; nothing was changed.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<Option<Arc<dyn Tool>>, RegistryError> {
        Ok(self.add([tool].into_iter().collect(), None)?.pop())
    }

    /// Adds all of these tools at once; those that they displace come back.
    ///
    /// # Errors
    /// A definition that providers don't take, or two tools of one name; nothing was changed.
    pub fn register_all(&self, tools: Tools) -> Result<Vec<Arc<dyn Tool>>, RegistryError> {
        self.add(tools, None)
    }

    /// Takes away the tool that models call by this name; it comes back. One that this view of the
    /// registry doesn't hold stays.
    pub fn unregister(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let removed = self.remove(|entry| entry.name() == name && self.filter.passes(entry));
        removed.first().map(|entry| Arc::clone(entry.tool()))
    }

    /// Sets what those should know of the tool that models call by this name, who decide which
    /// tools are offered. Tells whether there is such a tool.
    pub fn prefer(&self, name: &str, preference: ToolPreference) -> bool {
        let preferred = self.change(|contents| {
            let mut entries = contents.entries().to_vec();
            let known = entries.iter_mut().find(|entry| entry.name() == name);
            let is_known = known.map(|entry| Arc::make_mut(entry).prefer(preference)).is_some();
            Ok((contents.with_entries(entries)?, is_known))
        });
        preferred.unwrap_or(false)
    }

    /// What the registry holds now, without a lock.
    pub fn snapshot(&self) -> Snapshot {
        let contents = self.contents.load();
        let contents = if contents.is_outdated() { self.refresh(contents) } else { contents };
        Snapshot::new(contents, self.filter.clone())
    }

    /// Has models told what this store says of the tools, in all views of this registry.
    #[must_use]
    pub fn descriptions(self, store: impl DescriptionStore + 'static) -> Self {
        let store = Arc::new(store);
        // Descriptions that can't be taken are left out, so nothing fails here.
        let _ = self.change(|contents| Ok((contents.described_by(store)?, ())));
        self
    }

    /// A view of this registry: the tools of these names alone, whether they are there by now or not.
    #[must_use]
    pub fn only<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) -> Self {
        let names = Names::new(names);
        self.filter(move |entry| names.has(entry))
    }

    /// A view of this registry: all tools but those of these names.
    #[must_use]
    pub fn without<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) -> Self {
        let names = Names::new(names);
        self.filter(move |entry| !names.has(entry))
    }

    /// A view of this registry: the tools for which `passes` holds. It is asked at each look, also
    /// of tools that are registered later, and nothing is copied.
    #[must_use]
    pub fn filter(&self, passes: impl Fn(&Entry) -> bool + Send + Sync + 'static) -> Self {
        Self { contents: Arc::clone(&self.contents), filter: self.filter.and(passes) }
    }

    fn add(
        &self,
        tools: Tools,
        provider: Option<&Arc<str>>,
    ) -> Result<Vec<Arc<dyn Tool>>, RegistryError> {
        let displaced = self.put(entries(tools, provider)?)?;
        Ok(displaced.iter().map(|entry| Arc::clone(entry.tool())).collect())
    }

    /// Puts entries in their places; those that were there come back.
    fn put(&self, new: Vec<Arc<Entry>>) -> Result<Vec<Arc<Entry>>, RegistryError> {
        self.change(|contents| {
            let taken: BTreeSet<_> = new.iter().map(|entry| entry.place()).collect();
            let (displaced, mut kept): (Vec<_>, Vec<_>) =
                contents.entries().iter().cloned().partition(|old| taken.contains(&old.place()));
            drop(taken);
            kept.extend(new);
            Ok((contents.with_entries(kept)?, displaced))
        })
    }

    fn remove(&self, is_removed: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
        let removed = self.change(|contents| {
            let (removed, kept): (Vec<_>, Vec<_>) =
                contents.entries().iter().cloned().partition(|entry| is_removed(entry));
            Ok((contents.with_entries(kept)?, removed))
        });
        // Fewer names collide no more than before.
        removed.unwrap_or_default()
    }

    #[cold]
    fn refresh(&self, outdated: Arc<Contents>) -> Arc<Contents> {
        let refreshed = self.change(|contents| {
            let contents =
                if contents.is_outdated() { contents.refreshed()? } else { contents.clone() };
            Ok((contents, ()))
        });
        refreshed.map_or(outdated, |()| self.contents.load())
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&Contents) -> Result<(Contents, T), RegistryError>,
    ) -> Result<T, RegistryError> {
        self.contents.change(change)
    }
}

/// Names that tools are meant by: what models call them, or what they call themselves.
struct Names(Vec<String>);

impl Names {
    fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    fn has(&self, entry: &Entry) -> bool {
        self.0.iter().any(|name| name == entry.name() || name == entry.own_name())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.snapshot()).finish()
    }
}

/// What an agent takes for its tools.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no set of tools",
    label = "write `tools![…]` with the names of the tools, or pass a `Registry`"
)]
pub trait IntoRegistry {
    /// The registry.
    ///
    /// # Errors
    /// A definition that providers don't take, or two tools of one name.
    fn into_registry(self) -> Result<Registry, RegistryError>;
}

impl IntoRegistry for Registry {
    fn into_registry(self) -> Result<Registry, RegistryError> {
        Ok(self)
    }
}

impl IntoRegistry for Tools {
    fn into_registry(self) -> Result<Registry, RegistryError> {
        self.try_into()
    }
}

/// # Errors
/// A definition that providers don't take, or two tools of one name.
impl TryFrom<Tools> for Registry {
    type Error = RegistryError;

    fn try_from(tools: Tools) -> Result<Self, RegistryError> {
        let registry = Self::new();
        registry.register_all(tools)?;
        Ok(registry)
    }
}
