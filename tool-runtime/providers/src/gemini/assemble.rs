//! Body of a reply, or the messages of a streamed one → [`ChatReply`].
//!
//! Texts come in pieces, everything else comes whole. A part with a signature stays separate, as
//! Google's "Thought signatures" requires: it is joined with no other part, and its signature is
//! sent back on it.

use serde_json::{Map, Value};

use super::decode::{
    CONTINUATION_TOKEN, GenerateContentResponse, REASONING_OF, SIGNATURE, WireCall, counted,
    decode_body, finish,
};
use super::grounding::Grounding;
use crate::codec::{Assemble, DecodeError, RawJson};
use crate::shared::{Counts, ServedBy, file_part};
use tool_core::models::{DeltaSink, WireNames};
use tool_core::{Arguments, AssistantPart, ChatReply, Delta, FinishReason, Reasoning, ToolCall};

/// Reply that is being assembled.
#[derive(Default)]
pub(super) struct PartialReply {
    parts: Vec<AssistantPart>,
    /// Whether the next piece of the same kind extends the last part.
    can_extend: bool,
    calls: usize,
    has_candidate: bool,
    finish_reason: Option<String>,
    continuation_token: Option<String>,
    grounding: Grounding,
    is_blocked: bool,
    served_by: ServedBy,
    usage: Counts,
}

impl PartialReply {
    pub(super) fn has_begun(&self) -> bool {
        self.has_candidate || self.is_blocked
    }

    /// Adds a decoded body; `raw` is its text.
    pub(super) fn add(
        &mut self,
        body: GenerateContentResponse,
        raw: RawJson<'_>,
        names: &WireNames,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<(), DecodeError> {
        let feedback = body.prompt_feedback.and_then(|feedback| feedback.block_reason);
        self.is_blocked |= feedback.is_some();
        self.usage.merge(body.usage_metadata);
        self.served_by.merge(body.response_id, body.model_version);
        let raw = raw.member("candidates").into_iter().flat_map(RawJson::items);
        let candidates = body.candidates.unwrap_or_default().into_iter().zip(raw);
        for (candidate, raw) in candidates {
            if candidate.index.unwrap_or(0) != 0 {
                continue;
            }
            self.has_candidate = true;
            let raw = raw.member("content").and_then(|content| content.member("parts"));
            let raw = raw.into_iter().flat_map(RawJson::items);
            let parts = candidate.content.unwrap_or_default().parts.unwrap_or_default();
            for (part, raw) in parts.into_iter().zip(raw) {
                self.add_part(part, raw, names, deltas)?;
            }
            self.grounding.merge(Grounding {
                grounding_metadata: candidate.grounding_metadata,
                citation_metadata: candidate.citation_metadata,
                url_context_metadata: candidate.url_context_metadata,
            });
            self.finish_reason = candidate.finish_reason.or_else(|| self.finish_reason.take());
            self.continuation_token =
                candidate.continuation_token.or_else(|| self.continuation_token.take());
        }
        Ok(())
    }

    /// Adds a part. A part that is neither text, a file nor a call belongs to the provider, such as
    /// code that it ran. It is sent back unchanged, as is a signature without content.
    fn add_part(
        &mut self,
        mut part: Map<String, Value>,
        raw: RawJson<'_>,
        names: &WireNames,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<(), DecodeError> {
        part.retain(|_, member| !member.is_null());
        if let Some(call) = part.remove("functionCall") {
            let raw = raw.member("functionCall").and_then(|call| call.member("args"));
            let arguments = raw.and_then(RawJson::arguments);
            return self.add_call(call, arguments, part.remove(SIGNATURE), names, deltas);
        }
        let is_signed = part.contains_key(SIGNATURE);
        let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
        let is_empty_part = |name: &String| ["thought", SIGNATURE].contains(&name.as_str());
        if part.keys().all(is_empty_part) {
            part.insert("text".into(), "".into());
        }
        if let Some([media_type, data]) = file(&part) {
            let file = file_part(REASONING_OF, &media_type, data);
            match &file {
                AssistantPart::File(file) => {
                    self.add_signature(part.remove(SIGNATURE));
                    deltas(Delta::File(file));
                }
                AssistantPart::Text { text } => deltas(Delta::Text(text)),
                _ => {}
            }
            self.parts.push(file);
            self.can_extend = false;
            return Ok(());
        }
        match part.get("text").and_then(Value::as_str).map(ToOwned::to_owned) {
            Some(text) if text.is_empty() && !is_signed => {}
            Some(text) if is_thought => self.add_thought(text, part, is_signed, deltas),
            Some(text) if !text.is_empty() => {
                deltas(Delta::Text(&text));
                match self.parts.last_mut() {
                    Some(AssistantPart::Text { text: known }) if self.can_extend && !is_signed => {
                        known.push_str(&text);
                    }
                    _ => {
                        self.add_signature(part.remove(SIGNATURE));
                        self.parts.push(AssistantPart::Text { text });
                    }
                }
                self.can_extend = !is_signed;
            }
            Some(_) => self.add_sealed(String::new(), part),
            None => {
                let tool_use = Reasoning::new(REASONING_OF, "", part.into()).provider_action();
                self.parts.push(AssistantPart::Reasoning(tool_use));
                self.can_extend = false;
            }
        }
        Ok(())
    }

    fn add_thought(
        &mut self,
        text: String,
        part: Map<String, Value>,
        is_signed: bool,
        deltas: &mut DeltaSink<'_>,
    ) {
        if !text.is_empty() {
            deltas(Delta::Reasoning(&text));
        }
        match self.parts.last_mut() {
            Some(AssistantPart::Reasoning(known)) if self.can_extend && !is_signed => {
                known.text.push_str(&text);
                if let Some(Value::String(sealed)) = known.sealed.get_mut("text") {
                    sealed.push_str(&text);
                }
            }
            _ => {
                self.add_sealed(text, part);
                self.can_extend = !is_signed;
            }
        }
    }

    fn add_call(
        &mut self,
        call: Value,
        arguments: Option<Arguments>,
        signature: Option<Value>,
        names: &WireNames,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<(), DecodeError> {
        let wire_call: WireCall = serde_json::from_value(call)
            .map_err(|error| DecodeError::malformed(format!("malformed call: {error}")))?;
        let name = wire_call.name.ok_or_else(|| DecodeError::malformed("a call has no name"))?;
        if wire_call.partial_args.is_some() || wire_call.will_continue == Some(true) {
            let advice = "leave `streamFunctionCallArguments` unset";
            let reason = format!("the arguments of `{name}` come in pieces: {advice}");
            return Err(DecodeError::Malformed(reason));
        }
        let arguments = arguments.unwrap_or_else(|| "{}".into());
        let call =
            ToolCall::new(wire_call.id.unwrap_or_default(), names.tool_name(&name), arguments);
        let index = self.calls;
        deltas(Delta::Call { index, id: call.id.as_str(), name: &call.name });
        deltas(Delta::Arguments { index, text: &call.arguments.to_text() });
        self.calls += 1;
        self.add_signature(signature);
        self.parts.push(AssistantPart::Call(call));
        self.can_extend = false;
        Ok(())
    }

    /// Adds the signature of a part before that part.
    fn add_signature(&mut self, signature: Option<Value>) {
        if let Some(signature) = signature {
            self.add_sealed(String::new(), Map::from_iter([(SIGNATURE.to_owned(), signature)]));
        }
    }

    fn add_sealed(&mut self, text: String, sealed: Map<String, Value>) {
        let reasoning = Reasoning::new(REASONING_OF, text, sealed.into());
        self.parts.push(AssistantPart::Reasoning(reasoning));
        self.can_extend = false;
    }

    pub(super) fn into_reply(mut self) -> Result<ChatReply, DecodeError> {
        let finish = match self.finish_reason.as_deref() {
            None if self.is_blocked => FinishReason::ContentFilter,
            reason => finish(reason, self.calls > 0)?,
        };
        if let Some(token) =
            self.continuation_token.take().filter(|_| finish == FinishReason::Paused)
        {
            let token = Map::from_iter([(CONTINUATION_TOKEN.to_owned(), token.into())]);
            self.add_sealed(String::new(), token);
        }
        let mut reply = ChatReply::new(self.parts).finish_reason(finish);
        let sources = self.grounding.sources(&reply.to_text());
        reply.parts.extend(sources.into_iter().map(AssistantPart::Source));
        reply.usage = self.usage.usage(counted);
        Ok(self.served_by.set_in(reply))
    }
}

/// Returns the media type and the data of a part that is a file and nothing else. An image in a
/// thought is a draft and stays with the provider.
fn file(part: &Map<String, Value>) -> Option<[String; 2]> {
    let is_known = |name: &String| ["inlineData", SIGNATURE].contains(&name.as_str());
    let file = part.get("inlineData").filter(|_| part.keys().all(is_known))?;
    let text = |name: &str| file.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some([text("mimeType"), text("data")])
}

/// Assembler of a streamed reply.
pub(super) struct Assembler {
    names: WireNames,
    partial: PartialReply,
}

impl Assembler {
    pub(super) fn new(names: WireNames) -> Self {
        Self { names, partial: PartialReply::default() }
    }
}

impl Assemble for Assembler {
    fn push(&mut self, message: &str, deltas: &mut DeltaSink<'_>) -> Result<(), DecodeError> {
        self.partial.add(decode_body(message)?, RawJson::new(message), &self.names, deltas)
    }

    fn finish(self) -> Result<ChatReply, DecodeError> {
        if self.partial.finish_reason.is_none() && !self.partial.is_blocked {
            return Err(DecodeError::Incomplete);
        }
        self.partial.into_reply()
    }
}

/// Decodes a body. Calls get the names of the program's tools.
pub(super) fn reply(body: &str, names: &WireNames) -> Result<ChatReply, DecodeError> {
    if body.trim().is_empty() {
        return Err(DecodeError::malformed("empty body"));
    }
    let mut partial = PartialReply::default();
    partial.add(decode_body(body)?, RawJson::new(body), names, &mut |_| {})?;
    if !partial.has_begun() {
        return Err(DecodeError::malformed("no candidate"));
    }
    partial.into_reply()
}
