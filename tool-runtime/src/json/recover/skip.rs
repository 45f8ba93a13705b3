//! What stands between tokens: blanks and comments.

use super::{build::Build, parser::Parser, refusal::Refusal};
use crate::json::FixKind;

impl<B: Build> Parser<'_, '_, B> {
    /// Passes blanks and comments.
    #[inline]
    pub(super) fn skip(&mut self) -> Result<(), Refusal> {
        self.at = self.source.skip_plain(self.at);
        match self.source.byte(self.at) {
            Some(b'!'..=b'"' | b'$'..=b'.' | b'0'..=b'~') => Ok(()),
            _ => self.skip_odd(),
        }
    }

    fn skip_odd(&mut self) -> Result<(), Refusal> {
        loop {
            self.at = self.source.skip_plain(self.at);
            let Some(byte) = self.source.byte(self.at) else { return Ok(()) };
            if matches!(byte, b'/' | b'#') {
                let comment = self.source.comment(self.at).or_else(|| self.cut_comment());
                let Some((end, _)) = comment else { return Ok(()) };
                if self.is_text_with_hash() {
                    return Ok(());
                }
                let is_last = end >= self.source.end() && !self.stack.is_empty();
                if is_last && self.source.slice(self.at..end).contains(['}', ']']) {
                    let what = "it is not clear where this comment ends: leave it out";
                    return Err(Refusal::syntax(self.at, what));
                }
                self.fix(FixKind::Comment, self.at..end)?;
                self.at = end;
            } else if let Some(len) = self.source.odd_blank(self.at) {
                self.fix(FixKind::Blank, self.at..self.at + len)?;
                self.at += len;
            } else {
                return Ok(());
            }
        }
    }

    /// The slash with which the text ends where a member, item or value should begin.
    fn cut_comment(&self) -> Option<(usize, bool)> {
        let frame = self.stack.last()?;
        let is_awaited = frame.comma.is_some() || frame.key.is_some();
        (is_awaited && self.source.rest(self.at) == "/").then_some((self.source.end(), false))
    }

    /// `color: #fff` is no comment.
    fn is_text_with_hash(&self) -> bool {
        let is_value = self.stack.last().is_some_and(|frame| frame.key.is_some());
        is_value
            && self.source.byte(self.at) == Some(b'#')
            && self.source.byte(self.at + 1).is_some_and(|byte| byte.is_ascii_alphanumeric())
    }
}
