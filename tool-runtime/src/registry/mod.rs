//! Which tools there are, and which of them a model may see.
//!
//! A [`Registry`] is shared and changes; a [`Snapshot`] is what it held at one moment and never
//! changes, so that what a model is offered and what is called for it are the same. Readers never
//! wait: a snapshot is taken without a lock.
//!
//! # What names mean
//!
//! A tool has the name that it gave itself, its *own* name, and under a provider a *full* name,
//! `provider__name`, which is its alone whoever comes and goes. Models call it by the one or the other:
//! by its own while nobody else has that name, else by its full one.
//!
//! - A setting means all tools that [go by](crate::ToolDefinition::goes_by) the name, whatever models
//!   call them at the moment: `find` those of all providers and of none, `github__find` the one. So it is
//!   with [`Registry::only`], [`without`](Registry::without) and [`prefer`](Registry::prefer), with a
//!   [`DescriptionStore`], with `BySearch::always`, and with the
//!   [permissions](crate::dispatch::Permissions), [concurrency](crate::dispatch::Concurrency) and
//!   [rate limits](crate::dispatch::RateLimits) of a dispatcher.
//! - A look-up means one tool: the one that models call so at that moment, or whose full name it is.
//!   So it is with a model's call, [`Snapshot::get`] and [`Registry::unregister`].
//!
//! An own name with `__` in it reads like a full one and would be another's: such a tool goes by its full
//! name alone.

mod cell;
mod contents;
mod described;
mod descriptions;
mod entry;
mod error;
mod filter;
mod into_registry;
mod namesakes;
mod naming;
mod nearest;
mod provider;
mod select;
mod snapshot;
mod table;
mod tools;

use std::collections::HashSet;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

pub use descriptions::{DescriptionStore, MemoryDescriptions};
pub use entry::Entry;
pub use error::RegistryError;
pub use into_registry::IntoRegistry;
pub(crate) use nearest::{called, nearest};
pub use provider::Withdrawn;
pub use select::{AllTools, ByWeight, Callable, Selection, Selector, definition_bytes};
#[cfg(feature = "search")]
pub use select::{BySearch, SearchTools, ToolIndex};
pub use snapshot::{Snapshot, ToolStatus};
pub use tools::Tools;

use crate::schema::Dialect;
use crate::tool::{Tool, ToolPreference};
use cell::Cell;
use contents::Contents;
use described::Described;
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
    /// Through a view as well it is registered for all, and may take the place of a tool that the view
    /// doesn't hold. What this costs grows with the square root of the number of tools; so does each
    /// change.
    ///
    /// # Errors
    /// The tool's definition is not one that providers take, or a provider's tool is called the same;
    /// nothing was changed.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<Option<Arc<dyn Tool>>, RegistryError> {
        Ok(self.add([tool].into_iter().collect(), None)?.pop())
    }

    /// Adds all of these tools or none, in one change that no snapshot shows in part; those that they
    /// displace come back. For many tools it costs less than one by one.
    ///
    /// # Errors
    /// As [`register`](Self::register), or two of these tools have one name; nothing was changed.
    pub fn register_all(&self, tools: Tools) -> Result<Vec<Arc<dyn Tool>>, RegistryError> {
        self.add(tools, None)
    }

    /// Takes away the tool that models call by this name, or whose full name it is; it comes back. One
    /// that this view of the registry doesn't hold stays. See [what names mean](crate::registry#what-names-mean).
    pub fn unregister(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let held = self.held_as(name)?;
        self.take(&[held]).first().map(|entry| Arc::clone(entry.tool()))
    }

    /// Sets what those should know who decide which tools are offered: of all tools that
    /// [go by](crate::registry#what-names-mean) this name and that this view of the registry holds by now. Tells
    /// whether there are any.
    ///
    /// From then on this holds in place of what such a tool itself says, also when it is registered
    /// again, as that of a server is which comes back. What was said last counts.
    ///
    /// # Errors
    /// A weight that is no number to compare by, or overrides too large to work with; nothing was
    /// changed.
    ///
    /// ```
    /// use tool_runtime::{Registry, ToolPreference, tool, tools};
    ///
    /// /// Finds issues.
    /// #[tool(effect = "read")]
    /// async fn find(query: String) -> String {
    ///     query
    /// }
    ///
    /// let registry = Registry::new();
    /// registry.register_all_from("github", tools![find])?;
    /// registry.register_all_from("jira", tools![find])?;
    /// registry.prefer("find", ToolPreference::default().hidden())?;
    /// registry.prefer("jira__find", ToolPreference::default().weight(2.0))?;
    ///
    /// let tools = registry.snapshot();
    /// let hidden = |name| tools.definition(name).map(|tool| tool.preference.hidden);
    /// assert_eq!((hidden("github__find"), hidden("jira__find")), (Some(true), Some(false)));
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn prefer(&self, name: &str, preference: ToolPreference) -> Result<bool, RegistryError> {
        let held = self.held(|entry| entry.definition().goes_by(name));
        for entry in &held {
            entry.definition().clone().preference(preference.clone()).validate()?;
        }
        if held.is_empty() {
            return Ok(false);
        }
        let preference = Arc::new(preference);
        self.change(|contents| (contents.prefer(&held, &preference), ()));
        Ok(true)
    }

    /// What the registry holds now, without a lock: only the first snapshot after a description was
    /// changed asks the store and changes the registry, as registering does.
    pub fn snapshot(&self) -> Snapshot {
        let contents = self.contents.load();
        let is_outdated = contents.described().is_outdated();
        let contents = if is_outdated { self.refresh(&contents) } else { contents };
        Snapshot::new(contents, self.filter.clone())
    }

    /// Has models told what this store says of the tools, in all views of this registry.
    #[must_use]
    pub fn descriptions(self, store: impl DescriptionStore + 'static) -> Self {
        let described = Described::by(Arc::new(store));
        let contents = self.change(|contents| (contents.described_by(&described), ())).0;
        self.refresh(&contents);
        self
    }

    /// Has models told of all tools, also of those that are registered later, in the
    /// [dialect](crate::schema::Dialect) of their provider; in all views of this registry. With a strict
    /// one the provider is asked to hold the model to it. What tools take stays the same.
    ///
    /// For models of two providers make two registries of the same tools.
    ///
    /// # Errors
    /// What a tool takes can't be said in it; nothing was changed. From then on such a tool can't be
    /// registered.
    ///
    /// ```
    /// use tool_runtime::{Registry, schema::Dialect, tool, tools};
    ///
    /// /// Finds a word.
    /// #[tool(effect = "read")]
    /// async fn find(word: String, within: Option<u32>) -> String {
    ///     format!("{word} {within:?}")
    /// }
    ///
    /// let registry = Registry::try_from(tools![find])?.dialect(Dialect::OpenAiStrict)?;
    /// let tools = registry.snapshot();
    /// let told = tools.definition("find").unwrap().wire_parameters();
    /// assert_eq!(told.as_value()["required"], serde_json::json!(["word", "within"]));
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn dialect(self, dialect: Dialect) -> Result<Self, RegistryError> {
        self.contents.change(|contents| Ok::<_, RegistryError>((contents.bent(dialect)?, ())))?;
        Ok(self)
    }

    /// A view of this registry: the tools that [go by](crate::registry#what-names-mean) these names alone, whether
    /// they are there by now or not.
    #[must_use]
    pub fn only<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) -> Self {
        let names = Names::new(names);
        self.filter(move |entry| names.has(entry))
    }

    /// A view of this registry: all tools but those that [go by](crate::registry#what-names-mean) these names.
    #[must_use]
    pub fn without<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) -> Self {
        let names = Names::new(names);
        self.filter(move |entry| !names.has(entry))
    }

    /// A view of this registry: the tools for which `passes` holds. It is asked at each look, also
    /// of tools that are registered later, and nothing is copied. What it panics at is not held.
    #[must_use]
    pub fn filter(&self, passes: impl Fn(&Entry) -> bool + Send + Sync + 'static) -> Self {
        Self { contents: Arc::clone(&self.contents), filter: self.filter.and(passes) }
    }

    fn add(
        &self,
        tools: Tools,
        provider: Option<&str>,
    ) -> Result<Vec<Arc<dyn Tool>>, RegistryError> {
        provider.map_or(Ok(()), naming::check_provider)?;
        let provider = provider.map(Arc::from);
        let (mut new, mut names) = (Vec::new(), HashSet::new());
        for tool in tools {
            let entry = Entry::new(tool, provider.clone())?;
            if !names.insert(entry.full_name().to_owned()) {
                return Err(RegistryError::Duplicate { name: entry.full_name().to_owned() });
            }
            new.push(Arc::new(entry));
        }
        let displaced = self.put(new)?;
        Ok(displaced.iter().map(|entry| Arc::clone(entry.tool())).collect())
    }

    /// Puts entries in their places; those that were there come back.
    fn put(&self, new: Vec<Arc<Entry>>) -> Result<Vec<Arc<Entry>>, RegistryError> {
        let described = self.contents.load().described().now();
        let new: Vec<_> = new.into_iter().map(|entry| Arc::new(described.tell(&entry))).collect();
        Ok(self.contents.change(|contents| contents.put(&new, &described))?.1)
    }

    /// Takes away what stands in the places of these entries, which comes back.
    fn take(&self, old: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
        self.change(|contents| contents.take(old)).1
    }

    /// The entries that this view holds now and that are meant. Filters are foreign code, so a change
    /// begins with this.
    fn held(&self, is_meant: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
        let contents = self.contents.load();
        let held = contents.iter().filter(|entry| is_meant(entry) && self.filter.passes(entry));
        held.cloned().collect()
    }

    fn held_as(&self, name: &str) -> Option<Arc<Entry>> {
        let contents = self.contents.load();
        contents.get(name).filter(|entry| self.filter.passes(entry)).cloned()
    }

    #[cold]
    fn refresh(&self, outdated: &Contents) -> Arc<Contents> {
        let described = outdated.described().now();
        let told: Vec<_> = outdated.iter().map(|entry| described.tell(entry)).collect();
        self.change(|contents| (contents.refreshed(&told, &described), ())).0
    }

    fn change<T>(&self, change: impl Fn(&Contents) -> (Contents, T)) -> (Arc<Contents>, T) {
        let changed = self.contents.change(|contents| Ok::<_, Infallible>(change(contents)));
        changed.unwrap_or_else(|never| match never {})
    }
}

/// Names that tools go by.
struct Names(HashSet<String>);

impl Names {
    fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    fn has(&self, entry: &Entry) -> bool {
        entry.definition().names().any(|name| self.0.contains(name))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.snapshot()).finish()
    }
}
