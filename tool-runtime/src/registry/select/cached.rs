//! The index of the tools that there were last.

use std::sync::{Arc, Mutex, PoisonError};

use super::ToolIndex;
use crate::tool::ToolDefinition;

/// Makes a new index only for other definitions: they are compared, which costs little, for their
/// schemas are shared.
#[derive(Debug, Default)]
pub(super) struct Cached(Mutex<Option<(Vec<ToolDefinition>, Arc<ToolIndex>)>>);

impl Cached {
    pub(super) fn of(&self, tools: &[&ToolDefinition]) -> Arc<ToolIndex> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((indexed, index)) = cached.as_ref()
            && indexed.iter().eq(tools.iter().copied())
        {
            return Arc::clone(index);
        }
        let index = Arc::new(ToolIndex::new(tools.iter().copied()));
        *cached = Some((tools.iter().copied().cloned().collect(), Arc::clone(&index)));
        index
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_index_serves_until_a_definition_is_another() {
        let tool = |text| ToolDefinition::new("tool", text, json!({ "type": "object" }));
        let (old, new) = (tool("Sends."), tool("Fetches."));
        let cached = Cached::default();
        let first = cached.of(&[&old]);
        assert!(Arc::ptr_eq(&first, &cached.of(&[&old.clone()])));
        let second = cached.of(&[&new]);
        assert!(!Arc::ptr_eq(&first, &second));
        assert_eq!(second.search("fetch", 1).len(), 1);
        assert!(second.search("send", 1).is_empty());
    }
}
