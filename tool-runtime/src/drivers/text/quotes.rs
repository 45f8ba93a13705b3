//! Whether a place in a text is quoted.

use memchr::{memchr, memrchr};

/// Goes along the text with what is looked at, so that each byte is counted once.
#[derive(Clone, Debug, Default)]
pub(super) struct Quotes {
    at: usize,
    /// With how many backticks code has begun on the line that isn't ended; 0 where none has.
    code: usize,
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
            (self.code, self.first) = (0, None);
        }
        self.at = at;
        self.pass(passed);
        self.first = self.first.or_else(|| passed.iter().copied().find(|byte| *byte != b' '));
        let last = text.get(..at).and_then(|before| before.chars().next_back());
        let is_behind_quote = last.is_some_and(|c| "\"'“‘«„".contains(c));
        self.code > 0 || self.first == Some(b'>') || is_behind_quote
    }

    /// Up to `at` there was markup: what that holds quotes nothing behind it, nor is the line that it ends a quotation.
    pub(super) fn skip(&mut self, at: usize) {
        *self = Self { at, code: 0, first: Some(b'<') };
    }

    /// Counts what begins and ends code: as many backticks end it as began it.
    fn pass(&mut self, mut rest: &[u8]) {
        while let Some(at) = memchr(b'`', rest) {
            rest = rest.get(at..).unwrap_or_default();
            let run = rest.iter().take_while(|byte| **byte == b'`').count();
            rest = rest.get(run..).unwrap_or_default();
            match self.code {
                0 => self.code = run,
                code if code == run => self.code = 0,
                _ => {}
            }
        }
    }
}
