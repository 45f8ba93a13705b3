use std::sync::Arc;

use crate::registry::Entry;

/// The tools with the same own name: at most one without a provider and one of each provider,
/// sorted by provider. There is at least one.
#[derive(Clone)]
pub(crate) struct Namesakes {
    first: Arc<Entry>,
    others: Vec<Arc<Entry>>,
}

impl Namesakes {
    pub(crate) fn of(tools: Vec<Arc<Entry>>) -> Option<Self> {
        let mut tools = tools.into_iter();
        Some(Self { first: tools.next()?, others: tools.collect() })
    }

    pub(crate) fn into_tools(self) -> Vec<Arc<Entry>> {
        [self.first].into_iter().chain(self.others).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        [&self.first].into_iter().chain(&self.others)
    }

    /// Returns the tool that models call by its own name.
    pub(crate) fn called_by_own_name(&self) -> Option<&Arc<Entry>> {
        self.iter().find(|tool| tool.is_called_by_own_name())
    }

    /// Returns the tool of this provider, or the one without a provider.
    pub(crate) fn of_provider(&self, provider: Option<&str>) -> Option<&Arc<Entry>> {
        if self.first.provider() == provider {
            return Some(&self.first);
        }
        let at = position(&self.others, provider).ok()?;
        self.others.get(at)
    }
}

/// Inserts a tool and returns the one that it replaces.
pub(crate) fn insert(tools: &mut Vec<Arc<Entry>>, tool: Arc<Entry>) -> Option<Arc<Entry>> {
    match position(tools, tool.provider()) {
        Ok(at) => tools.get_mut(at).map(|old| std::mem::replace(old, tool)),
        Err(at) => {
            tools.insert(at, tool);
            None
        }
    }
}

/// Removes and returns the tool of this provider, or the one without a provider.
pub(crate) fn remove(tools: &mut Vec<Arc<Entry>>, provider: Option<&str>) -> Option<Arc<Entry>> {
    position(tools, provider).ok().map(|at| tools.remove(at))
}

/// Returns the index of this provider's tool, or where to insert it.
fn position(tools: &[Arc<Entry>], provider: Option<&str>) -> Result<usize, usize> {
    tools.binary_search_by(|tool| tool.provider().cmp(&provider))
}
