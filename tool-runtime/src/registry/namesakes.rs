use std::sync::Arc;

use super::Entry;

/// Tools of one own name: at most one without a provider and one of each provider, in this order.
/// There is at least one.
#[derive(Clone)]
pub(super) struct Namesakes {
    name: Arc<str>,
    first: Arc<Entry>,
    others: Vec<Arc<Entry>>,
}

impl Namesakes {
    pub(super) fn of(name: Arc<str>, tools: Vec<Arc<Entry>>) -> Option<Self> {
        let mut tools = tools.into_iter();
        Some(Self { name, first: tools.next()?, others: tools.collect() })
    }

    pub(super) fn into_tools(self) -> Vec<Arc<Entry>> {
        [self.first].into_iter().chain(self.others).collect()
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        [&self.first].into_iter().chain(&self.others)
    }

    /// The one that models call by the name alone.
    #[inline]
    pub(super) fn bare(&self) -> Option<&Arc<Entry>> {
        self.first.is_bare().then_some(&self.first)
    }

    /// The one of this provider, or without any.
    pub(super) fn of_provider(&self, provider: Option<&str>) -> Option<&Arc<Entry>> {
        if self.first.provider() == provider {
            return Some(&self.first);
        }
        let at = place(&self.others, provider).ok()?;
        self.others.get(at)
    }
}

/// Puts a tool in its place; the one that was there comes back.
pub(super) fn put(tools: &mut Vec<Arc<Entry>>, tool: Arc<Entry>) -> Option<Arc<Entry>> {
    match place(tools, tool.provider()) {
        Ok(at) => tools.get_mut(at).map(|old| std::mem::replace(old, tool)),
        Err(at) => {
            tools.insert(at, tool);
            None
        }
    }
}

/// Takes the tool of a provider away, or the one without any.
pub(super) fn take(tools: &mut Vec<Arc<Entry>>, provider: Option<&str>) -> Option<Arc<Entry>> {
    place(tools, provider).ok().map(|at| tools.remove(at))
}

/// Where the tool of this provider stands, or belongs.
fn place(tools: &[Arc<Entry>], provider: Option<&str>) -> Result<usize, usize> {
    tools.binary_search_by(|tool| tool.provider().cmp(&provider))
}
