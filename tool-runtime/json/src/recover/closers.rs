//! Handles closing brackets: matching, wrong, superfluous, premature and missing ones.

use super::{
    builder::Builder,
    error::RecoveryError,
    parser::{ContainerKind, Plausibility, RecoveryParser, RecoveryState},
};
use crate::FixKind;

impl<B: Builder> RecoveryParser<'_, '_, B> {
    /// Handles a closing bracket at the current position.
    pub(super) fn close_with(
        &mut self,
        sign: u8,
        len: usize,
    ) -> Result<RecoveryState, RecoveryError> {
        let start = self.at;
        let depth = self.stack.len();
        let opened = self.stack.iter().rposition(|frame| frame.kind.closer() == sign);
        if let Some(opened) = opened {
            for _ in opened + 1..depth {
                self.record_fix(FixKind::MissingCloser, start..start)?;
                self.close_top()?;
            }
            self.take_sign(len)?;
            if opened == 0 && self.is_premature(start) {
                self.record_fix(FixKind::ExtraCloser, start..self.at)?;
                return Ok(RecoveryState::Comma);
            }
            return self.close_top();
        }
        let after = self.source.skip_whitespace(start + len);
        let next = self.source.sign(after).map(|(sign, _)| sign);
        let closes_top = next.is_some() && next == self.kind().map(ContainerKind::closer);
        if closes_top || depth == 1 && next.is_some() {
            self.record_fix(FixKind::ExtraCloser, start..start + len)?;
            self.at += len;
            return Ok(RecoveryState::Comma);
        }
        let twice = self.source.char_before(start).is_some_and(|before| before == char::from(sign));
        if twice && next == Some(b',') {
            return Err(RecoveryError::syntax(start, "this bracket closes nothing"));
        }
        self.record_fix(FixKind::WrongCloser, start..start + len)?;
        self.at += len;
        self.close_top()
    }

    /// Returns whether the object that the bracket at `start` closes continues after it: a comma, a
    /// quoted key and a colon follow. If a nested object was closed before, its bracket may have
    /// been the premature one; then the text is refused later, because more follows the value.
    fn is_premature(&mut self, start: usize) -> bool {
        if self.mode.in_prose || self.kind() != Some(ContainerKind::Object) {
            return false;
        }
        let (count, last) = self.closed_objects;
        let is_sole = count == 0 || count == 1 && self.source.skip_whitespace(last) == start;
        let after = self.source.skip_whitespace(self.at);
        is_sole
            && self.source.byte(after) == Some(b',')
            && self.ends_with_brace()
            && self.member_plausibility(after + 1) >= Plausibility::Strong
    }

    /// Returns whether the text ends with a brace; cached, because many brackets may ask.
    fn ends_with_brace(&mut self) -> bool {
        let source = self.source;
        *self.ends_with_brace.get_or_insert_with(|| source.rest(0).trim_end().ends_with('}'))
    }

    /// Closes the innermost container and inserts it into its parent.
    pub(super) fn close_top(&mut self) -> Result<RecoveryState, RecoveryError> {
        let Some(frame) = self.stack.pop() else { return Ok(RecoveryState::Done) };
        let span = frame.start..self.at;
        let in_object = self.kind() == Some(ContainerKind::Object);
        let value = match frame.kind {
            ContainerKind::Object => {
                if in_object {
                    self.closed_objects = (self.closed_objects.0 + 1, self.at);
                }
                B::object(frame.members, span)
            }
            ContainerKind::Array => B::array(frame.items, span),
            ContainerKind::Set => {
                self.record_fix(FixKind::Tuple, span.clone())?;
                B::array(frame.items, span)
            }
            ContainerKind::Tuple => {
                self.record_fix(FixKind::Tuple, span.clone())?;
                let mut items = frame.items;
                match items.pop() {
                    // Parentheses around a single value are not an array.
                    Some(item) if items.is_empty() && frame.comma.is_none() => item,
                    Some(item) => {
                        items.push(item);
                        B::array(items, span)
                    }
                    None => B::array(items, span),
                }
            }
        };
        self.last_is_number = false;
        self.insert_value(value)
    }

    /// Closes all open containers at the end of the text.
    pub(super) fn close_all(&mut self) -> Result<RecoveryState, RecoveryError> {
        if self.stack.is_empty() {
            return Ok(RecoveryState::Done);
        }
        self.truncated = true;
        if let Some(set) = self.stack.iter().find(|frame| frame.kind == ContainerKind::Set) {
            return Err(RecoveryError::syntax(set.start, "expected a key in quotes and `:`"));
        }
        while !self.stack.is_empty() {
            let end = self.source.end();
            self.record_fix(FixKind::MissingCloser, end..end)?;
            self.close_top()?;
        }
        Ok(RecoveryState::Done)
    }
}
