use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Weak};

use super::contents::Contents;
use super::filter::Filter;
use super::{Entry, name_to_suggest, nearest};
use crate::event::RuleSetting;
use crate::schema::{NamedSchemas, SchemaConversion};
use crate::tool::{Availability, Tool, ToolDefinition};

/// An immutable copy of a registry's contents, sorted by name. Taking and cloning it is cheap.
///
/// It contains the tools of the registry's view that are not
/// [disabled](crate::ToolPreference::disabled).
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
/// let registry = Registry::try_from(tools![now])?;
/// let snapshot = registry.snapshot();
/// registry.unregister("now");
/// assert!(snapshot.get("now").is_some());
/// assert!(registry.snapshot().get("now").is_none());
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Default)]
pub struct Snapshot {
    contents: Arc<Contents>,
    filter: Filter,
}

impl Snapshot {
    pub(super) fn new(contents: Arc<Contents>, filter: Filter) -> Self {
        Self { contents, filter }
    }

    /// Returns the state of the provider of this tool, if the provider was
    /// [announced](crate::Registry::announce_provider) and its tools are not known yet.
    pub(crate) fn announced(&self, full_name: &str) -> Option<&str> {
        self.contents.announced(full_name)
    }

    /// Whether this provider was announced and its tools are not known yet.
    pub(crate) fn is_announced(&self, provider: &str) -> bool {
        self.contents.is_announced(provider)
    }

    /// Whether the tools of any announced provider are not known yet.
    pub(crate) fn has_announced(&self) -> bool {
        self.contents.has_announced()
    }

    /// Returns the tool that models call by this name, or that has this
    /// [full name](ToolDefinition::full_name), which models may remember.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.contents.get(name).map(AsRef::as_ref).filter(|entry| self.holds(entry))
    }

    /// Returns the implementation of the tool with this name; see [`entry`](Self::entry).
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(Entry::tool)
    }

    /// Returns the definition of the tool with this name, as models receive it; see
    /// [`entry`](Self::entry).
    pub fn definition(&self, name: &str) -> Option<&ToolDefinition> {
        self.entry(name).map(Entry::definition)
    }

    /// Returns the full name of the tool that the model calls by this name now.
    pub(crate) fn full_name_of(&self, called_name: &str) -> String {
        self.entry(called_name).map_or(called_name, Entry::full_name).to_owned()
    }

    /// Whether calls of this tool may be repeated. False for an unknown tool.
    pub(crate) fn is_retry_safe(&self, called_name: &str) -> bool {
        self.definition(called_name).is_some_and(ToolDefinition::is_retry_safe)
    }

    /// Whether an interrupted call of this tool can be made again. False for an unknown tool.
    pub(crate) fn is_resumable(&self, called_name: &str) -> bool {
        self.definition(called_name).is_some_and(ToolDefinition::is_resumable)
    }

    /// Returns the dialect of the schemas that models receive.
    pub(crate) fn dialect(&self) -> SchemaConversion {
        self.contents.dialect()
    }

    /// Returns all tools, sorted by name.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.shared_entries().map(AsRef::as_ref)
    }

    pub(super) fn shared_entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.contents.sorted().iter().filter(|entry| self.holds(entry))
    }

    /// Returns the [disabled](crate::ToolPreference::disabled) tools, sorted by name. No other
    /// method of a snapshot returns them.
    pub fn disabled_entries(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.contents.sorted().iter().map(AsRef::as_ref);
        entries.filter(|entry| !entry.is_enabled() && self.filter.passes(entry))
    }

    /// Returns all tools of the registry, including disabled tools and tools outside of this view.
    pub(crate) fn unfiltered_entries(&self) -> impl Iterator<Item = &Entry> {
        self.contents.sorted().iter().map(AsRef::as_ref)
    }

    /// Whether these are the full names in settings of a provider that none of its tools has.
    pub(super) fn has_unmatched_settings(&self, provider: &str, names: &BTreeSet<String>) -> bool {
        self.contents.has_unmatched_settings(provider, names)
    }

    /// Whether preferences, views or settings of providers were set by names of tools.
    pub(crate) fn has_named_rules(&self) -> bool {
        !self.contents.preferences().is_empty()
            || !self.filter.is_empty()
            || self.contents.unmatched_settings().next().is_some()
    }

    /// Returns the names in preferences, views and settings of providers that no tool of the
    /// registry has, sorted within each.
    pub(crate) fn unmatched_names(&self) -> impl Iterator<Item = (RuleSetting, &str)> {
        let has_tool = |is_tool: &dyn Fn(&ToolDefinition) -> bool| {
            self.unfiltered_entries().any(|entry| is_tool(entry.definition()))
        };
        let preferences = self.contents.preferences().keys().map(String::as_str);
        let preferences =
            preferences.filter(move |name| !has_tool(&|tool| tool.full_name() == *name));
        let viewed = self.filter.names().into_iter();
        let viewed = viewed.filter(move |name| !has_tool(&|tool| tool.has_name(name)));
        let preferences = preferences.map(|name| (RuleSetting::Preference, name));
        let of_providers = self.contents.unmatched_settings();
        let of_providers = of_providers.map(|name| (RuleSetting::ProviderSetting, name));
        preferences.chain(viewed.map(|name| (RuleSetting::View, name))).chain(of_providers)
    }

    fn holds(&self, entry: &Entry) -> bool {
        entry.is_enabled() && self.filter.passes(entry)
    }

    /// Returns the implementations of all tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.entries().map(Entry::tool)
    }

    /// Returns the definitions of the tools that are available, sorted by name. It queries the
    /// [availability](Tool::availability) of each tool.
    pub fn definitions(&self) -> Vec<&ToolDefinition> {
        let available = self.entries().filter(|entry| entry.availability().is_available());
        available.map(Entry::definition).collect()
    }

    /// Returns the definitions of all tools, sorted by name, whether they are available or not.
    pub fn all_definitions(&self) -> Vec<&ToolDefinition> {
        self.entries().map(Entry::definition).collect()
    }

    /// Queries the [availability](Tool::availability) of each tool, in the order of the names.
    ///
    /// ```
    /// use tool_runtime::{Registry, tool, tools};
    ///
    /// /// Shows the last commits.
    /// #[tool(effect = "read", cli = "no-such-program")]
    /// async fn last_commits() {}
    ///
    /// let tools = Registry::try_from(tools![last_commits])?.snapshot();
    /// let (entry, availability) = tools.check_availability().remove(0);
    /// assert_eq!(entry.name(), "last_commits");
    /// assert!(!availability.is_available());
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn check_availability(&self) -> Vec<(&Entry, Availability)> {
        self.entries().map(|entry| (entry, entry.availability())).collect()
    }

    /// Whether any tool of the registry has secret arguments, including tools outside of this view.
    pub(crate) fn has_secrets(&self) -> bool {
        self.contents.has_secrets()
    }

    /// Whether any tool of the registry is pure and reads, including tools outside of this view.
    pub(crate) fn has_memoized_reads(&self) -> bool {
        self.contents.has_memoized_reads()
    }

    /// Returns the schemas of all tools of the registry, including tools outside of this view. They
    /// are the same object for two snapshots if the registry did not change in between.
    pub(crate) fn schemas(&self) -> Weak<dyn NamedSchemas> {
        let contents: Arc<dyn NamedSchemas> = Arc::clone(&self.contents) as _;
        Arc::downgrade(&contents)
    }

    /// Returns the names of the providers, sorted.
    pub fn providers(&self) -> Vec<&str> {
        self.entries().filter_map(Entry::provider).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the names that are most similar to `name`, best first, as suggestions for a model
    /// that called an unknown tool.
    ///
    /// For a name with a provider, such as `github__find`, the suggestions are full names.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest(name, self.entries()).into_iter().map(|tool| name_to_suggest(tool, name)).collect()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries().map(Entry::name)).finish()
    }
}
