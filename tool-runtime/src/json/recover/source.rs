//! The damaged text, byte by byte: blanks, signs and quotes of every script.

use std::ops::Range;

use crate::json::blank::is_odd_blank;

/// A stretch of text; places are those of the whole text, and nothing behind the end is seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'t> {
    text: &'t str,
    bytes: &'t [u8],
}

/// Which quotes close what a quote opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Double,
    Single,
    Backtick,
    /// Curly, low, angled and wide double quotes.
    WideDouble,
    /// The same of single ones.
    WideSingle,
    Corner,
}

impl<'t> Source<'t> {
    /// `text` up to `end`.
    pub(super) fn new(text: &'t str, end: usize) -> Self {
        let text = text.get(..end).unwrap_or(text);
        Self { text, bytes: text.as_bytes() }
    }

    pub(super) const fn end(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn char(&self, at: usize) -> Option<char> {
        match self.byte(at)? {
            byte if byte.is_ascii() => Some(char::from(byte)),
            _ => self.rest(at).chars().next(),
        }
    }

    pub(super) fn before(&self, at: usize) -> Option<char> {
        self.text.get(..at)?.chars().next_back()
    }

    pub(super) fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    pub(super) fn rest_bytes(&self, at: usize) -> &'t [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, span: Range<usize>) -> &'t str {
        self.text.get(span).unwrap_or_default()
    }

    /// Behind the blanks of JSON at `at`.
    pub(super) fn skip_plain(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte(at) {
            at += 1;
        }
        at
    }

    /// Behind blanks of any kind at `at`.
    pub(super) fn skip_blanks(&self, mut at: usize) -> usize {
        loop {
            at = self.skip_plain(at);
            match self.odd_blank(at) {
                Some(len) => at += len,
                None => return at,
            }
        }
    }

    /// How long the blank at `at` is, if it is one that JSON doesn't know.
    pub(super) fn odd_blank(&self, at: usize) -> Option<usize> {
        let byte = self.byte(at)?;
        if matches!(byte, b'!'..=b'~') {
            return None;
        }
        let c = self.char(at)?;
        is_odd_blank(c).then(|| c.len_utf8())
    }

    /// The sign of JSON at `at` and its length; full-width ones are the same signs.
    #[inline]
    pub(super) fn sign(&self, at: usize) -> Option<(u8, usize)> {
        let byte = self.byte(at)?;
        if byte.is_ascii() { Some((byte, 1)) } else { self.wide_sign(at) }
    }

    #[cold]
    fn wide_sign(&self, at: usize) -> Option<(u8, usize)> {
        let c = self.char(at)?;
        let sign = match c {
            '：' => b':',
            '，' | '、' => b',',
            '；' => b';',
            '＝' => b'=',
            '（' => b'(',
            '）' => b')',
            '｛' => b'{',
            '｝' => b'}',
            '［' | '【' => b'[',
            '］' | '】' => b']',
            _ => return None,
        };
        Some((sign, c.len_utf8()))
    }

    /// The quote at `at`: what closes it, and its length.
    #[inline]
    pub(super) fn quote(&self, at: usize) -> Option<(Family, usize)> {
        // Nearly all are ASCII, and to decode a character takes longer.
        match self.byte(at)? {
            b'"' => Some((Family::Double, 1)),
            b'\'' => Some((Family::Single, 1)),
            b'`' => Some((Family::Backtick, 1)),
            byte if byte.is_ascii() => None,
            _ => self.wide_quote(at),
        }
    }

    #[cold]
    fn wide_quote(&self, at: usize) -> Option<(Family, usize)> {
        let c = self.char(at)?;
        Some((Family::of(c)?, c.len_utf8()))
    }

    /// The literal of JSON at `at` and its length, if a sign of JSON is right behind it.
    pub(super) fn literal(&self, at: usize) -> Option<(Option<bool>, usize)> {
        let rest = self.rest_bytes(at);
        let (literal, len) = match rest.first()? {
            b't' if rest.starts_with(b"true") => (Some(true), 4),
            b'f' if rest.starts_with(b"false") => (Some(false), 5),
            b'n' if rest.starts_with(b"null") => (None, 4),
            _ => return None,
        };
        matches!(rest.get(len), Some(b',' | b'}' | b']')).then_some((literal, len))
    }

    /// The end of the comment at `at`, and whether it was ended.
    #[inline]
    pub(super) fn comment(&self, at: usize) -> Option<(usize, bool)> {
        matches!(self.byte(at)?, b'/' | b'#').then(|| self.comment_end(at))?
    }

    fn comment_end(&self, at: usize) -> Option<(usize, bool)> {
        let line = |at: usize| {
            let len = self.rest_bytes(at).iter().position(|&byte| byte == b'\n');
            (len.map_or_else(|| self.end(), |len| at + len), true)
        };
        match (self.byte(at)?, self.byte(at + 1)) {
            (b'/', Some(b'/')) => Some(line(at)),
            (b'#', _) => Some(line(at)),
            (b'/', Some(b'*')) => Some(match self.rest(at + 2).find("*/") {
                Some(len) => (at + len + 4, true),
                None => (self.end(), false),
            }),
            _ => None,
        }
    }
}

impl Family {
    /// What the quote `c` opens.
    pub(super) fn of(c: char) -> Option<Self> {
        Some(match c {
            '"' => Self::Double,
            '\'' => Self::Single,
            '`' => Self::Backtick,
            _ if c.is_ascii() => return None,
            '“' | '”' | '„' | '‟' | '«' | '»' | '＂' | '″' => Self::WideDouble,
            '‘' | '’' | '‚' | '‛' | '＇' | '′' | '´' => Self::WideSingle,
            '「' | '」' | '『' | '』' => Self::Corner,
            _ => return None,
        })
    }

    /// Whether a quote of kind `other` may close it.
    pub(super) const fn closes(self, other: Self) -> bool {
        use Family::*;
        matches!(
            (self, other),
            (Double, Double)
                | (Single, Single)
                | (Backtick, Backtick | WideSingle | Single)
                | (WideDouble, WideDouble | Double)
                | (WideSingle, WideSingle | Single | Backtick)
                | (Corner, Corner)
        )
    }

    /// How far the next byte is that a string of this kind has to look at.
    pub(super) fn next(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Double => next_of(bytes, b'"'),
            Self::Single => next_of(bytes, b'\''),
            _ => bytes.iter().position(|&b| {
                b < b' ' || matches!(b, b'"' | b'\'' | b'`' | b'\\' | 0xC2 | 0xE2 | 0xE3 | 0xEF)
            }),
        }
    }
}

/// The first quote of this kind, backslash or control character: eight bytes at a time, as most of
/// a text is inside its strings.
fn next_of(bytes: &[u8], quote: u8) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xFF;
    // In each byte the highest bit says whether it is less than the other. What is carried over
    // reaches only bytes behind one that is.
    let less = |word: u64, than: u8| word.wrapping_sub(ONES * u64::from(than)) & !word;
    let (words, _) = bytes.as_chunks();
    for (count, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let is = |byte: u8| less(word ^ (ONES * u64::from(byte)), 1);
        let found = (less(word, b' ') | is(quote) | is(b'\\')) & (ONES << 7);
        if found != 0 {
            return Some(8 * count + found.trailing_zeros() as usize / 8);
        }
    }
    let done = 8 * words.len();
    let rest = bytes.get(done..).unwrap_or_default();
    let len = rest.iter().position(|&byte| byte == quote || byte == b'\\' || byte < b' ')?;
    Some(done + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_byte_is_found_wherever_it_is() {
        for len in 0..40 {
            for at in 0..len {
                for (byte, is_found) in [
                    (b'"', true),
                    (b'\\', true),
                    (0, true),
                    (31, true),
                    (b' ', false),
                    (b'!', false),
                    (b'#', false),
                    (0x80, false),
                    (0xFF, false),
                    (b'\'', false),
                ] {
                    for around in [b' ', b'!', b'#', b'[', b']', 0x7F, 0x80, 0xA2, 0xDC, 0xFF] {
                        let mut bytes = vec![around; len];
                        bytes[at] = byte;
                        let found = Family::Double.next(&bytes);
                        assert_eq!(found, is_found.then_some(at), "{byte} in {around}");
                    }
                }
            }
        }
    }
}
