//! Redaction of text that arrives in pieces.

use super::text::replace;
use super::{REDACTED, Redactor};

/// The size of a held text from which on it is searched only after it has grown by half. A text is
/// held only while it may be the start of a secret, so the secret is long, or the text is hostile
/// and consists of backslashes.
const LONG: usize = 1 << 10;

/// Redacts a text that arrives in pieces, as if it were whole. Text that may be the start of a
/// secret is held back until the rest arrives.
#[derive(Debug, Default)]
pub(crate) struct PieceRedactor {
    pending: String,
    /// The length of the held text at which it is searched again.
    next_search: usize,
    /// Whether the text returned last ended with a redacted secret.
    ends_redacted: bool,
}

impl PieceRedactor {
    /// Adds a piece, and returns the text that can be released, which may be empty.
    pub(crate) fn push(&mut self, redactor: &Redactor, piece: &str) -> String {
        self.pending.push_str(piece);
        if self.pending.len() < self.next_search {
            return String::new();
        }
        let released = self.take(redactor, true);
        self.next_search = match self.pending.len() {
            length @ LONG.. => length + length / 2,
            _ => 0,
        };
        released
    }

    /// Ends the text, and returns what was held back.
    pub(crate) fn finish(&mut self, redactor: &Redactor) -> String {
        let rest = self.take(redactor, false);
        *self = Self::default();
        rest
    }

    fn take(&mut self, redactor: &Redactor, is_partial: bool) -> String {
        let found = redactor.find(&self.pending, is_partial);
        let mut ranges = found.ranges;
        let open = found.open.min(found.undecoded);
        let mut end = if is_partial { open } else { self.pending.len() };
        // A secret that reaches into the held text may be the start of a longer one.
        while let Some(last) = ranges.pop_if(|last| last.end > end) {
            end = end.min(last.start);
        }
        let rest = self.pending.split_off(end);
        let text = std::mem::replace(&mut self.pending, rest);
        if text.is_empty() {
            return text;
        }
        let mut released = replace(&text, &ranges);
        // Adjacent secrets are replaced as one.
        if self.ends_redacted && ranges.first().is_some_and(|range| range.start == 0) {
            released.drain(..REDACTED.len());
        }
        self.ends_redacted = ranges.last().is_some_and(|range| range.end == text.len());
        released
    }
}
