use std::collections::HashSet;

use super::cached::Cached;
use super::{SearchTools, Selection, Selector};
use crate::tool::ToolDefinition;

/// [`SearchTools`], and the tools that the model found with it; the others wait.
///
/// A model that is offered a thousand tools pays for all of them on each turn. By this it is offered
/// one that finds the others, those that [always](Self::always) go out, and what was found so far.
///
/// ```
/// use tool_runtime::registry::{BySearch, Selection, Selector};
/// use tool_runtime::ToolDefinition;
///
/// let schema = || serde_json::json!({ "type": "object", "properties": {} });
/// let tools = [
///     ToolDefinition::new("now", "Tells the time.", schema()),
///     ToolDefinition::new("search_tools", "Finds tools.", schema()),
///     ToolDefinition::new("send_mail", "Sends a message.", schema()),
///     ToolDefinition::new("weather", "Tells how warm it is in a city.", schema()),
/// ];
/// let tools: Vec<_> = tools.iter().collect();
/// let names = |chosen: Vec<&ToolDefinition>| -> Vec<_> {
///     chosen.iter().map(|tool| tool.name.clone()).collect()
/// };
///
/// let selector = BySearch::new().always(["now"]);
/// let selection = Selection::new(&tools).asked("How warm is it in Oslo?");
/// assert_eq!(names(selector.select(selection)), ["now", "search_tools"]);
///
/// let found = ["send_mail".to_owned()];
/// let chosen = selector.select(selection.pulled_in(&found));
/// assert_eq!(names(chosen), ["now", "search_tools", "send_mail"]);
///
/// // What fits the question need not be searched for.
/// let chosen = selector.fitting(1).select(selection);
/// assert_eq!(names(chosen), ["now", "search_tools", "weather"]);
/// ```
#[derive(Debug, Default)]
pub struct BySearch {
    always: Vec<String>,
    fitting: usize,
    cached: Cached,
}

impl BySearch {
    /// The search alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tools that [go by](ToolDefinition::goes_by) these names go out on every turn.
    #[must_use]
    pub fn always<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.always.extend(names.into_iter().map(Into::into));
        self
    }

    /// So many tools go out as well that fit best what the user said last; none unless set.
    #[must_use]
    pub fn fitting(mut self, most: usize) -> Self {
        self.fitting = most;
        self
    }
}

impl Selector for BySearch {
    fn select<'a>(&self, selection: Selection<'a>) -> Vec<&'a ToolDefinition> {
        let enabled = |tool: &&ToolDefinition| tool.preference.enabled;
        let tools: Vec<_> = selection.tools.iter().copied().filter(enabled).collect();
        let index = (self.fitting > 0).then(|| self.cached.of(&tools));
        let fitting = index.iter().flat_map(|index| index.search(selection.asked, self.fitting));
        let fitting: HashSet<_> = fitting.map(|(name, _)| name).collect();
        let chosen = tools.iter().copied().filter(|tool| {
            tool.name == SearchTools::NAME
                || self.always.iter().any(|name| tool.goes_by(name))
                || selection.is_pulled_in(tool)
                || fitting.contains(tool.name.as_str())
        });
        chosen.collect()
    }
}
