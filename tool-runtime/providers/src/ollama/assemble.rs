//! Body of a reply, or the lines of a streamed one → [`ChatReply`]. Each call comes whole.

use super::decode::{OllamaResponse, assemble_reply, decode_chunk};
use crate::codec::{Assemble, DecodeError, RawJson};
use crate::shared::ServedBy;
use tool_core::models::{DeltaSink, WireNames};
use tool_core::{AssistantPart, ChatReply, Delta, Usage};

/// Reply that is being assembled.
pub(super) struct Assembler {
    names: WireNames,
    thinking: String,
    text: String,
    calls: Vec<AssistantPart>,
    reason: Option<String>,
    served_by: ServedBy,
    usage: Option<Usage>,
    is_done: bool,
}

impl Assembler {
    pub(super) fn new(names: WireNames) -> Self {
        Self {
            names,
            thinking: String::new(),
            text: String::new(),
            calls: Vec::new(),
            reason: None,
            served_by: ServedBy::default(),
            usage: None,
            is_done: false,
        }
    }

    fn add(&mut self, mut chunk: OllamaResponse, raw: RawJson<'_>, deltas: &mut DeltaSink<'_>) {
        let calls = chunk.message.calls(raw, &self.names);
        self.usage = chunk.usage().or(self.usage);
        self.served_by.merge(None, chunk.model.take());
        self.reason =
            chunk.done_reason.filter(|reason| !reason.is_empty()).or_else(|| self.reason.take());
        self.is_done |= chunk.done;
        if let Some(more) = chunk.message.thinking.filter(|more| !more.is_empty()) {
            deltas(Delta::Reasoning(&more));
            self.thinking.push_str(&more);
        }
        if let Some(more) = chunk.message.content.filter(|more| !more.is_empty()) {
            deltas(Delta::Text(&more));
            self.text.push_str(&more);
        }
        for part in calls {
            let index = self.calls.len();
            if let AssistantPart::Call(call) = &part {
                deltas(Delta::Call { index, id: call.id.as_str(), name: &call.name });
                deltas(Delta::Arguments { index, text: &call.arguments.to_text() });
            }
            self.calls.push(part);
        }
    }
}

impl Assemble for Assembler {
    fn push(&mut self, message: &str, deltas: &mut DeltaSink<'_>) -> Result<(), DecodeError> {
        self.add(decode_chunk(message)?, RawJson::new(message), deltas);
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn finish(self) -> Result<ChatReply, DecodeError> {
        let Self { thinking, text, calls, reason, served_by, usage, is_done, .. } = self;
        if is_done {
            let reply = assemble_reply(thinking, text, calls, reason.as_deref(), usage);
            Ok(served_by.set_in(reply))
        } else {
            Err(DecodeError::Incomplete)
        }
    }
}

/// Decodes a body, which is a stream of one chunk.
pub(super) fn reply(body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
    if body.trim().is_empty() {
        return Err(DecodeError::malformed("empty body"));
    }
    let mut assembler = Assembler::new(names.clone());
    assembler.push(body, &mut |_| {})?;
    assembler.finish()
}
