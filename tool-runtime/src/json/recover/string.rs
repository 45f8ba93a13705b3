//! Strings: where they end, and what they hold.
//!
//! Quotes that do not end the string are part of it. Where they seem to stand in pairs and the
//! next quote that could end the string would leave a pair open, two readings are open, and where
//! nothing further on settles it the text is refused.

use std::ops::Range;

use super::{
    ahead::is_name,
    build::Build,
    ending::{Fit, begins_literal},
    escape::{decode, is_path},
    parser::Parser,
    refusal::Refusal,
    source::Family,
};
use crate::json::{FixKind, UnreadableKind};

pub(super) const TWO_READINGS: &str =
    "it is not clear which of these quotes ends the string: escape those inside it as `\\\"`";

/// Quotes within a string, so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Inner {
    pub(super) count: usize,
    pub(super) first: usize,
    pub(super) last: usize,
    /// Apostrophes that could be quotes: they count for no pair, but it is a conclusion that they
    /// don't end the string.
    pub(super) apostrophes: Option<Range<usize>>,
    /// The last one seems to open a quotation.
    pub(super) is_open: bool,
    /// One that opened nothing and closed nothing stands before a sign of JSON, as if it ended the
    /// string.
    pub(super) is_doubtful: bool,
    /// Brackets that the content opened and did not close.
    pub(super) depth: i32,
    /// Up to where the brackets are counted.
    pub(super) counted: usize,
    /// Line breaks, tabs and other control characters.
    pub(super) controls: Option<Range<usize>>,
    pub(super) has_escapes: bool,
}

impl Inner {
    /// From the first of the quotes and apostrophes to the last.
    fn within(&self) -> Option<Range<usize>> {
        let quotes = (self.count > 0).then_some(self.first..self.last);
        match (quotes, self.apostrophes.clone()) {
            (Some(one), Some(other)) => Some(one.start.min(other.start)..one.end.max(other.end)),
            (one, other) => one.or(other),
        }
    }
}

/// How a string ends.
pub(super) enum End {
    /// With a quote of this length.
    Quote(usize),
    /// With two where one began it.
    Doubled,
    /// Without one, where it must have been.
    Missing,
    /// With the text.
    Cut,
}

impl<B: Build> Parser<'_, '_, B> {
    /// Reads the string at the place; comes out with its text and span.
    pub(super) fn string(&mut self, is_key: bool) -> Result<(String, Range<usize>), Refusal> {
        let open = self.at;
        let Some((family, len)) = self.source.quote(open) else {
            return Err(Refusal::syntax(open, "expected a string"));
        };
        if let Some((run, ends)) = self.repeated(open, family, is_key) {
            return self.in_run(open, family, run, ends);
        }
        let start = open + len;
        let mut inner = Inner { counted: start, ..Inner::default() };
        let (stop, end) = self.find_end(start, family, is_key, &mut inner)?;
        let is_cut = matches!(end, End::Cut);
        let raw = self.source.slice(start..stop);

        if family != Family::Double {
            self.fix(FixKind::Quotes, open..start)?;
        }
        // Quotes of another kind than the one that ends it may stand in it.
        let closing = self.source.char(stop).filter(|_| matches!(end, End::Quote(_)));
        if let Some(within) = inner.within().filter(|_| closing.is_none_or(|c| raw.contains(c))) {
            self.fix(FixKind::InnerQuotes, within)?;
        }
        if let Some(controls) = inner.controls {
            self.fix(FixKind::Control, controls)?;
        }
        let text = if inner.has_escapes {
            let decoded = decode(raw, family, is_cut);
            if decoded.has_quote {
                self.fix(FixKind::EscapedQuote, start..stop)?;
            }
            if decoded.has_bad {
                self.fix(FixKind::Escape, start..stop)?;
            }
            decoded.text
        } else {
            raw.to_owned()
        };
        self.at = match end {
            End::Quote(len) => stop + len,
            End::Doubled => {
                self.fix(FixKind::MissingQuote, open..open)?;
                self.fix(FixKind::DoubledQuotes, stop..stop + 2)?;
                stop + 2
            }
            End::Missing => {
                self.fix(FixKind::MissingQuote, stop..stop)?;
                stop
            }
            End::Cut => {
                self.truncated = true;
                // A key that is cut goes with its member.
                if !is_key {
                    self.fix(FixKind::CutText, open..stop)?;
                }
                stop
            }
        };
        Ok((text, open..self.at))
    }

    fn find_end(
        &mut self,
        start: usize,
        family: Family,
        is_key: bool,
        inner: &mut Inner,
    ) -> Result<(usize, End), Refusal> {
        let mut at = start;
        while let Some(step) = family.next(self.source.rest_bytes(at)) {
            at += step;
            match self.source.byte(at) {
                Some(b'\\') => {
                    inner.has_escapes = true;
                    at += 1;
                    if let Some(len) = self.ends_path(start, at, family) {
                        return Ok((at, End::Quote(len)));
                    }
                    at += self.source.char(at).map_or(0, char::len_utf8);
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
            let Some((_, len)) = self.source.quote(at).filter(|&(other, _)| family.closes(other))
            else {
                at += self.source.char(at).map_or(1, char::len_utf8);
                continue;
            };
            if inner.count == 0 && self.is_doubled(start, at, len, is_key) {
                return Ok((at, End::Doubled));
            }
            let is_end = if is_key {
                let is_end = self.key_fits(at + len) > Fit::No
                    || inner.count == 0
                        && is_name(self.source.slice(start..at))
                        && self.touches_value(at + len);
                if inner.count == 0
                    && (!is_end || !self.is_colon(at + len))
                    && let Some((stop, quote)) = self.key_ends_before(start, at)
                {
                    return Ok((stop, if quote > 0 { End::Quote(quote) } else { End::Missing }));
                }
                is_end
            } else if self.is_end(at, len, inner)? {
                true
            } else if let Some(stop) = self.ends_before(start, at, inner)? {
                self.settled(start, stop, inner)?;
                return Ok((stop, End::Missing));
            } else {
                false
            };
            if self.fuel == 0 {
                return Err(Refusal::new(UnreadableKind::Syntax, at, TWO_READINGS));
            }
            // `{"a: 1, "b": 2}` may be two members, `{"a"" 1}` has a quote too many.
            if is_end && is_key && inner.count > 0 && !self.is_quoted_name(start, at) {
                return Err(Refusal::new(UnreadableKind::Syntax, inner.first, TWO_READINGS));
            }
            if is_end {
                if inner.count > 0 && !is_key {
                    self.settled(start, at, inner)?;
                }
                return Ok((at, End::Quote(len)));
            }
            self.note(start, at, len, inner);
            at += len;
        }
        self.without_end(start, is_key, inner)
    }

    /// Whether quotes stand only within the name from `start` to `at`: `k"e"y`.
    fn is_quoted_name(&self, start: usize, at: usize) -> bool {
        let key = self.source.slice(start..at);
        !key.starts_with('"') && !key.ends_with('"') && key.split('"').all(is_name)
    }

    /// Where the path `C:\dir\` ends whose last backslash, before `at`, was not doubled.
    fn ends_path(&mut self, start: usize, at: usize, family: Family) -> Option<usize> {
        let (_, len) = self.source.quote(at).filter(|&(other, _)| family.closes(other))?;
        let is_end = is_path(self.source.slice(start..at)) && self.value_fits(at + len) > Fit::Weak;
        is_end.then_some(len)
    }

    pub(super) fn is_colon(&mut self, at: usize) -> bool {
        let next = self.look(at);
        matches!(self.source.sign(next), Some((b':' | b'=', _)))
    }

    /// Whether the quote at `at` ends a value.
    fn is_end(&mut self, at: usize, len: usize, inner: &mut Inner) -> Result<bool, Refusal> {
        let fit = self.value_fits(at + len);
        if fit == Fit::No {
            return Ok(inner.count == 0 && self.ends_before_semicolon(at + len));
        }
        if inner.count == 0 {
            if fit == Fit::Weak {
                self.weak_end = Some(at + len);
            }
            return Ok(true);
        }
        let unsettled = Refusal::new(UnreadableKind::Syntax, inner.first, TWO_READINGS);
        // One quote alone can't be half of a pair: that of `a 24" screen`.
        let is_sole =
            inner.count == 1 && self.source.before(inner.first).is_some_and(|c| c.is_ascii_digit());
        if inner.is_doubtful || self.stack.is_empty() && !is_sole {
            return Err(unsettled);
        }
        // `"Oslo""`: the one before may be too many, or part of the text as in `24""`.
        let has_digit = |at| self.source.before(at).is_some_and(|c| c.is_ascii_digit());
        let is_next = inner.last <= at && self.source.slice(inner.last..at).trim().is_empty();
        if inner.count % 2 == 1 && is_next && !has_digit(inner.last - 1) {
            return Err(unsettled);
        }
        self.count(at, inner);
        let is_last = self.closes_text(at + len);
        match (inner.is_open, inner.depth > 0) {
            (true, _) if is_last => Err(unsettled),
            (_, true) if is_last => Ok(true),
            (_, true) => Ok(false),
            (true, false) if fit == Fit::Known => Ok(true),
            (true, false) => {
                // Words behind a comma in a list lack a quote as well: then this is no end.
                let comma = self.source.skip_blanks(at + len);
                let next = self.source.skip_blanks(comma + 1);
                let in_object = self.kind() == Some(super::parser::Kind::Object);
                let is_word = self.source.char(next).is_some_and(char::is_alphabetic)
                    && !begins_literal(self.source.rest(next));
                let is_open = fit == Fit::Strong && (in_object || !is_word);
                if is_open { Err(unsettled) } else { Ok(false) }
            }
            (false, false) => Ok(true),
        }
    }

    /// Whether a semicolon that stands for a comma follows, and then no words.
    fn ends_before_semicolon(&mut self, at: usize) -> bool {
        let semicolon = self.source.skip_blanks(at);
        let Some((b';', len)) = self.source.sign(semicolon) else { return false };
        let next = self.source.skip_blanks(semicolon + len);
        let is_word = self.source.char(next).is_some_and(char::is_alphabetic);
        !is_word && self.is_separator(next)
    }

    /// Only closing brackets follow, up to the end of the text.
    pub(super) fn closes_text(&mut self, at: usize) -> bool {
        let is_tail = |byte: &u8| b" \t\r\n}])".contains(byte);
        let rest = self.source.rest_bytes(at);
        let len = rest.iter().position(|byte| !is_tail(byte)).unwrap_or(rest.len());
        self.fuel = self.fuel.saturating_sub(len);
        len == rest.len()
    }

    /// Counts the brackets of the content up to `at`.
    pub(super) fn count(&self, at: usize, inner: &mut Inner) {
        for byte in self.source.slice(inner.counted..at).bytes() {
            match byte {
                b'{' | b'[' => inner.depth += 1,
                b'}' | b']' if inner.depth > 0 => inner.depth -= 1,
                _ => {}
            }
        }
        inner.counted = at;
    }

    /// Notes a quote that is part of the string.
    fn note(&self, start: usize, at: usize, len: usize, inner: &mut Inner) {
        let before = self.source.before(at).unwrap_or(' ');
        let after = self.source.char(at + len).unwrap_or(' ');
        if before.is_alphanumeric() && after.is_alphanumeric() && self.source.byte(at) != Some(b'"')
        {
            let first = inner.apostrophes.take().map_or(at, |span| span.start);
            inner.apostrophes = Some(first..at + len);
            return;
        }
        if inner.count == 0 {
            inner.first = at;
        }
        // Behind the quote that began the string another one may have ended it.
        let opens = (at > start || after.is_alphanumeric())
            && !before.is_alphanumeric()
            && !matches!(before, '.' | '!' | '?' | ')' | '%')
            && !after.is_whitespace()
            && !matches!(after, ',' | ':' | '}' | ']');
        let next = self.source.sign(self.source.skip_blanks(at + len)).map(|(sign, _)| sign);
        inner.is_doubtful |=
            !inner.is_open && !opens && matches!(next, Some(b',' | b'}' | b']' | b':'));
        inner.is_open = !inner.is_open && opens;
        inner.count += 1;
        inner.last = at + len;
    }
}
