use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::room::fitting;
use super::{ROOM, Selection, Selector, goes_out_always, newest, selectable};
use crate::tool::ToolDefinition;

/// The tools that matter most, as many as fit.
///
/// Those that [always](crate::ToolPreference::always) go out come first, and those by which [others are
/// found](ToolDefinition::finds_tools); then the others by their
/// [weight](crate::ToolPreference::weight), and by name where that is the same. One that doesn't
/// fit is left out, and a smaller one behind it may still fit.
///
/// Tools that the model pulled in take none of their bytes, so that what was offered before stays:
/// they have [room](Self::room) of their own. When that is full, those that were pulled in first
/// make way. One that is left out can still be called.
///
/// All enabled tools are ranked and those that may fit are printed on each turn.
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
/// let selection = Selection::new(&tools);
/// assert_eq!(ByWeight::new(150).select(selection), [&major]);
///
/// let found = ["a".to_owned()];
/// assert_eq!(ByWeight::new(150).select(selection.pulled_in(&found)), [&minor, &major]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByWeight {
    bytes: usize,
    room: usize,
}

impl ByWeight {
    /// Definitions of at most this many bytes together, as [`definition_bytes`] counts them.
    ///
    /// [`definition_bytes`]: super::definition_bytes
    pub fn new(bytes: usize) -> Self {
        Self { bytes, room: ROOM }
    }

    /// Tools that the model pulled in take at most this many bytes more; 65,536 unless set.
    #[must_use]
    pub fn room(mut self, bytes: usize) -> Self {
        self.room = bytes;
        self
    }
}

/// The tools that matter most first.
pub(super) fn ranked<'a>(tools: &[&'a ToolDefinition]) -> Vec<&'a ToolDefinition> {
    let mut ranked = tools.to_vec();
    // Where weights are the same, tools stay as they are: sorted by name.
    ranked.sort_by(|a, b| {
        let weight = || b.preference.weight.total_cmp(&a.preference.weight);
        goes_out_always(b).cmp(&goes_out_always(a)).then_with(weight)
    });
    ranked
}

impl Selector for ByWeight {
    fn select<'a>(&self, selection: Selection<'a>) -> Vec<&'a ToolDefinition> {
        let mut tools = selectable(selection.tools);
        let mut chosen: HashSet<_, RandomState> =
            fitting(ranked(&tools), self.bytes).map(|tool| tool.name.as_str()).collect();
        let mut more = newest(&tools, selection.pulled_in);
        more.retain(|tool| !chosen.contains(tool.name.as_str()));
        let more: Vec<_> = fitting(more, self.room).map(|tool| tool.name.as_str()).collect();
        chosen.extend(more);
        tools.retain(|tool| chosen.contains(tool.name.as_str()));
        tools
    }

    fn blocking(&self) -> bool {
        true
    }
}
