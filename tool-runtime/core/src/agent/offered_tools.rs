//! The tools that a conversation was offered and has discovered.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::tool::ToolDefinition;

/// The tools that a conversation was offered and has discovered so far.
///
/// Save it with the transcript. When the conversation continues, the same definitions are sent in
/// the same order, so that the prompt cache of the model provider stays valid.
///
/// ```
/// use tool_runtime::agent::{OfferedTools, Prompt};
/// use tool_runtime::Message;
///
/// # fn main() -> Result<(), serde_json::Error> {
/// # let (transcript, offered) = (vec![Message::user("Hello")], OfferedTools::default());
/// let saved = serde_json::to_string(&(transcript, offered))?;
///
/// // Later, perhaps in another process.
/// let (transcript, offered): (Vec<Message>, OfferedTools) = serde_json::from_str(&saved)?;
/// assert!(offered.discovered().is_empty());
/// let prompt = Prompt::from(transcript).offered_tools(offered);
/// # let _ = prompt;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTools(
    // Boxed because errors carry it.
    Box<ToolNames>,
);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct ToolNames {
    discovered: Vec<String>,
    offered: Vec<String>,
}

impl OfferedTools {
    /// Returns the full names of the tools that the model discovered by a tool search, in the order
    /// of discovery.
    ///
    /// A full name stays the same, whatever name the model calls the tool by.
    pub fn discovered(&self) -> &[String] {
        &self.0.discovered
    }

    /// Returns the full names of all tools that the model was offered, in the order in which they
    /// were first offered.
    pub fn names(&self) -> &[String] {
        &self.0.offered
    }

    /// Adds discovered tools. A tool that was discovered before moves to the end.
    pub(super) fn add_discovered(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            self.0.discovered.retain(|known| *known != name);
            self.0.discovered.push(name);
        }
    }

    /// Sorts the tools: those that were offered before in their earlier order, then new ones by
    /// name. Records the new ones.
    pub(super) fn arrange<'t>(
        &mut self,
        mut tools: Vec<&'t ToolDefinition>,
    ) -> Vec<&'t ToolDefinition> {
        let ranks: HashMap<_, _> = self.0.offered.iter().map(String::as_str).zip(0..).collect();
        let rank = |tool: &ToolDefinition| ranks.get(tool.full_name()).copied();
        tools.sort_by(|a, b| {
            let ranks = [a, b].map(|tool| rank(tool).unwrap_or(usize::MAX));
            ranks[0].cmp(&ranks[1]).then_with(|| a.name.cmp(&b.name))
        });
        let new = tools.iter().filter(|tool| rank(tool).is_none());
        let new: Vec<_> = new.map(|tool| tool.full_name().to_owned()).collect();
        self.0.offered.extend(new);
        tools
    }
}
