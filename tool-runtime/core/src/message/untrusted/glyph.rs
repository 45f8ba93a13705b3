//! The visible characters of a text, with forms of ASCII characters as ASCII.

use super::table::{LETTER, LETTERS, PUNCTUATION};
use crate::message::visible::{contains, is_look_alike_letter};

/// Stands for a letter that looks like some letter of ASCII.
pub(super) const ANY_LETTER: char = '\u{1}';

/// Stands for a character that looks like several letters of ASCII, such as a ligature.
pub(super) const ANY_LETTERS: char = '\u{2}';

/// Stands for a character that is neither a letter nor one of ASCII.
pub(super) const ANY_SYMBOL: char = '\u{3}';

/// One visible character of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glyph {
    /// The ASCII character that it is or looks like, in the same case.
    pub(super) c: char,
    /// The offset of its first byte.
    pub(super) start: usize,
    /// The offset behind its last byte.
    pub(super) end: usize,
}

/// Returns the ASCII character that a character is or looks like.
pub(super) fn folded(c: char) -> char {
    let code = u32::from(c);
    let letter = |offset: u32, base: u8| {
        u8::try_from(offset).ok().map_or(ANY_LETTER, |offset| char::from(base + offset % 26))
    };
    match code {
        0x20..=0x7e => c,
        _ if c.is_whitespace() => ' ',
        0..=0x7f => c,
        0xff01..=0xff5e => char::from_u32(code - 0xfee0).unwrap_or(c),
        // Mathematical alphabets: upper case, then lower case.
        0x1d400..=0x1d6a3 => {
            let offset = (code - 0x1d400) % 52;
            letter(offset, if offset < 26 { b'A' } else { b'a' })
        }
        // Letters in circles, parentheses and squares, and regional indicators.
        0x24b6..=0x24cf => letter(code - 0x24b6, b'A'),
        0x24d0..=0x24e9 => letter(code - 0x24d0, b'a'),
        0x249c..=0x24b5 => letter(code - 0x249c, b'a'),
        0x1f110..=0x1f189 if (code - 0x1f110) % 0x20 < 26 => letter((code - 0x1f110) % 0x20, b'A'),
        0x1f1e6..=0x1f1ff => letter(code - 0x1f1e6, b'A'),
        // In italics, the Cyrillic letter looks like `n`.
        0x43f => ANY_LETTER,
        _ => match PUNCTUATION.binary_search_by_key(&c, |(form, _)| *form) {
            Ok(at) => PUNCTUATION.get(at).map_or(c, |(_, ascii)| *ascii),
            Err(_) if contains(LETTERS, c) => ANY_LETTERS,
            Err(_) if is_look_alike_letter(c) || contains(LETTER, c) => ANY_LETTER,
            Err(_) => c,
        },
    }
}

/// Whether a character stands for one or several letters.
pub(super) fn is_any_letter(c: char) -> bool {
    matches!(c, ANY_LETTER | ANY_LETTERS)
}
