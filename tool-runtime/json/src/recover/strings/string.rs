//! Finds the ends of strings and decodes their content.
//!
//! A quote that does not end the string is part of it. Inner quotes often form pairs. If the next
//! quote that could end the string would leave a pair open, there are two readings, and the text is
//! refused unless later text decides.

use std::ops::Range;

use super::escape::{is_path, unescape};
use super::escape_meaning::MemberUse;
use super::lookahead::Plausibility;
use super::string_prefix::TEMPLATE;
use crate::FixKind;
use crate::recover::RecoveryError;
use crate::recover::builder::Builder;
use crate::recover::containers::ContainerKind;
use crate::recover::parser::{Parser, PreviousValue};
use crate::recover::source::QuoteStyle;
use crate::recover::tokens::literals::begins_literal;
use crate::recover::tokens::word::is_name;

pub(in crate::recover) const TWO_READINGS: &str =
    "it is not clear which of these quotes ends the string: escape those inside it as `\\\"`";

/// The quotes and other findings inside a string so far.
#[derive(Clone, Debug, Default)]
pub(in crate::recover) struct InnerQuotes {
    pub(in crate::recover) count: usize,
    pub(in crate::recover) first: usize,
    pub(in crate::recover) last: usize,
    /// The apostrophes that could be quotes: they belong to no pair, but it is a conclusion that
    /// they do not end the string.
    pub(in crate::recover) apostrophes: Option<Range<usize>>,
    /// Whether the last quote seems to open a quotation.
    pub(in crate::recover) is_open: bool,
    /// Whether a quote that neither opens nor closes a quotation precedes a JSON sign, as if it
    /// ended the string.
    pub(in crate::recover) is_doubtful: bool,
    /// The number of brackets that the content opened and did not close.
    pub(in crate::recover) depth: i32,
    /// The position up to which brackets are counted.
    pub(in crate::recover) counted: usize,
    /// The span of line breaks, tabs and other control characters.
    pub(in crate::recover) controls: Option<Range<usize>>,
    pub(in crate::recover) has_escapes: bool,
}

impl InnerQuotes {
    /// The span from the first quote or apostrophe to the last.
    fn span(&self) -> Option<Range<usize>> {
        let quotes = (self.count > 0).then_some(self.first..self.last);
        match (quotes, self.apostrophes.clone()) {
            (Some(left), Some(right)) => Some(left.start.min(right.start)..left.end.max(right.end)),
            (left, right) => left.or(right),
        }
    }
}

/// The way in which a string ends.
pub(in crate::recover) enum StringEnd {
    /// With a quote of this length.
    Quote(usize),
    /// With two quotes, although one began it.
    Doubled,
    /// Without a quote, at the position where it is missing.
    Missing,
    /// With the text.
    Truncated,
}

impl<B: Builder> Parser<'_, '_, B> {
    /// Reads a string, and the strings concatenated to it with plus signs.
    pub(in crate::recover) fn read_strings(&mut self) -> Result<B::Value, RecoveryError> {
        let start = self.position();
        let (mut text, _) = self.read_string(false)?;
        let end = self.position();
        while let Some(next) = self.next_concatenated(self.position()) {
            self.bump_to(next);
            text.push_str(&self.read_string(false)?.0);
        }
        if self.position() > end {
            self.record_fix(FixKind::Concatenation, start..self.position())?;
        }
        Ok(B::string(text, false, start..self.position()))
    }

    /// The start of the next string of a concatenation, if a plus sign and a string follow `at`.
    pub(in crate::recover) fn next_concatenated(&mut self, at: usize) -> Option<usize> {
        let plus = self.source().skip_whitespace(at);
        if self.source().byte(plus)? != b'+' {
            return None;
        }
        let next = self.source().skip_whitespace(plus + 1);
        self.use_fuel_between(at, next);
        self.source().quote(next).map(|_| next)
    }

    /// Reads the string at the current position, and returns its content and span.
    pub(in crate::recover) fn read_string(
        &mut self,
        is_key: bool,
    ) -> Result<(String, Range<usize>), RecoveryError> {
        let open = self.position();
        let (style, len) = self.expect_quote()?;
        if let Some((run, ends)) = self.repeated_quotes(open, style, is_key) {
            return self.read_repeated_quotes(open, style, run, ends);
        }
        let start = open + len;
        let mut inner = InnerQuotes { counted: start, ..InnerQuotes::default() };
        let (stop, end) = self.find_end(start, style, is_key, &mut inner)?;
        let is_truncated = matches!(end, StringEnd::Truncated);
        let raw = self.source().slice(start..stop);

        if style == QuoteStyle::Backtick && raw.contains("${") {
            return Err(RecoveryError::syntax(open, TEMPLATE));
        }
        if style != QuoteStyle::Double {
            self.record_fix(FixKind::Quotes, open..start)?;
        }
        // The string may contain quotes of a different kind from the closing one.
        let closing = self.source().char(stop).filter(|_| matches!(end, StringEnd::Quote(_)));
        if let Some(inner_span) = inner.span().filter(|_| closing.is_none_or(|c| raw.contains(c))) {
            self.record_fix(FixKind::InnerQuotes, inner_span)?;
        }
        if let Some(controls) = inner.controls {
            self.record_fix(FixKind::Control, controls)?;
        }
        let text = if inner.has_escapes {
            self.decode(start, raw, style, is_truncated)?
        } else {
            raw.to_owned()
        };
        let close = match end {
            StringEnd::Quote(len) => stop + len,
            StringEnd::Doubled => {
                self.record_fix(FixKind::MissingQuote, open..open)?;
                self.record_fix(FixKind::DoubledQuotes, stop..stop + 2)?;
                stop + 2
            }
            StringEnd::Missing => {
                self.record_fix(FixKind::MissingQuote, stop..stop)?;
                stop
            }
            StringEnd::Truncated => {
                self.set_truncated();
                // A truncated key is dropped with its member.
                if !is_key {
                    self.record_fix(FixKind::TruncatedText, open..stop)?;
                }
                stop
            }
        };
        self.bump_to(close);
        Ok((text, open..close))
    }

    /// Decodes the escapes of `raw`, the content of a string that begins at `start`.
    pub(in crate::recover) fn decode(
        &mut self,
        start: usize,
        raw: &str,
        style: QuoteStyle,
        is_truncated: bool,
    ) -> Result<String, RecoveryError> {
        let member = self.containers().nearest_key().map(MemberUse::of_key).unwrap_or_default();
        let decoded = unescape(raw, style, is_truncated, member);
        if decoded.has_foreign_quote {
            self.record_fix(FixKind::EscapedQuote, start..start + raw.len())?;
        }
        if decoded.has_invalid_escape {
            self.record_fix(FixKind::Escape, start..start + raw.len())?;
        }
        if decoded.has_doubtful_escape {
            self.record_fix(FixKind::DoubtfulEscape, start..start + raw.len())?;
        }
        Ok(decoded.text)
    }

    fn find_end(
        &mut self,
        start: usize,
        style: QuoteStyle,
        is_key: bool,
        inner: &mut InnerQuotes,
    ) -> Result<(usize, StringEnd), RecoveryError> {
        let mut at = start;
        while let Some(step) = style.next_special(self.source().rest_bytes(at)) {
            at += step;
            match self.source().byte(at) {
                Some(b'\\') => {
                    inner.has_escapes = true;
                    at += 1;
                    if let Some(len) = self.path_end_quote(start, at, style) {
                        return Ok((at, StringEnd::Quote(len)));
                    }
                    at += self.source().char(at).map_or(0, char::len_utf8);
                    continue;
                }
                Some(byte) if byte < b' ' => {
                    let from = inner.controls.take().map_or(at, |span| span.start);
                    at += 1;
                    inner.controls = Some(from..at);
                    continue;
                }
                _ => {}
            }
            let Some((_, len)) = self.source().quote(at).filter(|&(other, _)| style.closes(other))
            else {
                at += self.source().char(at).map_or(1, char::len_utf8);
                continue;
            };
            if inner.count == 0 && self.is_closed_by_two_quotes(start, at, len, is_key) {
                return Ok((at, StringEnd::Doubled));
            }
            if !is_key && inner.count == 0 && self.is_before_template(at + len) {
                return Err(RecoveryError::syntax(at, TEMPLATE));
            }
            let is_end = if is_key {
                let is_end = self.key_end_plausibility(at + len) > Plausibility::No
                    || inner.count == 0
                        && is_name(self.source().slice(start..at))
                        && self.value_follows(at + len);
                if inner.count == 0
                    && (!is_end || !self.is_colon(at + len))
                    && let Some((stop, quote)) = self.key_ends_before(start, at)
                {
                    return Ok((
                        stop,
                        if quote > 0 { StringEnd::Quote(quote) } else { StringEnd::Missing },
                    ));
                }
                is_end
            } else if self.ends_value(start, at, len, inner)? {
                // `""(a)"`: the first of two quotes may be superfluous, or part of the text.
                let content = self.source().slice(start..at);
                let is_doubled = inner.count == 1 && inner.first == start;
                if is_doubled && content.contains(char::is_alphanumeric) {
                    return Err(RecoveryError::syntax(start, TWO_READINGS));
                }
                true
            } else if let Some(stop) = self.end_before_key(start, at, inner)? {
                self.check_escaped_quotes(start, stop, inner)?;
                return Ok((stop, StringEnd::Missing));
            } else {
                false
            };
            let is_joined =
                !is_key && !is_end && inner.count == 0 && self.is_before_string(at + len);
            if self.fuel() == 0 || is_joined {
                return Err(RecoveryError::syntax(at, TWO_READINGS));
            }
            // `{"a: 1, "b": 2}` may have two members; `{"a"" 1}` has a superfluous quote.
            if is_end && is_key && inner.count > 0 && !self.is_quoted_name(start, at) {
                return Err(RecoveryError::syntax(inner.first, TWO_READINGS));
            }
            if is_end {
                if inner.count > 0 && !is_key {
                    self.check_escaped_quotes(start, at, inner)?;
                }
                return Ok((at, StringEnd::Quote(len)));
            }
            self.record_inner_quote(start, at, len, inner);
            at += len;
        }
        self.end_without_quote(start, is_key, inner)
    }

    /// Returns whether another string follows the quote that ends at `at`, which code would join:
    /// `"a" "b"`, `"a" . "b"`.
    fn is_before_string(&self, at: usize) -> bool {
        let next = self.source().skip_whitespace(at);
        let operator = self.source().rest_bytes(next).iter().take(2);
        let len = operator.take_while(|byte| b"+.&|%*".contains(byte)).count();
        let operand = self.source().skip_whitespace(next + len);
        (len > 0 || next > at) && self.source().quote(operand).is_some()
    }

    /// Returns whether the text from `start` to `at` is a name with quotes only inside: `k"e"y`.
    fn is_quoted_name(&self, start: usize, at: usize) -> bool {
        let key = self.source().slice(start..at);
        !key.starts_with('"') && !key.ends_with('"') && key.split('"').all(is_name)
    }

    /// The length of the quote that ends a path with an unescaped last backslash: `C:\dir\`.
    ///
    /// As JSON, that quote is escaped. If the string ends as JSON, too, it is read so: valid JSON
    /// is never read otherwise.
    fn path_end_quote(&mut self, start: usize, at: usize, style: QuoteStyle) -> Option<usize> {
        let (_, len) = self.source().quote(at).filter(|&(other, _)| style.closes(other))?;
        let path = self.source().slice(start..at);
        let has_quote = path.chars().any(|c| QuoteStyle::of(c).is_some_and(|it| style.closes(it)));
        let is_end = is_path(path)
            && !has_quote
            && self.value_end_plausibility(at + len) > Plausibility::Weak
            && !self.ends_as_json(at + len, style);
        is_end.then_some(len)
    }

    /// Returns whether the next quote that no backslash precedes ends a value.
    fn ends_as_json(&mut self, start: usize, style: QuoteStyle) -> bool {
        let mut at = start;
        while let Some(step) = style.next_special(self.source().rest_bytes(at)) {
            at += step;
            if self.source().byte(at) == Some(b'\\') {
                at += 1;
                at += self.source().char(at).map_or(0, char::len_utf8);
            } else if let Some((_, len)) =
                self.source().quote(at).filter(|&(other, _)| style.closes(other))
            {
                self.use_fuel_between(start, at);
                return self.value_end_plausibility(at + len) > Plausibility::Weak;
            } else {
                at += self.source().char(at).map_or(1, char::len_utf8);
            }
        }
        self.use_fuel_between(start, at);
        false
    }

    pub(in crate::recover) fn is_colon(&mut self, at: usize) -> bool {
        let next = self.skip_trivia_ahead(at);
        matches!(self.source().sign(next), Some((b':' | b'=', _)))
    }

    /// Returns whether the quote at `at` ends the value whose content begins at `start`.
    fn ends_value(
        &mut self,
        start: usize,
        at: usize,
        len: usize,
        inner: &mut InnerQuotes,
    ) -> Result<bool, RecoveryError> {
        let fit = self.value_end_plausibility(at + len);
        if fit == Plausibility::No {
            return Ok(inner.count == 0 && self.ends_before_semicolon(at + len));
        }
        if inner.count == 0 {
            if fit == Plausibility::Weak {
                self.set_previous(PreviousValue::WeakString);
            }
            return Ok(true);
        }
        let unclear = RecoveryError::syntax(inner.first, TWO_READINGS);
        // A single quote after a digit is not half of a pair: `a 24" screen`.
        let is_sole = inner.count == 1
            && self.source().char_before(inner.first).is_some_and(|c| c.is_ascii_digit());
        if inner.is_doubtful || self.containers().is_empty() && !is_sole {
            return Err(unclear);
        }
        // `"24""`: the previous quote may be superfluous, or part of the text.
        let is_next = inner.last <= at && self.source().slice(inner.last..at).trim().is_empty();
        if inner.count % 2 == 1 && is_next && !self.is_sentence_about_inches(start, inner.first) {
            return Err(unclear);
        }
        self.count_brackets(at, inner);
        let is_last = self.only_closers_follow(at + len);
        match (inner.is_open, inner.depth > 0) {
            (true, _) if is_last => Err(unclear),
            (_, true) if is_last => Ok(true),
            (_, true) => Ok(false),
            // The quote that closes the quotation is missing, or the one that ends the string.
            (true, false) if fit == Plausibility::KnownKey => Err(unclear),
            (true, false) => {
                // If the words after a comma in an array lack a quote too, the string does not end
                // here.
                let comma = self.source().skip_whitespace(at + len);
                let next = self.source().skip_whitespace(comma + 1);
                let in_object = self.kind() == Some(ContainerKind::Object);
                let is_word = self.source().char(next).is_some_and(char::is_alphabetic)
                    && !begins_literal(self.source().rest(next));
                let is_open = fit == Plausibility::Strong && (in_object || !is_word);
                if is_open { Err(unclear) } else { Ok(false) }
            }
            (false, false) => Ok(true),
        }
    }

    /// Returns whether the text alone is a sentence that ends in inches: `"The TV is 72""`.
    fn is_sentence_about_inches(&self, start: usize, quote: usize) -> bool {
        let text = self.source().slice(start..quote);
        let digits = text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let is_sentence = text
            .get(..text.len() - digits)
            .is_some_and(|text| text.ends_with(' ') && text.split_whitespace().nth(1).is_some());
        self.containers().is_empty() && (1..4).contains(&digits) && is_sentence
    }

    /// Returns whether a semicolon in place of a comma follows, and no words after it.
    fn ends_before_semicolon(&mut self, at: usize) -> bool {
        let semicolon = self.source().skip_whitespace(at);
        let Some((b';', len)) = self.source().sign(semicolon) else { return false };
        let next = self.source().skip_whitespace(semicolon + len);
        let is_word = self.source().char(next).is_some_and(char::is_alphabetic);
        !is_word && self.is_comma_semicolon(next)
    }

    /// Returns whether a semicolon and another quote follow the quote of an item: `"a"; "b"`.
    fn is_semicolon_between_items(&self, at: usize) -> bool {
        let semicolon = self.source().skip_whitespace(at);
        let Some((b';', len)) = self.source().sign(semicolon) else { return false };
        let next = self.source().skip_whitespace(semicolon + len);
        self.kind() == Some(ContainerKind::Array) && self.source().quote(next).is_some()
    }

    /// Returns whether only closing brackets follow, up to the end of the text.
    pub(in crate::recover) fn only_closers_follow(&mut self, at: usize) -> bool {
        let is_tail = |byte: &u8| b" \t\r\n}])".contains(byte);
        let rest = self.source().rest_bytes(at);
        let len = rest.iter().position(|byte| !is_tail(byte)).unwrap_or(rest.len());
        self.use_fuel(len);
        len == rest.len()
    }

    /// Counts the brackets of the content up to `at`.
    pub(in crate::recover) fn count_brackets(&self, at: usize, inner: &mut InnerQuotes) {
        for byte in self.source().slice(inner.counted..at).bytes() {
            match byte {
                b'{' | b'[' => inner.depth += 1,
                b'}' | b']' if inner.depth > 0 => inner.depth -= 1,
                _ => {}
            }
        }
        inner.counted = at;
    }

    /// Records a quote that is part of the string.
    fn record_inner_quote(&self, start: usize, at: usize, len: usize, inner: &mut InnerQuotes) {
        let before = self.source().char_before(at).unwrap_or(' ');
        let after = self.source().char(at + len).unwrap_or(' ');
        if before.is_alphanumeric()
            && after.is_alphanumeric()
            && self.source().byte(at) != Some(b'"')
        {
            let first = inner.apostrophes.take().map_or(at, |span| span.start);
            inner.apostrophes = Some(first..at + len);
            return;
        }
        if inner.count == 0 {
            inner.first = at;
        }
        // Directly after the opening quote, a second quote may have closed the string.
        let opens = (at > start || after.is_alphanumeric())
            && !before.is_alphanumeric()
            && !matches!(before, '.' | '!' | '?' | ')' | '%')
            && !after.is_whitespace()
            && !matches!(after, ',' | ':' | '}' | ']')
            && !self.is_semicolon_between_items(at + len);
        let next =
            self.source().sign(self.source().skip_whitespace(at + len)).map(|(sign, _)| sign);
        inner.is_doubtful |= !inner.is_open
            && !opens
            && (matches!(next, Some(b',' | b'}' | b']' | b':'))
                || self.is_semicolon_between_items(at + len));
        // `"Tom" and "Jerry"`: the first quote closes and the second opens, as if the quotes around
        // the text were missing. A quote after a digit is a sign for inches.
        inner.is_doubtful |= opens
            && !inner.is_open
            && inner.count == 1
            && self.source().char_before(inner.first).is_some_and(char::is_alphabetic);
        inner.is_open = !inner.is_open && opens;
        inner.count += 1;
        inner.last = at + len;
    }
}
