//! Writer for the program's own output on a terminal.

use std::fmt;
use std::io::{self, Write};
use std::mem::take;
use std::sync::Arc;

use super::line::sanitize_lines;
use super::{TerminalState, locked};

/// Decoder of the bytes of one writer: returns complete characters, and escapes all control
/// characters except line endings.
#[derive(Debug, Default)]
struct TextDecoder {
    /// Bytes of an incomplete character.
    incomplete: Vec<u8>,
}

impl TextDecoder {
    /// Adds bytes and returns the text to show.
    fn push(&mut self, bytes: &[u8]) -> String {
        self.incomplete.extend_from_slice(bytes);
        let bytes = take(&mut self.incomplete);
        let (mut rest, mut text) = (bytes.as_slice(), String::new());
        while let Err(error) = std::str::from_utf8(rest) {
            let (valid, invalid) = rest.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            rest = match error.error_len() {
                Some(length) => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    invalid.get(length..).unwrap_or_default()
                }
                None => {
                    self.incomplete = invalid.to_vec();
                    &[]
                }
            };
        }
        text.push_str(&String::from_utf8_lossy(rest));
        // The next byte decides whether it is a line ending.
        if self.incomplete.is_empty() && text.ends_with('\r') {
            text.pop();
            self.incomplete.push(b'\r');
        }
        sanitize_lines(&text)
    }

    /// Returns the rest at the end of the output.
    fn finish(&mut self) -> String {
        sanitize_lines(&String::from_utf8_lossy(&take(&mut self.incomplete)))
    }
}

/// Writer for the program's own output beside a [`Terminal`](super::Terminal). Dropping it ends the
/// current line.
pub(super) struct Writer {
    shared: Arc<TerminalState>,
    decoder: TextDecoder,
}

impl Writer {
    pub(super) fn new(shared: Arc<TerminalState>) -> Self {
        locked(&shared).writers += 1;
        Self { shared, decoder: TextDecoder::default() }
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut display = locked(&self.shared);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            display.write(line, &self.decoder.push(line))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        locked(&self.shared).flush()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut display = locked(&self.shared);
        display.writers = display.writers.saturating_sub(1);
        // A program that needs to know about errors flushes the writer.
        let _ = display.write(&[], &self.decoder.finish()).and_then(|()| display.end_line());
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_direct = locked(&self.shared).aside.is_some();
        f.debug_struct("Writer").field("is_direct", &is_direct).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_characters_are_joined() {
        let text = "Grüße 語 🙂\nand more";
        for length in 1..8 {
            let mut decoder = TextDecoder::default();
            let text_out: String =
                text.as_bytes().chunks(length).map(|bytes| decoder.push(bytes)).collect();
            assert_eq!((text_out.as_str(), decoder.finish()), (text, String::new()));
        }
        let mut decoder = TextDecoder::default();
        assert_eq!(decoder.push(b"a\xffb\xf0\x9f"), "a\u{fffd}b");
        assert_eq!(decoder.push(b"c\xf0"), "\u{fffd}c");
        assert_eq!((decoder.finish(), decoder.finish()), ("\u{fffd}".into(), String::new()));
    }

    #[test]
    fn control_characters_are_escaped() {
        let mut decoder = TextDecoder::default();
        assert_eq!(decoder.push(b"a\tb\r\n\x1b[2Jc\rd"), "a    b\n<U+001B>[2Jc<U+000D>d");
        assert_eq!((decoder.push(b"e\r"), decoder.push(b"\nf")), ("e".into(), "\nf".into()));
    }
}
