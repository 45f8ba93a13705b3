//! What a registry holds at one moment: never changed, only replaced.
//!
//! All of this is pure: foreign code was asked before. A change costs what it changes, for the rest
//! is shared with what was there before.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::described::Described;
use super::error::RegistryError;
use super::table::Table;
use super::{Entry, namesakes, naming};
use crate::schema::Dialect;
use crate::tool::ToolPreference;
use crate::tool::full_name::parts;

/// All tools at one moment.
#[derive(Clone, Default)]
pub(super) struct Contents {
    table: Table,
    /// By the full names of tools, whether they are there by now or not.
    preferences: Arc<BTreeMap<String, Arc<ToolPreference>>>,
    described: Described,
    /// In which models are told of all tools.
    dialect: Dialect,
    /// How many take arguments that are marked as secret.
    secretive: usize,
    /// By the names that models call them by; made when they are first listed.
    sorted: OnceLock<Arc<[Arc<Entry>]>>,
}

impl Contents {
    /// All tools, sorted by the names that models call them by.
    pub(super) fn sorted(&self) -> &[Arc<Entry>] {
        self.sorted.get_or_init(|| {
            let mut entries: Vec<_> = self.table.iter().cloned().collect();
            entries.sort_unstable_by(|a, b| a.name().cmp(b.name()));
            entries.into()
        })
    }

    /// In which models are told of them.
    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// All tools, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.table.iter()
    }

    /// The tool that models call by this name, or whose full name it is.
    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        let bare = self.table.find(name).and_then(|namesakes| namesakes.bare());
        bare.or_else(|| {
            let (provider, own) = parts(name)?;
            self.at(Some(provider), own)
        })
    }

    /// Whether a tool takes arguments that are marked as secret.
    #[inline]
    pub(super) fn has_secrets(&self) -> bool {
        self.secretive > 0
    }

    /// What the descriptions are of.
    pub(super) fn described(&self) -> &Described {
        &self.described
    }

    /// With these tools in their places, of which no two are the same; those that were there come
    /// back.
    pub(super) fn put(
        &self,
        new: &[Arc<Entry>],
        described: &Described,
    ) -> Result<(Self, Vec<Arc<Entry>>), RegistryError> {
        let (mut next, mut displaced) = (self.clone(), Vec::new());
        for entry in new {
            let entry = &Entry::bent(entry, self.dialect)?;
            if let Some((provider, own)) = naming::rival(entry.provider(), entry.own_name())
                && let Some(rival) = next.at(provider.as_deref(), &own)
            {
                return Err(RegistryError::taken(entry, rival));
            }
            next.edit(entry.own_name(), |tools| {
                displaced.extend(namesakes::put(tools, Arc::clone(entry)));
            });
        }
        next.described = self.described.with(described);
        Ok((next, displaced))
    }

    /// With all tools told of in this dialect.
    pub(super) fn bent(&self, dialect: Dialect) -> Result<Self, RegistryError> {
        let mut next = Self { dialect, ..self.clone() };
        for entry in self.sorted() {
            let bent = Entry::bent(entry, dialect)?;
            next.edit(entry.own_name(), |tools| drop(namesakes::put(tools, bent)));
        }
        Ok(next)
    }

    /// Without the tools that stand where these do; they come back as they are now.
    pub(super) fn take(&self, old: &[Arc<Entry>]) -> (Self, Vec<Arc<Entry>>) {
        let (mut next, mut taken) = (self.clone(), Vec::new());
        for entry in old {
            next.edit(entry.own_name(), |tools| {
                taken.extend(namesakes::take(tools, entry.provider()));
            });
        }
        (next, taken)
    }

    /// With what those should know of these tools who decide which are offered.
    pub(super) fn prefer(&self, tools: &[Arc<Entry>], preference: &Arc<ToolPreference>) -> Self {
        let mut next = self.clone();
        let said = tools.iter().map(|tool| (tool.full_name().to_owned(), Arc::clone(preference)));
        Arc::make_mut(&mut next.preferences).extend(said);
        for own in tools.iter().map(|tool| tool.own_name()).collect::<BTreeSet<_>>() {
            next.edit(own, |_| ());
        }
        next
    }

    /// With another store of descriptions, which nobody has asked yet.
    pub(super) fn described_by(&self, described: &Described) -> Self {
        Self { described: described.clone(), ..self.clone() }
    }

    /// With these tools described as they are here.
    pub(super) fn refreshed(&self, told: &[Entry], described: &Described) -> Self {
        if !self.described.is_of_the_store(described) {
            return self.clone();
        }
        let (mut changed, mut found) = (BTreeMap::<_, Vec<_>>::new(), 0);
        for told in told {
            let Some(now) = self.at(told.provider(), told.own_name()) else { continue };
            // One that was registered since was asked for then.
            if !now.is_same(told) {
                continue;
            }
            found += 1;
            if !now.is_described_as(told) {
                changed.entry(told.own_name()).or_default().push(Arc::new(told.clone()));
            }
        }
        let mut next = self.clone();
        for (own, new) in changed {
            next.edit(own, |tools| new.into_iter().for_each(|it| drop(namesakes::put(tools, it))));
        }
        next.described = match found == self.iter().count() {
            true => described.clone(),
            false => self.described.with(described),
        };
        next
    }

    fn at(&self, provider: Option<&str>, own: &str) -> Option<&Arc<Entry>> {
        self.table.find(own)?.of_provider(provider)
    }

    /// Changes the tools of one name, and has models told of each what holds by then.
    fn edit(&mut self, own: &str, edit: impl FnOnce(&mut Vec<Arc<Entry>>)) {
        self.sorted = OnceLock::new();
        self.table.edit(own, |tools| {
            self.secretive -= secretive(tools);
            edit(tools);
            self.secretive += secretive(tools);
            let count = tools.len();
            for tool in tools {
                let is_bare = naming::is_bare(tool.provider(), own, count);
                let preference = self.preferences.get(tool.full_name());
                Entry::settle(tool, is_bare, preference.map(AsRef::as_ref));
            }
        });
    }
}

fn secretive(tools: &[Arc<Entry>]) -> usize {
    tools.iter().filter(|tool| tool.definition().parameters.has_secrets()).count()
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sorted().iter().map(|entry| entry.name())).finish()
    }
}
