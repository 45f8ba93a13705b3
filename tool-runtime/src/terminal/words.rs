//! What the program says beside the events, piece by piece.

use std::fmt;
use std::io::{self, Write};
use std::mem::take;
use std::sync::Arc;

use super::line::plain;
use super::{Shared, locked};

/// Bytes of one writer on their way to a terminal: whole letters, and nothing in them that it obeys but the end of a
/// line.
#[derive(Debug, Default)]
struct Letters {
    /// One that is not whole yet.
    half: Vec<u8>,
}

impl Letters {
    /// What came, as it is to be shown.
    fn take(&mut self, bytes: &[u8]) -> String {
        self.half.extend_from_slice(bytes);
        let bytes = take(&mut self.half);
        let (mut rest, mut text) = (bytes.as_slice(), String::new());
        while let Err(error) = std::str::from_utf8(rest) {
            let (sound, broken) = rest.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(sound));
            rest = match error.error_len() {
                Some(length) => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    broken.get(length..).unwrap_or_default()
                }
                None => {
                    self.half = broken.to_vec();
                    &[]
                }
            };
        }
        text.push_str(&String::from_utf8_lossy(rest));
        // Whether it is the end of a line shows later.
        if self.half.is_empty() && text.ends_with('\r') {
            text.pop();
            self.half.push(b'\r');
        }
        plain(&text)
    }

    /// Nothing more comes.
    fn end(&mut self) -> String {
        plain(&String::from_utf8_lossy(&take(&mut self.half)))
    }
}

/// What a program says beside what a [`Terminal`](super::Terminal) shows: what
/// [`Terminal::writer`](super::Terminal::writer) gives. Dropped, it ends the line that it is in.
pub struct Writer {
    shared: Arc<Shared>,
    letters: Letters,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        locked(&shared).writers += 1;
        Self { shared, letters: Letters::default() }
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut drawn = locked(&self.shared);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            drawn.words(line, &self.letters.take(line))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        locked(&self.shared).flush()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut drawn = locked(&self.shared);
        drawn.writers = drawn.writers.saturating_sub(1);
        // Whoever wants to know whether it was written flushes it.
        let _ = drawn.words(&[], &self.letters.end()).and_then(|()| drawn.end_line());
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_straight = locked(&self.shared).aside.is_some();
        f.debug_struct("Writer").field("is_straight", &is_straight).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_put_together_again() {
        let text = "Grüße 語 🙂\nand more";
        for length in 1..8 {
            let mut letters = Letters::default();
            let told: String =
                text.as_bytes().chunks(length).map(|bytes| letters.take(bytes)).collect();
            assert_eq!((told.as_str(), letters.end()), (text, String::new()));
        }
        let mut letters = Letters::default();
        assert_eq!(letters.take(b"a\xffb\xf0\x9f"), "a\u{fffd}b");
        assert_eq!(letters.take(b"c\xf0"), "\u{fffd}c");
        assert_eq!((letters.end(), letters.end()), ("\u{fffd}".into(), String::new()));
    }

    #[test]
    fn a_terminal_obeys_nothing_of_it() {
        let mut letters = Letters::default();
        assert_eq!(letters.take(b"a\tb\r\n\x1b[2Jc\rd"), "a    b\n\\u{1b}[2Jc\\u{d}d");
        assert_eq!((letters.take(b"e\r"), letters.take(b"\nf")), ("e".into(), "\nf".into()));
    }
}
