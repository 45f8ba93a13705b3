use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Weak};

use super::contents::Contents;
use super::filter::Filter;
use super::{Entry, called, nearest};
use crate::schema::Dialect;
use crate::tool::{Availability, Tool, ToolDefinition, ToolKind};

/// What a registry held at one moment, sorted by name. It never changes, and costs nothing to take
/// or to clone.
#[derive(Clone, Default)]
pub struct Snapshot {
    contents: Arc<Contents>,
    filter: Filter,
}

/// Whether a tool can run, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolStatus {
    /// The name that models call it by.
    pub name: String,
    /// What it is made of.
    pub kind: ToolKind,
    /// Whether it can run now.
    pub availability: Availability,
}

impl Snapshot {
    pub(super) fn new(contents: Arc<Contents>, filter: Filter) -> Self {
        Self { contents, filter }
    }

    /// The tool of this name, and what is known of it. It is the name that models call it by, or its
    /// [full name](ToolDefinition::full_name), which models may remember.
    #[inline]
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.contents.get(name).map(AsRef::as_ref).filter(|entry| self.holds(entry))
    }

    /// The tool of this name.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(Entry::tool)
    }

    /// What models are told of the tool of this name.
    pub fn definition(&self, name: &str) -> Option<&ToolDefinition> {
        self.entry(name).map(Entry::definition)
    }

    /// The dialect in which models are told of the tools.
    pub(crate) fn dialect(&self) -> Dialect {
        self.contents.dialect()
    }

    /// All tools, with what is known of them, sorted by name.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.contents.sorted().iter().map(AsRef::as_ref);
        entries.filter(|entry| self.holds(entry))
    }

    /// Returns the [disabled](crate::ToolPreference::disabled) tools, sorted by name. No other
    /// method of a snapshot returns them.
    pub fn disabled_entries(&self) -> impl Iterator<Item = &Entry> {
        let entries = self.contents.sorted().iter().map(AsRef::as_ref);
        entries.filter(|entry| !entry.is_enabled() && self.filter.passes(entry))
    }

    #[inline]
    fn holds(&self, entry: &Entry) -> bool {
        entry.is_enabled() && self.filter.passes(entry)
    }

    /// All tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.entries().map(Entry::tool)
    }

    /// The definitions of the tools that can run now, sorted by name. Each is asked.
    pub fn definitions(&self) -> Vec<&ToolDefinition> {
        let available = self.entries().filter(|entry| entry.availability().is_available());
        available.map(Entry::definition).collect()
    }

    /// The definitions of all tools, sorted by name, whether they can run or not.
    pub fn all_definitions(&self) -> Vec<&ToolDefinition> {
        self.entries().map(Entry::definition).collect()
    }

    /// Which tools can run now and why the others can't, sorted by name. Each is asked.
    pub fn check_availability(&self) -> Vec<ToolStatus> {
        let status = |entry: &Entry| ToolStatus {
            name: entry.name().to_owned(),
            kind: entry.definition().kind.clone(),
            availability: entry.availability(),
        };
        self.entries().map(status).collect()
    }

    /// Whether one of them takes secrets, also one that this view leaves out.
    #[inline]
    pub(crate) fn has_secrets(&self) -> bool {
        self.contents.has_secrets()
    }

    /// All tools, in no order, also those that this view leaves out.
    pub(crate) fn all_entries(&self) -> impl Iterator<Item = &Entry> {
        self.contents.iter().map(AsRef::as_ref)
    }

    /// What two snapshots share between which no tool came or went.
    pub(crate) fn identity(&self) -> Weak<dyn Any + Send + Sync> {
        let contents: Arc<dyn Any + Send + Sync> = Arc::clone(&self.contents) as _;
        Arc::downgrade(&contents)
    }

    /// Those who provide tools, sorted.
    pub fn providers(&self) -> Vec<&str> {
        self.entries().filter_map(Entry::provider).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The names most like `name`, best first: what a model may have meant. A name that says whose the
    /// tool is, as `github__find`, is answered with full names.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest(name, self.entries()).into_iter().map(|tool| called(tool, name)).collect()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries().map(Entry::name)).finish()
    }
}
