use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::by_weight::ranked;
use super::byte_budget::fitting;
use super::index_cache::IndexCache;
use super::{
    DEFAULT_MAX_FOUND_BYTES, Selector, SelectorInput, is_always_offered, newest_first, selectable,
};
use crate::tool::ToolDefinition;

/// Offers [`SearchTools`](super::SearchTools) and the tools that the model discovered with it.
///
/// With a thousand tools, a model would pay for all definitions on each turn. This selector offers:
///
/// - the tools that [find others](ToolDefinition::finds_tools),
/// - the tools that are [always](crate::ToolPreference::always) offered,
/// - the tools that the model discovered, or that match the user message
///   ([`max_matches`](Self::max_matches)),
/// - the tools that were offered before, so that the caches of providers stay valid.
///
/// The last two groups share a [byte budget](Self::max_bytes). If it is exceeded,
/// matches come first, then discovered tools, then tools that were offered before; within a group,
/// the newest come first. A tool that is left out can still be called and found again.
///
/// If no tool can find others and `max_matches` is not set, the remaining tools could never be
/// discovered. Then as many of them as fit the budget are offered, those of the highest
/// [weight](crate::ToolPreference::weight) first.
///
/// Each turn looks at the name of each tool. With `max_matches`, each turn also searches an index,
/// which is built again if the tools have changed.
///
/// ```
/// use tool_runtime::registry::{BySearch, SelectorInput, Selector};
/// use tool_runtime::ToolDefinition;
///
/// let schema = || serde_json::json!({ "type": "object", "properties": {} });
/// let tools = [
///     ToolDefinition::new("now", "Returns the current time.", schema()),
///     ToolDefinition::new("search_tools", "Finds tools.", schema()).finds_tools(),
///     ToolDefinition::new("send_mail", "Sends a message.", schema()),
///     ToolDefinition::new("weather", "Returns how warm it is in a city.", schema()),
/// ];
/// let tools: Vec<_> = tools.iter().collect();
/// let names = |selected: Vec<&ToolDefinition>| -> Vec<_> {
///     selected.iter().map(|tool| tool.name.clone()).collect()
/// };
///
/// let selector = BySearch::new().always(["now"]);
/// let selection = SelectorInput::new(&tools).user_text("How warm is it in Oslo?");
/// assert_eq!(names(selector.select(selection)), ["now", "search_tools"]);
///
/// let discovered = ["send_mail".to_owned()];
/// let selected = selector.select(selection.discovered(&discovered));
/// assert_eq!(names(selected), ["now", "search_tools", "send_mail"]);
///
/// // A tool that matches the user message needs no search by the model.
/// let selected = selector.max_matches(1).select(selection);
/// assert_eq!(names(selected), ["now", "search_tools", "weather"]);
/// ```
#[derive(Debug)]
pub struct BySearch {
    always: Vec<String>,
    max_matches: usize,
    max_bytes: usize,
    indexes: IndexCache,
}

impl Default for BySearch {
    fn default() -> Self {
        Self {
            always: Vec::new(),
            max_matches: 0,
            max_bytes: DEFAULT_MAX_FOUND_BYTES,
            indexes: IndexCache::default(),
        }
    }
}

impl BySearch {
    /// Creates a selector with default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the budget of all tools that are not always offered, in bytes. Default: 65,536.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Offers the tools that [have one of these names](crate::registry#tool-names) on every turn.
    #[must_use]
    pub fn always<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.always.extend(names.into_iter().map(Into::into));
        self
    }

    /// Offers this many tools that match the last user message best. Default: 0.
    #[must_use]
    pub fn max_matches(mut self, count: usize) -> Self {
        self.max_matches = count;
        self
    }
}

impl Selector for BySearch {
    fn select<'a>(&self, selection: SelectorInput<'a>) -> Vec<&'a ToolDefinition> {
        let mut tools = selectable(selection.tools);
        let is_named = |tool: &ToolDefinition| self.always.iter().any(|name| tool.has_name(name));
        let mut selected: HashSet<&str, RandomState> = tools
            .iter()
            .filter(|tool| is_always_offered(tool) || is_named(tool))
            .map(|tool| tool.name.as_str())
            .collect();
        let can_discover = self.max_matches > 0 || tools.iter().any(|tool| is_always_offered(tool));
        let matches = match self.max_matches {
            0 => Vec::new(),
            count => self.indexes.search(&tools, selection.user_text, count),
        };
        // Matches, then discovered tools, then tools that were offered before; the newest first.
        let earlier = [selection.discovered, selection.offered].into_iter();
        let earlier = earlier.flat_map(|names| newest_first(&tools, names));
        let candidates = matches.into_iter().chain(earlier);
        let others = if can_discover { Vec::new() } else { ranked(&tools) };
        let mut known = selected.clone();
        let more = candidates.chain(others).filter(|tool| known.insert(tool.name.as_str()));
        selected.extend(fitting(more, self.max_bytes).map(|tool| tool.name.as_str()));
        tools.retain(|tool| selected.contains(tool.name.as_str()));
        tools
    }

    fn blocking(&self) -> bool {
        true
    }
}
