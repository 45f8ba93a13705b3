//! The contents of a registry at one moment: never changed, only replaced.
//!
//! This module is pure; foreign code runs before it. A change copies the map of names once, however
//! many tools it changes.

pub(crate) mod entry;
pub(crate) mod replace;
pub(crate) mod shared;
pub(crate) mod table;
pub(crate) mod valid_tools;
pub(crate) mod weak;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::error::RegistryError;
use super::naming::namesakes;
use super::{Entry, naming};
use crate::registry::contents::table::Table;
use crate::registry::descriptions::description_source::{DescriptionSource, VersionedStore};
use crate::schema::{NamedSchemas, Schema, SchemaConversion};
use crate::tool::definition::full_name::split_full_name;
use crate::tool::{Effect, ToolDefinition, ToolPreference};

/// All tools at one moment.
#[derive(Clone, Default)]
pub(crate) struct Contents {
    table: Table,
    /// By the full names of tools, whether they are registered now or not.
    preferences: Arc<BTreeMap<String, Arc<ToolPreference>>>,
    descriptions: DescriptionSource,
    /// The states of providers whose tools are not known yet.
    announced: Arc<BTreeMap<String, Arc<str>>>,
    /// The full names in settings of providers that none of their tools has.
    unmatched_settings: Arc<BTreeMap<String, BTreeSet<String>>>,
    /// The dialect of the schemas that models receive.
    dialect: SchemaConversion,
    /// The number of tools with secret arguments.
    secret_count: usize,
    /// The number of pure tools that read.
    memoized_read_count: usize,
    /// Sorted by the names by which models call the tools; created when it is first needed.
    sorted: OnceLock<Arc<[Arc<Entry>]>>,
}

impl Contents {
    /// Returns all tools, sorted by the names by which models call them.
    pub(super) fn sorted(&self) -> &[Arc<Entry>] {
        self.sorted.get_or_init(|| {
            let mut entries: Vec<_> = self.table.iter().cloned().collect();
            entries.sort_unstable_by(|a, b| a.name().cmp(b.name()));
            entries.into()
        })
    }

    pub(super) fn dialect(&self) -> SchemaConversion {
        self.dialect
    }

    /// Returns all tools, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.table.iter()
    }

    /// Returns the tool that models call by this name, or that has this full name.
    pub(super) fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        let by_own_name =
            self.table.find(name).and_then(|namesakes| namesakes.called_by_own_name());
        by_own_name.or_else(|| {
            let (provider, own_name) = split_full_name(name)?;
            self.of_provider(Some(provider), own_name)
        })
    }

    /// Whether any tool has secret arguments.
    pub(super) fn has_secrets(&self) -> bool {
        self.secret_count > 0
    }

    /// Whether any tool is pure and reads.
    pub(super) fn has_memoized_reads(&self) -> bool {
        self.memoized_read_count > 0
    }

    /// Returns the source of the current descriptions.
    pub(super) fn descriptions(&self) -> &DescriptionSource {
        &self.descriptions
    }

    /// Returns contents with these distinct tools, and the tools that they replace.
    pub(super) fn insert(
        &self,
        new: &[Arc<Entry>],
        source: &DescriptionSource,
    ) -> Result<(Self, Vec<Arc<Entry>>), RegistryError> {
        let (mut next, mut replaced) = (self.clone(), Vec::new());
        for entry in new {
            replaced.extend(next.insert_one(entry)?);
        }
        next.add_source(source);
        Ok((next, replaced))
    }

    /// Records that some tools have descriptions of this source.
    pub(super) fn add_source(&mut self, source: &DescriptionSource) {
        self.descriptions = self.descriptions.merged_with(source);
    }

    /// Inserts a tool and returns the one that it replaces.
    ///
    /// # Errors
    /// The dialect can't express the tool, or its name is taken. Then nothing is changed.
    pub(super) fn insert_one(
        &mut self,
        entry: &Arc<Entry>,
    ) -> Result<Option<Arc<Entry>>, RegistryError> {
        let entry = Entry::in_dialect(entry, self.dialect)?;
        if let Some((provider, own_name)) = naming::rival(entry.provider(), entry.own_name())
            && let Some(rival) = self.of_provider(provider.as_deref(), &own_name)
        {
            return Err(RegistryError::name_conflict(&entry, rival));
        }
        if let Some(provider) = entry.provider() {
            self.announce(provider, None);
        }
        let (own_name, mut replaced) = (entry.own_name().to_owned(), None);
        self.edit(&own_name, |tools| replaced = namesakes::insert(tools, entry));
        Ok(replaced)
    }

    /// Sets the state of a provider whose tools are not known yet.
    pub(super) fn announce(&mut self, provider: &str, state: Option<Arc<str>>) {
        match state {
            Some(state) => {
                Arc::make_mut(&mut self.announced).insert(provider.to_owned(), state);
            }
            None if self.announced.contains_key(provider) => {
                Arc::make_mut(&mut self.announced).remove(provider);
            }
            None => {}
        }
    }

    /// Sets the full names in the settings of a provider that none of its tools has.
    pub(super) fn set_unmatched_settings(&mut self, provider: &str, names: BTreeSet<String>) {
        if self.has_unmatched_settings(provider, &names) {
            return;
        }
        let all = Arc::make_mut(&mut self.unmatched_settings);
        if names.is_empty() {
            all.remove(provider);
        } else {
            all.insert(provider.to_owned(), names);
        }
    }

    /// Whether these are the full names that were set for the provider.
    pub(super) fn has_unmatched_settings(&self, provider: &str, names: &BTreeSet<String>) -> bool {
        let set = self.unmatched_settings.get(provider);
        set.map_or(names.is_empty(), |set| set == names)
    }

    /// Returns the full names in settings of providers that none of their tools has, sorted.
    pub(super) fn unmatched_settings(&self) -> impl Iterator<Item = &str> {
        self.unmatched_settings.values().flatten().map(String::as_str)
    }

    /// Whether this provider was announced and its tools are not known yet.
    pub(super) fn is_announced(&self, provider: &str) -> bool {
        self.announced.contains_key(provider)
    }

    /// Whether the tools of any announced provider are not known yet.
    pub(super) fn has_announced(&self) -> bool {
        !self.announced.is_empty()
    }

    /// Returns the state of the provider of a tool that is not known yet.
    pub(super) fn announced(&self, full_name: &str) -> Option<&str> {
        let (provider, _) = split_full_name(full_name)?;
        self.announced.get(provider).map(AsRef::as_ref)
    }

    /// Returns contents in which the schemas are expressed in this dialect.
    pub(super) fn in_dialect(&self, dialect: SchemaConversion) -> Result<Self, RegistryError> {
        let mut next = Self { dialect, ..self.clone() };
        for old in self.sorted() {
            let entry = Entry::in_dialect(old, dialect)?;
            next.edit(old.own_name(), |tools| drop(namesakes::insert(tools, entry)));
        }
        Ok(next)
    }

    /// Returns contents without the tools of these names and providers, and the removed tools.
    pub(super) fn remove(&self, old: &[Arc<Entry>]) -> (Self, Vec<Arc<Entry>>) {
        let (mut next, mut removed) = (self.clone(), Vec::new());
        for entry in old {
            next.edit(entry.own_name(), |tools| {
                removed.extend(namesakes::remove(tools, entry.provider()));
            });
        }
        (next, removed)
    }

    /// Returns contents with another preference of these tools.
    pub(super) fn with_preference(
        &self,
        tools: &[Arc<Entry>],
        preference: &Arc<ToolPreference>,
    ) -> Self {
        let mut next = self.clone();
        let new = tools.iter().map(|tool| (tool.full_name().to_owned(), Arc::clone(preference)));
        Arc::make_mut(&mut next.preferences).extend(new);
        for own_name in tools.iter().map(|tool| tool.own_name()).collect::<BTreeSet<_>>() {
            next.edit(own_name, |_| ());
        }
        next
    }

    /// Returns the preferences that were set, by full name.
    pub(super) fn preferences(&self) -> &BTreeMap<String, Arc<ToolPreference>> {
        &self.preferences
    }

    /// Returns contents with these preferences, by full name, instead of all current ones.
    pub(super) fn with_preferences(
        &self,
        preferences: &Arc<BTreeMap<String, Arc<ToolPreference>>>,
    ) -> Self {
        let mut next = Self { preferences: Arc::clone(preferences), ..self.clone() };
        for own_name in self.iter().map(|tool| tool.own_name()).collect::<BTreeSet<_>>() {
            next.edit(own_name, |_| ());
        }
        next
    }

    /// Returns contents with one more store of descriptions, which was not queried yet.
    pub(super) fn with_store(&self, store: &VersionedStore) -> Self {
        Self { descriptions: self.descriptions.with(store), ..self.clone() }
    }

    /// Returns contents with the descriptions of these entries, which `source` provided.
    pub(super) fn with_descriptions(
        &self,
        described: &[Entry],
        source: &DescriptionSource,
    ) -> Self {
        if !self.descriptions.has_same_stores(source) {
            return self.clone();
        }
        let (mut changed, mut found) = (BTreeMap::<_, Vec<_>>::new(), 0);
        for entry in described {
            let Some(current) = self.of_provider(entry.provider(), entry.own_name()) else {
                continue;
            };
            // A tool that was registered in the meantime was described then.
            if !current.is_same_registration(entry) {
                continue;
            }
            found += 1;
            if !current.has_same_overrides(entry) {
                changed.entry(entry.own_name()).or_default().push(Arc::new(entry.clone()));
            }
        }
        let mut next = self.clone();
        for (own_name, new) in changed {
            next.edit(own_name, |tools| {
                new.into_iter().for_each(|entry| drop(namesakes::insert(tools, entry)));
            });
        }
        next.descriptions = if found == self.iter().count() {
            source.clone()
        } else {
            self.descriptions.merged_with(source)
        };
        next
    }

    fn of_provider(&self, provider: Option<&str>, own_name: &str) -> Option<&Arc<Entry>> {
        self.table.find(own_name)?.of_provider(provider)
    }

    /// Changes the tools of one own name and updates their definitions.
    fn edit(&mut self, own_name: &str, edit: impl FnOnce(&mut Vec<Arc<Entry>>)) {
        self.sorted = OnceLock::new();
        self.table.edit(own_name, |tools| {
            self.secret_count -= secret_count(tools);
            self.memoized_read_count -= memoized_read_count(tools);
            edit(tools);
            self.secret_count += secret_count(tools);
            self.memoized_read_count += memoized_read_count(tools);
            let count = tools.iter().filter(|tool| !tool.is_always_prefixed()).count();
            for tool in tools {
                let is_own_name = !tool.is_always_prefixed()
                    && naming::is_called_by_own_name(tool.provider(), own_name, count);
                let preference = self.preferences.get(tool.full_name());
                Entry::update(tool, is_own_name, preference.map(AsRef::as_ref));
            }
        });
    }
}

fn secret_count(tools: &[Arc<Entry>]) -> usize {
    tools.iter().filter(|tool| tool.definition().parameters.has_secrets()).count()
}

fn memoized_read_count(tools: &[Arc<Entry>]) -> usize {
    let is_memoized_read = |tool: &ToolDefinition| tool.pure && tool.effect == Effect::Read;
    tools.iter().filter(|tool| is_memoized_read(tool.definition())).count()
}

impl NamedSchemas for Contents {
    fn schema_of(&self, tool: &str) -> Option<&Schema> {
        self.get(tool).map(|entry| &entry.definition().parameters)
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sorted().iter().map(|entry| entry.name())).finish()
    }
}
