//! The limit of a message within a stream.

/// The error of a message that exceeds the size limit of its decoder.
///
/// ```
/// use tool_http::LineDecoder;
///
/// let mut lines = LineDecoder::new(4);
/// lines.push(b"too long\n");
/// let error = lines.next_line().unwrap_err();
/// assert_eq!(error.to_string(), "message too long: more than 4 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message too long: more than {max_bytes} bytes")]
#[non_exhaustive]
pub struct MessageSizeError {
    /// The maximum number of bytes.
    pub max_bytes: usize,
}

/// Returns the text of bytes and whether it is a copy in which invalid UTF-8 was replaced.
#[doc(hidden)]
pub fn decode_utf8(bytes: Vec<u8>) -> (String, bool) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    }
}
