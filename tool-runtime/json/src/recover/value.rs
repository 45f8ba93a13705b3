//! Reads a value: follows the states of the grammar, and chooses by the first sign.

use super::RecoveryError;
use super::builder::Builder;
use super::containers::{ContainerKind, Insertion};
use super::parser::{Parser, PreviousValue};
use crate::{FixKind, ParseErrorKind};

/// Constructors with which databases print their types.
const CONSTRUCTORS: [&str; 7] =
    ["ObjectId", "ISODate", "UUID", "NumberInt", "NumberLong", "NumberDecimal", "Decimal"];

/// The token that the parser expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecoveryState {
    /// A key or an item.
    Element,
    Colon,
    Value,
    Comma,
    Done,
}

impl<B: Builder> Parser<'_, '_, B> {
    /// Reads to the end of the root value.
    pub(super) fn read_root(&mut self, mut state: RecoveryState) -> Result<(), RecoveryError> {
        while state != RecoveryState::Done {
            self.skip_trivia()?;
            state = match state {
                RecoveryState::Element => self.read_element()?,
                RecoveryState::Colon => self.read_colon()?,
                RecoveryState::Value => self.read_member_value()?,
                RecoveryState::Comma | RecoveryState::Done => self.read_comma()?,
            };
        }
        Ok(())
    }

    /// Reads the value after a colon, or the root.
    fn read_member_value(&mut self) -> Result<RecoveryState, RecoveryError> {
        match self.peek() {
            None if self.containers().is_empty() => Err(RecoveryError::new(
                ParseErrorKind::NoValue,
                self.position(),
                "there is no value",
            )),
            None => self.drop_member(),
            Some((b',' | b'}' | b']' | b')', _)) => {
                Err(self.error("this key has no value: write one, or leave out the key"))
            }
            _ if self.is_ellipsis() => Err(self.ellipsis_error()),
            _ => self.read_value(),
        }
    }

    /// Opens the container that begins here, or reads the complete scalar.
    pub(super) fn read_value(&mut self) -> Result<RecoveryState, RecoveryError> {
        let follows_weak_string = self.previous() == PreviousValue::WeakString;
        if let Some(len) = self.constructor_len() {
            self.bump_with_fix(FixKind::Call, len)?;
        }
        let Some((sign, len)) = self.peek() else { return self.close_all() };
        let kind = match sign {
            b'{' => Some(ContainerKind::Object),
            b'[' => Some(ContainerKind::Array),
            b'(' => Some(ContainerKind::Tuple),
            _ => None,
        };
        self.set_previous(PreviousValue::Other);
        if let Some(kind) = kind {
            return self.open_container(kind, len);
        }
        let value = if self.peek_quote().is_some() {
            self.read_strings()?
        } else if let Some(len) = self.string_prefix_len(self.position()) {
            let (text, span) = self.read_prefixed_string(len, false)?;
            B::string(text, false, span)
        } else {
            self.read_unquoted(follows_weak_string)?
        };
        self.insert_value(value)
    }

    /// The length of a constructor name whose value follows in parentheses, as some databases print
    /// values.
    fn constructor_len(&self) -> Option<usize> {
        if !matches!(self.peek_byte(), Some(b'A'..=b'Z')) {
            return None;
        }
        let rest = self.source().rest(self.position());
        let is_called =
            |name: &str| rest.get(name.len()..).is_some_and(|rest| rest.starts_with('('));
        CONSTRUCTORS
            .iter()
            .find(|&&name| rest.starts_with(name) && is_called(name))
            .map(|n| n.len())
    }

    /// Reads the number, literal or words at the position.
    fn read_unquoted(&mut self, follows_weak_string: bool) -> Result<B::Value, RecoveryError> {
        if self.peek_byte().is_some_and(|b| b.is_ascii_digit() || b"+-.".contains(&b)) {
            return self.read_number();
        }
        match self.read_literal()? {
            Some(literal) => Ok(literal),
            None => self.read_words(follows_weak_string),
        }
    }

    /// Inserts a value into its container.
    pub(super) fn insert_value(&mut self, value: B::Value) -> Result<RecoveryState, RecoveryError> {
        match self.containers_mut().insert(value) {
            Insertion::Root => return Ok(RecoveryState::Done),
            Insertion::Element => {}
            Insertion::RepeatedKey(key, true) => {
                self.record_fix(FixKind::RepeatedMember, key.start..self.position())?;
            }
            Insertion::RepeatedKey(key, false) => {
                let reason = "this key occurs twice with different values: send it once";
                return Err(RecoveryError::new(ParseErrorKind::DuplicateKey, key.start, reason));
            }
        }
        Ok(RecoveryState::Comma)
    }
}
