//! Reads brackets: opening ones, and closing ones that match, are wrong, superfluous, premature or
//! missing.

use super::literals::LITERALS;
use super::placeholder::is_bracketed_placeholder;
use super::word::PLACEHOLDER;
use crate::recover::RecoveryError;
use crate::recover::builder::Builder;
use crate::recover::containers::ContainerKind;
use crate::recover::parser::{Parser, PreviousValue};
use crate::recover::strings::lookahead::Plausibility;
use crate::recover::value::RecoveryState;
use crate::{FixKind, ParseErrorKind};

impl<B: Builder> Parser<'_, '_, B> {
    pub(in crate::recover) fn open_container(
        &mut self,
        kind: ContainerKind,
        len: usize,
    ) -> Result<RecoveryState, RecoveryError> {
        let limit = self.mode().options.depth();
        if self.containers().depth() >= limit {
            return Err(RecoveryError::too_deep(self.position(), limit));
        }
        let subschemas = self.next_subschemas();
        let start = self.position();
        self.bump_sign(len)?;
        self.containers_mut().open(kind, start, subschemas);
        Ok(RecoveryState::Element)
    }

    /// Handles a closing bracket at the position.
    pub(in crate::recover) fn close_with(
        &mut self,
        sign: u8,
        len: usize,
    ) -> Result<RecoveryState, RecoveryError> {
        let start = self.position();
        let depth = self.containers().depth();
        if let Some(opened) = self.containers().closed_by(sign, depth) {
            for _ in opened + 1..depth {
                self.record_missing(FixKind::MissingCloser)?;
                self.close_top()?;
            }
            self.bump_sign(len)?;
            if opened == 0 && self.is_premature(start) {
                self.record_fix(FixKind::ExtraCloser, start..self.position())?;
                return Ok(RecoveryState::Comma);
            }
            return self.close_top();
        }
        let source = self.source();
        let after = source.skip_whitespace(start + len);
        let next = source.sign(after).map(|(sign, _)| sign);
        let closes_top = next.is_some() && next == self.kind().map(ContainerKind::closer);
        if closes_top || depth == 1 && next.is_some() {
            self.bump_with_fix(FixKind::ExtraCloser, len)?;
            return Ok(RecoveryState::Comma);
        }
        let twice = source.char_before(start).is_some_and(|before| before == char::from(sign));
        if twice && next == Some(b',') {
            return Err(self.error("this bracket closes nothing: leave it out"));
        }
        self.bump_with_fix(FixKind::WrongCloser, len)?;
        self.close_top()
    }

    /// Returns whether the object that the bracket at `start` closes continues after it: a comma, a
    /// quoted key and a colon follow. If a nested object was closed before, its bracket may have
    /// been the premature one; then the text is refused later, because more follows the value.
    fn is_premature(&mut self, start: usize) -> bool {
        if self.mode().in_prose || self.kind() != Some(ContainerKind::Object) {
            return false;
        }
        let source = self.source();
        let (count, last) = self.containers().closed_objects();
        let is_sole = count == 0 || count == 1 && source.skip_whitespace(last) == start;
        let after = source.skip_whitespace(self.position());
        is_sole
            && source.byte(after) == Some(b',')
            && self.ends_with_brace()
            && self.member_plausibility(after + 1) >= Plausibility::Strong
    }

    /// Closes the innermost container and inserts it into its parent.
    pub(in crate::recover) fn close_top(&mut self) -> Result<RecoveryState, RecoveryError> {
        let end = self.position();
        let Some(closed) = self.containers_mut().close(end) else {
            return Ok(RecoveryState::Done);
        };
        if matches!(closed.kind, ContainerKind::Set | ContainerKind::Tuple) {
            let whole = self.source().slice(closed.span.clone());
            let inner = whole.trim_matches(['(', ')', '（', '）']).trim();
            let is_literal = LITERALS.iter().any(|(literal, _)| *literal == inner);
            if !is_literal && is_bracketed_placeholder(inner) {
                let start = closed.span.start;
                return Err(RecoveryError::new(ParseErrorKind::Ellipsis, start, PLACEHOLDER));
            }
            self.record_fix(FixKind::Tuple, closed.span)?;
        }
        if self.previous() == PreviousValue::Number {
            self.set_previous(PreviousValue::Other);
        }
        self.insert_value(closed.value)
    }

    /// Closes all open containers at the end of the text.
    pub(in crate::recover) fn close_all(&mut self) -> Result<RecoveryState, RecoveryError> {
        if self.containers().is_empty() {
            return Ok(RecoveryState::Done);
        }
        self.set_truncated();
        if let Some(start) = self.containers().start_of(ContainerKind::Set) {
            return Err(RecoveryError::syntax(start, "expected a key in quotes and `:`"));
        }
        while !self.containers().is_empty() {
            let end = self.source().end();
            self.record_fix(FixKind::MissingCloser, end..end)?;
            self.close_top()?;
        }
        Ok(RecoveryState::Done)
    }
}
