//! What the program says beside the events, piece by piece.

use std::fmt;
use std::io::{self, Write};
use std::mem::take;
use std::sync::Arc;

use super::line::plain;
use super::{Shared, locked};

/// Bytes on their way to a terminal: whole letters, and nothing in them that it obeys but the end of a line.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// A letter that is not whole yet.
    bytes: Vec<u8>,
    /// The line that has no end yet.
    line: String,
}

impl Words {
    /// What came, as it is to be shown.
    pub(super) fn take(&mut self, bytes: &[u8]) -> String {
        self.bytes.extend_from_slice(bytes);
        let bytes = take(&mut self.bytes);
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
                    self.bytes = broken.to_vec();
                    &[]
                }
            };
        }
        text.push_str(&String::from_utf8_lossy(rest));
        // Whether it is the end of a line shows later.
        if self.bytes.is_empty() && text.ends_with('\r') {
            text.pop();
            self.bytes.push(b'\r');
        }
        let text = plain(&text);
        match text.rsplit_once('\n') {
            Some((_, line)) => self.line = line.to_owned(),
            None => self.line.push_str(&text),
        }
        text
    }

    /// The line that has no end yet, as far as it is there.
    pub(super) fn line(&self) -> &str {
        &self.line
    }

    /// The same, which ends here; none where nothing was said of it.
    pub(super) fn end(&mut self) -> Option<String> {
        let line = take(&mut self.line);
        (!line.is_empty()).then_some(line)
    }
}

/// What a program says beside what a [`Terminal`](super::Terminal) shows: what
/// [`Terminal::writer`](super::Terminal::writer) gives. Dropped, it ends the line that it is in.
pub struct Writer {
    shared: Arc<Shared>,
    /// Where it goes without further ado.
    straight: Option<io::Stdout>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, straight: Option<io::Stdout>) -> Self {
        Self { shared, straight }
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(straight) = &mut self.straight {
            return straight.write(bytes);
        }
        locked(&self.shared.drawn).words(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.straight {
            Some(straight) => straight.flush(),
            None => locked(&self.shared.drawn).flush(),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.straight.is_none() {
            // Whoever wants to know whether it was written flushes it.
            let _ = locked(&self.shared.drawn).end_line();
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("is_straight", &self.straight.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_put_together_again() {
        let text = "Grüße 語 🙂\nand more";
        for length in 1..8 {
            let mut words = Words::default();
            let told: String =
                text.as_bytes().chunks(length).map(|bytes| words.take(bytes)).collect();
            assert_eq!(told, text);
            assert_eq!(words.end().as_deref(), Some("and more"));
            assert_eq!(words.end(), None);
        }
        let mut words = Words::default();
        assert_eq!(words.take(b"a\xffb\xf0\x9f"), "a\u{fffd}b");
        assert_eq!(words.take(b"c"), "\u{fffd}c");
    }

    #[test]
    fn a_terminal_obeys_nothing_of_it() {
        let mut words = Words::default();
        assert_eq!(words.take(b"a\tb\r\n\x1b[2Jc\rd"), "a    b\n\\u{1b}[2Jc\\u{d}d");
        assert_eq!(words.line(), "\\u{1b}[2Jc\\u{d}d");
        assert_eq!((words.take(b"e\r"), words.take(b"\nf")), ("e".into(), "\nf".into()));
    }
}
