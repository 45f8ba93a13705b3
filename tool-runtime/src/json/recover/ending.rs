//! Does what follows a quote fit a string that ends there?
//!
//! A quote ends a string only where JSON could go on behind it: with a colon, if the string is a
//! key; else with closers of what is open, in their order, with the end of the text, or with a
//! comma and what can begin the next member or item. All other quotes are part of the string.
//!
//! **Fuel.** A look goes to the second quote from its own at most, and no quote is asked twice, so
//! all looks together are linear in the text. They are counted all the same: comments hold quotes.

use super::{
    ahead::KEY,
    bare::LITERALS,
    build::Build,
    keys::Keys,
    parser::{Kind, Parser},
};

/// How well what follows a quote fits the end of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    No,
    /// It fits, but words could go on like this as well.
    Weak,
    Strong,
    /// A comma and a key that the schema knows follow.
    Known,
}

impl<B: Build> Parser<'_, '_, B> {
    /// Counts the bytes between two places of a look.
    pub(super) fn burn(&mut self, from: usize, to: usize) {
        self.fuel = self.fuel.saturating_sub(to.saturating_sub(from) + 1);
    }

    /// Behind blanks and comments at `at`; the end of the text when the fuel is gone.
    pub(super) fn look(&mut self, mut at: usize) -> usize {
        loop {
            let start = at;
            at = self.source.skip_blanks(at);
            let comment = self.source.comment(at).filter(|_| self.fuel > 0);
            at = comment.map_or(at, |(end, _)| end);
            self.burn(start, at);
            if comment.is_none() {
                return at;
            }
        }
    }

    /// How well what is at `at`, behind a quote, fits the end of a key.
    pub(super) fn key_fits(&mut self, at: usize) -> Fit {
        if self.source.byte(at) == Some(b':') {
            return Fit::Strong;
        }
        let next = self.look(at);
        let Some((sign, _)) = self.source.sign(next) else {
            return if next >= self.source.end() { Fit::Strong } else { self.quote_fits(at, next) };
        };
        match sign {
            b':' | b'=' => Fit::Strong,
            b',' | b'}' => {
                let is_first = |f: &super::parser::Frame<'_, B>| B::is_empty(&f.members);
                if self.stack.last().is_some_and(is_first) { Fit::Strong } else { Fit::No }
            }
            b'{' | b'[' | b'0'..=b'9' | b'-' if next > at => Fit::Weak,
            b'a'..=b'z' | b'A'..=b'Z' if next > at && self.value_begins(next) == Fit::Strong => {
                Fit::Weak
            }
            _ => self.quote_fits(at, next),
        }
    }

    /// A key and a string without a colon between them.
    fn quote_fits(&mut self, at: usize, next: usize) -> Fit {
        if next > at && self.source.quote(next).is_some() { Fit::Weak } else { Fit::No }
    }

    /// How well what is at `at`, behind a quote, fits the end of a value.
    pub(super) fn value_fits(&mut self, mut at: usize) -> Fit {
        let is_sign = matches!(self.source.byte(at), Some(b',' | b'}' | b']'));
        if !is_sign && self.concatenated(at).is_some() {
            return Fit::Strong;
        }
        let first = at;
        let mut depth = self.stack.len();
        loop {
            let start = at;
            at = self.look(at);
            let Some((sign, len)) = self.source.sign(at) else {
                let is_end = at >= self.source.end();
                return if is_end { Fit::Strong } else { self.lacks_comma(first, at, depth) };
            };
            if depth == 0 {
                return self.root_fits(start, at, sign, first);
            }
            match sign {
                b'}' | b']' | b')' => {
                    let top = self.stack.get(depth - 1).map(|frame| frame.kind.closer());
                    let open = self.stack.get(..depth).unwrap_or_default();
                    match open.iter().rposition(|frame| frame.kind.closer() == sign) {
                        Some(opened) => depth = opened,
                        // A wrong one at the very end, or one too many before the right one.
                        None => {
                            let after = self.look(at + len);
                            let next = self.source.sign(after).map(|(sign, _)| sign);
                            let is_end = after >= self.source.end() || next == top;
                            let goes_on = next == Some(b',') && depth == 1;
                            if is_end || !goes_on {
                                return if is_end { Fit::Strong } else { Fit::No };
                            }
                        }
                    }
                    at += len;
                }
                b',' => {
                    return match self.stack.get(depth - 1).map(|frame| frame.kind) {
                        Some(Kind::Object) => {
                            let next = self.look(at + len);
                            let is_lost = depth < self.stack.len()
                                && matches!(self.source.byte(next), Some(b'{' | b'['));
                            // A value that has lost its key; said where it stands.
                            if is_lost { Fit::Weak } else { self.member_fits(at + len) }
                        }
                        _ => self.item_fits(at + len, true),
                    };
                }
                b'.' if self.source.rest(at).starts_with("...") => return Fit::No,
                _ => return self.lacks_comma(first, at, depth),
            }
        }
    }

    /// Behind the value there may be anything, but not the rest of this string.
    fn root_fits(&mut self, start: usize, at: usize, sign: u8, first: usize) -> Fit {
        if start == first {
            // The string is the whole value.
            return Fit::No;
        }
        let is_new_line = self.source.slice(start..at).contains('\n');
        match sign {
            b'{' | b'[' | b'}' | b']' | b')' | b';' | b'<' | b'`' => Fit::Strong,
            _ if is_new_line => Fit::Strong,
            b',' if self.member_fits(at + 1) >= Fit::Strong => Fit::Strong,
            _ if at > self.tail() => Fit::Strong,
            _ => Fit::No,
        }
    }

    /// Where the last quote with a closing bracket behind it is.
    fn tail(&mut self) -> usize {
        if let Some(tail) = self.last_tail {
            return tail;
        }
        let text = self.source.slice(0..self.source.end());
        let mut tail = 0;
        let mut was_closer = false;
        for (at, c) in text.char_indices().rev() {
            match c {
                '}' | ']' => was_closer = true,
                '"' | '\'' | '”' | '’' if was_closer => {
                    tail = at;
                    break;
                }
                c if c.is_whitespace() => {}
                _ => was_closer = false,
            }
        }
        self.burn(0, text.len());
        self.last_tail = Some(tail);
        tail
    }

    /// No comma, and yet the next member or item.
    fn lacks_comma(&mut self, first: usize, at: usize, depth: usize) -> Fit {
        let Some(kind) = depth.checked_sub(1).and_then(|top| self.stack.get(top)).map(|f| f.kind)
        else {
            return Fit::No;
        };
        let has_blank = at > first;
        let is_quote = self.source.quote(at).is_some();
        match kind {
            Kind::Object if is_quote => self.member_fits(at).min(Fit::Strong),
            Kind::Object if has_blank => self.member_fits(at).min(Fit::Weak),
            Kind::Object => Fit::No,
            _ if has_blank => self.item_fits(at, false).min(Fit::Weak),
            _ => Fit::No,
        }
    }

    /// How well a member begins at `at`.
    pub(super) fn member_fits(&mut self, at: usize) -> Fit {
        let mut at = self.look(at);
        while self.source.byte(at) == Some(b',') && self.fuel > 0 {
            at = self.look(at + 1);
        }
        let Some(byte) = self.source.byte(at) else { return Fit::Strong };
        let start = at;
        match self.source.sign(at).map_or(byte, |(sign, _)| sign) {
            b'}' | b']' => return Fit::Strong,
            b'.' => {
                let is_ellipsis = self.source.rest(at).starts_with("...");
                return if is_ellipsis { Fit::Strong } else { Fit::No };
            }
            _ => {}
        }
        let Some((key_end, colon)) = self.key_ahead(at) else {
            return self.fits_without_colon(at);
        };
        let key = self.source.slice(start..key_end);
        let is_quoted = self.source.quote(start).is_some();
        let value = self.value_begins(colon);
        let parts = self.stack.last().map(|frame| &frame.parts);
        let known = parts.filter(|parts| !parts.is_empty()).and_then(|parts| {
            let bare = key.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
            Keys::knows(parts, bare)
        });
        match known {
            Some(true) if is_quoted => Fit::Known,
            Some(true) => Fit::Strong,
            Some(false) => Fit::Weak,
            None if is_quoted => value,
            None => value.min(Fit::Weak),
        }
    }

    /// Whether a semicolon before `at` stands for a comma: another member follows it, or the end of
    /// all. Those of a list may separate rows.
    pub(super) fn is_separator(&mut self, at: usize) -> bool {
        let next = self.look(at);
        let begins_member = |walk: &mut Self| {
            let value = walk.key_ahead(next).map(|(_, value)| value);
            value.is_some_and(|value| walk.value_begins(value) == Fit::Strong)
        };
        self.kind() == Some(Kind::Object)
            && (begins_member(self) || self.closes_text(next) && next < self.source.end())
    }

    /// How well a value begins at `at`: words could be anything.
    pub(super) fn value_begins(&mut self, at: usize) -> Fit {
        let at = self.look(at);
        let Some((sign, _)) = self.source.sign(at) else {
            let is_value = at >= self.source.end() || self.source.quote(at).is_some();
            return if is_value { Fit::Strong } else { Fit::Weak };
        };
        let rest = self.source.rest(at);
        match sign {
            b't' | b'f' | b'n' if self.source.literal(at).is_some() => Fit::Strong,
            b'"' | b'\'' | b'`' | b'{' | b'[' | b'0'..=b'9' | b'-' | b'+' | b'.' => Fit::Strong,
            _ if begins_literal(rest) => Fit::Strong,
            _ => Fit::Weak,
        }
    }

    /// How well an item begins at `at`.
    fn item_fits(&mut self, at: usize, has_comma: bool) -> Fit {
        let mut at = self.look(at);
        while has_comma && self.source.byte(at) == Some(b',') && self.fuel > 0 {
            at = self.look(at + 1);
        }
        if at >= self.source.end() || self.source.quote(at).is_some() {
            return Fit::Strong;
        }
        let sign = self.source.sign(at).map(|(sign, _)| sign);
        if matches!(sign, Some(b'{' | b'[' | b'(' | b'}' | b']' | b')')) {
            return Fit::Strong;
        }
        // A number or words up to what ends an item.
        let rest = self.source.rest(at);
        let is_number = rest.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
            || begins_literal(rest);
        let ends = |c: char| matches!(c, ',' | ']' | ')' | '\n' | '"' | '，' | '“' | '”');
        let len =
            rest.find(|c: char| ends(c) || is_number && c.is_whitespace()).unwrap_or(rest.len());
        self.burn(at, at + len);
        let behind = if is_number { self.look(at + len) } else { at + len };
        let is_end = behind >= self.source.end();
        let fits =
            is_end || matches!(self.source.sign(behind), Some((b',' | b']' | b')' | b'\n', _)));
        match (fits, is_number, has_comma) {
            _ if has_comma && self.is_half_quoted(at, at + len) => Fit::Strong,
            (true, true, _) => Fit::Strong,
            (true, false, true) => Fit::Weak,
            (false, true, _) if has_comma || len > 0 => {
                // `[1 2 3]`
                let next = self.source.byte(behind);
                if next.is_some_and(|byte| byte.is_ascii_digit()) { Fit::Weak } else { Fit::No }
            }
            _ => Fit::No,
        }
    }

    /// `b", "c"`: the item between `at` and `end` lacks its first quote, and only that.
    fn is_half_quoted(&mut self, at: usize, end: usize) -> bool {
        let word = self.source.slice(at..end);
        let Some((_, len)) = self.source.quote(end) else { return false };
        let behind = self.look(end + len);
        word.starts_with(char::is_alphanumeric)
            && word.ends_with(char::is_alphanumeric)
            && matches!(self.source.sign(behind), Some((b',' | b']' | b')', _)))
    }

    /// Where the next string of a sum begins, if `at` is followed by a plus sign and one.
    pub(super) fn concatenated(&mut self, at: usize) -> Option<usize> {
        let plus = self.source.skip_blanks(at);
        if self.source.byte(plus)? != b'+' {
            return None;
        }
        let next = self.source.skip_blanks(plus + 1);
        self.burn(at, next);
        self.source.quote(next).map(|_| next)
    }
}

/// Whether `text` begins with a literal.
pub(super) fn begins_literal(text: &str) -> bool {
    LITERALS.iter().any(|(word, _)| {
        text.strip_prefix(word)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// How long the key without quotes is that `text` begins with.
pub(super) fn bare_key_len(text: &str) -> usize {
    let len = ascii_key_len(text).or_else(|| text.find(|c: char| !is_bare_key(c)));
    len.unwrap_or(text.len())
}

/// The same, if it is short and all of it is ASCII, as is what follows.
pub(super) fn ascii_key_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let goes_on = |byte: &u8| IN_ASCII_KEY.get(usize::from(*byte)).copied().unwrap_or(false);
    let len = bytes.iter().take(KEY).position(|byte| !goes_on(byte))?;
    bytes.get(len)?.is_ascii().then_some(len)
}

/// Each byte's answer: most keys of damaged text are read by this.
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

/// What a key without quotes is made of.
pub(super) fn is_bare_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '@' | '/' | ' ')
}
