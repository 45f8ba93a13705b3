//! Messages of a server before they are decoded: what they are, and what decoding them would cost.
//!
//! The SDK decodes a message without a limit on memory, and values can take a hundred times the
//! memory of their text. So pages of lists are decoded by `page.rs`, and other messages that would
//! take too much are not decoded at all.

use rmcp::model::{
    ErrorCode, ErrorData, JsonRpcMessage, ListToolsResult, RequestId, ServerJsonRpcMessage,
    ServerResult, Tool,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::client::tools::page::Page;
use crate::client::wire::traffic::Traffic;

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

/// The members of a message that determine its kind.
#[derive(Deserialize)]
struct Head {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// The handling of one message of a server.
pub(crate) enum Incoming {
    /// The message is decoded as it is.
    Plain,
    /// This message replaces it.
    Instead(Box<ServerJsonRpcMessage>),
    /// The message is not decoded, and answers nothing.
    Dropped,
}

impl Incoming {
    /// Looks at a message. If `keeps_tools` is true, the result of a list of tools has the tools
    /// that are well-formed, for the SDK.
    pub(crate) fn of(text: &[u8], traffic: &Traffic, keeps_tools: bool) -> Self {
        let is_short = text.len() <= SHORT_BYTES;
        if is_short && !traffic.awaits_page() {
            return Self::Plain;
        }
        // Everything else is skipped: this allocates nothing.
        let Ok(head) = serde_json::from_slice::<Head>(text) else { return Self::Plain };
        let answered = head.id.as_ref().filter(|_| head.method.is_none());
        if let (Some(id), Some(_), None) = (answered, &head.result, &head.error)
            && let Some(limits) = traffic.page_limits(id)
        {
            let Ok(page) = Page::decode(text, limits) else { return Self::error(id, MALFORMED) };
            let result = match &page.items {
                Some(items) if keeps_tools && limits.member == "tools" => {
                    let items = items.iter().filter(|item| !item.is_too_deep);
                    let tools = items.filter_map(|item| Tool::deserialize(&item.value).ok());
                    ListToolsResult::with_all_items(tools.collect()).into()
                }
                _ => ServerResult::empty(()),
            };
            traffic.put_page(id, page);
            return Self::Instead(Box::new(JsonRpcMessage::response(result, id.clone())));
        }
        if is_short || decoded_bytes(text) <= MAX_DECODED_BYTES {
            return Self::Plain;
        }
        answered.map_or(Self::Dropped, |id| Self::error(id, TOO_LONG))
    }

    /// Returns the error that replaces an answer which can't be read.
    fn error(id: &RequestId, message: &'static str) -> Self {
        let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None);
        Self::Instead(Box::new(JsonRpcMessage::error(error, Some(id.clone()))))
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
