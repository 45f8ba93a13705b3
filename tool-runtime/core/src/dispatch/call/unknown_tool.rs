//! The result of a call to an unknown tool: it suggests tools that the model may mean.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::dispatch::context::BatchContext;
use crate::registry::{Entry, name_to_suggest, nearest};
use crate::tool::{ToolError, ToolErrorKind};

/// The maximum number of tool names in the result of a call to an unknown tool.
const MAX_NAMES: usize = 20;

/// The maximum number of characters of an unknown tool name that are repeated to the model.
const MAX_NAME_CHARS: usize = 80;

/// The number of tools that the calls of one batch may be compared with, all unknown names
/// together. A further unknown name gets the list of the tools, or the name of the tool that finds
/// others, without a search for similar names.
const MAX_COMPARISONS: usize = 1_000_000;

/// The search for tools that the unknown names of one batch may mean.
#[derive(Default)]
pub(crate) struct ToolSuggestions {
    permitted: OnceLock<PermittedTools>,
    listed: OnceLock<ListedTools>,
    /// The number of comparisons so far.
    compared: AtomicUsize,
}

/// The tools that a model may call and that may be offered.
struct PermittedTools {
    count: usize,
    /// The available tool that finds others.
    finder: Option<Entry>,
}

/// The available tools of these.
struct ListedTools {
    count: usize,
    first: Vec<Entry>,
}

impl ToolSuggestions {
    /// Returns the error of a call to an unknown tool.
    ///
    /// Only tools that the model may call and that may be offered are suggested. Their availability
    /// is checked only for those that are suggested, unless all of them are listed.
    pub(crate) fn unknown_tool(&self, batch: &BatchContext, name: &str) -> ToolError {
        let quoted = |tool: &Entry| format!("`{}`", name_to_suggest(tool, name));
        let permitted = self.permitted.get_or_init(|| PermittedTools::of(batch));
        let finder = permitted.finder.as_ref().map(quoted);
        let similar = if self.may_compare(permitted.count) {
            nearest(name, selectable(batch))
        } else {
            Vec::new()
        };
        let similar: Vec<_> = similar.into_iter().filter(can_run).map(quoted).collect();
        let advice = match (similar.join(" or "), finder) {
            (similar, finder) if similar.is_empty() => {
                let ListedTools { count, first } =
                    self.listed.get_or_init(|| ListedTools::of(batch));
                let first: Vec<_> = first.iter().map(quoted).collect();
                available_tools(&first.join(", "), *count, finder)
            }
            (similar, None) => format!("Did you mean {similar}?"),
            (similar, Some(finder)) => {
                format!("Did you mean {similar}? Call {finder} to find others.")
            }
        };
        // The model made the name up: line breaks and the like are escaped.
        let name: String = name.chars().take(MAX_NAME_CHARS).flat_map(char::escape_debug).collect();
        let text = format!("There is no tool named `{name}`. {advice}");
        ToolError::new(ToolErrorKind::NotFound, text)
    }

    /// Counts a search among so many tools. Returns whether it is within the limit.
    fn may_compare(&self, tools: usize) -> bool {
        let compared = self.compared.fetch_add(tools, Ordering::Relaxed);
        // The first search is always made.
        compared == 0 || compared.saturating_add(tools) <= MAX_COMPARISONS
    }
}

impl PermittedTools {
    fn of(batch: &BatchContext) -> Self {
        let finder = selectable(batch).filter(|tool| tool.definition().finds_tools).find(can_run);
        Self { count: selectable(batch).count(), finder: finder.cloned() }
    }
}

impl ListedTools {
    fn of(batch: &BatchContext) -> Self {
        let all: Vec<_> = selectable(batch).filter(can_run).collect();
        let first = all.iter().copied().take(MAX_NAMES).cloned().collect();
        Self { count: all.len(), first }
    }
}

fn selectable(batch: &BatchContext) -> impl Iterator<Item = &Entry> {
    batch.callable().filter(|tool| tool.definition().preference.is_selectable())
}

fn can_run(tool: &&Entry) -> bool {
    tool.availability().is_available()
}

/// Describes the `total` available tools, of which `first` lists the first names.
fn available_tools(first: &str, total: usize, finder: Option<String>) -> String {
    match (total.saturating_sub(MAX_NAMES), finder) {
        (0, _) if total == 0 => "There are no tools.".to_owned(),
        (0, _) => format!("The tools are {first}."),
        (more, None) => format!("The tools are {first} and {more} more."),
        (_, Some(finder)) => {
            format!("There are {total} tools: call {finder} to find the one that you need.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_COMPARISONS, ToolSuggestions};

    #[test]
    fn searches_of_a_batch_are_limited_together() {
        for (tools, searches) in [(0, 1_000), (10_000, 100), (999_999, 1), (2_000_000, 1)] {
            let suggestions = ToolSuggestions::default();
            let count = (0..1_000).filter(|_| suggestions.may_compare(tools)).count();
            assert_eq!(count, searches, "among {tools} of {MAX_COMPARISONS}");
        }
    }
}
