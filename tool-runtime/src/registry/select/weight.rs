use super::{Selection, Selector, definition_bytes};
use crate::tool::ToolDefinition;

/// The tools that matter most, as many as fit.
///
/// Tools that the model pulled in go out first, then the others by their
/// [weight](crate::ToolPreference::weight), and by name where that is the same. One that doesn't
/// fit is left out, and a smaller one behind it may still fit.
///
/// ```
/// use tool_runtime::registry::{ByWeight, Selection, Selector};
/// use tool_runtime::{ToolDefinition, ToolPreference};
///
/// let schema = || serde_json::json!({ "type": "object", "properties": {} });
/// let minor = ToolDefinition::new("a", "Does little.", schema());
/// let major = ToolDefinition::new("b", "Does much.", schema())
///     .preference(ToolPreference::default().weight(2.0));
///
/// let tools = [&minor, &major];
/// let chosen = ByWeight::new(60).select(Selection::new(&tools));
/// assert_eq!(chosen, [&major]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByWeight {
    bytes: usize,
}

impl ByWeight {
    /// Definitions of at most this many bytes together, each as JSON.
    pub fn new(bytes: usize) -> Self {
        Self { bytes }
    }
}

impl Selector for ByWeight {
    fn select<'a>(&self, selection: Selection<'a>) -> Vec<&'a ToolDefinition> {
        let enabled = selection.tools.iter().copied().filter(|tool| tool.preference.enabled);
        let mut ranked: Vec<_> = enabled.collect();
        ranked.sort_by(|a, b| {
            let first = |tool| selection.is_pulled_in(tool);
            let weight = |tool: &ToolDefinition| tool.preference.weight;
            first(b).cmp(&first(a)).then(weight(b).total_cmp(&weight(a))).then(a.name.cmp(&b.name))
        });
        let mut left = self.bytes;
        ranked.retain(|tool| match left.checked_sub(definition_bytes(tool)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        });
        ranked
    }
}
