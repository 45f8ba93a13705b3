//! Messages of a server before they are decoded: what they are, and what decoding them would cost.
//!
//! The SDK decodes a message without a limit on memory, and values can take a hundred times the
//! memory of their text. So pages of lists are decoded by `page.rs`, and other messages that would
//! take too much are not decoded at all, whether they are valid or not.

use std::fmt;

use rmcp::model::{
    ErrorCode, ErrorData, JsonRpcMessage, ListToolsResult, RequestId, ServerJsonRpcMessage,
    ServerResult, Tool,
};
use serde::de::{Error, IgnoredAny, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer};

use crate::client::tools::page::Page;
use crate::client::wire::traffic::Traffic;
use crate::lines::Envelope;

/// The length up to which messages are decoded without an estimate of their memory.
const SHORT_BYTES: usize = 64 << 10;

/// The maximum memory of a decoded message, by estimate.
const MAX_DECODED_BYTES: usize = 64 << 20;

/// The message of the error that stands for an oversized response.
pub(crate) const TOO_LONG: &str = "the response exceeds the size limit of the client";

/// The message of the error that stands for an oversized response to one of several requests.
pub(crate) const UNMATCHED: &str =
    "a response to an unknown request exceeds the size limit of the client";

/// The message of the error that stands for a response that can't be decoded.
pub(crate) const MALFORMED: &str = "the response is not a valid message";

/// The members of a message that determine its kind. Everything else is skipped without being kept.
#[derive(Deserialize)]
pub(super) struct Head {
    id: Option<Id>,
    method: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

impl Head {
    /// Reads the head of a message.
    ///
    /// # Errors
    /// The text is not JSON, a member is repeated, or the id is neither a number nor a text.
    pub(super) fn read(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }

    /// Returns the request that the message answers.
    pub(super) fn answered(&self) -> Option<&RequestId> {
        self.id.as_ref().filter(|_| self.method.is_none()).map(|Id(id)| id)
    }

    fn into_envelope(self) -> Envelope {
        match (self.method, self.id) {
            (None, id) => Envelope::Response(id.map(|Id(id)| id)),
            (Some(_), Some(Id(id))) => Envelope::Request(id),
            (Some(_), None) => Envelope::Notification,
        }
    }
}

/// The id of a message, as the SDK reads it. The SDK keeps any value before it refuses it, however
/// large it is; here, only numbers and texts are kept.
struct Id(RequestId);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Id, E> {
        RequestId::deserialize(number.into_deserializer()).map(Id)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Id, E> {
        RequestId::deserialize(number.into_deserializer()).map(Id)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Id, E> {
        RequestId::deserialize(number.into_deserializer()).map(Id)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Id, E> {
        Ok(Id(RequestId::String(text.into())))
    }
}

/// The handling of one message of a server.
pub(super) enum Incoming {
    /// The message is decoded as it is.
    Plain,
    /// This message replaces it.
    Instead(Box<ServerJsonRpcMessage>),
    /// The message is not decoded, since it could take too much memory. It counts as one above the
    /// size limit.
    TooLong(Envelope),
}

impl Incoming {
    /// Looks at a message. If `keeps_tools` is true, the result of a list of tools has the tools
    /// that are well-formed, for the SDK.
    pub(super) fn of(text: &[u8], traffic: &Traffic, keeps_tools: bool) -> Self {
        let is_short = text.len() <= SHORT_BYTES;
        if is_short && !traffic.awaits_page() {
            return Self::Plain;
        }
        let head = Head::read(text).ok();
        if let Some(head) = &head
            && let (Some(id), Some(_), None) = (head.answered(), &head.result, &head.error)
            && let Some(limits) = traffic.page_limits(id)
        {
            let message = match Page::decode(text, limits) {
                Ok(page) => {
                    let result = result_of_page(&page, limits.member, keeps_tools);
                    traffic.put_page(id, page);
                    JsonRpcMessage::response(result, id.clone())
                }
                Err(_) => failure(MALFORMED, id.clone()),
            };
            return Self::Instead(Box::new(message));
        }
        // Also a message without a readable head: the SDK keeps it until it finds out.
        if is_short || decoded_bytes(text) <= MAX_DECODED_BYTES {
            return Self::Plain;
        }
        Self::TooLong(head.map_or_else(|| Envelope::of_line(text), Head::into_envelope))
    }
}

/// Returns the error that stands for the answer to a request.
pub(super) fn failure(message: &'static str, id: RequestId) -> ServerJsonRpcMessage {
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None);
    JsonRpcMessage::error(error, Some(id))
}

/// Returns what the SDK sees of a page.
fn result_of_page(page: &Page, member: &str, keeps_tools: bool) -> ServerResult {
    match &page.items {
        Some(items) if keeps_tools && member == "tools" => {
            let items = items.iter().filter(|item| !item.is_too_deep);
            let tools = items.filter_map(|item| Tool::deserialize(&item.value).ok());
            ListToolsResult::with_all_items(tools.collect()).into()
        }
        _ => ServerResult::empty(()),
    }
}

/// Returns the memory that the values of a text take, by estimate.
fn decoded_bytes(text: &[u8]) -> usize {
    let (mut values, mut objects, mut is_text, mut is_escaped) = (0_usize, 0_usize, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' => objects += 1,
            b'[' | b',' => values += 1,
            _ => {}
        }
    }
    text.len().saturating_add(values.saturating_mul(64)).saturating_add(objects.saturating_mul(640))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_values_is_estimated_without_their_texts() {
        assert_eq!(decoded_bytes(br#"{"a":"{[,,\"{{,"}"#), 640 + 17);
        assert_eq!(decoded_bytes(b"[1,{},{}]"), 9 + 3 * 64 + 2 * 640);
    }
}
