//! Caches the search indexes of the sets of tools that were used last.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::ToolIndex;
use crate::tool::ToolDefinition;

/// The maximum number of indexes. Agents with different views of a registry search in turn.
const MAX_INDEXES: usize = 8;

/// Builds an index only for definitions that have none. Comparing definitions is cheap, because
/// equal schemas are shared.
#[derive(Debug, Default)]
pub(super) struct IndexCache(Mutex<Vec<CachedIndex>>);

#[derive(Debug)]
struct CachedIndex {
    tools: Vec<ToolDefinition>,
    index: Arc<OnceLock<ToolIndex>>,
}

impl IndexCache {
    /// Returns the tools that match a query best, at most `max_results`. Building an index does not
    /// block access to others.
    pub(super) fn search<'t>(
        &self,
        tools: &[&'t ToolDefinition],
        query: &str,
        max_results: usize,
    ) -> Vec<&'t ToolDefinition> {
        let index = self.cell_of(tools);
        let index = index.get_or_init(|| ToolIndex::new(tools.iter().copied()));
        // By position, because a tool of a provider has two names.
        let found = index.find(query, max_results).into_iter();
        found.filter_map(|(at, _)| tools.get(at).copied()).collect()
    }

    /// Returns the cell that holds the index of these tools, or will hold it.
    fn cell_of(&self, tools: &[&ToolDefinition]) -> Arc<OnceLock<ToolIndex>> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_equal = |cached: &CachedIndex| cached.tools.iter().eq(tools.iter().copied());
        let used = match cached.iter().position(is_equal) {
            Some(at) => cached.remove(at),
            None => {
                let tools = tools.iter().copied().cloned().collect();
                CachedIndex { tools, index: Arc::default() }
            }
        };
        let index = Arc::clone(&used.index);
        cached.insert(0, used);
        cached.truncate(MAX_INDEXES);
        index
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(text: &str) -> ToolDefinition {
        ToolDefinition::new("tool", text, json!({ "type": "object" }))
    }

    #[test]
    fn index_is_reused_until_a_definition_changes() {
        let (old, new) = (tool("Sends."), tool("Fetches."));
        let cached = IndexCache::default();
        let first = cached.cell_of(&[&old]);
        assert!(Arc::ptr_eq(&first, &cached.cell_of(&[&old.clone()])));
        assert!(!Arc::ptr_eq(&first, &cached.cell_of(&[&new])));
        let found = |tool, query| cached.search(&[tool], query, 1).len();
        assert_eq!([found(&new, "fetch"), found(&new, "send"), found(&old, "send")], [1, 0, 1]);
    }

    #[test]
    fn least_recently_used_index_is_evicted() {
        let cached = IndexCache::default();
        let tools: Vec<_> = (0..=MAX_INDEXES).map(|n| tool(&format!("Number {n}."))).collect();
        let first = cached.cell_of(&[&tools[0]]);
        let second = cached.cell_of(&[&tools[1]]);
        for tool in &tools[2..] {
            cached.cell_of(&[tool]);
            assert!(Arc::ptr_eq(&first, &cached.cell_of(&[&tools[0]])));
        }
        assert!(!Arc::ptr_eq(&second, &cached.cell_of(&[&tools[1]])));
    }
}
