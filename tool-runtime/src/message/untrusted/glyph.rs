//! The characters of a text as a model may read them: without what is invisible, and with forms of
//! ASCII characters as ASCII.

use crate::message::visible::{is_look_alike_letter, is_unseen};

/// Stands for a letter that looks like some letter of ASCII.
pub(super) const ANY_LETTER: char = '\u{1}';

/// The characters that look like one of ASCII, by that one.
const PUNCTUATION: [(char, &str); 8] = [
    ('<', "‹〈⟨❮«˂ᐸ﹤≺⧼"),
    ('>', "›〉⟩❯»˃ᐳ﹥≻⧽"),
    ('/', "⁄∕╱⟋⧸㇓"),
    ('\\', "∖⧵﹨"),
    ('|', "│❘∣ǀ￨"),
    ('[', "【〔⟦﹝"),
    (']', "】〕⟧﹞"),
    ('"', "“”„‟″˝"),
];

/// Named references of HTML to characters that tags consist of.
const ENTITIES: [(&str, char); 10] = [
    ("lt", '<'),
    ("LT", '<'),
    ("gt", '>'),
    ("GT", '>'),
    ("quot", '"'),
    ("QUOT", '"'),
    ("sol", '/'),
    ("lbrack", '['),
    ("rbrack", ']'),
    ("vert", '|'),
];

/// One visible character of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glyph {
    /// The character of ASCII that it is or looks like, in its case.
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
            let first = rest.chars().next()?;
            let (c, length) = reference(rest).unwrap_or_else(|| (first, first.len_utf8()));
            let start = at;
            at += length;
            if !is_unseen(c) {
                return Some(Glyph { c: folded(c), start, end: at });
            }
        }
    })
}

/// Decodes a character reference of HTML, or an escape of JSON, JavaScript or a URL, at the start
/// of a text. Returns the character and the length of the reference.
fn reference(rest: &str) -> Option<(char, usize)> {
    let hex = |digits: &str| char::from_u32(u32::from_str_radix(digits, 16).ok()?);
    let fixed = |prefix: usize, digits: usize| {
        let text = rest.get(prefix..prefix + digits)?;
        text.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| hex(text))?
    };
    match rest.as_bytes() {
        [b'&', b'#', ..] => {
            let digits = rest.get(2..)?;
            let (radix, skipped) = if digits.starts_with(['x', 'X']) { (16, 3) } else { (10, 2) };
            let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
            let (digits, zeros) = {
                let all = rest.get(skipped..)?;
                let significant = all.trim_start_matches('0');
                (significant, all.len() - significant.len())
            };
            let length = digits.bytes().take(9).take_while(is_digit).count();
            let code = u32::from_str_radix(digits.get(..length)?, radix).ok()?;
            let is_closed = digits.as_bytes().get(length) == Some(&b';');
            Some((char::from_u32(code)?, skipped + zeros + length + usize::from(is_closed)))
        }
        [b'&', ..] => ENTITIES.iter().find_map(|(name, c)| {
            let after = rest.get(1..)?.strip_prefix(name)?;
            Some((*c, 1 + name.len() + usize::from(after.starts_with(';'))))
        }),
        [b'\\', b'u', ..] => Some((fixed(2, 4)?, 6)),
        [b'\\', b'x', ..] => Some((fixed(2, 2)?, 4)),
        [b'%', ..] => Some((fixed(1, 2).filter(char::is_ascii)?, 3)),
        _ => None,
    }
}

/// Returns the character of ASCII that a character is or looks like.
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
        _ if is_look_alike_letter(c) => ANY_LETTER,
        _ => PUNCTUATION.iter().find(|(_, forms)| forms.contains(c)).map_or(c, |(ascii, _)| *ascii),
    }
}
