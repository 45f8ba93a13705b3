//! Which tools a conversation has come to so far.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::tool::ToolDefinition;

/// The tools that a conversation has come to so far: kept with it, they go out again as they were.
///
/// ```
/// use tool_runtime::agent::{OfferedTools, Prompt};
/// use tool_runtime::Message;
///
/// # fn main() -> Result<(), serde_json::Error> {
/// # let (transcript, offered) = (vec![Message::user("Hello")], OfferedTools::default());
/// let saved = serde_json::to_string(&(transcript, offered))?;
///
/// // Another day, in another process.
/// let (transcript, offered): (Vec<Message>, OfferedTools) = serde_json::from_str(&saved)?;
/// let prompt = Prompt::from(transcript).offered(offered);
/// # let _ = prompt;
/// # Ok(())
/// # }
/// ```
// Boxed, for an error carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTools(Box<Names>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Names {
    pulled_in: Vec<String>,
    order: Vec<String>,
}

impl OfferedTools {
    /// The full names of the tools that the model pulled in, in the order in which they came: those
    /// that are theirs whatever the model calls them by now.
    pub fn pulled_in(&self) -> &[String] {
        &self.0.pulled_in
    }

    /// The full names of the tools that the model was offered, in the order in which they first were.
    pub fn order(&self) -> &[String] {
        &self.0.order
    }

    /// These tools were found for the model. One that was found before counts as found now.
    pub(super) fn pull_in(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            self.0.pulled_in.retain(|known| *known != name);
            self.0.pulled_in.push(name);
        }
    }

    /// Those that were offered before, as they were, and behind them, sorted by name, those that are
    /// new.
    pub(super) fn arrange<'t>(
        &mut self,
        mut tools: Vec<&'t ToolDefinition>,
    ) -> Vec<&'t ToolDefinition> {
        let places: HashMap<_, _> = self.0.order.iter().map(String::as_str).zip(0..).collect();
        let place = |tool: &ToolDefinition| places.get(tool.full_name()).copied();
        tools.sort_by(|a, b| {
            let places = [a, b].map(|tool| place(tool).unwrap_or(usize::MAX));
            places[0].cmp(&places[1]).then_with(|| a.name.cmp(&b.name))
        });
        let new = tools.iter().filter(|tool| place(tool).is_none());
        let new: Vec<_> = new.map(|tool| tool.full_name().to_owned()).collect();
        self.0.order.extend(new);
        tools
    }
}
