//! Reads numbers, and classifies their spellings: those with one meaning, and those that are
//! refused.

use std::borrow::Cow;

use crate::recover::RecoveryError;
use crate::recover::builder::Builder;
use crate::recover::parser::{Parser, PreviousValue};
use crate::recover::schema_keys::SchemaKeys;
use crate::{FixKind, ParseErrorKind};

/// The classification of a word that begins like a number.
#[derive(Debug, PartialEq, Eq)]
enum NumberForm<'t> {
    /// A JSON number.
    Json,
    /// Another spelling of a number, and the JSON number.
    Alternative(Cow<'t, str>),
    /// A number with leading zeros, and the JSON number without them.
    LeadingZeros(Cow<'t, str>),
    /// A date, a time or an id.
    Text,
    /// Several meanings, or none; the content is the advice for the model.
    Ambiguous(&'static str),
}

const LETTERS: &str = "there are letters in this number: leave them out, or put text into quotes";
pub(in crate::recover) const LOCAL_FORMAT: &str = "this number can be read in two ways: write it without separators of thousands, and with a point";
pub(in crate::recover) const SUM: &str =
    "this is a calculation: write its result, or put text into quotes";
const BROKEN: &str = "this number is not complete: write all of it, or put text into quotes";
pub(in crate::recover) const INFINITE: &str =
    "JSON has no such number: leave it out, or put text into quotes";

const OCTAL: &str =
    "this number may be octal: write it in decimal without leading zeros, or put text into quotes";
const LEADING_ZEROS: &str =
    "this number has leading zeros: leave them out, or put text into quotes";
const OUT_OF_RANGE: &str = "this number is too large: write a smaller one, or put text into quotes";
/// The end of the advice where a string is allowed.
const OR_TEXT: &str = ", or put text into quotes";
const TEXT_BEHIND: &str = "there is text after this number: leave it out, or put text into quotes";

/// Returns whether what follows a number may divide it, as in `7 // 2`, rather than be a comment.
fn is_division(after: &str) -> bool {
    let Some(comment) = after.strip_prefix("//") else { return false };
    let line = comment.split('\n').next().unwrap_or_default();
    line.contains(|c: char| c.is_ascii_digit())
        && line.chars().all(|c| c.is_ascii_digit() || " \t\r._+-*/%(),}]".contains(c))
}

impl<B: Builder> Parser<'_, '_, B> {
    /// Reads an integer directly before a JSON sign: most numbers are like this.
    fn read_plain_integer(&mut self) -> Option<B::Value> {
        let start = self.position();
        let rest = self.source().rest_bytes(start);
        let len = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let is_plain = matches!(rest.get(len), Some(b',' | b'}' | b']'))
            && len > 0
            && (len == 1 || rest.first() != Some(&b'0'));
        let end = start + len;
        let word = is_plain.then(|| self.source().slice(start..end))?;
        let value = B::number(word, word, start..end)?;
        self.bump_to(end);
        self.set_previous(PreviousValue::Number);
        Some(value)
    }

    pub(in crate::recover) fn read_number(&mut self) -> Result<B::Value, RecoveryError> {
        if let Some(value) = self.read_plain_integer() {
            return Ok(value);
        }
        let start = self.position();
        let rest = self.source().rest(start);
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
        if end >= self.source().end() && is_number(&form) {
            let reason = "the text breaks off inside a number, which may go on";
            return Err(RecoveryError::new(ParseErrorKind::Incomplete, start, reason));
        }
        if self.source().byte(end) == Some(b'\'')
            && self.source().byte(end + 1).is_some_and(|byte| byte.is_ascii_digit())
        {
            return Err(self.number_error(start, LOCAL_FORMAT));
        }
        let json = match form {
            NumberForm::Json => word.into(),
            NumberForm::Alternative(json) => {
                self.record_fix(FixKind::Number, start..end)?;
                json
            }
            NumberForm::LeadingZeros(_) if self.is_digit_group(word, start) => {
                return Err(self.number_error(start, LOCAL_FORMAT));
            }
            NumberForm::LeadingZeros(json)
                if is_octal(&json) && !SchemaKeys::expects_text(&self.next_subschemas()) =>
            {
                return Err(self.number_error(start, OCTAL));
            }
            NumberForm::LeadingZeros(json) if self.mode().keys.has_schema() => {
                self.record_fix(FixKind::LeadingZeros, start..end)?;
                json
            }
            NumberForm::LeadingZeros(_) => {
                return Err(self.number_error(start, LEADING_ZEROS));
            }
            NumberForm::Text => return self.read_id(start, end),
            NumberForm::Ambiguous(reason) if self.kind().is_none() && word.len() < 2 => {
                return Err(RecoveryError::new(ParseErrorKind::NoValue, start, reason));
            }
            NumberForm::Ambiguous(reason) => return Err(self.number_error(start, reason)),
        };
        let Some(value) = B::number(word, &json, start..end) else {
            return Err(self.number_error(start, OUT_OF_RANGE));
        };
        self.bump_to(end);
        self.set_previous(PreviousValue::Number);
        let next = self.source().skip_json_whitespace(end);
        let is_line = self.source().slice(end..next).contains('\n');
        let begins_text = self
            .source()
            .char(next)
            .is_some_and(|c| c.is_alphabetic() || matches!(c, '%' | '°' | '€' | '$'));
        if begins_text && !is_line && !self.begins_member(next) {
            return Err(self.number_error(start, TEXT_BEHIND));
        }
        if !is_line && is_division(self.source().rest(next)) {
            return Err(self.number_error(start, SUM));
        }
        Ok(value)
    }

    /// Returns the error of a number. Its advice does not mention text where the schema allows
    /// none: that would be refused next.
    #[cold]
    pub(in crate::recover) fn number_error(
        &self,
        start: usize,
        advice: &'static str,
    ) -> RecoveryError {
        let other = advice.strip_suffix(OR_TEXT);
        let reason =
            other.filter(|_| SchemaKeys::forbids_text(&self.next_subschemas())).unwrap_or(advice);
        RecoveryError::new(ParseErrorKind::Number, start, reason)
    }

    /// Reads a date, a time or an id, including the time after a date.
    fn read_id(&mut self, start: usize, mut end: usize) -> Result<B::Value, RecoveryError> {
        if self.containers().is_empty() {
            let reason = "this is not a JSON value: put text into quotes";
            return Err(RecoveryError::new(ParseErrorKind::NoValue, start, reason));
        }
        if self.source().byte(end) == Some(b' ') {
            let rest = self.source().rest(end + 1);
            let len =
                rest.find(|c: char| !c.is_ascii_digit() && !":.".contains(c)).unwrap_or(rest.len());
            let with_time = self.source().slice(start..end + 1 + len);
            if len > 0 && classify(with_time) == NumberForm::Text {
                end += 1 + len;
            }
        }
        let next = self.source().skip_json_whitespace(end);
        let is_line = self.source().slice(end..next).contains('\n');
        if !is_line
            && !matches!(
                self.source().sign(next),
                Some((b',' | b'}' | b']' | b')' | b'/' | b'#', _))
            )
        {
            return Err(RecoveryError::new(
                ParseErrorKind::Number,
                start,
                "put this text into quotes",
            ));
        }
        self.bump_to(end);
        self.record_fix(FixKind::UnquotedText, start..end)?;
        Ok(B::string(self.source().slice(start..end).to_owned(), true, start..end))
    }

    /// Returns whether the digit at `at` follows a separator, as in `1,234` or `1 234`.
    pub(in crate::recover) fn follows_digit_separator(&self, at: usize) -> bool {
        let is_digit = |at| self.source().byte(at).is_some_and(|byte| byte.is_ascii_digit());
        let is_separated = matches!(self.source().char_before(at), Some(',' | ' '));
        is_separated && is_digit(at) && at.checked_sub(2).is_some_and(is_digit)
    }

    /// Returns whether `word` at `start`, which begins with a zero, may form one number with the
    /// digits before it: not if it is longer than a group of thousands, or the digits begin with a
    /// zero too.
    fn is_digit_group(&self, word: &str, start: usize) -> bool {
        let before = self.source().slice(0..start.saturating_sub(1));
        let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let is_code = digits.len() > 1 && digits.starts_with('0');
        word.len() <= 3 && self.follows_digit_separator(start) && !is_code
    }
}

/// Returns whether the digits of a number with leading zeros are another number in octal: 0755 is
/// 493 in many languages, but 07 is 7.
fn is_octal(json: &str) -> bool {
    let digits = json.trim_start_matches('-');
    digits.len() > 1 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7'))
}

/// Classifies `word`, which begins with a digit, a sign or a point.
fn classify(word: &str) -> NumberForm<'_> {
    let signless = word.strip_prefix(['+', '-']).unwrap_or(word);
    if matches!(signless, "Infinity" | "infinity" | "inf" | "Inf" | "NaN" | "nan") {
        return NumberForm::Ambiguous(INFINITE);
    }
    let Some(parts) = NumberParts::of(signless) else {
        return classify_other(signless);
    };
    if parts.exponent.is_some_and(str::is_empty)
        || parts.whole.is_empty() && parts.fraction == Some("")
    {
        return NumberForm::Ambiguous(BROKEN);
    }
    let has_underscore = signless.contains('_');
    let has_zeros = parts.whole.len() > 1 && parts.whole.starts_with('0');
    let is_json = !word.starts_with('+')
        && !has_underscore
        && !parts.whole.is_empty()
        && parts.fraction != Some("");
    if is_json && !has_zeros {
        return NumberForm::Json;
    }
    let whole = parts.whole.trim_start_matches(['0', '_']);
    let mut json = String::from(if word.starts_with('-') { "-" } else { "" });
    json.push_str(if whole.is_empty() { "0" } else { whole });
    if let Some(fraction) = parts.fraction {
        json.push('.');
        json.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    if let Some(exponent) = parts.exponent {
        json.push('e');
        json.push_str(exponent);
    }
    json.retain(|c| c != '_');
    if has_zeros {
        NumberForm::LeadingZeros(json.into())
    } else {
        NumberForm::Alternative(json.into())
    }
}

/// The parts of `12.5e-3`; each may be missing, and underscores are only between digits.
struct NumberParts<'t> {
    whole: &'t str,
    fraction: Option<&'t str>,
    exponent: Option<&'t str>,
}

impl<'t> NumberParts<'t> {
    fn of(word: &'t str) -> Option<Self> {
        let (mantissa, exponent) = match word.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (word, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let exponent_digits = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
        let all = [Some(whole), fraction, exponent_digits];
        // A sign without digits is not an exponent.
        let exponent = if exponent_digits == Some("") { Some("") } else { exponent };
        let is_any = !whole.is_empty() || fraction.is_some();
        (is_any && all.into_iter().flatten().all(are_digits)).then_some(Self {
            whole,
            fraction,
            exponent,
        })
    }
}

fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        && !text.starts_with('_')
        && !text.ends_with('_')
        && !text.contains("__")
}

fn classify_other(word: &str) -> NumberForm<'_> {
    if word.is_empty() {
        return NumberForm::Ambiguous(BROKEN);
    }
    if is_date(word) || is_time(word) || is_uuid(word) || is_address(word) || is_version(word) {
        return NumberForm::Text;
    }
    NumberForm::Ambiguous(if word.contains(char::is_alphabetic) {
        LETTERS
    } else if word.contains(['+', '-', '*', '/', '%', '^', '(']) {
        SUM
    } else {
        LOCAL_FORMAT
    })
}

/// Matches the start of `text` with `pattern`, in which 9 stands for a digit and x for a
/// hexadecimal digit, and returns the rest of `text`.
fn strip_pattern<'t>(text: &'t str, pattern: &str) -> Option<&'t str> {
    let is_as = |(byte, sample): (u8, u8)| match sample {
        b'9' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        sample => byte == sample,
    };
    let fits = text.len() >= pattern.len() && text.bytes().zip(pattern.bytes()).all(is_as);
    fits.then(|| text.get(pattern.len()..)).flatten()
}

fn is_date(word: &str) -> bool {
    strip_pattern(word, "9999-99-99").is_some_and(|rest| {
        let Some(time) = rest.strip_prefix(['T', 't', ' ']) else { return rest.is_empty() };
        is_time(time)
    })
}

/// Matches `18:35`, `18:35:22.229Z` and `18:35+02:00`.
fn is_time(word: &str) -> bool {
    let rest = strip_pattern(word, "99:99").or_else(|| strip_pattern(word, "9:99"));
    rest.is_some_and(|rest| {
        rest.bytes().all(|byte| byte.is_ascii_digit() || b":.+-Z".contains(&byte))
    })
}

fn is_uuid(word: &str) -> bool {
    strip_pattern(word, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") == Some("")
}

/// Matches numbers with at least two points that are not groups of thousands: `1.10.2`,
/// `24.12.2025`.
fn is_version(word: &str) -> bool {
    let mut parts = word.split('.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_any = word.matches('.').count() > 1 && word.split('.').all(is_number);
    is_any && parts.next().is_some() && parts.any(|part| part.len() != 3)
}

/// Matches an IPv4 address.
fn is_address(word: &str) -> bool {
    let is_part = |part: &str| part.parse::<u8>().is_ok() && part.len() <= 3;
    word.split('.').count() == 4 && word.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_spellings_are_classified() {
        for (word, json) in [
            ("+1", "1"),
            (".5", "0.5"),
            ("-.5", "-0.5"),
            ("+.5", "0.5"),
            ("5.", "5.0"),
            ("-5.", "-5.0"),
            ("1_000", "1000"),
            ("1_000.5", "1000.5"),
            (".5e2", "0.5e2"),
        ] {
            assert_eq!(classify(word), NumberForm::Alternative(json.into()), "{word}");
        }
        for word in ["0", "-1", "1.50", "1e5", "2300e+3", "-0"] {
            assert_eq!(classify(word), NumberForm::Json, "{word}");
        }
        for (word, json) in [("007", "7"), ("-05", "-5"), ("001.2", "1.2"), ("00", "0")] {
            assert_eq!(classify(word), NumberForm::LeadingZeros(json.into()), "{word}");
        }
    }

    #[test]
    fn other_words_are_classified() {
        for word in [
            "2024-10-18",
            "2024-10-18T18:35:22.229Z",
            "12:30",
            "57eeeeb1-450b-482c-81b9-4be77e95dee2",
            "192.168.1.1",
            "1.10.2",
            "24.12.2025",
        ] {
            assert_eq!(classify(word), NumberForm::Text, "{word}");
        }
        for (word, error) in [
            ("12a4", LETTERS),
            ("0x1F", LETTERS),
            ("1.234,56", LOCAL_FORMAT),
            ("1.234.567", LOCAL_FORMAT),
            ("1__0", LOCAL_FORMAT),
            ("1/3", SUM),
            ("10-20", SUM),
            ("2e", BROKEN),
            ("2e+", BROKEN),
            ("-", BROKEN),
            (".", BROKEN),
            ("-Infinity", INFINITE),
            ("+NaN", INFINITE),
        ] {
            assert_eq!(classify(word), NumberForm::Ambiguous(error), "{word}");
        }
    }
}
