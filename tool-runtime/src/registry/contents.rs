//! What a registry holds at one moment: never changed, only replaced.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::error::RegistryError;
use super::{DescriptionStore, Tools};
use crate::guard::guarded;
use crate::tool::{Availability, Tool, ToolDefinition, ToolPreference};

/// Between a provider and the name of its tool, where the name alone would be another's as well.
const JOINT: &str = "__";

/// A registered tool, and what it said of itself when it was registered: it is asked but once, so
/// that it neither changes its mind nor crashes between two calls.
#[derive(Clone)]
pub struct Entry {
    tool: Arc<dyn Tool>,
    provider: Option<Arc<str>>,
    /// As the tool has it.
    own: Arc<ToolDefinition>,
    /// As models are told: under a name that is its alone, with the description of the store.
    shown: Arc<ToolDefinition>,
}

impl Entry {
    pub(super) fn new(
        tool: Arc<dyn Tool>,
        provider: Option<Arc<str>>,
    ) -> Result<Self, RegistryError> {
        let own = Arc::new(tool.definition().clone());
        own.validate()?;
        Ok(Self { tool, provider, shown: Arc::clone(&own), own })
    }

    /// The tool.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// What models are told of it.
    pub fn definition(&self) -> &ToolDefinition {
        &self.shown
    }

    /// The same, to keep.
    pub fn shared_definition(&self) -> &Arc<ToolDefinition> {
        &self.shown
    }

    /// Under whom it is registered, if under anybody.
    pub fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// The name that models call it by.
    pub fn name(&self) -> &str {
        &self.shown.name
    }

    /// The name that it gave itself. Another provider's tool may have the same.
    pub fn own_name(&self) -> &str {
        &self.own.name
    }

    /// Whether it can run now, and why not. A tool that panics when it is asked can't: it won't do
    /// better when it is called.
    pub fn availability(&self) -> Availability {
        guarded(|| self.tool.availability())
            .unwrap_or_else(|panic| Availability::Unavailable(panic.to_string()))
    }

    pub(super) fn prefer(&mut self, preference: ToolPreference) {
        Arc::make_mut(&mut self.own).preference = preference.clone();
        Arc::make_mut(&mut self.shown).preference = preference;
    }

    /// Where it stands: whatever is registered under the same takes its place.
    pub(super) fn place(&self) -> (Option<&str>, &str) {
        (self.provider(), self.own_name())
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("definition", &self.shown).finish_non_exhaustive()
    }
}

/// All tools at one moment, sorted by the names that models call them by.
#[derive(Clone, Default)]
pub(super) struct Contents {
    sorted: Vec<Arc<Entry>>,
    named: HashMap<Box<str>, Arc<Entry>, RandomState>,
    descriptions: Option<Arc<dyn DescriptionStore>>,
    /// The version of the store that the descriptions are of.
    described: u64,
    has_secrets: bool,
}

impl Contents {
    pub(super) fn entries(&self) -> &[Arc<Entry>] {
        &self.sorted
    }

    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.named.get(name)
    }

    /// Whether a tool takes arguments that are marked as secret.
    #[inline]
    pub(super) fn has_secrets(&self) -> bool {
        self.has_secrets
    }

    /// Whether descriptions were changed since these were taken.
    pub(super) fn is_outdated(&self) -> bool {
        let version = self.descriptions.as_ref().and_then(version);
        version.is_some_and(|version| version != self.described)
    }

    pub(super) fn described_by(
        &self,
        store: Arc<dyn DescriptionStore>,
    ) -> Result<Self, RegistryError> {
        Self::of(self.sorted.clone(), Some(store))
    }

    /// The same tools, with the descriptions as they are now.
    pub(super) fn refreshed(&self) -> Result<Self, RegistryError> {
        self.with_entries(self.sorted.clone())
    }

    /// Other entries with the same descriptions.
    pub(super) fn with_entries(&self, entries: Vec<Arc<Entry>>) -> Result<Self, RegistryError> {
        Self::of(entries, self.descriptions.clone())
    }

    fn of(
        mut entries: Vec<Arc<Entry>>,
        descriptions: Option<Arc<dyn DescriptionStore>>,
    ) -> Result<Self, RegistryError> {
        // Asked before the descriptions are: what is changed meanwhile is taken over next time.
        let described = descriptions.as_ref().and_then(version).unwrap_or_default();
        let mut bearers = BTreeMap::<String, usize>::new();
        for entry in &entries {
            *bearers.entry(entry.own.name.clone()).or_default() += 1;
        }
        for entry in &mut entries {
            let is_shared = bearers.get(&entry.own.name).is_some_and(|bearers| *bearers > 1);
            let own = &entry.own.name;
            let full = entry.provider.as_ref().map(|provider| format!("{provider}{JOINT}{own}"));
            let name = full.as_ref().filter(|_| is_shared).unwrap_or(own).clone();
            let description = descriptions.as_ref().and_then(|store| {
                // Under its full name it is the same tool, whoever else has come or gone.
                let said = |name: &str| guarded(|| store.description(name)).unwrap_or_default();
                full.and_then(|full| said(&full)).or_else(|| said(&name))
            });
            let description = description.unwrap_or_else(|| entry.own.description.as_str().into());
            if entry.shown.name != name || *entry.shown.description != *description {
                let mut shown = ToolDefinition::clone(&entry.own);
                shown.name = name;
                shown.description = description.as_ref().into();
                if shown.validate().is_err() {
                    // Nobody waits here for what is wrong with another's words: its own hold.
                    shown.description.clone_from(&entry.own.description);
                    shown.validate()?;
                }
                Arc::make_mut(entry).shown = Arc::new(shown);
            }
        }
        entries.sort_by(|a, b| a.name().cmp(b.name()));
        let twice = entries.windows(2).find_map(|pair| match pair {
            [a, b] if a.name() == b.name() => Some(a),
            _ => None,
        });
        if let Some(entry) = twice {
            return Err(RegistryError::Duplicate { name: entry.name().to_owned() });
        }
        let named = entries.iter().map(|entry| (entry.name().into(), Arc::clone(entry))).collect();
        let has_secrets = entries.iter().any(|entry| entry.shown.parameters.has_secrets());
        Ok(Self { sorted: entries, named, descriptions, described, has_secrets })
    }
}

/// A store is foreign code: one that panics says nothing, and what it said before holds.
fn version(store: &Arc<dyn DescriptionStore>) -> Option<u64> {
    guarded(|| store.version()).ok()
}

/// The tools of a list as entries.
pub(super) fn entries(
    tools: Tools,
    provider: Option<&Arc<str>>,
) -> Result<Vec<Arc<Entry>>, RegistryError> {
    tools.into_iter().map(|tool| Entry::new(tool, provider.cloned()).map(Arc::new)).collect()
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sorted.iter().map(|entry| entry.name())).finish()
    }
}
