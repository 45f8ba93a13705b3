//! Tracks whether a position in a text is quoted.

use memchr::{memchr, memrchr};

/// Follows the scanner through the text and counts each byte once.
#[derive(Clone, Debug, Default)]
pub(super) struct QuoteTracker {
    at: usize,
    /// The number of backticks that opened inline code on the current line; 0 outside of code.
    open_backticks: usize,
    /// The first byte of the line after its blanks.
    line_start: Option<u8>,
}

impl QuoteTracker {
    /// Returns true if the position `at` is in inline code, in a Markdown quotation, or right after
    /// a quotation mark. Positions must not decrease from call to call.
    pub(super) fn is_quoted(&mut self, text: &str, at: usize) -> bool {
        let mut skipped = text.as_bytes().get(self.at..at).unwrap_or_default();
        if let Some(end) = memrchr(b'\n', skipped) {
            skipped = skipped.get(end + 1..).unwrap_or_default();
            self.open_backticks = 0;
            self.line_start = None;
        }
        self.at = at;
        self.count_backticks(skipped);
        self.line_start =
            self.line_start.or_else(|| skipped.iter().copied().find(|byte| *byte != b' '));
        let last = text.get(..at).and_then(|before| before.chars().next_back());
        let is_behind_quote = last.is_some_and(|c| "\"'“‘«„".contains(c));
        self.open_backticks > 0 || self.line_start == Some(b'>') || is_behind_quote
    }

    /// Skips markup up to `at`. Markup opens no quotation.
    pub(super) fn skip(&mut self, at: usize) {
        *self = Self { at, open_backticks: 0, line_start: Some(b'<') };
    }

    /// Counts backticks: inline code ends with as many as it began with.
    fn count_backticks(&mut self, mut rest: &[u8]) {
        while let Some(at) = memchr(b'`', rest) {
            rest = rest.get(at..).unwrap_or_default();
            let run = rest.iter().take_while(|byte| **byte == b'`').count();
            rest = rest.get(run..).unwrap_or_default();
            match self.open_backticks {
                0 => self.open_backticks = run,
                open_backticks if open_backticks == run => self.open_backticks = 0,
                _ => {}
            }
        }
    }
}
