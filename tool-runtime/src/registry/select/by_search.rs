use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::cached::Cached;
use super::room::fitting;
use super::weight::ranked;
use super::{ROOM, Selection, Selector, goes_out_always, newest, selectable};
use crate::tool::ToolDefinition;

/// [`SearchTools`](super::SearchTools), and the tools that the model found with it; the others wait.
///
/// A model that is offered a thousand tools pays for all of them on each turn. By this it is offered
/// those by which it [finds others](ToolDefinition::finds_tools), those that
/// [always](crate::ToolPreference::always) go out, and what was found so far.
///
/// Where none of them can find others, and none are [fitting](Self::fitting), those that wait would wait
/// for ever: so as many of them go out as there is room for, those of most
/// [weight](crate::ToolPreference::weight) first.
///
/// What was offered before stays, and what is new comes behind it, as long as there is
/// [room](Self::room). Where it is full, what is needed now goes out, and of the rest what came last:
/// a tool that is left out can still be called, and be found again.
///
/// A turn costs a look at each tool's name; with [`fitting`](Self::fitting) also a search, and an
/// index where the tools are others than on the turn before.
///
/// ```
/// use tool_runtime::registry::{BySearch, Selection, Selector};
/// use tool_runtime::ToolDefinition;
///
/// let schema = || serde_json::json!({ "type": "object", "properties": {} });
/// let tools = [
///     ToolDefinition::new("now", "Tells the time.", schema()),
///     ToolDefinition::new("search_tools", "Finds tools.", schema()).finds_tools(),
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
#[derive(Debug)]
pub struct BySearch {
    always: Vec<String>,
    fitting: usize,
    room: usize,
    cached: Cached,
}

impl Default for BySearch {
    fn default() -> Self {
        Self { always: Vec::new(), fitting: 0, room: ROOM, cached: Cached::default() }
    }
}

impl BySearch {
    /// The search alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tools that don't go out always take at most this many bytes; 65,536 unless set.
    #[must_use]
    pub fn room(mut self, bytes: usize) -> Self {
        self.room = bytes;
        self
    }

    /// The tools that [go by](crate::registry#what-names-mean) these names go out on every turn.
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
        let mut tools = selectable(selection.tools);
        let mut chosen: HashSet<&str, RandomState> = tools
            .iter()
            .filter(|tool| {
                goes_out_always(tool) || self.always.iter().any(|name| tool.goes_by(name))
            })
            .map(|tool| tool.name.as_str())
            .collect();
        let is_way_in = self.fitting > 0 || tools.iter().any(|tool| goes_out_always(tool));
        let found: Vec<_> = match self.fitting {
            0 => Vec::new(),
            most => self.cached.with(&tools, |index| {
                let found = index.search(selection.asked, most);
                found.iter().rev().map(|(name, _)| (*name).to_owned()).collect()
            }),
        };
        // What is needed now, and then what was, the last first.
        let recent = [found.as_slice(), selection.pulled_in, selection.offered];
        let recent = recent.into_iter().flat_map(|names| newest(&tools, names));
        let others = if is_way_in { Vec::new() } else { ranked(&tools) };
        let mut seen = chosen.clone();
        let more = recent.chain(others).filter(|tool| seen.insert(tool.name.as_str()));
        chosen.extend(fitting(more, self.room).map(|tool| tool.name.as_str()));
        tools.retain(|tool| chosen.contains(tool.name.as_str()));
        tools
    }

    fn blocking(&self) -> bool {
        true
    }
}
