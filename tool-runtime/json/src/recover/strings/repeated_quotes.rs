//! Reads strings in doubled or tripled quotes.

use std::ops::Range;

use super::lookahead::Plausibility;
use super::string::TWO_READINGS;
use crate::FixKind;
use crate::recover::RecoveryError;
use crate::recover::builder::Builder;
use crate::recover::containers::ContainerKind;
use crate::recover::parser::Parser;
use crate::recover::source::QuoteStyle;
use crate::recover::tokens::word::is_name;

impl<B: Builder> Parser<'_, '_, B> {
    /// Returns whether two quotes end the single word or date that begins at `start`: `"Oslo""`.
    pub(in crate::recover) fn is_closed_by_two_quotes(
        &mut self,
        start: usize,
        at: usize,
        len: usize,
        is_key: bool,
    ) -> bool {
        let second = at + len;
        self.source().byte(at) == Some(b'"')
            && self.kind() == Some(ContainerKind::Object)
            && self.source().byte(second) == Some(b'"')
            && is_name_or_date(self.source().slice(start..at))
            && if is_key {
                self.is_colon(second + len)
            } else {
                let next = self.skip_trivia_ahead(second + len);
                matches!(self.source().sign(next), Some((b',' | b'}' | b']', _)))
                    && self.value_end_plausibility(second + len) > Plausibility::Weak
            }
    }

    /// Returns the number of quotes that open the string at `at`, if it is not one, and the number
    /// that end it: three; two before a word that ends with two; or two before a name that ends
    /// with one.
    pub(in crate::recover) fn repeated_quotes(
        &mut self,
        at: usize,
        style: QuoteStyle,
        is_key: bool,
    ) -> Option<(usize, usize)> {
        let quote = self.source().byte(at).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
        if self.source().byte(at + 1) != Some(quote) {
            return None;
        }
        let run = self.source().rest_bytes(at).iter().take(4).take_while(|&&b| b == quote).count();
        match run {
            3 if !is_key && self.is_closed_by_one_quote(at + 3) => Some((3, 1)),
            3 => Some((3, 3)),
            2 => {
                let start = at + 2;
                let begins_word = self.source().char(start).is_some_and(char::is_alphanumeric);
                if !begins_word {
                    return None;
                }
                let stop = start + style.next_special(self.source().rest_bytes(start))?;
                let is_double = self.source().rest_bytes(stop).starts_with(&[quote, quote]);
                // In an array, the next item may end with two as well: `[""a", "b""]`.
                let is_sole = self.source().byte(stop) == Some(quote)
                    && self.kind() == Some(ContainerKind::Object)
                    && is_name(self.source().slice(start..stop));
                let ends = match (is_double, is_sole) {
                    (true, _) => 2,
                    (false, true) => 1,
                    _ => return None,
                };
                let least = if is_double { Plausibility::No } else { Plausibility::Weak };
                let fits = if !is_key {
                    self.value_end_plausibility(stop + ends) > least
                } else if is_double {
                    self.key_end_plausibility(stop + 2) > Plausibility::No
                } else {
                    self.is_colon(stop + 1)
                };
                fits.then_some((2, ends))
            }
            _ => None,
        }
    }

    /// Returns whether the first quote after `start` ends a string that three quotes began: three
    /// do not follow anywhere, and a key that the schema knows follows the quote.
    fn is_closed_by_one_quote(&mut self, start: usize) -> bool {
        let (single, triple) =
            (self.source().slice(start - 1..start), self.source().slice(start - 3..start));
        let rest = self.source().rest(start);
        let end = rest.find(single).filter(|_| !rest.contains(triple));
        end.is_some_and(|at| {
            self.source().char_before(start + at) != Some('\\')
                && self.value_end_plausibility(start + at + 1) == Plausibility::KnownKey
        })
    }

    /// Reads a string after `run` quotes and before `ends` of them.
    pub(in crate::recover) fn read_repeated_quotes(
        &mut self,
        open: usize,
        style: QuoteStyle,
        run: usize,
        ends: usize,
    ) -> Result<(String, Range<usize>), RecoveryError> {
        let start = open + run;
        let quotes = self.source().slice(open..open + ends);
        let rest = self.source().rest(start);
        let len = rest.find(quotes);
        let raw = len.and_then(|len| rest.get(..len)).unwrap_or(rest);
        let has_doubt = raw.contains(['"', '\'']) || self.strip_closers(raw).is_some();
        if len.is_none() && has_doubt {
            return Err(RecoveryError::syntax(open, TWO_READINGS));
        }
        let kind = if run == 2 { FixKind::DoubledQuotes } else { FixKind::Quotes };
        self.record_fix(kind, open..start)?;
        let text = self.decode(start, raw, style, len.is_none())?;
        let is_control = |c: char| c < ' ';
        if let Some((first, last)) = raw.find(is_control).zip(raw.rfind(is_control)) {
            self.record_fix(FixKind::Control, start + first..start + last + 1)?;
        }
        self.bump_to(start + raw.len() + len.map_or(0, |_| ends));
        if ends < run {
            self.record_fix(FixKind::MissingQuote, self.position()..self.position())?;
        }
        if len.is_none() {
            self.set_truncated();
            self.record_fix(FixKind::TruncatedText, open..self.position())?;
        }
        Ok((text, open..self.position()))
    }
}

/// Returns whether `word` is a name, a date or a time, after which a quote is no sign of inches.
fn is_name_or_date(word: &str) -> bool {
    let is_date_char = |c: char| c.is_ascii_digit() || "-:.+TZ".contains(c);
    let is_date = word.chars().all(is_date_char)
        && word.starts_with(|c: char| c.is_ascii_digit())
        && (word.contains(':') || word.matches('-').count() > 1);
    is_date || is_name(word)
}
