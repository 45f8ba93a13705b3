use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::{RegistryError, Tools, nearest};
use crate::guard::guarded;
use crate::tool::{DefinitionError, Tool, ToolDefinition};

/// The tools that a registry held at one moment, sorted by name.
#[derive(Clone, Default)]
pub struct Snapshot {
    sorted: Vec<Entry>,
    named: HashMap<Box<str>, Entry, RandomState>,
}

/// A tool and what it said of itself when it was registered: it is asked but once, so that it
/// neither changes its mind nor crashes between two calls.
#[derive(Clone)]
pub(super) struct Entry {
    tool: Arc<dyn Tool>,
    definition: Arc<ToolDefinition>,
}

impl Entry {
    pub(super) fn new(tool: Arc<dyn Tool>) -> Result<Self, DefinitionError> {
        let definition = tool.definition().clone();
        definition.validate()?;
        Ok(Self { tool, definition: Arc::new(definition) })
    }

    pub(super) fn name(&self) -> &str {
        &self.definition.name
    }

    /// A tool that crashes when it is asked won't do better when it is called.
    fn is_available(&self) -> bool {
        guarded(|| self.tool.availability().is_available()).unwrap_or(false)
    }
}

impl Snapshot {
    /// The tool of this name.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.named.get(name).map(|entry| &entry.tool)
    }

    /// What the tool of this name said of itself when it was registered.
    pub fn definition(&self, name: &str) -> Option<&ToolDefinition> {
        self.named.get(name).map(|entry| entry.definition.as_ref())
    }

    /// All tools, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Tool>> {
        self.sorted.iter().map(|entry| &entry.tool)
    }

    /// The definitions of the tools that can run now, sorted by name. A tool that panics when it is
    /// asked can't.
    pub fn definitions(&self) -> Vec<&ToolDefinition> {
        let available = self.sorted.iter().filter(|entry| entry.is_available());
        available.map(|entry| entry.definition.as_ref()).collect()
    }

    /// The names most like `name`, best first: what a model may have meant.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest::nearest(name, self.sorted.iter().map(Entry::name))
    }

    pub(super) fn with(&self, entry: Entry) -> Self {
        let mut entries: Vec<_> = self.others(entry.name()).cloned().collect();
        entries.push(entry);
        Self::from_entries(entries)
    }

    pub(super) fn without(&self, name: &str) -> Self {
        Self::from_entries(self.others(name).cloned().collect())
    }

    fn others(&self, name: &str) -> impl Iterator<Item = &Entry> {
        self.sorted.iter().filter(move |entry| entry.name() != name)
    }

    fn from_entries(mut sorted: Vec<Entry>) -> Self {
        sorted.sort_by(|a, b| a.name().cmp(b.name()));
        let named = sorted.iter().map(|entry| (entry.name().into(), entry.clone())).collect();
        Self { sorted, named }
    }
}

impl TryFrom<Tools> for Snapshot {
    type Error = RegistryError;

    fn try_from(tools: Tools) -> Result<Self, RegistryError> {
        let entries: Result<Vec<_>, _> = tools.into_iter().map(Entry::new).collect();
        let snapshot = Self::from_entries(entries?);
        let twice = snapshot.sorted.windows(2).find_map(|pair| match pair {
            [a, b] if a.name() == b.name() => Some(a),
            _ => None,
        });
        match twice {
            Some(entry) => Err(RegistryError::Duplicate { name: entry.name().to_owned() }),
            None => Ok(snapshot),
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sorted.iter().map(Entry::name)).finish()
    }
}
