//! Events of a streamed message → [`ChatReply`].
//!
//! The shapes follow Anthropic's documentation, "Streaming messages".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::decode::{assemble_reply, failure, parts};
use super::sources::sources;
use crate::codec::{Assemble, DecodeError, RawJson};
use crate::shared::{Counts, ServedBy, shifted};
use tool_core::models::{DeltaSink, WireNames};
use tool_core::{Arguments, AssistantPart, ChatReply, Delta};

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum StreamEvent {
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
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: Ending,
        #[serde(default)]
        usage: Counts,
    },
    MessageStop,
    /// Pings and events that are not known yet.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Started {
    id: Option<Value>,
    model: Option<Value>,
    container: Option<Value>,
    #[serde(default)]
    usage: Counts,
}

#[derive(Deserialize)]
struct Ending {
    container: Option<Value>,
    stop_reason: Option<String>,
}

/// Reply that is being assembled.
pub(super) struct Assembler {
    names: WireNames,
    blocks: BTreeMap<u64, Block>,
    calls: usize,
    /// Length of the text of the blocks that have ended.
    text_len: usize,
    container: Option<Value>,
    stop_reason: Option<String>,
    served_by: ServedBy,
    usage: Counts,
    is_done: bool,
}

struct Block {
    members: Map<String, Value>,
    /// Arguments that came with the start of the call; most calls start without any.
    initial_input: Option<Arguments>,
    /// Text of the call's arguments.
    input: String,
    /// Index of the call among the calls of the reply, if the block is a call.
    call_index: Option<usize>,
    is_ended: bool,
}

impl Assembler {
    pub(super) fn new(names: WireNames) -> Self {
        Self {
            names,
            blocks: BTreeMap::new(),
            calls: 0,
            text_len: 0,
            container: None,
            stop_reason: None,
            served_by: ServedBy::default(),
            usage: Counts::default(),
            is_done: false,
        }
    }

    fn start(
        &mut self,
        index: u64,
        members: Map<String, Value>,
        raw: Option<RawJson<'_>>,
        deltas: &mut DeltaSink<'_>,
    ) {
        let (mut call_index, mut initial_input) = (None, None);
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        match text("type") {
            Some("tool_use") => {
                deltas(Delta::Call {
                    index: self.calls,
                    id: text("id").unwrap_or_default(),
                    name: self.names.tool_name(text("name").unwrap_or_default()),
                });
                call_index = Some(self.calls);
                self.calls += 1;
                let input = raw.and_then(|block| block.member("input"));
                initial_input = input.and_then(RawJson::arguments);
            }
            Some("text") => emit(text("text"), |text| deltas(Delta::Text(text))),
            _ => emit(text("thinking"), |text| deltas(Delta::Reasoning(text))),
        }
        self.blocks.insert(
            index,
            Block { members, initial_input, input: String::new(), call_index, is_ended: false },
        );
    }

    fn extend(
        &mut self,
        index: u64,
        delta: &Map<String, Value>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<(), DecodeError> {
        let Some(block) = self.blocks.get_mut(&index) else {
            return Err(DecodeError::malformed("a delta refers to a block that never started"));
        };
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text_delta" => {
                emit(Some(text("text")), |text| deltas(Delta::Text(text)));
                append(&mut block.members, "text", text("text"));
            }
            "thinking_delta" => {
                emit(Some(text("thinking")), |text| deltas(Delta::Reasoning(text)));
                append(&mut block.members, "thinking", text("thinking"));
            }
            "signature_delta" => append(&mut block.members, "signature", text("signature")),
            "input_json_delta" => {
                let more = text("partial_json");
                if let Some(index) = block.call_index {
                    emit(Some(more), |text| deltas(Delta::Arguments { index, text }));
                }
                block.input.push_str(more);
            }
            "citations_delta" => {
                let citations = block.members.entry("citations").or_insert(Value::Null);
                if !citations.is_array() {
                    *citations = Value::Array(Vec::new());
                }
                if let (Some(citations), Some(more)) =
                    (citations.as_array_mut(), delta.get("citation"))
                {
                    citations.push(more.clone());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Emits the sources of a block that has ended.
    fn end(&mut self, index: u64, deltas: &mut DeltaSink<'_>) {
        let Some(block) = self.blocks.get_mut(&index) else { return };
        if std::mem::replace(&mut block.is_ended, true) {
            return;
        }
        for source in sources(&block.members) {
            deltas(Delta::Source(&shifted(&source, self.text_len)));
        }
        if block.members.get("type").is_some_and(|kind| kind == "text") {
            let text = block.members.get("text").and_then(Value::as_str);
            self.text_len += text.map_or(0, str::len);
        }
    }
}

fn emit(text: Option<&str>, delta: impl FnOnce(&str)) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        delta(text);
    }
}

fn append(members: &mut Map<String, Value>, name: &str, more: &str) {
    match members.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => _ = members.insert(name.into(), more.into()),
    }
}

/// Converts a block into parts of the reply. The arguments of a call stay as the model wrote them;
/// the input of a provider's own tool becomes the object that it spells.
fn finished_parts(block: Block, names: &WireNames) -> Result<Vec<AssistantPart>, DecodeError> {
    let Block { mut members, initial_input, input, call_index, .. } = block;
    let is_empty = input.trim().is_empty();
    if call_index.is_none()
        && !is_empty
        && let Ok(value) = serde_json::from_str::<Value>(&input)
    {
        members.insert("input".into(), value);
    }
    parts(members.into(), || if is_empty { initial_input } else { Some(input.into()) }, names)
}

impl Assemble for Assembler {
    fn push(&mut self, message: &str, deltas: &mut DeltaSink<'_>) -> Result<(), DecodeError> {
        let event = match serde_json::from_str(message) {
            Ok(StreamEvent::Other) if failure(message).is_some() => None,
            Ok(event) => Some(event),
            Err(error) if failure(message).is_none() => {
                return Err(DecodeError::malformed(error.to_string()));
            }
            Err(_) => None,
        };
        let Some(event) = event else {
            return failure(message).map_or(Ok(()), Err);
        };
        match event {
            StreamEvent::MessageStart { message } => {
                (self.container, self.usage) = (message.container, message.usage);
                self.served_by.merge(message.id, message.model);
            }
            StreamEvent::ContentBlockStart { index, content_block } => {
                let raw = RawJson::new(message).member("content_block");
                self.start(index, content_block, raw, deltas);
            }
            StreamEvent::ContentBlockDelta { index, delta } => {
                self.extend(index, &delta, deltas)?
            }
            StreamEvent::ContentBlockStop { index } => self.end(index, deltas),
            StreamEvent::MessageDelta { delta, usage } => {
                self.container = delta.container.or_else(|| self.container.take());
                self.stop_reason = delta.stop_reason.or_else(|| self.stop_reason.take());
                self.usage.merge(usage);
            }
            StreamEvent::MessageStop => self.is_done = true,
            StreamEvent::Other => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn finish(self) -> Result<ChatReply, DecodeError> {
        if !self.is_done && self.stop_reason.is_none() {
            return Err(DecodeError::Incomplete);
        }
        let names = &self.names;
        let blocks = self.blocks.into_values().map(|block| finished_parts(block, names));
        let blocks = blocks.collect::<Result<_, _>>()?;
        let stop_reason = self.stop_reason.as_deref();
        let reply = assemble_reply(blocks, self.container, stop_reason, self.usage);
        Ok(self.served_by.set_in(reply))
    }
}
