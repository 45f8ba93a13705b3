//! Indexes of the tools that there were last.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::ToolIndex;
use crate::tool::ToolDefinition;

/// For how many sets of tools: agents that see others of one registry search in turn.
const KEPT: usize = 8;

/// Makes a new index only for other definitions: they are compared, which costs little, for their
/// schemas are shared.
#[derive(Debug, Default)]
pub(super) struct Cached(Mutex<Vec<Indexed>>);

#[derive(Debug)]
struct Indexed {
    tools: Vec<ToolDefinition>,
    index: Arc<OnceLock<ToolIndex>>,
}

impl Cached {
    /// The index of these tools. While it is made, those who want another wait for nothing.
    pub(super) fn with<T>(
        &self,
        tools: &[&ToolDefinition],
        search: impl FnOnce(&ToolIndex) -> T,
    ) -> T {
        let index = self.place_of(tools);
        search(index.get_or_init(|| ToolIndex::new(tools.iter().copied())))
    }

    /// Where the index of these tools is, or is to be.
    fn place_of(&self, tools: &[&ToolDefinition]) -> Arc<OnceLock<ToolIndex>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &Indexed| known.tools.iter().eq(tools.iter().copied());
        let used = match known.iter().position(is_it) {
            Some(at) => known.remove(at),
            None => {
                let tools = tools.iter().copied().cloned().collect();
                Indexed { tools, index: Arc::default() }
            }
        };
        let index = Arc::clone(&used.index);
        known.insert(0, used);
        known.truncate(KEPT);
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
    fn an_index_serves_until_a_definition_is_another() {
        let (old, new) = (tool("Sends."), tool("Fetches."));
        let cached = Cached::default();
        let first = cached.place_of(&[&old]);
        assert!(Arc::ptr_eq(&first, &cached.place_of(&[&old.clone()])));
        assert!(!Arc::ptr_eq(&first, &cached.place_of(&[&new])));
        let found = |tool, query| cached.with(&[tool], |index| index.search(query, 1).len());
        assert_eq!([found(&new, "fetch"), found(&new, "send"), found(&old, "send")], [1, 0, 1]);
    }

    #[test]
    fn those_that_were_used_last_are_kept() {
        let cached = Cached::default();
        let tools: Vec<_> = (0..=KEPT).map(|n| tool(&format!("Number {n}."))).collect();
        let first = cached.place_of(&[&tools[0]]);
        let second = cached.place_of(&[&tools[1]]);
        for tool in &tools[2..] {
            cached.place_of(&[tool]);
            assert!(Arc::ptr_eq(&first, &cached.place_of(&[&tools[0]])));
        }
        assert!(!Arc::ptr_eq(&second, &cached.place_of(&[&tools[1]])));
    }
}
