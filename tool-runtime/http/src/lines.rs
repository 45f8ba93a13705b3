//! Bytes → lines.

use std::collections::VecDeque;
use std::mem;

use crate::message_limit::MessageSizeError;

/// Decoder that splits a byte stream into lines.
///
/// A line ends with a line feed, with or without a carriage return before it. The line that is
/// returned lacks both. Empty lines are returned, too.
///
/// ```
/// use tool_http::LineDecoder;
///
/// let mut lines = LineDecoder::new(1 << 20);
/// lines.push(b"{\"id\": 1}\r\n{\"id\"");
/// assert_eq!(lines.next_line()?, Some(b"{\"id\": 1}".to_vec()));
/// assert_eq!(lines.next_line()?, None); // the second line is incomplete
/// lines.push(b": 2}");
/// assert_eq!(lines.finish(), Some(b"{\"id\": 2}".to_vec()));
/// # Ok::<(), tool_http::MessageSizeError>(())
/// ```
#[derive(Debug)]
pub struct LineDecoder {
    max_bytes: usize,
    partial: Vec<u8>,
    /// Whether the rest of a line that is too long is skipped.
    is_skipping: bool,
    complete: VecDeque<Result<Vec<u8>, MessageSizeError>>,
}

impl LineDecoder {
    /// Creates a decoder of lines of at most `max_bytes` bytes before the line feed.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, partial: Vec::new(), is_skipping: false, complete: VecDeque::new() }
    }

    /// Adds a chunk of the stream. Take the complete lines before you add the next one.
    pub fn push(&mut self, mut chunk: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end);
            chunk = rest.get(1..).unwrap_or_default();
            self.append(line);
            if !mem::take(&mut self.is_skipping) {
                let line = without_carriage_return(mem::take(&mut self.partial));
                self.complete.push_back(Ok(line));
            }
        }
        self.append(chunk);
    }

    /// Returns the next complete line, or `None` until more bytes are pushed.
    ///
    /// # Errors
    /// [`MessageSizeError`], once for each line that exceeds the limit. The line is skipped.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, MessageSizeError> {
        self.complete.pop_front().transpose()
    }

    /// Ends the stream and returns its last line, if that has no line feed and is not empty. Lines
    /// that were not taken are dropped.
    pub fn finish(self) -> Option<Vec<u8>> {
        (!self.partial.is_empty()).then(|| without_carriage_return(self.partial))
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.is_skipping {
            return;
        }
        if self.partial.len() + bytes.len() > self.max_bytes {
            self.partial = Vec::new();
            self.is_skipping = true;
            self.complete.push_back(Err(MessageSizeError { max_bytes: self.max_bytes }));
            return;
        }
        self.partial.extend_from_slice(bytes);
    }
}

fn without_carriage_return(mut line: Vec<u8>) -> Vec<u8> {
    line.pop_if(|last| *last == b'\r');
    line
}
