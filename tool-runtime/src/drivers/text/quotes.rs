//! Whether a place in a text is quoted.

use memchr::{memchr_iter, memrchr};

/// Goes along the text with what is looked at, so that each byte is counted once.
#[derive(Clone, Debug, Default)]
pub(super) struct Quotes {
    at: usize,
    /// How many backticks the line has so far.
    ticks: usize,
    /// What the line begins with, behind its blanks.
    first: Option<u8>,
}

impl Quotes {
    /// Whether `at`, which is no place before the last one asked for, is in code within a line, in a
    /// line that is a quotation, or right behind a quote.
    pub(super) fn hold(&mut self, text: &str, at: usize) -> bool {
        let mut passed = text.as_bytes().get(self.at..at).unwrap_or_default();
        if let Some(end) = memrchr(b'\n', passed) {
            passed = passed.get(end + 1..).unwrap_or_default();
            (self.ticks, self.first) = (0, None);
        }
        self.at = at;
        self.ticks += memchr_iter(b'`', passed).count();
        self.first = self.first.or_else(|| passed.iter().copied().find(|byte| *byte != b' '));
        let last = text.get(..at).and_then(|before| before.chars().next_back());
        let is_behind_quote = last.is_some_and(|c| "\"'“‘«„".contains(c));
        self.ticks % 2 == 1 || self.first == Some(b'>') || is_behind_quote
    }
}
