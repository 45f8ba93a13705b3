//! Reads the key of a member and the colon after it.

use std::ops::Range;

use super::literals::LITERALS;
use super::number::LOCAL_FORMAT;
use super::word::is_name;
use crate::recover::RecoveryError;
use crate::recover::builder::Builder;
use crate::recover::containers::ContainerKind;
use crate::recover::parser::Parser;
use crate::recover::strings::lookahead::Plausibility;
use crate::recover::strings::string::TWO_READINGS;
use crate::recover::value::RecoveryState;
use crate::{FixKind, ParseErrorKind};

/// The maximum length of a key in bytes.
pub(in crate::recover) const MAX_KEY_LEN: usize = 256;

impl<B: Builder> Parser<'_, '_, B> {
    /// Reads the key at the position.
    pub(in crate::recover) fn read_key(&mut self) -> Result<(String, Range<usize>), RecoveryError> {
        if self.peek_quote().is_some() {
            return self.read_string(true);
        }
        if let Some(len) = self.string_prefix_len(self.position()) {
            return self.read_prefixed_string(len, true);
        }
        let (source, start) = (self.source(), self.position());
        let rest = source.rest(start);
        let len = bare_key_len(rest);
        let word = rest.get(..len).unwrap_or_default().trim_end();
        let end = start + word.len();
        let after = source.skip_whitespace(start + len);
        let next = source.sign(after).map(|(sign, _)| sign);
        // A brace in a sentence does not begin an object.
        let is_sentence =
            self.mode().in_prose && self.containers().depth() == 1 && word.contains(' ');
        if word.is_empty() || is_sentence {
            return Err(self.missing_key_error());
        }
        match next {
            Some(b':' | b'=') => {}
            _ if after > end
                && source.quote(after).is_some()
                && self.key_ahead(after).is_some() =>
            {
                let reason = "there is a word before this key: leave it out, or give it a value";
                return Err(self.error(reason));
            }
            Some(b'"')
                if start + len == end
                    && self.key_end_plausibility(after + 1) == Plausibility::Strong =>
            {
                self.record_missing(FixKind::MissingQuote)?;
                self.bump_to(after + 1);
                return Ok((word.to_owned(), start..after + 1));
            }
            None if after >= source.end() => {}
            // `{a 'b'}`
            _ if after > end && is_name(word) && source.quote(after).is_some() => {}
            _ => return Err(self.missing_key_error()),
        }
        self.bump_with_fix(FixKind::UnquotedKey, word.len())?;
        Ok((word.to_owned(), start..end))
    }

    fn missing_key_error(&self) -> RecoveryError {
        let at = self.position();
        if self.follows_digit_separator(at) {
            return RecoveryError::new(ParseErrorKind::Number, at, LOCAL_FORMAT);
        }
        self.error(match self.source().sign(at) {
            Some((b'{' | b'[', _)) => {
                "this value has no key: write one and `:` before it, or check whether an earlier bracket closes too much"
            }
            _ => "expected a key in quotes and `:`",
        })
    }

    /// Reads the colon after a key.
    pub(in crate::recover) fn read_colon(&mut self) -> Result<RecoveryState, RecoveryError> {
        let Some((sign, len)) = self.peek() else {
            return self.drop_member();
        };
        match sign {
            b':' => {
                self.bump_sign(len)?;
                // A second colon is stray in `"a":: 1`, but not in a path such as `Foo::bar`.
                if self.peek_byte() == Some(b':')
                    && self.value_plausibility(self.position() + 1) == Plausibility::Strong
                {
                    self.bump_with_fix(FixKind::Colon, 1)?;
                }
                Ok(RecoveryState::Value)
            }
            b'=' => {
                let start = self.position();
                self.bump(len);
                self.eat(b'>');
                self.record_fix(FixKind::Equals, start..self.position())?;
                Ok(RecoveryState::Value)
            }
            b',' if self.begins_set() => {
                self.containers_mut().become_set();
                Ok(RecoveryState::Comma)
            }
            b'{' | b'[' | b'0'..=b'9' | b'-' => self.insert_colon(),
            b'a'..=b'z' | b'A'..=b'Z'
                if self.value_plausibility(self.position()) == Plausibility::Strong =>
            {
                self.insert_colon()
            }
            _ if self.is_among_strings() => Err(self.error(TWO_READINGS)),
            _ if self.peek_quote().is_some() => self.insert_colon(),
            _ => Err(self.error("expected `:` and a value after this key")),
        }
    }

    fn insert_colon(&mut self) -> Result<RecoveryState, RecoveryError> {
        self.record_missing(FixKind::MissingColon)?;
        Ok(RecoveryState::Value)
    }

    /// Returns whether strings alone surround the key, which code would join: `"a" "b" "c"`.
    fn is_among_strings(&self) -> bool {
        let Some(key) = self.containers().key_span() else { return false };
        let before = self.source().slice(0..key.start).trim_end();
        before.ends_with(['"', '\''])
            && self.source().quote(key.start).is_some()
            && self.peek_quote().is_some()
    }

    /// Returns whether the only key of the object is quoted, so that it may be an item in braces.
    fn begins_set(&self) -> bool {
        let key = self.containers().key_span();
        self.containers().has_no_members()
            && key.is_some_and(|span| self.source().quote(span.start).is_some())
    }

    /// Drops the member inside whose key, or before whose value, the text ends.
    pub(in crate::recover) fn drop_member(&mut self) -> Result<RecoveryState, RecoveryError> {
        if let Some(key) = self.containers_mut().drop_key() {
            self.record_fix(FixKind::TruncatedMember, key.start..self.source().end())?;
        }
        self.close_all()
    }

    /// Returns whether a member of an object, or another item that is not a string, begins at `at`.
    pub(in crate::recover) fn begins_member(&self, at: usize) -> bool {
        let rest = self.source().rest(at);
        match self.kind() {
            Some(ContainerKind::Object) => {
                let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(0);
                len > 0 && rest.get(len..).is_some_and(|rest| rest.trim_start().starts_with(':'))
            }
            _ => {
                rest.starts_with(|c: char| c.is_ascii_digit() || "{[-".contains(c))
                    || LITERALS.iter().any(|(word, _)| rest.starts_with(word))
            }
        }
    }
}

/// The length of the unquoted key at the start of `text`.
pub(in crate::recover) fn bare_key_len(text: &str) -> usize {
    let len = ascii_key_len(text).or_else(|| text.find(|c: char| !is_bare_key(c)));
    len.unwrap_or(text.len())
}

/// The length of the unquoted key at the start of `text`, if it is short and all ASCII, as is the
/// next character.
pub(in crate::recover) fn ascii_key_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let continues = |byte: &u8| IN_ASCII_KEY.get(usize::from(*byte)).copied().unwrap_or(false);
    let len = bytes.iter().take(MAX_KEY_LEN).position(|byte| !continues(byte))?;
    bytes.get(len)?.is_ascii().then_some(len)
}

/// Whether each byte may be in a key: most keys of damaged texts are read with this table.
const IN_ASCII_KEY: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        #[expect(clippy::indexing_slicing, reason = "checked when it is compiled")]
        {
            table[byte as usize] = byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'-' | b'.' | b'$' | b'@' | b'/' | b' ');
        }
        byte += 1;
    }
    table
};

/// Returns whether `c` may be in a key without quotes.
pub(in crate::recover) fn is_bare_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '@' | '/' | ' ')
}
