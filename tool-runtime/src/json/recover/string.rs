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
    keys::Keys,
    parser::Parser,
    refusal::Refusal,
    source::Family,
};
use crate::json::{FixKind, UnreadableKind};

const TWO_READINGS: &str =
    "it is not clear which of these quotes ends the string: escape those inside it as `\\\"`";

/// Quotes within a string, so far.
#[derive(Clone, Debug, Default)]
struct Inner {
    count: usize,
    first: usize,
    last: usize,
    /// The last one seems to open a quotation.
    is_open: bool,
    /// One that opened nothing and closed nothing stands before a sign of JSON, as if it ended the
    /// string.
    is_doubtful: bool,
    /// Brackets that the content opened and did not close.
    depth: i32,
    /// Up to where the brackets are counted.
    counted: usize,
    /// Line breaks, tabs and other control characters.
    controls: Option<Range<usize>>,
    has_escapes: bool,
}

/// How a string ends.
enum End {
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
            return self.in_run(open, run, ends);
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
        if inner.count > 0 && closing.is_none_or(|quote| raw.contains(quote)) {
            self.fix(FixKind::InnerQuotes, inner.first..inner.last)?;
        }
        if let Some(controls) = inner.controls {
            self.fix(FixKind::Control, controls)?;
        }
        let text = if inner.has_escapes {
            let decoded = decode(raw, is_cut);
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
                self.fix(FixKind::Quotes, stop..stop + 2 * len)?;
                stop + 2 * len
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

    /// Whether two quotes end the one word that begins at `start`: `"Oslo""`.
    fn is_doubled(&mut self, start: usize, at: usize, len: usize, is_key: bool) -> bool {
        let second = at + len;
        self.source.byte(at) == Some(b'"')
            && self.kind() == Some(super::parser::Kind::Object)
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

    /// Refuses a string that ends in an odd way at `stop` if an escaped quote in it may be its end:
    /// that of a path, `"C:\dir\"}, "b": "…`.
    fn settled(&mut self, start: usize, stop: usize, inner: &Inner) -> Result<(), Refusal> {
        if !inner.has_escapes {
            return Ok(());
        }
        let mut counted = Inner { counted: start, ..Inner::default() };
        let mut at = start;
        while let Some(step) = self.source.slice(at..stop).find('\\') {
            let quote = at + step + 1;
            at = quote + self.source.char(quote).map_or(1, char::len_utf8);
            if self.source.byte(quote) != Some(b'"') {
                continue;
            }
            self.count(quote, &mut counted);
            let is_last = self.source.skip_blanks(at) >= self.source.end();
            if counted.depth <= 0 && !is_last && self.value_fits(at) > Fit::Weak {
                return Err(Refusal::new(UnreadableKind::Syntax, quote, TWO_READINGS));
            }
        }
        Ok(())
    }

    fn is_colon(&mut self, at: usize) -> bool {
        let next = self.look(at);
        matches!(self.source.sign(next), Some((b':' | b'=', _)))
    }

    /// Whether the quote at `at` ends a value.
    fn is_end(&mut self, at: usize, len: usize, inner: &mut Inner) -> Result<bool, Refusal> {
        let fit = self.value_fits(at + len);
        if fit == Fit::No {
            return Ok(false);
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

    /// Only closing brackets follow, up to the end of the text.
    fn closes_text(&mut self, at: usize) -> bool {
        let is_tail = |byte: &u8| b" \t\r\n}])".contains(byte);
        let rest = self.source.rest_bytes(at);
        let len = rest.iter().position(|byte| !is_tail(byte)).unwrap_or(rest.len());
        self.fuel = self.fuel.saturating_sub(len);
        len == rest.len()
    }

    /// Counts the brackets of the content up to `at`.
    fn count(&self, at: usize, inner: &mut Inner) {
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
            // An apostrophe.
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

    /// Whether the quote at `at` opens the next key, so that the string ended before: where it
    /// ended, if it did. What is between is a comma or a line break.
    fn ends_before(
        &mut self,
        start: usize,
        at: usize,
        inner: &mut Inner,
    ) -> Result<Option<usize>, Refusal> {
        if self.kind() != Some(super::parser::Kind::Object) {
            return Ok(None);
        }
        let content = self.source.slice(start..at);
        let text = content.trim_end();
        // `"first, second: "x"`, where the schema knows the second.
        if inner.count == 0
            && let Some((before, key)) =
                text.strip_suffix(':').and_then(|text| text.rsplit_once(','))
            && is_name(key.trim())
            && self.is_known(key)
            && !before.is_empty()
        {
            return Ok(Some(start + before.len()));
        }
        let stop = match text.strip_suffix(',') {
            Some(text) => text.len(),
            None if content.get(text.len()..).is_some_and(|blank| blank.contains('\n')) => {
                text.len()
            }
            None => return Ok(None),
        };
        if stop == 0 {
            return Ok(None);
        }
        let Some((key_end, colon)) = self.key_ahead(at) else { return Ok(None) };
        if self.value_begins(colon) < Fit::Strong {
            return Ok(None);
        }
        self.count(at, inner);
        if inner.depth > 0 {
            return Ok(None);
        }
        let known = self.knows(self.source.slice(at..key_end));
        // A quote of another kind, another comma, or quotes within may be its end.
        let before = self.source.slice(start..start + stop);
        let is_paired = inner.count.is_multiple_of(2) && before.ends_with(['}', ']']);
        let is_odd = inner.count > 0 && !is_paired || has_odd_end(before);
        match (known, is_odd) {
            (Some(false), _) => Ok(None),
            (_, true) => {
                let at = if inner.count > 0 { inner.first } else { start + stop };
                Err(Refusal::new(UnreadableKind::Syntax, at, TWO_READINGS))
            }
            (_, false) => Ok(Some(start + stop)),
        }
    }

    /// Whether the schema has the key, quoted or not, at this place.
    fn knows(&self, key: &str) -> Option<bool> {
        let key = key.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        Keys::knows(&self.stack.last()?.parts, key)
    }

    fn is_known(&self, key: &str) -> bool {
        self.knows(key) == Some(true)
    }

    /// No quote ended the string, so the text did.
    fn without_end(
        &mut self,
        start: usize,
        is_key: bool,
        inner: &Inner,
    ) -> Result<(usize, End), Refusal> {
        let end = self.source.end();
        let content = self.source.slice(start..end);
        let closers = self.closers_at_end(content);
        let unsettled = Refusal::new(
            UnreadableKind::Syntax,
            start,
            "this string never ends: put a quote at its end",
        );
        if is_key {
            // What is cut off inside a key has no colon yet.
            let Some((name, value)) = content.split_once(':') else {
                // Behind a quote that may have ended it, or brackets, there was more than a key.
                let is_cut = inner.count == 0 && closers.is_none();
                return if is_cut { Ok((end, End::Cut)) } else { Err(unsettled) };
            };
            // `{"key: 1}`, `{'key": 1}`
            let name = name.trim_end();
            let word = name.trim_end_matches(['"', '\'']);
            let is_one = closers.is_some() && is_name(word) && !value.contains([',', ':', '"']);
            if inner.count > 0 || !is_one || inner.has_escapes || name.len() > word.len() + 1 {
                return Err(unsettled);
            }
            let is_missing = name.len() == word.len();
            let end = if is_missing { End::Missing } else { End::Quote(1) };
            return Ok((start + word.len(), end));
        }
        // An unpaired quote may as well have ended it, with something lost behind.
        let has_doubt =
            inner.is_open || inner.is_doubtful || inner.count % 2 == 1 || closers.is_some();
        let is_part = self.stack.is_empty() && content.contains(['{', '}', '[', ']']);
        if inner.count > 0 && (has_doubt || self.stack.is_empty()) || is_part {
            return Err(Refusal::new(UnreadableKind::Syntax, inner.first.max(start), TWO_READINGS));
        }
        // The brackets at the end may close those of the text itself.
        let is_balanced = |text: &str| {
            let count = |brackets: [char; 2]| text.matches(brackets).count();
            count(['{', '[']) == count(['}', ']'])
        };
        let Some(text) = closers else {
            self.settled(start, end, inner)?;
            let is_closed = content.trim_end().ends_with(['}', ']']);
            let has_quotes = content.contains(['"', '\'']);
            let has_doubt = is_closed && has_quotes && !is_balanced(content);
            return if has_doubt { Err(unsettled) } else { Ok((end, End::Cut)) };
        };
        if !is_balanced(text) {
            return if is_balanced(content) { Ok((end, End::Cut)) } else { Err(unsettled) };
        }
        // `"first, second: 1}` may be one member or two, unless the schema knows the second.
        for (comma, _) in text.match_indices(',') {
            if self.kind() != Some(super::parser::Kind::Object) {
                return Err(unsettled);
            }
            let key = self.source.skip_blanks(start + comma + 1);
            if let Some((key_end, _)) = self.key_ahead(key) {
                let is_known = self.is_known(self.source.slice(key..key_end));
                let before = text.get(..comma).unwrap_or_default();
                let is_end = is_known && inner.count == 0 && !has_odd_end(before);
                return if is_end { Ok((start + comma, End::Missing)) } else { Err(unsettled) };
            }
        }
        // It may have been cut off as well, just behind brackets of its own.
        self.truncated = true;
        let text = text.trim_end();
        if has_odd_end(text) && inner.count == 0 {
            return Err(unsettled);
        }
        Ok((start + text.len(), End::Missing))
    }

    /// `content` without the closers of all that is open, if it ends with just these.
    fn closers_at_end<'c>(&self, content: &'c str) -> Option<&'c str> {
        let mut rest = content;
        for frame in &self.stack {
            rest = rest.trim_end().strip_suffix(char::from(frame.kind.closer()))?;
        }
        (!self.stack.is_empty()).then_some(rest)
    }

    /// How many quotes open the string at `at`, where several do, and how many end it: three of
    /// them, or two with a word behind them that ends with two again, or one name with one.
    fn repeated(&mut self, at: usize, family: Family, is_key: bool) -> Option<(usize, usize)> {
        let quote = self.source.byte(at).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
        if self.source.byte(at + 1) != Some(quote) {
            return None;
        }
        let run = self.source.rest_bytes(at).iter().take(4).take_while(|&&b| b == quote).count();
        match run {
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
                    && self.kind() == Some(super::parser::Kind::Object)
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

    /// A string behind `run` quotes and before `ends` of them.
    fn in_run(
        &mut self,
        open: usize,
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
        self.fix(FixKind::Quotes, open..start)?;
        let decoded = decode(raw, len.is_none());
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

/// Whether the end of a string that lacks its quote may be another quote, or is nothing.
fn has_odd_end(text: &str) -> bool {
    text.is_empty() || text.ends_with(['"', '\'', '`', '”', '’', ','])
}
