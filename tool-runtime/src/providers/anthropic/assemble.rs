//! The events of a streamed message → our reply.
//!
//! The shapes are those of Anthropic's documentation, "Streaming messages".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::decode::{failure, part, put_together};
use crate::message::{Arguments, AssistantPart};
use crate::models::{ChatReply, Delta, Deltas, WireNames};
use crate::providers::codec::{Assemble, Counts, Source, Unreadable};

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Started,
    },
    ContentBlockStart {
        index: u64,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        index: u64,
        delta: Map<String, Value>,
    },
    MessageDelta {
        delta: Ending,
        #[serde(default)]
        usage: Counts,
    },
    MessageStop,
    /// Pings, ends of blocks, and what is yet to be thought of.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Started {
    #[serde(default)]
    usage: Counts,
}

#[derive(Deserialize)]
struct Ending {
    stop_reason: Option<String>,
}

/// What was said so far.
pub(super) struct Assembler {
    names: WireNames,
    blocks: BTreeMap<u64, Block>,
    calls: usize,
    stop_reason: Option<String>,
    usage: Counts,
    is_done: bool,
}

struct Block {
    said: Map<String, Value>,
    /// The arguments with which it began: of most calls there are none yet.
    first: Option<Arguments>,
    /// The text of a call's arguments.
    input: String,
    /// Which call it is, if it is one.
    place: Option<usize>,
}

impl Assembler {
    pub(super) fn new(names: WireNames) -> Self {
        Self {
            names,
            blocks: BTreeMap::new(),
            calls: 0,
            stop_reason: None,
            usage: Counts::default(),
            is_done: false,
        }
    }

    fn begin(
        &mut self,
        index: u64,
        said: Map<String, Value>,
        written: Option<Source<'_>>,
        deltas: &mut Deltas<'_>,
    ) {
        let (mut place, mut first) = (None, None);
        let text = |name: &str| said.get(name).and_then(Value::as_str);
        match text("type") {
            Some("tool_use") => {
                deltas(Delta::Call {
                    place: self.calls,
                    name: self.names.own(text("name").unwrap_or_default()),
                });
                place = Some(self.calls);
                self.calls += 1;
                let input = written.and_then(|block| block.member("input"));
                first = input.and_then(Source::arguments);
            }
            Some("text") => tell(text("text"), |text| deltas(Delta::Text(text))),
            _ => tell(text("thinking"), |text| deltas(Delta::Reasoning(text))),
        }
        self.blocks.insert(index, Block { said, first, input: String::new(), place });
    }

    fn go_on(
        &mut self,
        index: u64,
        delta: &Map<String, Value>,
        deltas: &mut Deltas<'_>,
    ) -> Result<(), Unreadable> {
        let Some(block) = self.blocks.get_mut(&index) else {
            return Err(Unreadable::malformed("a block goes on that never began"));
        };
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text_delta" => {
                tell(Some(text("text")), |text| deltas(Delta::Text(text)));
                append(&mut block.said, "text", text("text"));
            }
            "thinking_delta" => {
                tell(Some(text("thinking")), |text| deltas(Delta::Reasoning(text)));
                append(&mut block.said, "thinking", text("thinking"));
            }
            "signature_delta" => append(&mut block.said, "signature", text("signature")),
            "input_json_delta" => {
                let more = text("partial_json");
                if let Some(place) = block.place {
                    tell(Some(more), |text| deltas(Delta::Arguments { place, text }));
                }
                block.input.push_str(more);
            }
            _ => {}
        }
        Ok(())
    }
}

fn tell(text: Option<&str>, tell: impl FnOnce(&str)) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        tell(text);
    }
}

fn append(said: &mut Map<String, Value>, name: &str, more: &str) {
    match said.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => _ = said.insert(name.into(), more.into()),
    }
}

/// The arguments of a call stay as the model wrote them; those of a provider's own tool are the object
/// that they spell.
fn whole(block: Block, names: &WireNames) -> Result<Option<AssistantPart>, Unreadable> {
    let Block { mut said, first, input, place } = block;
    let is_empty = input.trim().is_empty();
    if place.is_none()
        && !is_empty
        && let Ok(value) = serde_json::from_str::<Value>(&input)
    {
        said.insert("input".into(), value);
    }
    part(said.into(), || if is_empty { first } else { Some(input.into()) }, names)
}

impl Assemble for Assembler {
    fn take(&mut self, message: &str, deltas: &mut Deltas<'_>) -> Result<(), Unreadable> {
        let event = match serde_json::from_str(message) {
            Ok(Event::Other) if failure(message).is_some() => None,
            Ok(event) => Some(event),
            Err(error) if failure(message).is_none() => {
                return Err(Unreadable::malformed(error.to_string()));
            }
            Err(_) => None,
        };
        let Some(event) = event else {
            return failure(message).map_or(Ok(()), Err);
        };
        match event {
            Event::MessageStart { message } => self.usage = message.usage,
            Event::ContentBlockStart { index, content_block } => {
                let written = Source::new(message).member("content_block");
                self.begin(index, content_block, written, deltas);
            }
            Event::ContentBlockDelta { index, delta } => self.go_on(index, &delta, deltas)?,
            Event::MessageDelta { delta, usage } => {
                self.stop_reason = delta.stop_reason.or_else(|| self.stop_reason.take());
                self.usage.hear(usage);
            }
            Event::MessageStop => self.is_done = true,
            Event::Other => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn finish(self) -> Result<ChatReply, Unreadable> {
        if !self.is_done && self.stop_reason.is_none() {
            return Err(Unreadable::Ended);
        }
        let names = &self.names;
        let parts = self.blocks.into_values().map(|block| whole(block, names));
        let parts = parts.collect::<Result<_, _>>()?;
        Ok(put_together(parts, self.stop_reason.as_deref(), self.usage))
    }
}
