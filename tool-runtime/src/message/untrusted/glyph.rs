//! The characters of a text as a model may read them: without what is invisible, and with forms of
//! ASCII characters as ASCII.

use super::reference::{ANY_LETTER, ANY_SYMBOL, reference};
use crate::message::visible::{is_look_alike_letter, is_unseen};

/// The characters that look like an ASCII character, by that character.
const PUNCTUATION: [(char, &str); 8] = [
    ('<', "‹〈⟨❮«˂ᐸ﹤≺⧼《⟪❬❰⦑⦉⪡≪≤⩽⋖ᚲ𝈶"),
    ('>', "›〉⟩❯»˃ᐳ﹥≻⧽》⟫❭❱⦒⦊⪢≫≥⩾⋗𝈷"),
    ('/', "⁄∕╱⟋⧸㇓⁁᜵〳𝈺ノ丿⼃"),
    ('\\', "∖⧵﹨"),
    ('|', "│❘∣ǀ￨"),
    ('[', "【〔⟦﹝"),
    (']', "】〕⟧﹞"),
    ('"', "“”„‟″˝"),
];

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

/// Returns the visible characters of a text from an offset on.
pub(super) fn glyphs(text: &str, mut at: usize) -> impl Iterator<Item = Glyph> + Clone {
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            if let Some(c) = plain(rest) {
                at += 1;
                return Some(Glyph { c, start: at - 1, end: at });
            }
            let first = rest.chars().next()?;
            let named = reference(rest);
            let (c, length) = named.unwrap_or_else(|| (first, first.len_utf8()));
            let start = at;
            at += length;
            let stands_for_any = named.is_some() && matches!(c, ANY_LETTER | ANY_SYMBOL);
            if stands_for_any || !is_unseen(c) {
                return Some(Glyph { c: folded(c), start, end: at });
            }
        }
    })
}

/// Returns the character at the start of a text if it is visible ASCII that begins no reference.
fn plain(rest: &str) -> Option<char> {
    let byte = rest.bytes().next()?;
    let is_plain = matches!(byte, b' '..=b'~') && !matches!(byte, b'&' | b'\\' | b'%' | b'=');
    is_plain.then_some(char::from(byte))
}

/// Returns the ASCII character that a character is or looks like.
fn folded(c: char) -> char {
    let code = u32::from(c);
    let letter = |offset: u32, base: u8| {
        u8::try_from(offset).ok().map_or(ANY_LETTER, |offset| char::from(base + offset % 26))
    };
    match code {
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
        // Letters above and below the line, and Cyrillic letters that look like `t` and `n`.
        0x2b0..=0x2b8 | 0x2e0..=0x2e4 | 0x2071 | 0x207f | 0x2090..=0x209c => ANY_LETTER,
        0x442 | 0x43f => ANY_LETTER,
        _ => match PUNCTUATION.iter().find(|(_, forms)| forms.contains(c)) {
            Some((ascii, _)) => *ascii,
            None if is_look_alike_letter(c) => ANY_LETTER,
            None => c,
        },
    }
}
