//! What stands without quotes: keys, numbers, literals and words.

use std::ops::Range;

use super::{
    ahead::is_name,
    build::Build,
    ending::{Fit, bare_key_len, begins_literal},
    keys::Keys,
    number::{Form, LOCAL, form},
    parser::{Kind, Parser},
    refusal::Refusal,
};
use crate::json::{FixKind, UnreadableKind};

/// The literals, and those of other languages. `None` is null.
pub(super) const LITERALS: [(&str, Option<bool>); 12] = [
    ("true", Some(true)),
    ("false", Some(false)),
    ("null", None),
    ("True", Some(true)),
    ("False", Some(false)),
    ("None", None),
    ("TRUE", Some(true)),
    ("FALSE", Some(false)),
    ("NULL", None),
    ("Null", None),
    ("undefined", None),
    ("nil", None),
];
const INFINITE: [&str; 4] = ["NaN", "Infinity", "nan", "inf"];
const CONSTRUCTORS: [&str; 7] =
    ["ObjectId", "ISODate", "UUID", "NumberInt", "NumberLong", "NumberDecimal", "Decimal"];
const HALF: &str = "this text has a quote at one end only: put quotes around all of it";
const CALL: &str =
    "no value begins here: send it without a call around it, or put all of this text into quotes";
const LETTERS: &str = "there is text behind this number: put text into quotes";

impl<B: Build> Parser<'_, '_, B> {
    /// The key at the place.
    pub(super) fn key(&mut self) -> Result<(String, Range<usize>), Refusal> {
        if self.source.quote(self.at).is_some() {
            return self.string(true);
        }
        let start = self.at;
        let rest = self.source.rest(start);
        let len = bare_key_len(rest);
        let word = rest.get(..len).unwrap_or_default().trim_end();
        let end = start + word.len();
        let behind = self.source.skip_blanks(start + len);
        let next = self.source.sign(behind).map(|(sign, _)| sign);
        // A brace in a sentence is no object.
        let is_sentence = self.mode.in_prose && self.stack.len() == 1 && word.contains(' ');
        if word.is_empty() || is_sentence {
            return Err(self.no_key(start));
        }
        match next {
            Some(b':' | b'=') => {}
            _ if behind > end
                && self.source.quote(behind).is_some()
                && self.key_ahead(behind).is_some() =>
            {
                let what = "a word stands before this key: leave it out, or give it a value";
                return Err(Refusal::syntax(start, what));
            }
            Some(b'"') if start + len == end && self.key_fits(behind + 1) == Fit::Strong => {
                self.fix(FixKind::MissingQuote, start..start)?;
                self.at = behind + 1;
                return Ok((word.to_owned(), start..self.at));
            }
            None if behind >= self.source.end() => {}
            // `{a 'b'}`
            _ if behind > end && is_name(word) && self.source.quote(behind).is_some() => {}
            _ => return Err(self.no_key(start)),
        }
        self.fix(FixKind::BareKey, start..end)?;
        self.at = end;
        Ok((word.to_owned(), start..end))
    }

    fn no_key(&self, at: usize) -> Refusal {
        if self.is_behind_digit(at) {
            return Refusal::new(UnreadableKind::Number, at, LOCAL);
        }
        Refusal::syntax(
            at,
            match self.source.sign(at) {
                Some((b'{' | b'[', _)) => {
                    "this value has no key: write one and `:` before it, or look whether a bracket before it closes too much"
                }
                _ => "expected a key in quotes and `:`",
            },
        )
    }

    /// Whether the digit at `at` is the second of `1,234` or `1 234`.
    fn is_behind_digit(&self, at: usize) -> bool {
        let is_digit = |at| self.source.byte(at).is_some_and(|byte| byte.is_ascii_digit());
        let is_separated = matches!(self.source.before(at), Some(',' | ' '));
        is_separated && is_digit(at) && at.checked_sub(2).is_some_and(is_digit)
    }

    /// Whether `word` at `start`, which begins with a zero, may be one number with the digits before
    /// it: not if it is longer than a group of thousands, or they begin with a zero as well.
    fn is_group(&self, word: &str, start: usize) -> bool {
        let before = self.source.slice(0..start.saturating_sub(1));
        let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let is_code = digits.len() > 1 && digits.starts_with('0');
        word.len() <= 3 && self.is_behind_digit(start) && !is_code
    }

    /// The number, literal or words at the place.
    pub(super) fn bare(&mut self) -> Result<B::Value, Refusal> {
        let start = self.at;
        if self.source.byte(start).is_some_and(|b| b.is_ascii_digit() || b"+-.".contains(&b)) {
            return self.number();
        }
        if let Some((literal, len)) = self.source.literal(start) {
            self.at += len;
            return Ok(B::literal(literal, start..self.at));
        }
        let rest = self.source.rest(start);
        let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        let end = start + len;
        let is_cut = end >= self.source.end();
        if INFINITE.contains(&word) {
            let what = "JSON has no such number: leave it out, or put text into quotes";
            return Err(Refusal::new(UnreadableKind::Number, start, what));
        }
        if let Some(&(_, literal)) = LITERALS.iter().find(|(literal, _)| *literal == word)
            && self.ends_word(end)
        {
            match word {
                "true" | "false" | "null" => {}
                "undefined" => self.fix(FixKind::Undefined, start..end)?,
                _ => self.fix(FixKind::Literal, start..end)?,
            }
            self.at = end;
            return Ok(B::literal(literal, start..end));
        }
        if self.goes_on_as_value(word, end) {
            let what = "this is neither one value nor text: put a comma between values, or put text into quotes";
            return Err(Refusal::syntax(start, what));
        }
        if is_cut && LITERALS.iter().any(|(literal, _)| literal.starts_with(word)) && len > 0 {
            if let Some(literal) = Keys::sole_literal(&self.parts(), word) {
                self.truncated = true;
                self.at = end;
                self.fix(FixKind::CutLiteral, start..end)?;
                return Ok(B::literal(literal, start..end));
            }
            let what = "the text breaks off inside a literal";
            return Err(Refusal::new(UnreadableKind::Incomplete, start, what));
        }
        self.words()
    }

    /// How long the name of a type is that stands here with its value in brackets: a value as some
    /// databases print it.
    pub(super) fn constructor(&self) -> Option<usize> {
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

    /// Whether a literal can end at `at`.
    fn ends_word(&self, at: usize) -> bool {
        let next = self.source.skip_blanks(at);
        let is_line = self.source.slice(at..next).contains('\n');
        match self.source.sign(next) {
            None => next >= self.source.end() || self.source.quote(next).is_some(),
            Some((
                b',' | b'}' | b']' | b')' | b';' | b'"' | b'\'' | b'/' | b'#' | b':' | b'<' | b'`',
                _,
            )) => true,
            // In a list and in an object the next may begin without a comma.
            Some(_) => is_line || next > at && !self.stack.is_empty() && self.begins_member(next),
        }
    }

    /// Whether `word`, which ends at `end`, is a literal, and another or a number comes next.
    fn goes_on_as_value(&self, word: &str, end: usize) -> bool {
        let next = self.source.skip_plain(end);
        let rest = self.source.rest(next);
        let number = rest.trim_start_matches(['+', '-', '.']);
        next > end
            && LITERALS.iter().any(|(literal, _)| *literal == word)
            && (number.starts_with(|c: char| c.is_ascii_digit()) || begins_literal(rest))
    }

    pub(super) fn begins_member(&self, at: usize) -> bool {
        let rest = self.source.rest(at);
        match self.kind() {
            Some(Kind::Object) => {
                let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(0);
                len > 0 && rest.get(len..).is_some_and(|rest| rest.trim_start().starts_with(':'))
            }
            _ => {
                rest.starts_with(|c: char| c.is_ascii_digit() || "{[-".contains(c))
                    || LITERALS.iter().any(|(word, _)| rest.starts_with(word))
            }
        }
    }

    /// An integer as JSON writes it, with a sign of JSON right behind it: most numbers are.
    fn plain_number(&mut self) -> Option<B::Value> {
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

    fn number(&mut self) -> Result<B::Value, Refusal> {
        if let Some(value) = self.plain_number() {
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
        // A comment may touch it, a quotient has no blank either.
        if let Some(word) = rest.get(..len)
            && word.contains('/')
            && let Some(comment) = word.find("/*").or_else(|| word.find("//"))
        {
            len = comment;
        }
        let word = rest.get(..len).unwrap_or_default();
        let end = start + len;
        let is_number = |form: &Form<'_>| {
            !matches!(form, Form::Text | Form::Unclear(_))
                || word.ends_with(|c: char| !c.is_alphanumeric() || "eE".contains(c))
        };
        let form = form(word);
        if end >= self.source.end() && is_number(&form) && !self.mode.is_sound {
            let what = "the text breaks off inside a number, which may go on";
            return Err(Refusal::new(UnreadableKind::Incomplete, start, what));
        }
        let refuse = |what| Err(Refusal::new(UnreadableKind::Number, start, what));
        if self.source.byte(end) == Some(b'\'')
            && self.source.byte(end + 1).is_some_and(|byte| byte.is_ascii_digit())
        {
            return refuse(LOCAL);
        }
        let json = match form {
            Form::Json => word.into(),
            Form::Other(json) => {
                self.fix(FixKind::Number, start..end)?;
                json
            }
            Form::Zeros(_) if self.is_group(word, start) => return refuse(LOCAL),
            Form::Zeros(json) if self.mode.keys.has_schema() => {
                self.fix(FixKind::LeadingZeros, start..end)?;
                json
            }
            Form::Zeros(_) => {
                return refuse(
                    "this number has zeros before it: leave them out, or put text into quotes",
                );
            }
            Form::Text => return self.id(start, end),
            Form::Unclear(what) if self.kind().is_none() && word.len() < 2 => {
                return Err(Refusal::new(UnreadableKind::NoValue, start, what));
            }
            Form::Unclear(what) => return refuse(what),
        };
        let Some(value) = B::number(word, &json, start..end) else {
            return refuse("this number is out of range: put it into quotes");
        };
        self.at = end;
        self.last_is_number = true;
        let next = self.source.skip_plain(end);
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

    /// A date, a time or an id, and the time behind a date.
    fn id(&mut self, start: usize, mut end: usize) -> Result<B::Value, Refusal> {
        if self.stack.is_empty() {
            let what = "this is no JSON value: put text into quotes";
            return Err(Refusal::new(UnreadableKind::NoValue, start, what));
        }
        if self.source.byte(end) == Some(b' ') {
            let rest = self.source.rest(end + 1);
            let len =
                rest.find(|c: char| !c.is_ascii_digit() && !":.".contains(c)).unwrap_or(rest.len());
            let with_time = self.source.slice(start..end + 1 + len);
            if len > 0 && form(with_time) == Form::Text {
                end += 1 + len;
            }
        }
        let next = self.source.skip_plain(end);
        let is_line = self.source.slice(end..next).contains('\n');
        if !is_line
            && !matches!(self.source.sign(next), Some((b',' | b'}' | b']' | b')' | b'/' | b'#', _)))
        {
            return Err(Refusal::new(UnreadableKind::Number, start, "put this text into quotes"));
        }
        self.at = end;
        self.fix(FixKind::BareText, start..end)?;
        Ok(B::text(self.source.slice(start..end).to_owned(), true, start..end))
    }

    /// Words without quotes, up to what ends a value.
    fn words(&mut self) -> Result<B::Value, Refusal> {
        let start = self.at;
        if self.stack.is_empty() {
            let what = "there is no JSON value: put text into quotes";
            return Err(Refusal::new(UnreadableKind::NoValue, start, what));
        }
        let follows_weak = self.weak_end.take().is_some();
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
                ',' | '，' if round + other == 0 && self.ends_words(start, at, at + len) => {
                    break at;
                }
                '/' | '#'
                    if at > start
                        && self.source.before(at).is_some_and(char::is_whitespace)
                        && self.source.comment(at).is_some() =>
                {
                    break at;
                }
                ':' | '=' if round + other == 0 && self.is_key_sign(at, has_blank) => {
                    return Err(Refusal::syntax(
                        at,
                        "it is not clear whether this begins another member: put keys and text into quotes",
                    ));
                }
                '"' | '“' | '”' => break at,
                '\'' if self.source.before(at).is_some_and(|c| !c.is_alphanumeric()) => break at,
                c => has_blank |= c.is_whitespace(),
            }
            at += len;
        };
        if let Some((_, len)) = self.source.quote(end) {
            let is_touched = self.source.before(end).is_some_and(|c| !c.is_whitespace());
            let is_last = is_touched && !follows_weak && end > start;
            if is_last && self.value_fits(end + len) > Fit::No {
                return self.half_quoted(start, end, len);
            }
            return Err(Refusal::syntax(start, if round + other > 0 { CALL } else { HALF }));
        }
        let text = self.source.slice(start..end).trim_end();
        if text.is_empty() {
            return Err(Refusal::syntax(start, "expected a value"));
        }
        if text.contains("...") || text.contains('…') {
            self.at = start;
            let what = "something is left out here: write it in full, without an ellipsis";
            return Err(Refusal::new(UnreadableKind::Elided, start, what));
        }
        if round + other > 0 {
            return Err(Refusal::syntax(
                start,
                "a bracket in this text is never closed: put text into quotes",
            ));
        }
        let stop = start + text.len();
        self.at = stop;
        self.fix(FixKind::BareText, start..stop)?;
        if end >= self.source.end() {
            self.truncated = true;
            self.fix(FixKind::CutText, start..end)?;
        }
        Ok(B::text(text.to_owned(), true, start..stop))
    }

    /// Whether the comma at `at` ends the words: not if no member follows it in an object.
    fn ends_words(&mut self, start: usize, at: usize, behind: usize) -> bool {
        let next = self.look(behind);
        if let Some((_, sign)) = self.key_ahead(next)
            && self.source.before(sign) == Some('=')
        {
            // Only where the member that this one would follow is written so as well.
            let before = (1..=4).filter_map(|back| self.source.byte(start.checked_sub(back)?));
            return before.into_iter().find(|byte| *byte != b' ') == Some(b'=');
        }
        let is_value = at - start < 10
            && LITERALS.iter().any(|(word, _)| *word == self.source.slice(start..at));
        is_value || self.kind() != Some(Kind::Object) || self.member_fits(behind) > Fit::No
    }

    /// Whether the colon at `at` may be that of a key. It isn't in `https://…` and `12:30`.
    fn is_key_sign(&self, at: usize, has_words: bool) -> bool {
        let after = self.source.char(at + 1);
        let is_digit = self.source.before(at).is_some_and(|c| c.is_ascii_digit());
        let is_url = self.source.rest(at).starts_with("://");
        let is_colon = self.source.byte(at) == Some(b':');
        if !is_colon {
            return has_words && after.is_none_or(|c| c == '"');
        }
        after.is_none_or(|c| c.is_whitespace() || "\"'{[".contains(c))
            || has_words && !is_url && !is_digit
    }

    /// A string that lacks its first quote: the one at `at` is its last.
    fn half_quoted(&mut self, start: usize, at: usize, len: usize) -> Result<B::Value, Refusal> {
        self.fix(FixKind::MissingQuote, start..start)?;
        self.at = at + len;
        let text = self.source.slice(start..at).to_owned();
        Ok(B::text(text, false, start..self.at))
    }
}
