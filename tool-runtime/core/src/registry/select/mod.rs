//! Selects the tools that are offered to a model on a turn.
//!
//! A thousand definitions use up the context that the conversation needs, and a model chooses worse
//! among them. A [`Selector`] decides which tools a model is offered. Other tools can still be
//! called, because the dispatcher looks calls up in the registry.
//!
//! - `by_weight.rs`, `by_search.rs`: the selectors. `byte_budget.rs`: the size of definitions.
//! - `search_tools.rs`: the tool with which a model finds tools.
//! - `index.rs`, `index_cache.rs`: the search index. `words.rs`, `synonyms.rs`: text → search
//!   terms.

#[cfg(feature = "search")]
mod by_search;
mod by_weight;
mod byte_budget;
#[cfg(feature = "search")]
mod index;
#[cfg(feature = "search")]
mod index_cache;
#[cfg(feature = "search")]
mod search_tools;
#[cfg(feature = "search")]
mod synonyms;
#[cfg(feature = "search")]
mod words;

use std::cmp::Reverse;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::tool::ToolDefinition;

#[cfg(feature = "search")]
pub use by_search::BySearch;
pub use by_weight::ByWeight;
pub use byte_budget::definition_bytes;
#[cfg(feature = "search")]
pub use index::ToolIndex;
#[cfg(feature = "search")]
pub use search_tools::SearchTools;

/// The default budget for tools that are added during a run, in bytes: enough for some dozens of
/// common tools.
const DEFAULT_MAX_FOUND_BYTES: usize = 64 << 10;

/// The input of a [`Selector`]: the tools, and what the run has used so far.
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::registry::SelectorInput;
///
/// let schema = serde_json::json!({ "type": "object" });
/// let now = ToolDefinition::new("now", "Returns the current time.", schema);
/// let tools = [&now];
/// let selection = SelectorInput::new(&tools).user_text("What time is it?");
/// assert_eq!(selection.tools, [&now]);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SelectorInput<'a> {
    /// The tools that can be offered, sorted by name.
    pub tools: &'a [&'a ToolDefinition],
    /// The text of the last user message.
    pub user_text: &'a str,
    /// The full names of the tools that the model discovered during the run, by a tool that
    /// [finds tools](ToolDefinition::finds_tools).
    pub discovered: &'a [String],
    /// The full names of the tools that were offered before, in the order in which they first were.
    pub offered: &'a [String],
}

impl<'a> SelectorInput<'a> {
    /// Creates the input for the first turn of a run, with an empty user message.
    pub fn new(tools: &'a [&'a ToolDefinition]) -> Self {
        Self { tools, user_text: "", discovered: &[], offered: &[] }
    }

    /// Sets the text of the last user message.
    #[must_use]
    pub fn user_text(mut self, text: &'a str) -> Self {
        self.user_text = text;
        self
    }

    /// Sets the full names of the tools that the model discovered.
    #[must_use]
    pub fn discovered(mut self, names: &'a [String]) -> Self {
        self.discovered = names;
        self
    }

    /// Returns `true` if the model discovered this tool. The cost is linear in the number of
    /// discovered tools.
    pub fn is_discovered(&self, tool: &ToolDefinition) -> bool {
        self.discovered.iter().any(|name| name == tool.full_name())
    }

    /// Sets the full names of the tools that were offered before.
    #[must_use]
    pub fn offered(mut self, names: &'a [String]) -> Self {
        self.offered = names;
        self
    }
}

/// Selects the tools that a model is offered on a turn.
///
/// An agent calls it on each turn. The selection should include the discovered tools, because
/// otherwise the model does not receive the definitions of what it found. The order of the result
/// does not matter: tools that were offered before keep their order, so that the caches of
/// providers stay valid. If a selector panics, all tools that may be offered are offered.
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::registry::{SelectorInput, Selector};
///
/// /// Offers tools whose name occurs in the user message.
/// struct Mentioned;
///
/// impl Selector for Mentioned {
///     fn select<'a>(&self, selection: SelectorInput<'a>) -> Vec<&'a ToolDefinition> {
///         let is_mentioned = |tool: &&ToolDefinition| selection.user_text.contains(&tool.name);
///         selection.tools.iter().copied().filter(is_mentioned).collect()
///     }
/// }
///
/// let schema = || serde_json::json!({ "type": "object" });
/// let mail = ToolDefinition::new("mail", "Sends mail.", schema());
/// let time = ToolDefinition::new("time", "Returns the current time.", schema());
/// let tools = [&mail, &time];
/// let selection = SelectorInput::new(&tools).user_text("Send a mail to Ada.");
/// assert_eq!(Mentioned.select(selection), [&mail]);
/// ```
pub trait Selector: Send + Sync {
    /// Returns the tools to offer, out of [`SelectorInput::tools`]. Other tools are ignored.
    fn select<'a>(&self, selection: SelectorInput<'a>) -> Vec<&'a ToolDefinition>;

    /// Returns `true` if the selection can take more than a millisecond. An agent then runs it on a
    /// thread for blocking work. Default: `false`.
    fn blocking(&self) -> bool {
        false
    }
}

/// Whether a tool is offered on every turn: by its preference, or because it finds other tools.
fn is_always_offered(tool: &ToolDefinition) -> bool {
    tool.finds_tools || tool.preference.always
}

/// Returns the tools that are not [hidden](crate::ToolPreference::hidden).
pub(crate) fn selectable<'a>(tools: &[&'a ToolDefinition]) -> Vec<&'a ToolDefinition> {
    tools.iter().copied().filter(|tool| tool.preference.is_selectable()).collect()
}

/// Returns the tools with these full names, in reverse order of the names.
fn newest_first<'a>(tools: &[&'a ToolDefinition], names: &[String]) -> Vec<&'a ToolDefinition> {
    if names.is_empty() {
        return Vec::new();
    }
    let indices: HashMap<_, _, RandomState> =
        names.iter().map(String::as_str).zip(0_usize..).collect();
    let with_index = |tool: &&'a ToolDefinition| Some((*indices.get(tool.full_name())?, *tool));
    let mut found: Vec<_> = tools.iter().filter_map(with_index).collect();
    found.sort_by_key(|(index, _)| Reverse(*index));
    found.into_iter().map(|(_, tool)| tool).collect()
}
