use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::byte_budget::fitting;
use super::{
    DEFAULT_MAX_FOUND_BYTES, Selector, SelectorInput, is_always_offered, newest_first, selectable,
};
use crate::tool::ToolDefinition;

/// Offers the tools with the highest weight that fit a byte budget.
///
/// The order is: tools that are [always](crate::ToolPreference::always) offered or [find
/// others](ToolDefinition::finds_tools), then all others by
/// [weight](crate::ToolPreference::weight), then by name. A tool that does not fit is skipped; a
/// smaller one after it may still fit.
///
/// Tools that the model discovered have a [budget](Self::max_found_bytes) of their own, so they do
/// not displace tools that were offered before. If it is exceeded, the tools that were discovered
/// first are dropped. A tool that is not offered can still be called.
///
/// Each turn ranks all tools and serializes those that may fit.
///
/// ```
/// use tool_runtime::registry::{ByWeight, SelectorInput, Selector};
/// use tool_runtime::{ToolDefinition, ToolPreference};
///
/// let schema = || serde_json::json!({ "type": "object", "properties": {} });
/// let minor = ToolDefinition::new("a", "Does little.", schema());
/// let major = ToolDefinition::new("b", "Does much.", schema())
///     .preference(ToolPreference::default().weight(2.0));
///
/// let tools = [&minor, &major];
/// let selection = SelectorInput::new(&tools);
/// assert_eq!(ByWeight::new(150).select(selection), [&major]);
///
/// let discovered = ["a".to_owned()];
/// assert_eq!(ByWeight::new(150).select(selection.discovered(&discovered)), [&minor, &major]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByWeight {
    bytes: usize,
    max_found_bytes: usize,
}

impl ByWeight {
    /// Creates a selector with a budget of `bytes` for all definitions together, as
    /// [`definition_bytes`] measures them.
    ///
    /// [`definition_bytes`]: super::definition_bytes
    pub fn new(bytes: usize) -> Self {
        Self { bytes, max_found_bytes: DEFAULT_MAX_FOUND_BYTES }
    }

    /// Sets the budget of discovered tools, in bytes. Default: 65,536.
    ///
    /// The budget applies to discovered tools only, and is added to that of [`new`](Self::new).
    #[must_use]
    pub fn max_found_bytes(mut self, bytes: usize) -> Self {
        self.max_found_bytes = bytes;
        self
    }
}

/// Returns the tools in the order of their importance.
pub(super) fn ranked<'a>(tools: &[&'a ToolDefinition]) -> Vec<&'a ToolDefinition> {
    let mut ranked = tools.to_vec();
    // The sort is stable, so tools of the same weight stay sorted by name.
    ranked.sort_by(|a, b| {
        let weight = || b.preference.weight.total_cmp(&a.preference.weight);
        is_always_offered(b).cmp(&is_always_offered(a)).then_with(weight)
    });
    ranked
}

impl Selector for ByWeight {
    fn select<'a>(&self, selection: SelectorInput<'a>) -> Vec<&'a ToolDefinition> {
        let mut tools = selectable(selection.tools);
        let mut selected: HashSet<_, RandomState> =
            fitting(ranked(&tools), self.bytes).map(|tool| tool.name.as_str()).collect();
        let mut more = newest_first(&tools, selection.discovered);
        more.retain(|tool| !selected.contains(tool.name.as_str()));
        let more: Vec<_> =
            fitting(more, self.max_found_bytes).map(|tool| tool.name.as_str()).collect();
        selected.extend(more);
        tools.retain(|tool| selected.contains(tool.name.as_str()));
        tools
    }

    fn blocking(&self) -> bool {
        true
    }
}
