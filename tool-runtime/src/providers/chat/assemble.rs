//! The pieces of a streamed chat completion → our reply.
//!
//! The shapes are those of OpenAI's API reference, "The chat completion chunk object". Those who copy
//! them leave out the index of a call, send a call whole, or give all calls the same index.

use std::iter::once_with;

use serde::Deserialize;
use serde_json::Value;

use super::Speech;
use super::reply::{Call, Function, keep_written, put_together};
use crate::models::{ChatReply, Delta, Deltas, WireNames};
use crate::providers::codec::{Assemble, Counts, Source, Unreadable};

#[derive(Deserialize)]
struct Chunk<S> {
    #[serde(default = "Vec::new")]
    choices: Vec<Choice<S>>,
    #[serde(default)]
    usage: Counts,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<S> {
    #[serde(default)]
    index: u64,
    delta: Option<S>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

/// What was said so far.
pub(in crate::providers) struct Assembler<S> {
    names: WireNames,
    speech: S,
    calls: Vec<Call>,
    finish: Option<String>,
    usage: Counts,
    is_done: bool,
}

impl<S: Speech> Assembler<S> {
    pub(in crate::providers) fn new(names: WireNames) -> Self {
        Self {
            names,
            speech: S::default(),
            calls: Vec::new(),
            finish: None,
            usage: Counts::default(),
            is_done: false,
        }
    }

    fn hear_call(&mut self, more: Call, deltas: &mut Deltas<'_>) {
        let place = self.place_of(&more);
        if place == self.calls.len() {
            let Call { index, ref id, .. } = more;
            let (function, id) = (Some(Function::default()), id.clone());
            self.calls.push(Call { index, id, function, extra_content: None });
        }
        let Some(call) = self.calls.get_mut(place) else { return };
        call.extra_content = more.extra_content.or_else(|| call.extra_content.take());
        let kept = call.function.get_or_insert_default();
        let Function { name, arguments } = more.function.unwrap_or_default();
        let is_begun = matches!(&kept.arguments, Some(begun) if begun != "");
        let known = kept.name.as_deref();
        if let Some(more) = name.filter(|name| !name.is_empty() && !is_begun) {
            let name = joined(known.unwrap_or_default(), more, &self.names);
            if known != Some(&name) {
                deltas(Delta::Call { place, name: self.names.own(&name) });
                kept.name = Some(name);
            }
        }
        match (&mut kept.arguments, arguments) {
            (_, None | Some(Value::Null)) => {}
            (Some(Value::String(text)), Some(Value::String(more))) => {
                deltas(Delta::Arguments { place, text: &more });
                text.push_str(&more);
            }
            (kept, Some(more)) => {
                let text = more.as_str().map_or_else(|| more.to_string(), ToOwned::to_owned);
                deltas(Delta::Arguments { place, text: &text });
                *kept = Some(more);
            }
        }
    }

    /// Which call this is more of; the place behind the last for one that begins.
    fn place_of(&self, more: &Call) -> usize {
        let id = more.id.as_deref().filter(|id| !id.is_empty());
        let name = more.function.as_ref().and_then(|function| function.name.as_deref());
        let has_name = name.is_some_and(|name| !name.is_empty());
        let begins = id.is_some() || has_name;
        let is_of = |call: &&Call| match (more.index, id) {
            // One index for all: then they have ids of their own.
            (Some(index), Some(id)) => {
                call.index == Some(index) && call.id.as_deref().is_none_or(|known| known == id)
            }
            (Some(index), None) => call.index == Some(index),
            (None, Some(id)) => call.id.as_deref() == Some(id),
            (None, None) => !begins,
        };
        // Some servers make an id for each piece: what bears no name is no other call.
        let goes_on = |call: &Call| !has_name && more.index.is_some() && call.index == more.index;
        let place = self.calls.iter().rposition(|call| is_of(&call));
        let place = place.or_else(|| self.calls.iter().rposition(goes_on));
        place.unwrap_or(self.calls.len())
    }
}

/// A name of which more has come. OpenAI sends it whole, others in pieces, and some say again with each
/// piece what there is by then, or all of it: what begins with all that was there is the whole, unless only
/// the two together are, or begin, the name of a tool.
fn joined(known: &str, more: String, names: &WireNames) -> String {
    let together = format!("{known}{more}");
    let is_whole = more.starts_with(known) && (names.is_sent(&more) || !names.is_begun(&together));
    if is_whole { more } else { together }
}

impl<S: Speech> Assemble for Assembler<S> {
    fn take(&mut self, message: &str, deltas: &mut Deltas<'_>) -> Result<(), Unreadable> {
        if message.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        let chunk = serde_json::from_str::<Chunk<S::Said>>(message);
        // What says something is looked at once: most of a stream is such.
        let says_nothing =
            chunk.as_ref().map_or(true, |chunk| chunk.choices.is_empty() || chunk.error.is_some());
        if says_nothing && let Some(failure) = S::failure(message) {
            return Err(failure);
        }
        let chunk = chunk.map_err(|error| Unreadable::malformed(error.to_string()))?;
        self.usage.hear(chunk.usage);
        // Looked for once, and only where it is needed.
        let written = once_with(|| Source::new(message).member("choices")).flatten();
        let mut written = written.flat_map(Source::items).enumerate();
        let choices = chunk.choices.into_iter().enumerate();
        for (place, choice) in choices.filter(|(_, choice)| choice.index == 0) {
            if let Some(error) = choice.error {
                return Err(Unreadable::Failed(error));
            }
            let mut more = self.speech.hear(choice.delta.unwrap_or_default(), deltas);
            keep_written(&mut more, || {
                written.find(|(at, _)| *at == place).and_then(|(_, choice)| choice.member("delta"))
            });
            more.into_iter().for_each(|more| self.hear_call(more, deltas));
            self.finish = choice.finish_reason.or_else(|| self.finish.take());
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn finish(self) -> Result<ChatReply, Unreadable> {
        if self.finish.is_none() && !self.is_done {
            return Err(Unreadable::Ended);
        }
        put_together(self.speech, self.calls, self.finish.as_deref(), self.usage, &self.names)
    }
}

#[cfg(test)]
mod tests {
    use super::joined;
    use crate::models::{NameRules, WireNames};

    #[test]
    fn a_name_may_come_in_pieces_or_again() {
        for (offered, pieces, expected) in [
            (&["get_weather"][..], &["get_weather"][..], "get_weather"),
            (&["get_weather"], &["get_weather", "get_weather"], "get_weather"),
            (&["get_weather"], &["get_", "weather"], "get_weather"),
            (&["get_weather"], &["get_", "get_weather"], "get_weather"),
            (&["get_weather"], &["get_", "get_weath", "get_weather"], "get_weather"),
            (&["get_weather"], &["g", "et", "_w", "eather"], "get_weather"),
            (&["get_get_weather"], &["get_", "get_weather"], "get_get_weather"),
            (&["get_get_weather", "get_weather"], &["get_", "get_weather"], "get_weather"),
            (&["dada"], &["da", "da"], "dada"),
            (&["da", "dada"], &["da", "da"], "da"),
            (&["tartar_tar"], &["tar", "tar", "_tar"], "tartar_tar"),
            // Of none that is offered.
            (&[], &["made_", "up"], "made_up"),
            (&[], &["made_", "made_up"], "made_up"),
            (&["get_weather"], &["up", "up"], "up"),
            // By its name on the wire.
            (&["a.b"], &["a_", "a_b"], "a_b"),
        ] {
            let names = WireNames::new(offered.iter().copied(), NameRules::OPENAI);
            let said = pieces
                .iter()
                .fold(String::new(), |known, more| joined(&known, (*more).to_owned(), &names));
            assert_eq!(said, expected, "{offered:?}: {pieces:?}");
        }
    }
}
