//! What was told of a reply, and what is left to tell.

use std::collections::BTreeMap;

use crate::message::AssistantPart;
use crate::models::{ChatReply, Delta, Deltas};

/// Passes pieces on, and remembers them; so that all of a reply is told once.
#[derive(Debug, Default)]
pub(crate) struct Told {
    text: String,
    reasoning: String,
    /// The names and arguments of calls, by their places.
    calls: BTreeMap<usize, (String, String)>,
}

impl Told {
    pub(crate) fn pass(&mut self, delta: Delta<'_>, deltas: &mut Deltas<'_>) {
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Reasoning(text) => self.reasoning.push_str(text),
            Delta::Call { place, name } => {
                // What was called there before is void.
                self.calls.insert(place, (name.to_owned(), String::new()));
            }
            Delta::Arguments { place, text } => {
                if let Some((_, arguments)) = self.calls.get_mut(&place) {
                    arguments.push_str(text);
                }
            }
        }
        deltas(delta);
    }

    /// What `reply` has more than was told. Where something else was told, that is void: the reply is what
    /// counts.
    pub(crate) fn rest(self, reply: &ChatReply, deltas: &mut Deltas<'_>) {
        let Self { text, reasoning, calls } = self;
        let (mut text, mut reasoning) = (text.as_str(), reasoning.as_str());
        let mut places = 0..;
        for part in &reply.parts {
            match part {
                AssistantPart::Text { text: said } => {
                    tell(said, &mut text, |text| deltas(Delta::Text(text)));
                }
                AssistantPart::Reasoning(thought) => {
                    tell(&thought.text, &mut reasoning, |text| deltas(Delta::Reasoning(text)));
                }
                AssistantPart::Call(call) => {
                    let Some(place) = places.next() else { return };
                    let (name, arguments) =
                        calls.get(&place).map_or(("", ""), |(name, text)| (name, text));
                    if name != call.name {
                        deltas(Delta::Call { place, name: &call.name });
                    }
                    let mut arguments = arguments;
                    tell(&call.arguments.to_text(), &mut arguments, |text| {
                        deltas(Delta::Arguments { place, text });
                    });
                }
            }
        }
    }
}

/// What `said` has behind what was told of it. `told` is left with what belongs to later parts.
fn tell(said: &str, told: &mut &str, more: impl FnOnce(&str)) {
    if let Some(later) = told.strip_prefix(said) {
        *told = later;
    } else if let Some(rest) = said.strip_prefix(*told) {
        *told = "";
        more(rest);
    }
}
