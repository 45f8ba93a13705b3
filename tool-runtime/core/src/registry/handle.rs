//! The registry: names, and the tools that they mean.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use super::candidates::candidates;
use super::contents::Contents;
use super::contents::shared::SharedContents;
use super::descriptions::description_source::{DescriptionSource, VersionedStore};
use super::filter::{Filter, NameSet};
use super::{DescriptionStore, Entry, RegistryError, Snapshot, Tools};
use crate::schema::Dialect;
use crate::tool::Tool;

/// The tools of a program. Clones share one set of tools.
///
/// A tool is asked for its definition when it is registered. Later changes of the definition have
/// no effect.
///
/// ```
/// use tool_runtime::{Registry, tool, tools};
///
/// /// Greets a person.
/// #[tool]
/// async fn hello(
///     /// The name of the person.
///     name: String,
/// ) -> String {
///     format!("Hello, {name}!")
/// }
///
/// let registry = Registry::try_from(tools![hello])?;
/// assert!(registry.snapshot().get("hello").is_some());
///
/// // A view shares the tools, including those that are registered later.
/// let view = registry.without(["hello"]);
/// assert!(view.snapshot().get("hello").is_none());
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    pub(super) contents: Arc<SharedContents<Contents>>,
    pub(super) filter: Filter,
}

impl Registry {
    /// Creates a registry without tools.
    ///
    /// ```
    /// use tool_runtime::{Registry, tool, tools};
    ///
    /// /// Returns the time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// let registry = Registry::new();
    /// registry.register_all(tools![now])?;
    /// assert!(registry.snapshot().get("now").is_some());
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool to the registry and returns the tool of the same name that it replaces.
    ///
    /// Registering through a view registers the tool for all views, and can replace a tool that
    /// this view does not contain.
    ///
    /// A change copies the index of the names: 4 µs with 100 tools, 260 µs with 10,000. To add many
    /// tools, use [`register_all`](Self::register_all), which copies it once.
    ///
    /// # Errors
    /// The definition is [invalid](crate::ToolDefinition::validate), or conflicts with the full
    /// name of a provider's tool. Then nothing is changed.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_runtime::{Registry, tool, tools};
    ///
    /// /// Returns the current time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// let registry = Registry::new();
    /// for tool in tools![now] {
    ///     assert!(registry.register(Arc::clone(&tool))?.is_none());
    ///     assert!(registry.register(tool)?.is_some());
    /// }
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<Option<Arc<dyn Tool>>, RegistryError> {
        Ok(self.add([tool].into_iter().collect(), None)?.pop())
    }

    /// Adds several tools in one atomic change and returns the tools that they replace.
    ///
    /// Use this to register many tools: the cost is that of one change, not of one for each tool.
    ///
    /// # Errors
    /// The errors of [`register`](Self::register), or two of the tools have the same name. Then
    /// nothing is changed.
    pub fn register_all(&self, tools: Tools) -> Result<Vec<Arc<dyn Tool>>, RegistryError> {
        self.add(tools, None)
    }

    /// Removes and returns the tool that models call by this name, or that has this full name.
    ///
    /// A tool that this view does not contain is not removed. See
    /// [tool names](crate::registry#tool-names).
    pub fn unregister(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let entry = self.find(name)?;
        self.remove(&[entry]).first().map(|entry| Arc::clone(entry.tool()))
    }

    /// Returns the current contents, without a lock.
    ///
    /// The first snapshot after a description was changed queries the [`DescriptionStore`] and
    /// changes the registry.
    pub fn snapshot(&self) -> Snapshot {
        let contents = self.contents.load();
        let is_outdated = contents.descriptions().is_outdated();
        let contents = if is_outdated { self.refresh(&contents) } else { contents };
        Snapshot::new(contents, self.filter.clone())
    }

    /// Adds a store whose descriptions and preferences replace those of the tools, for all views of
    /// this registry.
    ///
    /// Stores that were added before remain. The [precedence](DescriptionStore::precedence) of the
    /// stores decides which of them describes a tool.
    #[must_use]
    pub fn descriptions(self, store: impl DescriptionStore + 'static) -> Self {
        let store = VersionedStore::new(Arc::new(store));
        let contents = self.change(|contents| (contents.with_store(&store), ())).0;
        self.refresh(&contents);
        self
    }

    /// Sets the [dialect](crate::schema::Dialect) in which schemas are sent to the model provider,
    /// for all views of this registry and for tools that are registered later.
    ///
    /// A strict dialect asks the provider to enforce the schema. The validation of arguments does
    /// not change. If you use models of two providers, create a registry for each.
    ///
    /// # Errors
    /// The dialect can't express the parameters of a tool. Then nothing is changed. Once a dialect
    /// is set, such a tool can't be registered.
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
    /// let schema = tools.definition("find").unwrap().wire_parameters();
    /// assert_eq!(schema.as_value()["required"], serde_json::json!(["word", "within"]));
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn dialect(self, dialect: Dialect) -> Result<Self, RegistryError> {
        let change = |contents: &Contents| {
            Ok::<_, RegistryError>((contents.in_dialect(dialect.into())?, ()))
        };
        self.contents.change(change)?;
        Ok(self)
    }

    /// Creates a view that contains only the tools that
    /// [have one of these names](crate::registry#tool-names), now or later.
    ///
    /// [`Agent::check`](crate::Agent::check) reports a name that no tool has.
    #[must_use]
    pub fn only<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) -> Self {
        self.filtered(self.filter.only(NameSet::new(names)))
    }

    /// Creates a view that contains all tools except those that
    /// [have one of these names](crate::registry#tool-names).
    ///
    /// [`Agent::check`](crate::Agent::check) reports a name that no tool has.
    ///
    /// ```
    /// use tool_runtime::{Registry, tool, tools};
    ///
    /// /// Returns the current time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// /// Deletes everything.
    /// #[tool]
    /// async fn clear() {}
    ///
    /// let registry = Registry::try_from(tools![clear, now])?;
    /// assert_eq!(registry.without(["clear"]).snapshot().definitions().len(), 1);
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    #[must_use]
    pub fn without<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) -> Self {
        self.filtered(self.filter.without(NameSet::new(names)))
    }

    /// Creates a view that contains the tools for which `predicate` returns `true`.
    ///
    /// The view copies nothing: the predicate runs at each access, also for tools that are
    /// registered later. The view omits a tool for which the predicate panics.
    ///
    /// ```
    /// use tool_runtime::{Effect, Registry, tool, tools};
    ///
    /// /// Returns the current time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// /// Deletes everything.
    /// #[tool]
    /// async fn clear() {}
    ///
    /// let registry = Registry::try_from(tools![clear, now])?;
    /// let read_only = registry.filter(|tool| tool.definition().effect == Effect::Read);
    /// assert_eq!(read_only.snapshot().definitions().len(), 1);
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    #[must_use]
    pub fn filter(&self, predicate: impl Fn(&Entry) -> bool + Send + Sync + 'static) -> Self {
        self.filtered(self.filter.and(predicate))
    }

    pub(super) fn filtered(&self, filter: Filter) -> Self {
        Self { contents: Arc::clone(&self.contents), filter }
    }

    pub(super) fn add(
        &self,
        tools: Tools,
        provider: Option<&str>,
    ) -> Result<Vec<Arc<dyn Tool>>, RegistryError> {
        let replaced = self.insert(candidates(tools, provider)?.into_all()?)?;
        Ok(replaced.iter().map(|entry| Arc::clone(entry.tool())).collect())
    }

    /// Inserts entries and returns those that they replace.
    pub(super) fn insert(&self, new: Vec<Arc<Entry>>) -> Result<Vec<Arc<Entry>>, RegistryError> {
        let (new, source) = self.described(new);
        Ok(self.contents.change(|contents| contents.insert(&new, &source))?.1)
    }

    /// Returns the entries with the descriptions of the store, and the source of the descriptions.
    pub(super) fn described(&self, new: Vec<Arc<Entry>>) -> (Vec<Arc<Entry>>, DescriptionSource) {
        let source = self.contents.load().descriptions().at_current_version();
        let new = new.into_iter().map(|entry| Arc::new(source.describe(&entry))).collect();
        (new, source)
    }

    /// Removes and returns the current entries of these names and providers.
    pub(super) fn remove(&self, old: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
        self.change(|contents| contents.remove(old)).1
    }

    /// Returns the entries of this view for which `predicate` holds. Filters are foreign code, so
    /// they run before a change locks the contents.
    pub(super) fn entries_where(&self, predicate: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
        let contents = self.contents.load();
        let entries = contents.iter();
        entries.filter(|entry| predicate(entry) && self.filter.passes(entry)).cloned().collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Entry>> {
        let contents = self.contents.load();
        contents.get(name).filter(|entry| self.filter.passes(entry)).cloned()
    }

    pub(super) fn refresh(&self, outdated: &Contents) -> Arc<Contents> {
        let source = outdated.descriptions().at_current_version();
        let described: Vec<_> = outdated.iter().map(|entry| source.describe(entry)).collect();
        self.change(|contents| (contents.with_descriptions(&described, &source), ())).0
    }

    pub(super) fn change<T>(
        &self,
        change: impl Fn(&Contents) -> (Contents, T),
    ) -> (Arc<Contents>, T) {
        let changed = self.contents.change(|contents| Ok::<_, Infallible>(change(contents)));
        changed.unwrap_or_else(|never| match never {})
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.snapshot()).finish()
    }
}
