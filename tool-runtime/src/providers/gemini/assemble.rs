//! A reply, or the messages of a streamed one → our reply.
//!
//! Texts come in pieces, everything else comes whole. A part that is signed stays one of its own, as
//! Google's "Thought signatures" wants it: it is joined with nothing, and what is said of it here goes
//! back on it.

use serde_json::{Map, Value};

use super::decode::{Body, Called, REASONING_OF, SIGNATURE, counted, finish, read};
use crate::message::{Arguments, AssistantPart, Reasoning, ToolCall};
use crate::models::{ChatReply, Delta, Deltas, Finish, WireNames};
use crate::providers::codec::{Assemble, Counts, Source, Unreadable};

/// What was said so far.
#[derive(Default)]
pub(super) struct Said {
    parts: Vec<AssistantPart>,
    /// Whether the next piece of its kind belongs to the last part.
    goes_on: bool,
    calls: usize,
    has_candidate: bool,
    finish_reason: Option<String>,
    is_blocked: bool,
    usage: Counts,
}

impl Said {
    pub(super) fn has_begun(&self) -> bool {
        self.has_candidate || self.is_blocked
    }

    /// Takes a body, which is `read` off what is `written`.
    pub(super) fn hear(
        &mut self,
        read: Body,
        written: Source<'_>,
        names: &WireNames,
        deltas: &mut Deltas<'_>,
    ) -> Result<(), Unreadable> {
        let feedback = read.prompt_feedback.and_then(|feedback| feedback.block_reason);
        self.is_blocked |= feedback.is_some();
        self.usage.hear(read.usage_metadata);
        let written = written.member("candidates").into_iter().flat_map(Source::items);
        let candidates = read.candidates.unwrap_or_default().into_iter().zip(written);
        for (candidate, written) in candidates {
            if candidate.index.unwrap_or(0) != 0 {
                continue;
            }
            self.has_candidate = true;
            let written = written.member("content").and_then(|content| content.member("parts"));
            let written = written.into_iter().flat_map(Source::items);
            let parts = candidate.content.unwrap_or_default().parts.unwrap_or_default();
            for (part, written) in parts.into_iter().zip(written) {
                self.hear_part(part, written, names, deltas)?;
            }
            self.finish_reason = candidate.finish_reason.or_else(|| self.finish_reason.take());
        }
        Ok(())
    }

    /// What is neither text nor a call is the provider's own: code that it ran, a picture that it
    /// made. It goes back as it came, and so does a signature that came alone.
    fn hear_part(
        &mut self,
        mut part: Map<String, Value>,
        written: Source<'_>,
        names: &WireNames,
        deltas: &mut Deltas<'_>,
    ) -> Result<(), Unreadable> {
        part.retain(|_, member| !member.is_null());
        if let Some(called) = part.remove("functionCall") {
            let written = written.member("functionCall").and_then(|call| call.member("args"));
            let arguments = written.and_then(Source::arguments);
            return self.hear_call(called, arguments, part.remove(SIGNATURE), names, deltas);
        }
        let is_signed = part.contains_key(SIGNATURE);
        let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
        let bare = |name: &String| ["thought", SIGNATURE].contains(&name.as_str());
        if part.keys().all(bare) {
            part.insert("text".into(), "".into());
        }
        match part.get("text").and_then(Value::as_str).map(ToOwned::to_owned) {
            Some(text) if text.is_empty() && !is_signed => {}
            Some(text) if is_thought => self.hear_thought(text, part, is_signed, deltas),
            Some(text) if !text.is_empty() => {
                deltas(Delta::Text(&text));
                match self.parts.last_mut() {
                    Some(AssistantPart::Text { text: known }) if self.goes_on && !is_signed => {
                        known.push_str(&text);
                    }
                    _ => {
                        self.seal(part.remove(SIGNATURE));
                        self.parts.push(AssistantPart::Text { text });
                    }
                }
                self.goes_on = !is_signed;
            }
            Some(_) => self.keep(String::new(), part),
            None => {
                let act = Reasoning::new(REASONING_OF, "", part.into()).acting();
                self.parts.push(AssistantPart::Reasoning(act));
                self.goes_on = false;
            }
        }
        Ok(())
    }

    fn hear_thought(
        &mut self,
        text: String,
        part: Map<String, Value>,
        is_signed: bool,
        deltas: &mut Deltas<'_>,
    ) {
        if !text.is_empty() {
            deltas(Delta::Reasoning(&text));
        }
        match self.parts.last_mut() {
            Some(AssistantPart::Reasoning(known)) if self.goes_on && !is_signed => {
                known.text.push_str(&text);
                if let Some(Value::String(sealed)) = known.sealed.get_mut("text") {
                    sealed.push_str(&text);
                }
            }
            _ => {
                self.keep(text, part);
                self.goes_on = !is_signed;
            }
        }
    }

    fn hear_call(
        &mut self,
        called: Value,
        arguments: Option<Arguments>,
        signature: Option<Value>,
        names: &WireNames,
        deltas: &mut Deltas<'_>,
    ) -> Result<(), Unreadable> {
        let called: Called = serde_json::from_value(called)
            .map_err(|error| Unreadable::malformed(format!("it holds a strange call: {error}")))?;
        let name = called
            .name
            .ok_or_else(|| Unreadable::malformed("it calls a function without a name"))?;
        if called.partial_args.is_some() || called.will_continue == Some(true) {
            let advice = "leave `streamFunctionCallArguments` unset";
            let reason = format!("the arguments of `{name}` come in pieces: {advice}");
            return Err(Unreadable::Malformed(reason));
        }
        let arguments = arguments.unwrap_or_else(|| "{}".into());
        let call = ToolCall::new(called.id.unwrap_or_default(), names.own(&name), arguments);
        let place = self.calls;
        deltas(Delta::Call { place, name: &call.name });
        deltas(Delta::Arguments { place, text: &call.arguments.to_text() });
        self.calls += 1;
        self.seal(signature);
        self.parts.push(AssistantPart::Call(call));
        self.goes_on = false;
        Ok(())
    }

    /// A signature stands before the part that it came on.
    fn seal(&mut self, signature: Option<Value>) {
        if let Some(signature) = signature {
            self.keep(String::new(), Map::from_iter([(SIGNATURE.to_owned(), signature)]));
        }
    }

    fn keep(&mut self, text: String, sealed: Map<String, Value>) {
        let kept = Reasoning::new(REASONING_OF, text, sealed.into());
        self.parts.push(AssistantPart::Reasoning(kept));
        self.goes_on = false;
    }

    pub(super) fn reply(self) -> Result<ChatReply, Unreadable> {
        let finish = match self.finish_reason.as_deref() {
            None if self.is_blocked => Finish::Filtered,
            reason => finish(reason, self.calls > 0)?,
        };
        let mut reply = ChatReply::new(self.parts).finish(finish);
        reply.usage = self.usage.usage(counted);
        Ok(reply)
    }
}

/// What was said so far, and under which names.
pub(super) struct Assembler {
    names: WireNames,
    said: Said,
}

impl Assembler {
    pub(super) fn new(names: WireNames) -> Self {
        Self { names, said: Said::default() }
    }
}

impl Assemble for Assembler {
    fn take(&mut self, message: &str, deltas: &mut Deltas<'_>) -> Result<(), Unreadable> {
        self.said.hear(read(message)?, Source::new(message), &self.names, deltas)
    }

    fn finish(self) -> Result<ChatReply, Unreadable> {
        if self.said.finish_reason.is_none() && !self.said.is_blocked {
            return Err(Unreadable::Ended);
        }
        self.said.reply()
    }
}

/// What the model called, under the names of the tools.
pub(super) fn reply(body: &str, names: &WireNames) -> Result<ChatReply, Unreadable> {
    if body.trim().is_empty() {
        return Err(Unreadable::malformed("it is empty"));
    }
    let mut said = Said::default();
    said.hear(read(body)?, Source::new(body), names, &mut |_| {})?;
    if !said.has_begun() {
        return Err(Unreadable::malformed("it holds no candidate"));
    }
    said.reply()
}
