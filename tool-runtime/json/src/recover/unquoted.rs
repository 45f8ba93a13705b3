//! Reads keys, numbers, literals and words without quotes.

use std::ops::Range;

use super::{
    builder::Builder,
    error::RecoveryError,
    number::{LOCAL_FORMAT, NumberForm, classify},
    parser::{ContainerKind, Plausibility, RecoveryParser},
    schema_keys::SchemaKeys,
    words::{LITERALS, bare_key_len, begins_literal, is_name},
};
use crate::{FixKind, ParseErrorKind};

/// Spellings of numbers that JSON does not have.
const INFINITE: [&str; 4] = ["NaN", "Infinity", "nan", "inf"];
/// Constructors with which databases print their types.
const CONSTRUCTORS: [&str; 7] =
    ["ObjectId", "ISODate", "UUID", "NumberInt", "NumberLong", "NumberDecimal", "Decimal"];
const HALF: &str = "this text has a quote at one end only: put quotes around all of it";
const CALL: &str =
    "no value begins here: send it without a call around it, or put all of this text into quotes";
const LETTERS: &str = "there is text behind this number: put text into quotes";

impl<B: Builder> RecoveryParser<'_, '_, B> {
    /// Reads the key at the current position.
    pub(super) fn read_key(&mut self) -> Result<(String, Range<usize>), RecoveryError> {
        if self.source.quote(self.at).is_some() {
            return self.read_string(true);
        }
        let start = self.at;
        let rest = self.source.rest(start);
        let len = bare_key_len(rest);
        let word = rest.get(..len).unwrap_or_default().trim_end();
        let end = start + word.len();
        let after = self.source.skip_whitespace(start + len);
        let next = self.source.sign(after).map(|(sign, _)| sign);
        // A brace in a sentence does not begin an object.
        let is_sentence = self.mode.in_prose && self.stack.len() == 1 && word.contains(' ');
        if word.is_empty() || is_sentence {
            return Err(self.missing_key_error(start));
        }
        match next {
            Some(b':' | b'=') => {}
            _ if after > end
                && self.source.quote(after).is_some()
                && self.key_ahead(after).is_some() =>
            {
                let reason = "a word stands before this key: leave it out, or give it a value";
                return Err(RecoveryError::syntax(start, reason));
            }
            Some(b'"')
                if start + len == end
                    && self.key_end_plausibility(after + 1) == Plausibility::Strong =>
            {
                self.record_fix(FixKind::MissingQuote, start..start)?;
                self.at = after + 1;
                return Ok((word.to_owned(), start..self.at));
            }
            None if after >= self.source.end() => {}
            // `{a 'b'}`
            _ if after > end && is_name(word) && self.source.quote(after).is_some() => {}
            _ => return Err(self.missing_key_error(start)),
        }
        self.record_fix(FixKind::UnquotedKey, start..end)?;
        self.at = end;
        Ok((word.to_owned(), start..end))
    }

    fn missing_key_error(&self, at: usize) -> RecoveryError {
        if self.follows_digit_separator(at) {
            return RecoveryError::new(ParseErrorKind::Number, at, LOCAL_FORMAT);
        }
        RecoveryError::syntax(
            at,
            match self.source.sign(at) {
                Some((b'{' | b'[', _)) => {
                    "this value has no key: write one and `:` before it, or look whether a bracket before it closes too much"
                }
                _ => "expected a key in quotes and `:`",
            },
        )
    }

    /// Returns whether the digit at `at` follows a separator, as in `1,234` or `1 234`.
    fn follows_digit_separator(&self, at: usize) -> bool {
        let is_digit = |at| self.source.byte(at).is_some_and(|byte| byte.is_ascii_digit());
        let is_separated = matches!(self.source.char_before(at), Some(',' | ' '));
        is_separated && is_digit(at) && at.checked_sub(2).is_some_and(is_digit)
    }

    /// Returns whether `word` at `start`, which begins with a zero, may form one number with the
    /// digits before it: not if it is longer than a group of thousands, or the digits begin with a
    /// zero too.
    fn is_digit_group(&self, word: &str, start: usize) -> bool {
        let before = self.source.slice(0..start.saturating_sub(1));
        let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let is_code = digits.len() > 1 && digits.starts_with('0');
        word.len() <= 3 && self.follows_digit_separator(start) && !is_code
    }

    /// Reads the number, literal or words at the current position.
    pub(super) fn read_unquoted(&mut self) -> Result<B::Value, RecoveryError> {
        let start = self.at;
        if self.source.byte(start).is_some_and(|b| b.is_ascii_digit() || b"+-.".contains(&b)) {
            return self.read_number();
        }
        if let Some((literal, len)) = self.source.literal(start) {
            self.at += len;
            return Ok(B::literal(literal, start..self.at));
        }
        let rest = self.source.rest(start);
        let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        let end = start + len;
        let is_truncated = end >= self.source.end();
        if INFINITE.contains(&word) {
            let reason = "JSON has no such number: leave it out, or put text into quotes";
            return Err(RecoveryError::new(ParseErrorKind::Number, start, reason));
        }
        if let Some(&(_, literal)) = LITERALS.iter().find(|(literal, _)| *literal == word)
            && self.ends_literal(end)
        {
            match word {
                "true" | "false" | "null" => {}
                "undefined" => self.record_fix(FixKind::Undefined, start..end)?,
                _ => self.record_fix(FixKind::Literal, start..end)?,
            }
            self.at = end;
            return Ok(B::literal(literal, start..end));
        }
        if self.continues_as_value(word, end) {
            let reason = "this is neither one value nor text: put a comma between values, or put text into quotes";
            return Err(RecoveryError::syntax(start, reason));
        }
        if is_truncated && LITERALS.iter().any(|(literal, _)| literal.starts_with(word)) && len > 0
        {
            if let Some(literal) = SchemaKeys::sole_literal(&self.subschemas(), word) {
                self.truncated = true;
                self.at = end;
                self.record_fix(FixKind::TruncatedLiteral, start..end)?;
                return Ok(B::literal(literal, start..end));
            }
            let reason = "the text breaks off inside a literal";
            return Err(RecoveryError::new(ParseErrorKind::Incomplete, start, reason));
        }
        self.read_words()
    }

    /// The length of a constructor name whose value follows in parentheses, as some databases print
    /// values.
    pub(super) fn constructor_len(&self) -> Option<usize> {
        if !matches!(self.source.byte(self.at), Some(b'A'..=b'Z')) {
            return None;
        }
        let rest = self.source.rest(self.at);
        let is_called =
            |name: &str| rest.get(name.len()..).is_some_and(|rest| rest.starts_with('('));
        CONSTRUCTORS
            .iter()
            .find(|&&name| rest.starts_with(name) && is_called(name))
            .map(|n| n.len())
    }

    /// Returns whether a literal can end at `at`.
    fn ends_literal(&self, at: usize) -> bool {
        let next = self.source.skip_whitespace(at);
        let is_line = self.source.slice(at..next).contains('\n');
        match self.source.sign(next) {
            None => next >= self.source.end() || self.source.quote(next).is_some(),
            Some((
                b',' | b'}' | b']' | b')' | b';' | b'"' | b'\'' | b'/' | b'#' | b':' | b'<' | b'`',
                _,
            )) => true,
            // In an array or object, the next element may begin without a comma.
            Some(_) => is_line || next > at && !self.stack.is_empty() && self.begins_member(next),
        }
    }

    /// Returns whether `word`, which ends at `end`, is a literal followed by a literal or number.
    fn continues_as_value(&self, word: &str, end: usize) -> bool {
        let next = self.source.skip_json_whitespace(end);
        let rest = self.source.rest(next);
        let number = rest.trim_start_matches(['+', '-', '.']);
        next > end
            && LITERALS.iter().any(|(literal, _)| *literal == word)
            && (number.starts_with(|c: char| c.is_ascii_digit()) || begins_literal(rest))
    }

    pub(super) fn begins_member(&self, at: usize) -> bool {
        let rest = self.source.rest(at);
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

    /// Reads an integer directly before a JSON sign: most numbers are like this.
    fn read_plain_integer(&mut self) -> Option<B::Value> {
        let start = self.at;
        let rest = self.source.rest_bytes(start);
        let len = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let is_plain = matches!(rest.get(len), Some(b',' | b'}' | b']'))
            && len > 0
            && (len == 1 || rest.first() != Some(&b'0'));
        let end = start + len;
        let word = is_plain.then(|| self.source.slice(start..end))?;
        let value = B::number(word, word, start..end)?;
        self.at = end;
        self.last_is_number = true;
        Some(value)
    }

    fn read_number(&mut self) -> Result<B::Value, RecoveryError> {
        if let Some(value) = self.read_plain_integer() {
            return Ok(value);
        }
        let start = self.at;
        let rest = self.source.rest(start);
        let ends = |c: char| {
            c.is_whitespace()
                || matches!(
                    c,
                    ',' | '}' | ']' | ')' | '"' | '\'' | ';' | '，' | '｝' | '］' | '{' | '[' | '<'
                )
        };
        let mut len = rest.find(ends).unwrap_or(rest.len());
        // A comment may follow without whitespace, and so may a fraction's denominator.
        if let Some(word) = rest.get(..len)
            && word.contains('/')
            && let Some(comment) = word.find("/*").or_else(|| word.find("//"))
        {
            len = comment;
        }
        let word = rest.get(..len).unwrap_or_default();
        let end = start + len;
        let is_number = |form: &NumberForm<'_>| {
            !matches!(form, NumberForm::Text | NumberForm::Ambiguous(_))
                || word.ends_with(|c: char| !c.is_alphanumeric() || "eE".contains(c))
        };
        let form = classify(word);
        if end >= self.source.end() && is_number(&form) {
            let reason = "the text breaks off inside a number, which may go on";
            return Err(RecoveryError::new(ParseErrorKind::Incomplete, start, reason));
        }
        let refuse = |reason| Err(RecoveryError::new(ParseErrorKind::Number, start, reason));
        if self.source.byte(end) == Some(b'\'')
            && self.source.byte(end + 1).is_some_and(|byte| byte.is_ascii_digit())
        {
            return refuse(LOCAL_FORMAT);
        }
        let json = match form {
            NumberForm::Json => word.into(),
            NumberForm::Alternative(json) => {
                self.record_fix(FixKind::Number, start..end)?;
                json
            }
            NumberForm::LeadingZeros(_) if self.is_digit_group(word, start) => {
                return refuse(LOCAL_FORMAT);
            }
            NumberForm::LeadingZeros(json) if self.mode.keys.has_schema() => {
                self.record_fix(FixKind::LeadingZeros, start..end)?;
                json
            }
            NumberForm::LeadingZeros(_) => {
                return refuse(
                    "this number has zeros before it: leave them out, or put text into quotes",
                );
            }
            NumberForm::Text => return self.read_id(start, end),
            NumberForm::Ambiguous(reason) if self.kind().is_none() && word.len() < 2 => {
                return Err(RecoveryError::new(ParseErrorKind::NoValue, start, reason));
            }
            NumberForm::Ambiguous(reason) => return refuse(reason),
        };
        let Some(value) = B::number(word, &json, start..end) else {
            return refuse("this number is out of range: put it into quotes");
        };
        self.at = end;
        self.last_is_number = true;
        let next = self.source.skip_json_whitespace(end);
        let is_line = self.source.slice(end..next).contains('\n');
        let begins_text = self
            .source
            .char(next)
            .is_some_and(|c| c.is_alphabetic() || matches!(c, '%' | '°' | '€' | '$'));
        if begins_text && !is_line && !self.begins_member(next) {
            return refuse(LETTERS);
        }
        Ok(value)
    }

    /// Reads a date, a time or an id, including the time after a date.
    fn read_id(&mut self, start: usize, mut end: usize) -> Result<B::Value, RecoveryError> {
        if self.stack.is_empty() {
            let reason = "this is no JSON value: put text into quotes";
            return Err(RecoveryError::new(ParseErrorKind::NoValue, start, reason));
        }
        if self.source.byte(end) == Some(b' ') {
            let rest = self.source.rest(end + 1);
            let len =
                rest.find(|c: char| !c.is_ascii_digit() && !":.".contains(c)).unwrap_or(rest.len());
            let with_time = self.source.slice(start..end + 1 + len);
            if len > 0 && classify(with_time) == NumberForm::Text {
                end += 1 + len;
            }
        }
        let next = self.source.skip_json_whitespace(end);
        let is_line = self.source.slice(end..next).contains('\n');
        if !is_line
            && !matches!(self.source.sign(next), Some((b',' | b'}' | b']' | b')' | b'/' | b'#', _)))
        {
            return Err(RecoveryError::new(
                ParseErrorKind::Number,
                start,
                "put this text into quotes",
            ));
        }
        self.at = end;
        self.record_fix(FixKind::UnquotedText, start..end)?;
        Ok(B::string(self.source.slice(start..end).to_owned(), true, start..end))
    }

    /// Reads words without quotes, up to the end of the value.
    fn read_words(&mut self) -> Result<B::Value, RecoveryError> {
        let start = self.at;
        if self.stack.is_empty() {
            let reason = "there is no JSON value: put text into quotes";
            return Err(RecoveryError::new(ParseErrorKind::NoValue, start, reason));
        }
        let follows_weak = self.weak_string_end.take().is_some();
        let (mut at, mut round, mut other, mut has_blank) = (start, 0_usize, 0_usize, false);
        let end = loop {
            let Some(c) = self.source.char(at) else { break at };
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
                        && self.source.char_before(at).is_some_and(char::is_whitespace)
                        && self.source.comment(at).is_some() =>
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
                '\'' if self.source.char_before(at).is_some_and(|c| !c.is_alphanumeric()) => {
                    break at;
                }
                c => has_blank |= c.is_whitespace(),
            }
            at += len;
        };
        if let Some((_, len)) = self.source.quote(end) {
            let is_touched = self.source.char_before(end).is_some_and(|c| !c.is_whitespace());
            let is_last = is_touched && !follows_weak && end > start;
            if is_last && self.value_end_plausibility(end + len) > Plausibility::No {
                return self.read_half_quoted(start, end, len);
            }
            return Err(RecoveryError::syntax(start, if round + other > 0 { CALL } else { HALF }));
        }
        let text = self.source.slice(start..end).trim_end();
        if text.is_empty() {
            return Err(RecoveryError::syntax(start, "expected a value"));
        }
        if text.contains("...") || text.contains('…') {
            self.at = start;
            let reason = "something is left out here: write it in full, without an ellipsis";
            return Err(RecoveryError::new(ParseErrorKind::Elided, start, reason));
        }
        if round + other > 0 {
            return Err(RecoveryError::syntax(
                start,
                "a bracket in this text is never closed: put text into quotes",
            ));
        }
        let stop = start + text.len();
        self.at = stop;
        self.record_fix(FixKind::UnquotedText, start..stop)?;
        if end >= self.source.end() {
            self.truncated = true;
            self.record_fix(FixKind::TruncatedText, start..end)?;
        }
        Ok(B::string(text.to_owned(), true, start..stop))
    }

    /// Returns whether the comma at `at` ends the words: not if no member follows it in an object.
    fn comma_ends_words(&mut self, start: usize, at: usize, after: usize) -> bool {
        let next = self.skip_trivia_ahead(after);
        if let Some((_, sign)) = self.key_ahead(next)
            && self.source.char_before(sign) == Some('=')
        {
            // Only if the member before this one also has an equals sign.
            let before = (1..=4).filter_map(|back| self.source.byte(start.checked_sub(back)?));
            return before.into_iter().find(|byte| *byte != b' ') == Some(b'=');
        }
        let is_value = at - start < 10
            && LITERALS.iter().any(|(word, _)| *word == self.source.slice(start..at));
        is_value
            || self.kind() != Some(ContainerKind::Object)
            || self.member_plausibility(after) > Plausibility::No
    }

    /// Returns whether the colon at `at` may end a key, unlike those in `https://…` and `12:30`.
    fn is_key_sign(&self, at: usize, has_words: bool) -> bool {
        let after = self.source.char(at + 1);
        let is_digit = self.source.char_before(at).is_some_and(|c| c.is_ascii_digit());
        let is_url = self.source.rest(at).starts_with("://");
        let is_colon = self.source.byte(at) == Some(b':');
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
        self.at = at + len;
        let text = self.source.slice(start..at).to_owned();
        Ok(B::string(text, false, start..self.at))
    }
}
