//! The damaged text: whitespace, signs and quotes of every script, by byte position.

use std::ops::Range;

use crate::whitespace::is_non_json_whitespace;

/// A prefix of the text; nothing after its end is seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceText<'t> {
    text: &'t str,
}

/// The style of a quote, which decides which quotes can close it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuoteStyle {
    Double,
    Single,
    Backtick,
    /// Curly, low, angled and full-width double quotes.
    WideDouble,
    /// Curly, low, prime and full-width single quotes.
    WideSingle,
    Corner,
}

impl<'t> SourceText<'t> {
    /// Creates the prefix of `text` up to `end`.
    pub(super) fn new(text: &'t str, end: usize) -> Self {
        Self { text: text.get(..end).unwrap_or(text) }
    }

    pub(super) const fn end(&self) -> usize {
        self.text.len()
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    pub(super) fn char(&self, at: usize) -> Option<char> {
        match self.byte(at)? {
            byte if byte.is_ascii() => Some(char::from(byte)),
            _ => self.rest(at).chars().next(),
        }
    }

    pub(super) fn char_before(&self, at: usize) -> Option<char> {
        self.text.get(..at)?.chars().next_back()
    }

    pub(super) fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    pub(super) fn rest_bytes(&self, at: usize) -> &'t [u8] {
        self.text.as_bytes().get(at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, span: Range<usize>) -> &'t str {
        self.text.get(span).unwrap_or_default()
    }

    /// The position after the JSON whitespace at `at`.
    pub(super) fn skip_json_whitespace(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte(at) {
            at += 1;
        }
        at
    }

    /// The position after any whitespace at `at`.
    pub(super) fn skip_whitespace(&self, mut at: usize) -> usize {
        loop {
            at = self.skip_json_whitespace(at);
            match self.non_json_whitespace(at) {
                Some(len) => at += len,
                None => return at,
            }
        }
    }

    /// The length of the non-JSON whitespace character at `at`.
    pub(super) fn non_json_whitespace(&self, at: usize) -> Option<usize> {
        let byte = self.byte(at)?;
        if matches!(byte, b'!'..=b'~') {
            return None;
        }
        let c = self.char(at)?;
        is_non_json_whitespace(c).then(|| c.len_utf8())
    }

    /// The JSON sign at `at` and its length; full-width signs are mapped to ASCII.
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

    /// The style and the length of the quote at `at`.
    #[inline]
    pub(super) fn quote(&self, at: usize) -> Option<(QuoteStyle, usize)> {
        // Nearly all quotes are ASCII, and decoding a character takes longer.
        match self.byte(at)? {
            b'"' => Some((QuoteStyle::Double, 1)),
            b'\'' => Some((QuoteStyle::Single, 1)),
            b'`' => Some((QuoteStyle::Backtick, 1)),
            byte if byte.is_ascii() => None,
            _ => self.wide_quote(at),
        }
    }

    #[cold]
    fn wide_quote(&self, at: usize) -> Option<(QuoteStyle, usize)> {
        let c = self.char(at)?;
        Some((QuoteStyle::of(c)?, c.len_utf8()))
    }

    /// The JSON literal at `at` and its length, if a JSON sign follows directly.
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
}

impl QuoteStyle {
    /// The style of the quote `c`.
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

    /// Returns whether a quote of style `other` can close a quote of this style.
    pub(super) const fn closes(self, other: Self) -> bool {
        use QuoteStyle::*;
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

    /// The distance to the next byte that the search for the end of a string must inspect.
    pub(super) fn next_special(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Double => find_special_byte(bytes, b'"'),
            Self::Single => find_special_byte(bytes, b'\''),
            _ => bytes.iter().position(|&b| {
                b < b' ' || matches!(b, b'"' | b'\'' | b'`' | b'\\' | 0xC2 | 0xE2 | 0xE3 | 0xEF)
            }),
        }
    }
}

/// The position of the first quote, backslash or control character. It tests eight bytes at a time,
/// because most of a text is inside its strings.
fn find_special_byte(bytes: &[u8], quote: u8) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xFF;
    // In each byte, the highest bit says whether it is less than the other byte. Carries reach only
    // bytes after one that is.
    let lesser_bytes = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let (words, _) = bytes.as_chunks();
    for (count, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let equal_bytes = |byte: u8| lesser_bytes(word ^ (ONES * u64::from(byte)), 1);
        let found =
            (lesser_bytes(word, b' ') | equal_bytes(quote) | equal_bytes(b'\\')) & (ONES << 7);
        if found != 0 {
            return Some(8 * count + found.trailing_zeros() as usize / 8);
        }
    }
    let checked_len = 8 * words.len();
    let rest = bytes.get(checked_len..).unwrap_or_default();
    let len = rest.iter().position(|&byte| byte == quote || byte == b'\\' || byte < b' ')?;
    Some(checked_len + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_byte_is_found_at_every_position() {
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
                        let found = QuoteStyle::Double.next_special(&bytes);
                        assert_eq!(found, is_found.then_some(at), "{byte} in {around}");
                    }
                }
            }
        }
    }
}
