//! Skips the trivia between tokens: whitespace and comments.

use super::{builder::Builder, error::RecoveryError, parser::RecoveryParser};
use crate::FixKind;

impl<B: Builder> RecoveryParser<'_, '_, B> {
    /// Skips whitespace and comments.
    #[inline]
    pub(super) fn skip_trivia(&mut self) -> Result<(), RecoveryError> {
        self.at = self.source.skip_json_whitespace(self.at);
        match self.source.byte(self.at) {
            Some(b'!'..=b'"' | b'$'..=b'.' | b'0'..=b'~') => Ok(()),
            _ => self.skip_uncommon_trivia(),
        }
    }

    fn skip_uncommon_trivia(&mut self) -> Result<(), RecoveryError> {
        loop {
            self.at = self.source.skip_json_whitespace(self.at);
            let Some(byte) = self.source.byte(self.at) else { return Ok(()) };
            if matches!(byte, b'/' | b'#') {
                let comment = self.source.comment(self.at).or_else(|| self.truncated_comment());
                let Some((end, _)) = comment else { return Ok(()) };
                if self.starts_text_with_hash() {
                    return Ok(());
                }
                let is_last = end >= self.source.end() && !self.stack.is_empty();
                if is_last && self.source.slice(self.at..end).contains(['}', ']']) {
                    let reason = "it is not clear where this comment ends: leave it out";
                    return Err(RecoveryError::syntax(self.at, reason));
                }
                self.record_fix(FixKind::Comment, self.at..end)?;
                self.at = end;
            } else if let Some(len) = self.source.non_json_whitespace(self.at) {
                self.record_fix(FixKind::Whitespace, self.at..self.at + len)?;
                self.at += len;
            } else {
                return Ok(());
            }
        }
    }

    /// Returns the slash that ends the text where an element or value is expected.
    fn truncated_comment(&self) -> Option<(usize, bool)> {
        let frame = self.stack.last()?;
        let is_awaited = frame.comma.is_some() || frame.key.is_some();
        (is_awaited && self.source.rest(self.at) == "/").then_some((self.source.end(), false))
    }

    /// Returns whether the hash begins text rather than a comment: `color: #fff`.
    fn starts_text_with_hash(&self) -> bool {
        let is_value = self.stack.last().is_some_and(|frame| frame.key.is_some());
        is_value
            && self.source.byte(self.at) == Some(b'#')
            && self.source.byte(self.at + 1).is_some_and(|byte| byte.is_ascii_alphanumeric())
    }
}
