//! Which tools go out on a turn.
//!
//! A thousand definitions eat the context that the conversation needs, and a model chooses worse
//! among them. A [`Selector`] decides what a model is offered; what it is not offered can still be
//! called, for the dispatcher looks calls up in the registry.

#[cfg(feature = "search")]
mod by_search;
#[cfg(feature = "search")]
mod cached;
mod callable;
#[cfg(feature = "search")]
mod index;
#[cfg(feature = "search")]
mod kin;
mod room;
#[cfg(feature = "search")]
mod search_tools;
mod weight;
#[cfg(feature = "search")]
mod words;

use std::cmp::Reverse;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::tool::ToolDefinition;

#[cfg(feature = "search")]
pub use by_search::BySearch;
pub use callable::Callable;
#[cfg(feature = "search")]
pub use index::ToolIndex;
pub use room::definition_bytes;
#[cfg(feature = "search")]
pub use search_tools::SearchTools;
pub use weight::ByWeight;

/// How many bytes tools may take that come to others during a run, unless a program says otherwise:
/// as many as some dozens of common tools do.
const ROOM: usize = 64 << 10;

/// What a selector decides on.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Selection<'a> {
    /// The tools that may be offered, sorted by name.
    pub tools: &'a [&'a ToolDefinition],
    /// What the user said last.
    pub asked: &'a str,
    /// The names of the tools that the model pulled in during the run.
    pub pulled_in: &'a [String],
    /// The full names of the tools that the model was offered before, in the order in which they first
    /// were.
    pub offered: &'a [String],
}

impl<'a> Selection<'a> {
    /// A choice among these tools.
    pub fn new(tools: &'a [&'a ToolDefinition]) -> Self {
        Self { tools, asked: "", pulled_in: &[], offered: &[] }
    }

    /// What the user said last.
    #[must_use]
    pub fn asked(mut self, text: &'a str) -> Self {
        self.asked = text;
        self
    }

    /// The names of the tools that the model pulled in.
    #[must_use]
    pub fn pulled_in(mut self, names: &'a [String]) -> Self {
        self.pulled_in = names;
        self
    }

    /// Whether the model pulled this tool in. Looks through all that it pulled in.
    pub fn is_pulled_in(&self, tool: &ToolDefinition) -> bool {
        self.pulled_in.iter().any(|name| name == tool.full_name())
    }

    /// The full names of the tools that the model was offered before.
    #[must_use]
    pub fn offered(mut self, names: &'a [String]) -> Self {
        self.offered = names;
        self
    }
}

/// Decides which tools a model is offered on a turn.
///
/// It is asked on each turn. Tools that the model pulled in have to be among those it gives, or the
/// model is not told how to call what it found; the order is not its to decide: tools that were
/// offered before keep their places, for the caches of providers depend on it. One that panics is
/// taken for [`AllTools`].
pub trait Selector: Send + Sync {
    /// The tools to offer, out of [`Selection::tools`]; others are not offered.
    fn select<'a>(&self, selection: Selection<'a>) -> Vec<&'a ToolDefinition>;

    /// Whether choosing takes more than a millisecond where there are many tools, so that an agent
    /// has it done on a thread where that holds up nobody.
    fn blocking(&self) -> bool {
        false
    }
}

/// Offers all tools that are not [hidden](crate::ToolPreference::hidden).
#[derive(Clone, Copy, Debug, Default)]
pub struct AllTools;

impl Selector for AllTools {
    fn select<'a>(&self, selection: Selection<'a>) -> Vec<&'a ToolDefinition> {
        selectable(selection.tools)
    }
}

/// Whether a tool goes out on every turn by what it says of itself: others come in by it, or somebody
/// wants it so.
fn goes_out_always(tool: &ToolDefinition) -> bool {
    tool.finds_tools || tool.preference.always
}

fn selectable<'a>(tools: &[&'a ToolDefinition]) -> Vec<&'a ToolDefinition> {
    tools.iter().copied().filter(|tool| tool.preference.is_selectable()).collect()
}

/// The tools of these names, the last first.
fn newest<'a>(tools: &[&'a ToolDefinition], names: &[String]) -> Vec<&'a ToolDefinition> {
    if names.is_empty() {
        return Vec::new();
    }
    let places: HashMap<_, _, RandomState> =
        names.iter().map(String::as_str).zip(0_usize..).collect();
    let placed = |tool: &&'a ToolDefinition| Some((*places.get(tool.full_name())?, *tool));
    let mut found: Vec<_> = tools.iter().filter_map(placed).collect();
    found.sort_by_key(|(place, _)| Reverse(*place));
    found.into_iter().map(|(_, tool)| tool).collect()
}
