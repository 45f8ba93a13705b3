//! Skips the trivia between tokens: whitespace and comments.

use crate::FixKind;
use crate::recover::RecoveryError;
use crate::recover::builder::Builder;
use crate::recover::parser::Parser;
use crate::recover::source::SourceText;

impl<B: Builder> Parser<'_, '_, B> {
    /// Skips whitespace and comments.
    #[inline]
    pub(in crate::recover) fn skip_trivia(&mut self) -> Result<(), RecoveryError> {
        self.bump_to(self.source().skip_json_whitespace(self.position()));
        match self.peek_byte() {
            Some(b'!'..=b'"' | b'$'..=b'.' | b'0'..=b'~') => Ok(()),
            _ => self.skip_uncommon_trivia(),
        }
    }

    fn skip_uncommon_trivia(&mut self) -> Result<(), RecoveryError> {
        loop {
            self.bump_to(self.source().skip_json_whitespace(self.position()));
            let Some(byte) = self.peek_byte() else { return Ok(()) };
            if matches!(byte, b'/' | b'#') {
                let comment =
                    self.source().comment(self.position()).or_else(|| self.truncated_comment());
                let Some((end, _)) = comment else { return Ok(()) };
                if self.starts_text_with_hash() {
                    return Ok(());
                }
                let is_last = end >= self.source().end() && !self.containers().is_empty();
                let comment = self.source().slice(self.position()..end);
                // A quote may end a string that lacks its first one: `true // so", "b": 1`.
                let has_half =
                    !comment.starts_with("/*") && !comment.matches('"').count().is_multiple_of(2);
                if has_half || is_last && comment.contains(['}', ']']) {
                    let reason = "it is not clear where this comment ends: leave it out";
                    return Err(self.error(reason));
                }
                self.bump_with_fix(FixKind::Comment, end - self.position())?;
            } else if let Some(len) = self.source().non_json_whitespace(self.position()) {
                self.bump_with_fix(FixKind::Whitespace, len)?;
            } else {
                return Ok(());
            }
        }
    }

    /// Returns the slash that ends the text where an element or value is expected.
    fn truncated_comment(&self) -> Option<(usize, bool)> {
        let containers = self.containers();
        let is_awaited = containers.comma().is_some() || containers.key_span().is_some();
        (is_awaited && self.source().rest(self.position()) == "/")
            .then_some((self.source().end(), false))
    }

    /// Returns whether the hash begins text rather than a comment: `color: #fff`.
    fn starts_text_with_hash(&self) -> bool {
        let is_value = self.containers().key_span().is_some();
        is_value
            && self.peek_byte() == Some(b'#')
            && self
                .source()
                .byte(self.position() + 1)
                .is_some_and(|byte| byte.is_ascii_alphanumeric())
    }

    /// Returns the position after whitespace and comments at `at`, as far as the fuel allows.
    #[inline]
    pub(in crate::recover) fn skip_trivia_ahead(&mut self, mut at: usize) -> usize {
        loop {
            let start = at;
            at = self.source().skip_whitespace(at);
            let comment = self.source().comment(at).filter(|_| self.fuel() > 0);
            at = comment.map_or(at, |(end, _)| end);
            self.use_fuel_between(start, at);
            if comment.is_none() {
                return at;
            }
        }
    }
}

impl SourceText<'_> {
    /// The end of the comment at `at`, and whether the comment is closed.
    #[inline]
    pub(in crate::recover) fn comment(&self, at: usize) -> Option<(usize, bool)> {
        matches!(self.byte(at)?, b'/' | b'#').then(|| self.comment_end(at))?
    }

    fn comment_end(&self, at: usize) -> Option<(usize, bool)> {
        let line = |at: usize| {
            let len = self.rest_bytes(at).iter().position(|&byte| byte == b'\n');
            (len.map_or_else(|| self.end(), |len| at + len), true)
        };
        match (self.byte(at)?, self.byte(at + 1)) {
            (b'/', Some(b'/')) => Some(line(at)),
            (b'#', _) => Some(line(at)),
            (b'/', Some(b'*')) => Some(match self.rest(at + 2).find("*/") {
                Some(len) => (at + len + 4, true),
                None => (self.end(), false),
            }),
            _ => None,
        }
    }
}
