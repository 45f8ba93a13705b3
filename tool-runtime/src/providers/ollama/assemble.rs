//! A reply, or the lines of a streamed one → our reply. Each call comes whole.

use super::decode::{Chunk, chunk, put_together};
use crate::message::{AssistantPart, Usage};
use crate::models::{ChatReply, Delta, Deltas, WireNames};
use crate::providers::codec::{Assemble, Source, Unreadable};

/// What was said so far.
pub(super) struct Assembler {
    names: WireNames,
    thinking: String,
    text: String,
    calls: Vec<AssistantPart>,
    reason: Option<String>,
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
            usage: None,
            is_done: false,
        }
    }

    fn hear(&mut self, mut more: Chunk, written: Source<'_>, deltas: &mut Deltas<'_>) {
        let calls = more.message.calls(written, &self.names);
        self.usage = more.usage().or(self.usage);
        self.reason =
            more.done_reason.filter(|reason| !reason.is_empty()).or_else(|| self.reason.take());
        self.is_done |= more.done;
        if let Some(more) = more.message.thinking.filter(|more| !more.is_empty()) {
            deltas(Delta::Reasoning(&more));
            self.thinking.push_str(&more);
        }
        if let Some(more) = more.message.content.filter(|more| !more.is_empty()) {
            deltas(Delta::Text(&more));
            self.text.push_str(&more);
        }
        for part in calls {
            let place = self.calls.len();
            if let AssistantPart::Call(call) = &part {
                deltas(Delta::Call { place, name: &call.name });
                deltas(Delta::Arguments { place, text: &call.arguments.to_text() });
            }
            self.calls.push(part);
        }
    }
}

impl Assemble for Assembler {
    fn take(&mut self, message: &str, deltas: &mut Deltas<'_>) -> Result<(), Unreadable> {
        self.hear(chunk(message)?, Source::new(message), deltas);
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn finish(self) -> Result<ChatReply, Unreadable> {
        let Self { thinking, text, calls, reason, usage, is_done, .. } = self;
        match is_done {
            true => Ok(put_together(thinking, text, calls, reason.as_deref(), usage)),
            false => Err(Unreadable::Ended),
        }
    }
}

/// A reply as a whole is a stream of one piece.
pub(super) fn reply(body: &str, names: &WireNames) -> Result<ChatReply, Unreadable> {
    if body.trim().is_empty() {
        return Err(Unreadable::malformed("it is empty"));
    }
    let mut assembler = Assembler::new(names.clone());
    assembler.take(body, &mut |_| {})?;
    assembler.finish()
}
