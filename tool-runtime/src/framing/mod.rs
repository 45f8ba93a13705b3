//! Splitting of byte streams into messages, without I/O.
//!
//! | decoder | messages |
//! |---|---|
//! | [`SseDecoder`] (`sse.rs`) | server-sent events, as the HTML standard defines them |
//! | [`LineDecoder`] (`lines.rs`) | lines, such as JSON lines and MCP over standard input and output |
//!
//! Both work in the same way. Pass chunks to `push` as they arrive, and take the complete messages.
//! At the end of the stream, `finish` returns what remains. The messages do not depend on how the
//! stream is split into chunks. A message that exceeds the size limit is reported once and skipped;
//! decoding continues after it. So the memory in use is bounded by the limit and one chunk.

mod lines;
mod sse;

pub use lines::LineDecoder;
pub use sse::{SseDecoder, SseEvent};

/// The error of a message that exceeds the size limit of its decoder.
///
/// ```
/// use tool_runtime::framing::LineDecoder;
///
/// let mut lines = LineDecoder::new(4);
/// lines.push(b"too long\n");
/// let error = lines.next_line().unwrap_err();
/// assert_eq!(error.to_string(), "message too long: more than 4 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message too long: more than {limit} bytes")]
#[non_exhaustive]
pub struct MessageTooLong {
    /// The limit in bytes.
    pub limit: usize,
}

/// Returns the text of bytes and whether it is a copy in which invalid UTF-8 was replaced.
pub(crate) fn decode_utf8(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    }
}
