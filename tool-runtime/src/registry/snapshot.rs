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
    named: HashMap<Box<str>, Arc<dyn Tool>, RandomState>,
}

impl Snapshot {
    /// The tool of this name.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.named.get(name)
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
        let mut tools: Vec<_> = self.others(&tool.definition().name).cloned().collect();
        tools.push(tool);
        Self::from_tools(tools)
    }

    pub(super) fn without(&self, name: &str) -> Self {
        Self::from_tools(self.others(name).cloned().collect())
    }

    fn others(&self, name: &str) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.sorted.iter().filter(move |tool| tool.definition().name != name)
    }

    fn from_tools(mut sorted: Vec<Arc<dyn Tool>>) -> Self {
        sorted.sort_by(|a, b| a.definition().name.cmp(&b.definition().name));
        let named = |tool: &Arc<dyn Tool>| (tool.definition().name.as_str().into(), tool.clone());
        Self { named: sorted.iter().map(named).collect(), sorted }
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
