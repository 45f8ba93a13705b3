//! Reads the commas between elements: stray, missing and replaced ones, and what is left out.

use super::number::SUM;
use crate::recover::RecoveryError;
use crate::recover::builder::Builder;
use crate::recover::containers::ContainerKind;
use crate::recover::parser::{Parser, PreviousValue};
use crate::recover::strings::lookahead::Plausibility;
use crate::recover::value::RecoveryState;
use crate::{FixKind, ParseErrorKind};

impl<B: Builder> Parser<'_, '_, B> {
    /// Reads the start of an element: a key or an item; or a stray comma, or a closing bracket.
    pub(in crate::recover) fn read_element(&mut self) -> Result<RecoveryState, RecoveryError> {
        let Some((sign, len)) = self.peek() else {
            if let Some(comma) = self.containers().comma() {
                self.record_fix(FixKind::TruncatedList, comma..self.position())?;
            }
            return self.close_all();
        };
        match sign {
            b',' => {
                self.bump_with_fix(FixKind::RepeatedComma, len)?;
                Ok(RecoveryState::Element)
            }
            b'}' | b']' | b')' => {
                // The comma after the only item of a tuple makes it a tuple.
                if self.kind() != Some(ContainerKind::Tuple)
                    && let Some(comma) = self.containers().comma()
                {
                    self.containers_mut().set_comma(None);
                    let len = self.source().sign(comma).map_or(1, |(_, len)| len);
                    self.record_fix(FixKind::Comma, comma..comma + len)?;
                }
                self.close_with(sign, len)
            }
            _ if self.is_ellipsis() => Err(self.ellipsis_error()),
            _ if self.kind() == Some(ContainerKind::Object) => {
                let (key, span) = self.read_key()?;
                self.containers_mut().set_key(key, span);
                Ok(RecoveryState::Colon)
            }
            _ => {
                self.containers_mut().set_comma(None);
                self.read_value()
            }
        }
    }

    /// Reads the comma after an element, or the bracket that closes its container.
    pub(in crate::recover) fn read_comma(&mut self) -> Result<RecoveryState, RecoveryError> {
        let Some((sign, len)) = self.peek() else {
            return self.close_all();
        };
        let Some(kind) = self.kind() else { return Ok(RecoveryState::Done) };
        let at = self.position();
        let follows_number = self.previous() == PreviousValue::Number;
        match sign {
            b',' => {
                self.bump_sign(len)?;
                self.containers_mut().set_comma(Some(at));
                return Ok(RecoveryState::Element);
            }
            b'}' | b']' | b')' => return self.close_with(sign, len),
            b';' if self.is_comma_semicolon(at + len) => {
                self.bump_with_fix(FixKind::Semicolon, len)?;
                return Ok(RecoveryState::Element);
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'^' if follows_number => {
                return Err(RecoveryError::new(ParseErrorKind::Number, at, SUM));
            }
            _ if self.is_ellipsis() => return Err(self.ellipsis_error()),
            b'{' if kind == ContainerKind::Object => {
                // `[{"i": 1 {"i": 2}]`
                let depth = self.containers().depth();
                if self.containers().kind_at(depth - 1) != Some(ContainerKind::Array) {
                    return Err(self.error("expected `,` or `}`"));
                }
                self.record_missing(FixKind::MissingCloser)?;
                self.close_top()?;
            }
            b'[' | b'(' if kind == ContainerKind::Object => {
                return Err(self.error("expected `,` or `}`"));
            }
            b'{' | b'[' | b'0'..=b'9' | b'-' | b'.' | b'+' => {}
            _ if self.peek_quote().is_some() => {}
            _ if follows_number && kind != ContainerKind::Object && !self.begins_member(at) => {
                return Err(self.error("expected `,` or `]`"));
            }
            _ if self.source().char(at).is_some_and(|c| c.is_alphanumeric() || c == '_') => {}
            _ => return Err(self.error("expected `,` or a closing bracket")),
        }
        self.record_missing(FixKind::MissingComma)?;
        Ok(RecoveryState::Element)
    }

    /// Returns whether a semicolon before `at` stands for a comma: a member follows, or only
    /// closing brackets. Semicolons in an array may separate rows.
    pub(in crate::recover) fn is_comma_semicolon(&mut self, at: usize) -> bool {
        let next = self.skip_trivia_ahead(at);
        let begins_member = |parser: &mut Self| {
            let value = parser.key_ahead(next).map(|(_, value)| value);
            value.is_some_and(|value| parser.value_plausibility(value) == Plausibility::Strong)
        };
        self.kind() == Some(ContainerKind::Object)
            && (begins_member(self) || self.only_closers_follow(next) && next < self.source().end())
    }

    pub(in crate::recover) fn is_ellipsis(&self) -> bool {
        match self.peek_byte() {
            Some(b'.') => self.source().rest_bytes(self.position()).starts_with(b"..."),
            Some(0xE2) => self.source().char(self.position()) == Some('…'),
            _ => false,
        }
    }

    pub(in crate::recover) fn ellipsis_error(&self) -> RecoveryError {
        let reason = "something is left out here: write it in full, without an ellipsis";
        RecoveryError::new(ParseErrorKind::Ellipsis, self.position(), reason)
    }
}
