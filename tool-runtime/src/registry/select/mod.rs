//! Which tools go out on a turn.
//!
//! A thousand definitions eat the context that the conversation needs, and a model chooses worse
//! among them. A [`Selector`] decides what a model is offered; what it is not offered can still be
//! called, for the dispatcher looks calls up in the registry.

#[cfg(feature = "search")]
mod by_search;
#[cfg(feature = "search")]
mod cached;
#[cfg(feature = "search")]
mod index;
#[cfg(feature = "search")]
mod kin;
#[cfg(feature = "search")]
mod search_tools;
mod weight;
#[cfg(feature = "search")]
mod words;

use crate::tool::ToolDefinition;

#[cfg(feature = "search")]
pub use by_search::BySearch;
#[cfg(feature = "search")]
pub use index::ToolIndex;
#[cfg(feature = "search")]
pub use search_tools::SearchTools;
pub use weight::ByWeight;

/// What a selector decides on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Selection<'a> {
    /// The tools that may be offered, sorted by name.
    pub tools: &'a [&'a ToolDefinition],
    /// What the user said last.
    pub asked: &'a str,
    /// The full names of the tools that the model pulled in during the run.
    pub pulled_in: &'a [String],
}

impl<'a> Selection<'a> {
    /// A choice among these tools.
    pub fn new(tools: &'a [&'a ToolDefinition]) -> Self {
        Self { tools, asked: "", pulled_in: &[] }
    }

    /// What the user said last.
    #[must_use]
    pub fn asked(mut self, text: &'a str) -> Self {
        self.asked = text;
        self
    }

    /// The full names of the tools that the model pulled in.
    #[must_use]
    pub fn pulled_in(mut self, names: &'a [String]) -> Self {
        self.pulled_in = names;
        self
    }

    /// Whether the model pulled this tool in.
    pub fn is_pulled_in(&self, tool: &ToolDefinition) -> bool {
        self.pulled_in.iter().any(|name| name == tool.full_name())
    }
}

/// Decides which tools a model is offered on a turn.
///
/// It is asked on each turn. Tools that the model pulled in have to be among those it gives, or the
/// model can't use what it found; the order is not its to decide: tools that were offered before keep
/// their places, for the caches of providers depend on it.
pub trait Selector: Send + Sync {
    /// The tools to offer, out of [`Selection::tools`].
    fn select<'a>(&self, selection: Selection<'a>) -> Vec<&'a ToolDefinition>;
}

/// All tools that aren't [disabled](crate::ToolPreference::disabled).
#[derive(Clone, Copy, Debug, Default)]
pub struct AllTools;

impl Selector for AllTools {
    fn select<'a>(&self, selection: Selection<'a>) -> Vec<&'a ToolDefinition> {
        let enabled = |tool: &&ToolDefinition| tool.preference.enabled;
        selection.tools.iter().copied().filter(enabled).collect()
    }
}

/// How many bytes a tool's definition takes in a request, as JSON: name, description, parameters.
pub fn definition_bytes(tool: &ToolDefinition) -> usize {
    let said = [tool.name.as_str(), tool.description.as_str()];
    let said = said.map(|text| serde_json::to_string(text).map_or(0, |json| json.len()));
    said.iter().sum::<usize>() + tool.parameters.as_value().to_string().len()
}
