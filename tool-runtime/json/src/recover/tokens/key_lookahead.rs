//! Looks ahead at a possible next key.
//!
//! **Fuel.** A key is short, and a lookahead ends with it; each is counted.

use super::key::{MAX_KEY_LEN, ascii_key_len, is_bare_key};
use super::literals::begins_literal;
use super::word::{is_name, is_name_char};
use crate::recover::builder::Builder;
use crate::recover::parser::Parser;
use crate::recover::source::QuoteStyle;
use crate::recover::strings::lookahead::Plausibility;

impl<B: Builder> Parser<'_, '_, B> {
    /// Returns the end of the key that begins at `at`, and the position after its colon.
    pub(in crate::recover) fn key_ahead(&mut self, at: usize) -> Option<(usize, usize)> {
        let at = at + self.key_prefix_len(at);
        let is_quoted = self.source().quote(at).is_some();
        let end = self.key_end(at)?;
        let colon = self.skip_trivia_ahead(end);
        match self.source().sign(colon)? {
            (b':', len) => Some((end, colon + len)),
            (b'=', _) if self.source().byte(colon + 1) == Some(b'>') => Some((end, colon + 2)),
            (b'=', _) if self.source().byte(colon + 1) == Some(b'=') => None,
            (b'=', len) if is_quoted || is_name(self.source().slice(at..end)) => {
                Some((end, colon + len))
            }
            _ => None,
        }
    }

    /// The length of the prefix of a quoted key: 1 for `u'name'`.
    fn key_prefix_len(&self, at: usize) -> usize {
        let is_prefixed = matches!(
            self.source().rest_bytes(at),
            [b'u' | b'r' | b'b' | b'U' | b'R' | b'B', b'"' | b'\'', next, ..]
                if next.is_ascii_alphabetic() || *next == b'_'
        );
        usize::from(is_prefixed)
    }

    /// Returns the end of the key that begins at `at`, if it ends.
    fn key_end(&mut self, at: usize) -> Option<usize> {
        match self.source().quote(at) {
            Some((style, len)) => self.quoted_key_end(at, style, len),
            None => {
                let rest = self.source().rest(at);
                let len = match ascii_key_len(rest) {
                    Some(len) => len,
                    None => {
                        rest.char_indices().take(MAX_KEY_LEN).find(|&(_, c)| !is_bare_key(c))?.0
                    }
                };
                self.use_fuel_between(at, at + len);
                let word = rest.get(..len)?;
                if word.trim_end().is_empty() {
                    return None;
                }
                // The key may have only its closing quote.
                let quote = self.source().quote(at + len).filter(|_| is_name(word));
                Some(at + len + quote.map_or(0, |(_, len)| len))
            }
        }
    }

    fn quoted_key_end(&mut self, at: usize, style: QuoteStyle, len: usize) -> Option<usize> {
        // `""key""`
        let is_double = self.source().byte(at) == self.source().byte(at + 1)
            && self.source().char(at + 2).is_some_and(char::is_alphanumeric);
        let mut end = at + len + usize::from(is_double);
        loop {
            let rest = self.source().rest_bytes(end);
            let rest = rest.get(..rest.len().min(MAX_KEY_LEN)).unwrap_or(rest);
            let step = style.next_special(rest)?;
            self.use_fuel_between(end, end + step);
            end += step;
            if self.source().byte(end)? < b' ' || end - at > MAX_KEY_LEN {
                return None;
            }
            match self.source().quote(end) {
                Some((other, quote_len)) if style.closes(other) => {
                    // `"key""`, too
                    let second = self.source().byte(end) == self.source().byte(end + 1)
                        && (is_double
                            || is_name(self.source().slice(at + len..end))
                                && self.is_colon(end + 2));
                    return Some(end + quote_len + usize::from(second));
                }
                Some((_, len)) => end += len,
                None if self.source().byte(end) == Some(b'\\') => end += 2,
                None => end += self.source().char(end).map_or(1, char::len_utf8),
            }
        }
    }

    /// Rates the start of a member at `at`, where no key is followed by a colon.
    pub(in crate::recover) fn colonless_member_plausibility(&mut self, at: usize) -> Plausibility {
        let rest = self.source().rest(at);
        let Some((style, len)) = self.source().quote(at) else {
            // The text may end inside a bare key, or a stray word stands before a key.
            let len = rest.find(|c| !is_name_char(c)).unwrap_or(rest.len());
            self.use_fuel_between(at, at + len);
            let next = self.source().skip_json_whitespace(at + len);
            let is_stray = next > at + len
                && is_name(self.source().slice(at..at + len))
                && self.source().quote(next).is_some()
                && self.key_ahead(next).is_some();
            let is_truncated = rest.len() <= MAX_KEY_LEN && is_name(rest);
            return Plausibility::Weak.only_if(is_truncated || is_stray);
        };
        let inside = self.source().rest(at + len);
        if inside.len() <= MAX_KEY_LEN {
            let word = inside.trim_start_matches(is_bare_key);
            match self.source().quote(self.source().end() - word.len()) {
                None if word.is_empty() => return Plausibility::Strong,
                Some((other, len))
                    if style.closes(other)
                        && word.get(len..).is_some_and(|rest| rest.trim().is_empty()) =>
                {
                    return Plausibility::Strong;
                }
                _ if inside.contains(is_closer) => {}
                _ => {
                    let is_truncated = match self.key_end(at) {
                        Some(end) => self.source().skip_whitespace(end) >= self.source().end(),
                        None => !inside.contains(char::is_control),
                    };
                    if is_truncated {
                        return Plausibility::Weak;
                    }
                }
            }
        }
        // `"days: 3`, `'days": 3`
        let name = inside.find(|c| !is_name_char(c)).unwrap_or(inside.len());
        let mut colon = at + len + name;
        self.use_fuel_between(at, colon);
        colon += self.source().quote(colon).map_or(0, |(_, len)| len);
        if name > 0 && self.source().byte(colon) == Some(b':') {
            return self.value_plausibility(colon + 1).min(Plausibility::Weak);
        }
        // `"days" 3`
        let Some(end) = self.key_end(at) else { return Plausibility::No };
        let next = self.skip_trivia_ahead(end);
        let is_value = matches!(self.source().byte(next), Some(b'0'..=b'9' | b'-' | b'{' | b'['));
        let is_value = is_value
            || begins_literal(self.source().rest(next))
            || self.source().quote(next).is_some()
                && is_name(self.source().slice(at + len..end - len));
        let is_apart = next > end
            || is_name(self.source().slice(at + len..end - len)) && self.value_follows(end);
        Plausibility::Weak.only_if(is_apart && is_value)
    }

    /// Returns whether a value other than a string follows a key directly at `at`: `{"days"3}`.
    pub(in crate::recover) fn value_follows(&mut self, at: usize) -> bool {
        let rest = self.source().rest_bytes(at);
        let is_number = |byte: &u8| byte.is_ascii_digit() || b"-.".contains(byte);
        let len = rest.iter().position(|byte| !is_number(byte)).unwrap_or(rest.len());
        self.use_fuel_between(at, at + len);
        let is_number = len > 0 && matches!(rest.get(len), Some(b',' | b'}' | b' ' | b'\n'));
        is_number || matches!(rest, [b'{' | b'[', ..]) || self.source().literal(at).is_some()
    }

    /// Returns the end of a key and the length of its quote, if the text from `start` to the quote
    /// at `at` is `city: ` or `city": `. The quote then begins the value.
    pub(in crate::recover) fn key_ends_before(
        &self,
        start: usize,
        at: usize,
    ) -> Option<(usize, usize)> {
        let content = self.source().slice(start..at).trim_end().strip_suffix(':')?.trim_end();
        let name = content.trim_end_matches(|c: char| !is_name_char(c));
        let end = start + name.len();
        let quote = match self.source().quote(end) {
            Some((_, len)) if end + len == start + content.len() => len,
            _ if name.len() == content.len() => 0,
            _ => return None,
        };
        is_name(name).then_some((end, quote))
    }
}

const fn is_closer(c: char) -> bool {
    matches!(c, '}' | ']' | ')' | ',' | ':')
}
