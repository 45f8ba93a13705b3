//! Decodes characters that are written as references of HTML or as escapes of JSON, JavaScript, C,
//! CSS, mails or URLs.

use super::glyph::{ANY_LETTER, ANY_SYMBOL, Glyph, folded};
use crate::message::visible::is_unseen;

/// Named references of HTML to characters of ASCII, and to the invisible ones that older pages use.
const ENTITIES: [(&str, char); 60] = [
    ("lt", '<'),
    ("LT", '<'),
    ("Lt", '<'),
    ("gt", '>'),
    ("GT", '>'),
    ("Gt", '>'),
    ("amp", '&'),
    ("AMP", '&'),
    ("quot", '"'),
    ("QUOT", '"'),
    ("Tab", ' '),
    ("NewLine", ' '),
    ("excl", '!'),
    ("num", '#'),
    ("dollar", '$'),
    ("percnt", '%'),
    ("apos", '\''),
    ("lpar", '('),
    ("rpar", ')'),
    ("ast", '*'),
    ("midast", '*'),
    ("plus", '+'),
    ("comma", ','),
    ("period", '.'),
    ("sol", '/'),
    ("colon", ':'),
    ("semi", ';'),
    ("equals", '='),
    ("quest", '?'),
    ("commat", '@'),
    ("lsqb", '['),
    ("lbrack", '['),
    ("bsol", '\\'),
    ("rsqb", ']'),
    ("rbrack", ']'),
    ("Hat", '^'),
    ("lowbar", '_'),
    ("UnderBar", '_'),
    ("grave", '`'),
    ("DiacriticalGrave", '`'),
    ("lcub", '{'),
    ("lbrace", '{'),
    ("verbar", '|'),
    ("vert", '|'),
    ("VerticalLine", '|'),
    ("rcub", '}'),
    ("rbrace", '}'),
    ("shy", '\u{ad}'),
    ("nbsp", ' '),
    ("NonBreakingSpace", ' '),
    ("ZeroWidthSpace", '\u{200b}'),
    ("NegativeThinSpace", '\u{200b}'),
    ("NegativeMediumSpace", '\u{200b}'),
    ("NegativeThickSpace", '\u{200b}'),
    ("NegativeVeryThinSpace", '\u{200b}'),
    ("NoBreak", '\u{2060}'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
    ("lrm", '\u{200e}'),
    ("rlm", '\u{200f}'),
];

/// Ends of the names of references to letters with marks, and to letters of other alphabets.
const LETTERS: [&str; 12] = [
    "acute", "breve", "caron", "cedil", "circ", "fr", "grave", "macr", "opf", "scr", "tilde", "uml",
];

/// The maximum length of the name of a reference.
const MAX_NAME: usize = 31;

/// Stands for a character that is not seen, and is dropped.
const UNSEEN: char = '\0';

/// Decodes each reference and escape once; `None` if there is none.
///
/// A decoded `&`, `\`, `%` or `=` may begin another one, as in `&amp;lt;` or `\u0026lt;`.
pub(super) fn decode(glyphs: &[Glyph]) -> Option<Vec<Glyph>> {
    #[cfg(test)]
    super::steps::count(glyphs.len());
    if !glyphs.iter().any(|glyph| matches!(glyph.c, '&' | '\\' | '%' | '=')) {
        return None;
    }
    let (mut decoded, mut is_changed) = (Vec::with_capacity(glyphs.len()), false);
    let mut rest = glyphs;
    while let Some((first, mut after)) = rest.split_first() {
        let mut glyph = *first;
        while let Some((c, length)) = escaped(glyph.c, after)
            && let Some((token, more)) = after.split_at_checked(length)
        {
            glyph.c = c;
            glyph.end = token.last().map_or(glyph.end, |last| last.end);
            (after, is_changed) = (more, true);
        }
        if glyph.c != UNSEEN {
            decoded.push(glyph);
        }
        rest = after;
    }
    is_changed.then_some(decoded)
}

/// Decodes what follows the first character of a reference or an escape. Returns the character and
/// the number of those that it is written with.
fn escaped(first: char, after: &[Glyph]) -> Option<(char, usize)> {
    let (code, length) = match first {
        '&' if char_at(after, 0) == Some('#') => {
            numeric(after.get(1..)?).map(|(code, length)| (code, 1 + length))?
        }
        '&' => return named(after),
        '\\' => after_backslash(after)?,
        '%' => after_percent(after)?,
        '=' => (visible_ascii(digits(after, 16, 2, 2)?.0)?, 2),
        _ => return None,
    };
    Some((read(char::from_u32(code)?), length))
}

/// Returns a decoded character as a model may read it.
fn read(c: char) -> char {
    if is_unseen(c) { UNSEEN } else { folded(c) }
}

fn char_at(glyphs: &[Glyph], index: usize) -> Option<char> {
    glyphs.get(index).map(|glyph| glyph.c)
}

/// Reads from `min` to `max` digits. Returns the number and the count of digits.
fn digits(glyphs: &[Glyph], radix: u32, min: usize, max: usize) -> Option<(u32, usize)> {
    let found = glyphs.iter().take(max).map_while(|glyph| glyph.c.to_digit(radix));
    let (number, count) = found.fold((0_u32, 0), |(number, count), digit| {
        (number.saturating_mul(radix).saturating_add(digit), count + 1)
    });
    (count >= min).then_some((number, count))
}

fn visible_ascii(code: u32) -> Option<u32> {
    matches!(code, 0x20..=0x7e).then_some(code)
}

/// Decodes what follows `&#`.
fn numeric(after: &[Glyph]) -> Option<(u32, usize)> {
    let is_hex = matches!(char_at(after, 0), Some('x' | 'X'));
    let (radix, skipped) = if is_hex { (16, 1) } else { (10, 0) };
    let zeros = after.iter().skip(skipped).take_while(|glyph| glyph.c == '0').count();
    #[cfg(test)]
    super::steps::count(zeros);
    let (code, count) = digits(after.get(skipped + zeros..)?, radix, 1, 9)?;
    let length = skipped + zeros + count;
    let code = match code {
        // Of the control characters, browsers show those that Windows has in their place.
        0x8b => 0x2039,
        0x9b => 0x203a,
        code => code,
    };
    Some((code, length + usize::from(char_at(after, length) == Some(';'))))
}

/// Decodes what follows `&`. A name that is not listed stands for some letter or some symbol.
fn named(after: &[Glyph]) -> Option<(char, usize)> {
    let name = after.iter().map(|glyph| glyph.c).take(MAX_NAME);
    let name: String = name.take_while(char::is_ascii_alphanumeric).collect();
    let is_closed = |length: usize| char_at(after, length) == Some(';');
    let whole = ENTITIES.iter().find(|(listed, _)| *listed == name);
    // Old names need no semicolon.
    let listed = whole.or_else(|| ENTITIES.iter().find(|(listed, _)| name.starts_with(listed)));
    if let Some((listed, c)) = listed {
        let length = listed.len();
        return Some((read(*c), length + usize::from(is_closed(length))));
    }
    if name.len() < 2 || !is_closed(name.len()) {
        return None;
    }
    let is_letter = LETTERS.iter().any(|end| name.len() == 1 + end.len() && name.ends_with(end));
    Some((if is_letter { ANY_LETTER } else { ANY_SYMBOL }, name.len() + 1))
}

/// Decodes what follows a backslash: `u003c`, `u{3c}`, `U0000003c`, `x3c`, `x{3c}`, `n`, the octal
/// number of C and Python, or the hexadecimal one of CSS.
fn after_backslash(after: &[Glyph]) -> Option<(u32, usize)> {
    let rest = after.get(1..)?;
    match after.first()?.c {
        'u' | 'x' if char_at(rest, 0) == Some('{') => {
            let (code, count) = digits(rest.get(1..)?, 16, 1, 8)?;
            (char_at(rest, 1 + count) == Some('}')).then_some((code, 3 + count))
        }
        'u' => {
            let (code, _) = digits(rest, 16, 4, 4)?;
            match code {
                0xd800..=0xdbff => {
                    let is_pair = char_at(rest, 4) == Some('\\') && char_at(rest, 5) == Some('u');
                    let (low, _) = digits(rest.get(6..).filter(|_| is_pair)?, 16, 4, 4)?;
                    let low = low.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                    Some((0x10000 + ((code - 0xd800) << 10) + low, 11))
                }
                code => Some((code, 5)),
            }
        }
        'U' => digits(rest, 16, 8, 8).map(|(code, _)| (code, 9)),
        'x' => digits(rest, 16, 2, 2).map(|(code, _)| (code, 3)),
        'n' | 'r' | 't' => Some((u32::from(' '), 1)),
        _ => {
            let octal = digits(after, 8, 2, 3).filter(|(code, _)| *code < 0x80);
            let hex = digits(after, 16, 2, 6);
            let hex = hex.and_then(|(code, count)| Some((visible_ascii(code)?, count)));
            // As long as both read the same digits, they are those of C.
            match (octal, hex) {
                (Some((_, octal)), Some((code, count))) if count > octal => Some((code, count)),
                (octal, hex) => octal.or(hex),
            }
        }
    }
}

/// Decodes what follows `%`: `u003C`, or the bytes of one character in UTF-8.
fn after_percent(after: &[Glyph]) -> Option<(u32, usize)> {
    if char_at(after, 0) == Some('u') {
        return digits(after.get(1..)?, 16, 4, 4).map(|(code, _)| (code, 5));
    }
    let byte = |at: usize| u8::try_from(digits(after.get(at..)?, 16, 2, 2)?.0).ok();
    let mut bytes = vec![byte(0)?];
    let count = match bytes.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let mut length = 2;
    while bytes.len() < count {
        if char_at(after, length) != Some('%') {
            return None;
        }
        bytes.push(byte(length + 1)?);
        length += 3;
    }
    Some((u32::from(std::str::from_utf8(&bytes).ok()?.chars().next()?), length))
}
