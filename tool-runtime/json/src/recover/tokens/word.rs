//! Reads literals and words without quotes.

use super::literals::{LITERALS, begins_literal};
use super::number;
use super::placeholder::{is_name_of, is_placeholder};
use crate::recover::RecoveryError;
use crate::recover::builder::Builder;
use crate::recover::containers::ContainerKind;
use crate::recover::parser::Parser;
use crate::recover::schema_keys::SchemaKeys;
use crate::recover::source::QuoteStyle;
use crate::recover::strings::escape_meaning::words_of_key;
use crate::recover::strings::lookahead::Plausibility;
use crate::{FixKind, ParseErrorKind};

/// Spellings of numbers that JSON does not have.
const INFINITE_WORDS: [&str; 4] = ["NaN", "Infinity", "nan", "inf"];
/// Words in the keys of members whose text is an expression.
const EXPRESSION_WORDS: [&str; 6] =
    ["expr", "expression", "expressions", "formula", "formulas", "equation"];
const HALF: &str = "this text has a quote at one end only: put quotes around all of it";
pub(in crate::recover) const PLACEHOLDER: &str = "this is a placeholder: write the value itself";
const CALL: &str =
    "no value begins here: send it without a call around it, or put all of this text into quotes";

impl<B: Builder> Parser<'_, '_, B> {
    /// Reads the literal at the position; `None` if other words begin there.
    pub(in crate::recover) fn read_literal(&mut self) -> Result<Option<B::Value>, RecoveryError> {
        let start = self.position();
        if let Some((literal, len)) = self.source().literal(start) {
            self.bump(len);
            return Ok(Some(B::literal(literal, start..self.position())));
        }
        let rest = self.source().rest(start);
        let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        let end = start + len;
        let is_truncated = end >= self.source().end();
        if INFINITE_WORDS.contains(&word) {
            return Err(self.number_error(start, number::INFINITE));
        }
        if let Some(&(_, literal)) = LITERALS.iter().find(|(literal, _)| *literal == word)
            && self.ends_literal(end)
        {
            match word {
                "true" | "false" | "null" => {}
                "undefined" => self.record_fix(FixKind::Undefined, start..end)?,
                _ => self.record_fix(FixKind::Literal, start..end)?,
            }
            self.bump_to(end);
            return Ok(Some(B::literal(literal, start..end)));
        }
        if self.continues_as_value(word, end) {
            let reason = "this is neither one value nor text: put a comma between values, or put text into quotes";
            return Err(RecoveryError::syntax(start, reason));
        }
        if is_truncated && LITERALS.iter().any(|(literal, _)| literal.starts_with(word)) && len > 0
        {
            if let Some(literal) = SchemaKeys::sole_literal(&self.next_subschemas(), word) {
                self.set_truncated();
                self.bump_to(end);
                self.record_fix(FixKind::TruncatedLiteral, start..end)?;
                return Ok(Some(B::literal(literal, start..end)));
            }
            let reason = "the text breaks off inside a literal";
            return Err(RecoveryError::new(ParseErrorKind::Incomplete, start, reason));
        }
        Ok(None)
    }

    /// Returns whether a literal can end at `at`.
    fn ends_literal(&self, at: usize) -> bool {
        let next = self.source().skip_whitespace(at);
        let is_line = self.source().slice(at..next).contains('\n');
        match self.source().sign(next) {
            None => next >= self.source().end() || self.source().quote(next).is_some(),
            Some((
                b',' | b'}' | b']' | b')' | b';' | b'"' | b'\'' | b'/' | b'#' | b':' | b'<' | b'`',
                _,
            )) => true,
            // In an array or object, the next element may begin without a comma.
            Some(_) => {
                is_line || next > at && !self.containers().is_empty() && self.begins_member(next)
            }
        }
    }

    /// Returns whether `word`, which ends at `end`, is a literal followed by a literal or number.
    fn continues_as_value(&self, word: &str, end: usize) -> bool {
        let next = self.source().skip_json_whitespace(end);
        let rest = self.source().rest(next);
        let number = rest.trim_start_matches(['+', '-', '.']);
        next > end
            && LITERALS.iter().any(|(literal, _)| *literal == word)
            && (number.starts_with(|c: char| c.is_ascii_digit()) || begins_literal(rest))
    }

    /// Reads words without quotes, up to the end of the value.
    pub(in crate::recover) fn read_words(
        &mut self,
        follows_weak_string: bool,
    ) -> Result<B::Value, RecoveryError> {
        let start = self.position();
        if self.containers().is_empty() {
            let reason = "there is no JSON value: put text into quotes";
            return Err(RecoveryError::new(ParseErrorKind::NoValue, start, reason));
        }
        let (mut at, mut round, mut other, mut has_blank) = (start, 0_usize, 0_usize, false);
        let end = loop {
            let Some(c) = self.source().char(at) else { break at };
            let len = c.len_utf8();
            match c {
                '\n' | '\r' => break at,
                '(' => round += 1,
                ')' if round > 0 => round -= 1,
                '{' | '[' if at > start => other += 1,
                '}' | ']' if other > 0 => other -= 1,
                '}' | ']' | ')' | '｝' | '］' => break at,
                ',' | '，' if round + other == 0 && self.comma_ends_words(start, at, at + len) => {
                    break at;
                }
                '/' | '#'
                    if at > start
                        && self.source().char_before(at).is_some_and(char::is_whitespace)
                        && self.source().comment(at).is_some() =>
                {
                    break at;
                }
                ':' | '=' if round + other == 0 && self.is_key_sign(at, has_blank) => {
                    return Err(RecoveryError::syntax(
                        at,
                        "it is not clear whether this begins another member: put keys and text into quotes",
                    ));
                }
                '"' | '“' | '”' => break at,
                '\'' if self.source().char_before(at).is_some_and(|c| !c.is_alphanumeric()) => {
                    break at;
                }
                c => has_blank |= c.is_whitespace(),
            }
            at += len;
        };
        if let Some((_, len)) = self.source().quote(end) {
            let is_touched = self.source().char_before(end).is_some_and(|c| !c.is_whitespace());
            let is_last = is_touched && !follows_weak_string && end > start;
            if is_last && self.value_end_plausibility(end + len) > Plausibility::No {
                return self.read_half_quoted(start, end, len);
            }
            return Err(RecoveryError::syntax(start, if round + other > 0 { CALL } else { HALF }));
        }
        let text = self.source().slice(start..end).trim_end();
        if text.is_empty() {
            return Err(RecoveryError::syntax(start, "expected a value"));
        }
        if text.contains("...") || text.contains('…') {
            self.bump_to(start);
            let reason = "something is left out here: write it in full, without an ellipsis";
            return Err(RecoveryError::new(ParseErrorKind::Ellipsis, start, reason));
        }
        let key = self.containers().nearest_key();
        if is_expression(text) && !key.is_some_and(holds_expression) {
            return Err(RecoveryError::syntax(start, CALL));
        }
        let is_own_name = key.is_some_and(|key| is_name_of(text, key));
        if is_own_name || is_placeholder(text) {
            return Err(RecoveryError::new(ParseErrorKind::Ellipsis, start, PLACEHOLDER));
        }
        if round + other > 0 {
            return Err(RecoveryError::syntax(
                start,
                "a bracket in this text is never closed: put text into quotes",
            ));
        }
        let stop = start + text.len();
        self.bump_to(stop);
        self.record_fix(FixKind::UnquotedText, start..stop)?;
        if end >= self.source().end() {
            self.set_truncated();
            self.record_fix(FixKind::TruncatedText, start..end)?;
        }
        Ok(B::string(text.to_owned(), true, start..stop))
    }

    /// Returns whether the comma at `at` ends the words: not if no member follows it in an object.
    fn comma_ends_words(&mut self, start: usize, at: usize, after: usize) -> bool {
        let next = self.skip_trivia_ahead(after);
        if let Some((_, sign)) = self.key_ahead(next)
            && self.source().char_before(sign) == Some('=')
        {
            // Only if the member before this one also has an equals sign.
            let before = (1..=4).filter_map(|back| self.source().byte(start.checked_sub(back)?));
            return before.into_iter().find(|byte| *byte != b' ') == Some(b'=');
        }
        let is_value = at - start < 10
            && LITERALS.iter().any(|(word, _)| *word == self.source().slice(start..at));
        is_value
            || self.kind() != Some(ContainerKind::Object)
            || self.member_plausibility(after) > Plausibility::No
    }

    /// Returns whether the colon at `at` may end a key, unlike those in `https://…` and `12:30`.
    fn is_key_sign(&self, at: usize, has_words: bool) -> bool {
        let after = self.source().char(at + 1);
        let is_digit = self.source().char_before(at).is_some_and(|c| c.is_ascii_digit());
        let is_url = self.source().rest(at).starts_with("://");
        let is_colon = self.source().byte(at) == Some(b':');
        if !is_colon {
            return has_words && after.is_none_or(|c| c == '"');
        }
        after.is_none_or(|c| c.is_whitespace() || "\"'{[".contains(c))
            || has_words && !is_url && !is_digit
    }

    /// Reads a string without its opening quote; the quote at `at` closes it.
    fn read_half_quoted(
        &mut self,
        start: usize,
        at: usize,
        len: usize,
    ) -> Result<B::Value, RecoveryError> {
        self.record_fix(FixKind::MissingQuote, start..start)?;
        let text = self.decode(start, self.source().slice(start..at), QuoteStyle::Double, false)?;
        self.bump_to(at + len);
        Ok(B::string(text, false, start..self.position()))
    }
}

/// Returns whether `text` is a call or an element of a list, as in code: `datetime.now()`,
/// `names[0]`.
fn is_expression(text: &str) -> bool {
    let text = ["await ", "new "].iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
    let is_of_path = |c: char| is_name_char(c) || c == '.';
    let Some(open) = text.find(|c| !is_of_path(c)) else { return false };
    let (path, brackets) = text.split_at_checked(open).unwrap_or_default();
    is_name(path.split('.').next().unwrap_or_default())
        && (brackets.starts_with('(') && brackets.ends_with(')')
            || brackets.starts_with('[') && brackets.ends_with(']'))
}

/// Returns whether a word of the key marks its text as an expression: `expr: foo(1, 2)`.
fn holds_expression(key: &str) -> bool {
    words_of_key(key).iter().any(|word| EXPRESSION_WORDS.contains(&word.as_str()))
}

/// Returns whether `c` may be in a name.
pub(in crate::recover) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '$')
}

/// Returns whether `word` is a single word that may be a key without quotes.
pub(in crate::recover) fn is_name(word: &str) -> bool {
    let word = word.trim_end();
    word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
        && word.chars().all(is_name_char)
}
