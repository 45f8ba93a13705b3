use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::{RegistryError, Tools, nearest};
use crate::tool::{Tool, ToolDefinition};

/// The tools that a registry held at one moment, sorted by name.
#[derive(Clone, Default)]
pub struct Snapshot {
    sorted: Vec<Arc<dyn Tool>>,
    places: HashMap<Box<str>, usize, RandomState>,
}

impl Snapshot {
    /// The tool of this name.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.sorted.get(*self.places.get(name)?)
    }

    /// All tools, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Tool>> {
        self.sorted.iter()
    }

    /// The definitions of the tools that can run now, sorted by name.
    pub fn definitions(&self) -> Vec<&ToolDefinition> {
        let available = self.sorted.iter().filter(|tool| tool.availability().is_available());
        available.map(|tool| tool.definition()).collect()
    }

    /// The names most like `name`, best first: what a model may have meant.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest::nearest(name, self.sorted.iter().map(|tool| tool.definition().name.as_str()))
    }

    pub(super) fn with(&self, tool: Arc<dyn Tool>) -> Self {
        let mut sorted = self.sorted.clone();
        match self.places.get(tool.definition().name.as_str()) {
            Some(&place) => {
                sorted.splice(place..=place, [tool]);
            }
            None => sorted.push(tool),
        }
        Self::from_tools(sorted)
    }

    pub(super) fn without(&self, name: &str) -> Self {
        let kept = self.sorted.iter().filter(|tool| tool.definition().name != name);
        Self::from_tools(kept.cloned().collect())
    }

    fn from_tools(mut sorted: Vec<Arc<dyn Tool>>) -> Self {
        sorted.sort_by(|a, b| a.definition().name.cmp(&b.definition().name));
        let names = sorted.iter().map(|tool| tool.definition().name.as_str().into());
        let places = names.zip(0..).collect();
        Self { sorted, places }
    }
}

impl TryFrom<Tools> for Snapshot {
    type Error = RegistryError;

    fn try_from(tools: Tools) -> Result<Self, RegistryError> {
        let tools: Vec<_> = tools.into_iter().collect();
        for tool in &tools {
            tool.definition().validate()?;
        }
        let snapshot = Self::from_tools(tools);
        let twice = snapshot.sorted.windows(2).find_map(|pair| match pair {
            [a, b] if a.definition().name == b.definition().name => Some(a),
            _ => None,
        });
        match twice {
            Some(tool) => Err(RegistryError::Duplicate { name: tool.definition().name.clone() }),
            None => Ok(snapshot),
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sorted.iter().map(|tool| &tool.definition().name)).finish()
    }
}
