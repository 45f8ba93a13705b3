//! Whether a place in a text is quoted.

use memchr::memchr2_iter;

/// Goes along the text with what is looked at, so that each byte is counted once.
#[derive(Clone, Debug, Default)]
pub(super) struct Quotes {
    at: usize,
    line: usize,
    ticks: usize,
}

impl Quotes {
    /// Whether `at`, which is no place before the last one asked for, is in code within a line, in a
    /// line that is a quotation, or right behind a quote.
    pub(super) fn hold(&mut self, text: &str, at: usize) -> bool {
        let passed = text.as_bytes().get(self.at..at).unwrap_or_default();
        for found in memchr2_iter(b'\n', b'`', passed) {
            match passed.get(found) {
                Some(b'\n') => (self.line, self.ticks) = (self.at + found + 1, 0),
                _ => self.ticks += 1,
            }
        }
        self.at = at;
        let is_quotation =
            text.get(self.line..).is_some_and(|line| line.trim_start_matches(' ').starts_with('>'));
        let last = text.get(..at).and_then(|before| before.chars().next_back());
        self.ticks % 2 == 1 || is_quotation || last.is_some_and(|c| "\"'“‘«„".contains(c))
    }
}
