//! Chunks of a streamed chat completion → [`ChatReply`].
//!
//! The shapes follow OpenAI's API reference, "The chat completion chunk object". Compatible servers
//! leave out the index of a call, send a call whole, or give all calls the same index.

use std::iter::once_with;

use serde::Deserialize;
use serde_json::Value;

use super::ContentBuilder;
use super::call_positions::CallPositions;
use super::found_sources::FoundSources;
use super::reply::{WireCall, WireFunction, assemble_reply, restore_raw_arguments};
use crate::codec::{Assemble, DecodeError, RawJson};
use crate::shared::{Counts, ServedBy};
use tool_core::models::{DeltaSink, WireNames};
use tool_core::{ChatReply, Delta};

/// The highest number of bytes of a tool name that comes in pieces: each piece emits the name so
/// far, so a long one would take quadratic time.
const MAX_JOINED_NAME: usize = 1_024;

#[derive(Deserialize)]
struct CompletionChunk<S> {
    id: Option<Value>,
    model: Option<Value>,
    #[serde(default = "Vec::new")]
    choices: Vec<ChunkChoice<S>>,
    #[serde(default)]
    usage: Counts,
    error: Option<Value>,
    citations: Option<Value>,
    search_results: Option<Value>,
}

#[derive(Deserialize)]
struct ChunkChoice<S> {
    #[serde(default)]
    index: u64,
    delta: Option<S>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

/// Reply that is being assembled.
pub(crate) struct Assembler<S> {
    names: WireNames,
    content: S,
    calls: Vec<WireCall>,
    positions: CallPositions,
    finish: Option<String>,
    served_by: ServedBy,
    usage: Counts,
    found: FoundSources,
    is_done: bool,
}

impl<S: ContentBuilder> Assembler<S> {
    pub(crate) fn new(names: WireNames) -> Self {
        Self {
            names,
            content: S::default(),
            calls: Vec::new(),
            positions: CallPositions::default(),
            finish: None,
            served_by: ServedBy::default(),
            usage: Counts::default(),
            found: FoundSources::default(),
            is_done: false,
        }
    }

    fn push_call(&mut self, more: WireCall, deltas: &mut DeltaSink<'_>) -> Result<(), DecodeError> {
        let name = more.function.as_ref().and_then(|function| function.name.as_deref());
        let position = self.positions.of_piece(more.index, more.id.as_deref(), name);
        if position == self.calls.len() {
            let WireCall { index, ref id, .. } = more;
            let (function, id) = (Some(WireFunction::default()), id.clone());
            self.positions.add(index, id.as_deref());
            self.calls.push(WireCall { index, id, function, extra_content: None });
        }
        let Some(call) = self.calls.get_mut(position) else { return Ok(()) };
        call.extra_content = more.extra_content.or_else(|| call.extra_content.take());
        let function = call.function.get_or_insert_default();
        let WireFunction { name, arguments } = more.function.unwrap_or_default();
        let has_arguments = matches!(&function.arguments, Some(started) if started != "");
        let known = function.name.as_deref();
        if let Some(more) = name.filter(|name| !name.is_empty() && !has_arguments) {
            let name = joined(known.unwrap_or_default(), more, &self.names);
            if known.is_some() && name.len() > MAX_JOINED_NAME {
                let reason =
                    format!("a tool name in pieces is longer than {MAX_JOINED_NAME} bytes");
                return Err(DecodeError::Malformed(reason));
            }
            if known != Some(&name) {
                let (index, id) = (position, call.id.as_deref().unwrap_or_default());
                deltas(Delta::Call { index, id, name: self.names.tool_name(&name) });
                function.name = Some(name);
            }
        }
        match (&mut function.arguments, arguments) {
            (_, None | Some(Value::Null)) => {}
            (Some(Value::String(text)), Some(Value::String(more))) => {
                deltas(Delta::Arguments { index: position, text: &more });
                text.push_str(&more);
            }
            (arguments, Some(more)) => {
                let text = more.as_str().map_or_else(|| more.to_string(), ToOwned::to_owned);
                deltas(Delta::Arguments { index: position, text: &text });
                *arguments = Some(more);
            }
        }
        Ok(())
    }
}

/// Joins the pieces of a tool name. OpenAI sends the name whole, others send it in pieces, and some
/// repeat with each piece what they sent before, or all of it. A piece that begins with everything
/// sent before is the whole name, unless only the concatenation is, or begins, the name of a tool.
fn joined(known: &str, more: String, names: &WireNames) -> String {
    let together = format!("{known}{more}");
    let is_whole = more.starts_with(known) && (names.is_sent(&more) || !names.is_prefix(&together));
    if is_whole { more } else { together }
}

impl<S: ContentBuilder> Assemble for Assembler<S> {
    fn push(&mut self, message: &str, deltas: &mut DeltaSink<'_>) -> Result<(), DecodeError> {
        if message.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        let chunk = serde_json::from_str::<CompletionChunk<S::Message>>(message);
        // Most messages carry content, so these are checked only once.
        let has_no_content =
            chunk.as_ref().map_or(true, |chunk| chunk.choices.is_empty() || chunk.error.is_some());
        if has_no_content && let Some(error) = S::reported_error(message) {
            return Err(error);
        }
        let chunk = chunk.map_err(|error| DecodeError::malformed(error.to_string()))?;
        self.usage.merge(chunk.usage);
        self.found.merge(chunk.citations, chunk.search_results);
        self.served_by.merge(chunk.id, chunk.model);
        // Lazy: the raw text is searched once, and only if a call needs it.
        let raw_choices = once_with(|| RawJson::new(message).member("choices")).flatten();
        let mut raw_choices = raw_choices.flat_map(RawJson::items).enumerate();
        let choices = chunk.choices.into_iter().enumerate();
        for (position, choice) in choices.filter(|(_, choice)| choice.index == 0) {
            if let Some(error) = choice.error {
                return Err(DecodeError::Reported(error));
            }
            let mut calls = self.content.push(choice.delta.unwrap_or_default(), deltas);
            restore_raw_arguments(&mut calls, || {
                raw_choices
                    .find(|(at, _)| *at == position)
                    .and_then(|(_, choice)| choice.member("delta"))
            });
            calls.into_iter().try_for_each(|more| self.push_call(more, deltas))?;
            self.finish = choice.finish_reason.or_else(|| self.finish.take());
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn finish(self) -> Result<ChatReply, DecodeError> {
        if self.finish.is_none() && !self.is_done {
            return Err(DecodeError::Incomplete);
        }
        let Self { content, calls, finish, served_by, usage, found, names, .. } = self;
        let reply = assemble_reply(content, calls, finish.as_deref(), usage, &names)?;
        Ok(found.add_to(served_by.set_in(reply)))
    }
}

#[cfg(test)]
mod tests {
    use super::joined;
    use tool_core::models::{NameRules, WireNames};

    #[test]
    fn name_pieces_are_joined_whole_or_repeated() {
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
            // Names that no tool has.
            (&[], &["made_", "up"], "made_up"),
            (&[], &["made_", "made_up"], "made_up"),
            (&["get_weather"], &["up", "up"], "up"),
            // Names as they are sent.
            (&["a.b"], &["a_", "a_b"], "a_b"),
        ] {
            let names = WireNames::new(offered.iter().copied(), NameRules::OPENAI);
            let name = pieces
                .iter()
                .fold(String::new(), |known, more| joined(&known, (*more).to_owned(), &names));
            assert_eq!(name, expected, "{offered:?}: {pieces:?}");
        }
    }
}
