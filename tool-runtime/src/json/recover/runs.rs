//! Quotes that stand doubled or in threes around a string.

use std::ops::Range;

use super::{
    ahead::is_name,
    build::Build,
    ending::Fit,
    escape::decode,
    parser::{Kind, Parser},
    refusal::Refusal,
    source::Family,
    string::TWO_READINGS,
};
use crate::json::{FixKind, UnreadableKind};

impl<B: Build> Parser<'_, '_, B> {
    /// Whether two quotes end the one word that begins at `start`: `"Oslo""`.
    pub(super) fn is_doubled(&mut self, start: usize, at: usize, len: usize, is_key: bool) -> bool {
        let second = at + len;
        self.source.byte(at) == Some(b'"')
            && self.kind() == Some(Kind::Object)
            && self.source.byte(second) == Some(b'"')
            && is_name(self.source.slice(start..at))
            && if is_key {
                self.is_colon(second + len)
            } else {
                let next = self.look(second + len);
                matches!(self.source.sign(next), Some((b',' | b'}' | b']', _)))
                    && self.value_fits(second + len) > Fit::Weak
            }
    }

    /// How many quotes open the string at `at`, where several do, and how many end it: three of
    /// them, or two with a word behind them that ends with two again, or one name with one.
    pub(super) fn repeated(
        &mut self,
        at: usize,
        family: Family,
        is_key: bool,
    ) -> Option<(usize, usize)> {
        let quote = self.source.byte(at).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
        if self.source.byte(at + 1) != Some(quote) {
            return None;
        }
        let run = self.source.rest_bytes(at).iter().take(4).take_while(|&&b| b == quote).count();
        match run {
            3 if !is_key && self.ends_with_one(at + 3) => Some((3, 1)),
            3 => Some((3, 3)),
            2 => {
                let start = at + 2;
                let begins_word = self.source.char(start).is_some_and(char::is_alphanumeric);
                if !begins_word {
                    return None;
                }
                let stop = start + family.next(self.source.rest_bytes(start))?;
                let is_double = self.source.rest_bytes(stop).starts_with(&[quote, quote]);
                // In a list the next item may end with two as well: `[""a", "b""]`.
                let is_sole = self.source.byte(stop) == Some(quote)
                    && self.kind() == Some(Kind::Object)
                    && is_name(self.source.slice(start..stop));
                let ends = match (is_double, is_sole) {
                    (true, _) => 2,
                    (false, true) => 1,
                    _ => return None,
                };
                let least = if is_double { Fit::No } else { Fit::Weak };
                let fits = match is_key {
                    true if is_double => self.key_fits(stop + 2) > Fit::No,
                    true => self.is_colon(stop + 1),
                    false => self.value_fits(stop + ends) > least,
                };
                fits.then_some((2, ends))
            }
            _ => None,
        }
    }

    /// Whether the first quote behind `start` ends what three began: there are no three, and a key that
    /// the schema knows follows.
    fn ends_with_one(&mut self, start: usize) -> bool {
        let (one, three) =
            (self.source.slice(start - 1..start), self.source.slice(start - 3..start));
        let rest = self.source.rest(start);
        let end = rest.find(one).filter(|_| !rest.contains(three));
        end.is_some_and(|at| {
            self.source.before(start + at) != Some('\\')
                && self.value_fits(start + at + 1) == Fit::Known
        })
    }

    /// A string behind `run` quotes and before `ends` of them.
    pub(super) fn in_run(
        &mut self,
        open: usize,
        family: Family,
        run: usize,
        ends: usize,
    ) -> Result<(String, Range<usize>), Refusal> {
        let start = open + run;
        let quotes = self.source.slice(open..open + ends);
        let rest = self.source.rest(start);
        let len = rest.find(quotes);
        let raw = len.and_then(|len| rest.get(..len)).unwrap_or(rest);
        let has_doubt = raw.contains(['"', '\'']) || self.closers_at_end(raw).is_some();
        if len.is_none() && has_doubt {
            return Err(Refusal::new(UnreadableKind::Syntax, open, TWO_READINGS));
        }
        let kind = if run == 2 { FixKind::DoubledQuotes } else { FixKind::Quotes };
        self.fix(kind, open..start)?;
        let decoded = decode(raw, family, len.is_none());
        if decoded.has_quote {
            self.fix(FixKind::EscapedQuote, start..start + raw.len())?;
        }
        if decoded.has_bad {
            self.fix(FixKind::Escape, start..start + raw.len())?;
        }
        let is_control = |c: char| c < ' ';
        if let Some((first, last)) = raw.find(is_control).zip(raw.rfind(is_control)) {
            self.fix(FixKind::Control, start + first..start + last + 1)?;
        }
        self.at = start + raw.len() + len.map_or(0, |_| ends);
        if ends < run {
            self.fix(FixKind::MissingQuote, self.at..self.at)?;
        }
        if len.is_none() {
            self.truncated = true;
            self.fix(FixKind::CutText, open..self.at)?;
        }
        Ok((decoded.text, open..self.at))
    }
}
