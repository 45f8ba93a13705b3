//! Characters that are written as references of HTML or as escapes of JSON, JavaScript, C, mails or
//! URLs.

/// Stands for a letter that looks like some letter of ASCII.
pub(super) const ANY_LETTER: char = '\u{1}';

/// Stands for a character that is neither a letter nor one of ASCII, and has a name in HTML.
pub(super) const ANY_SYMBOL: char = '\u{2}';

/// Named references of HTML to characters that tags consist of.
const ENTITIES: [(&str, char); 16] = [
    ("lt", '<'),
    ("LT", '<'),
    ("Lt", '<'),
    ("gt", '>'),
    ("GT", '>'),
    ("Gt", '>'),
    ("quot", '"'),
    ("QUOT", '"'),
    ("sol", '/'),
    ("bsol", '\\'),
    ("lbrack", '['),
    ("rbrack", ']'),
    ("vert", '|'),
    ("shy", '\u{ad}'),
    ("nbsp", ' '),
    ("ZeroWidthSpace", '\u{200b}'),
];

/// Ends of the names of references to letters with marks, and to letters of other alphabets.
const LETTERS: [&str; 12] = [
    "acute", "breve", "caron", "cedil", "circ", "fr", "grave", "macr", "opf", "scr", "tilde", "uml",
];

/// Names of `&` after `&`, in a text that was encoded more than once.
const AMPERSANDS: [&str; 3] = ["amp;", "AMP;", "amp"];

/// Escapes that mails use for the characters of a tag.
const QUOTED_PRINTABLE: [(&str, char); 6] =
    [("=3C", '<'), ("=3c", '<'), ("=3E", '>'), ("=3e", '>'), ("=2F", '/'), ("=2f", '/')];

/// The maximum length of the name of a reference.
const MAX_NAME: usize = 31;

/// Decodes the reference or escape at the start of a text. Returns the character and the length of
/// the reference.
pub(super) fn reference(rest: &str) -> Option<(char, usize)> {
    let decoded = escape(rest);
    // An escape may stand for the `&` of a reference, as in `\u0026lt;`.
    let Some(('&', length)) = decoded else { return decoded };
    let named = rest.get(length..).and_then(after_ampersand);
    named.map(|(c, more)| (c, length + more)).or(decoded)
}

fn escape(rest: &str) -> Option<(char, usize)> {
    match rest.as_bytes() {
        [b'&', ..] => after_ampersand(rest.get(1..)?).map(|(c, length)| (c, 1 + length)),
        [b'\\', b'u', b'{', ..] => {
            let (digits, _) = rest.get(3..)?.split_at_checked(8).unwrap_or((rest.get(3..)?, ""));
            let (digits, _) = digits.split_once('}')?;
            Some((hex(digits)?, 4 + digits.len()))
        }
        [b'\\', b'u', ..] => Some((hex(rest.get(2..6)?)?, 6)),
        [b'\\', b'U', ..] => Some((hex(rest.get(2..10)?)?, 10)),
        [b'\\', b'x', ..] => Some((hex(rest.get(2..4)?)?, 4)),
        [b'\\', b'0'..=b'7', ..] => of_octal(rest),
        [b'%', ..] => of_url(rest),
        [b'=', ..] => {
            let escape = rest.get(..3)?;
            QUOTED_PRINTABLE.iter().find(|(code, _)| *code == escape).map(|(_, c)| (*c, 3))
        }
        _ => None,
    }
}

fn hex(digits: &str) -> Option<char> {
    let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| char::from_u32(u32::from_str_radix(digits, 16).ok()?))?
}

/// Decodes what follows the `&` of `&lt;`, `&#60;` or `&#x3c;`, which may be encoded again as
/// `&amp;lt;`.
fn after_ampersand(rest: &str) -> Option<(char, usize)> {
    let mut after = rest;
    while let Some(inner) = without_ampersand(after) {
        after = inner;
    }
    let skipped = rest.len() - after.len();
    let (c, length) = match after.strip_prefix('#') {
        Some(digits) => numeric(digits).map(|(c, length)| (c, 1 + length))?,
        None => named(after)?,
    };
    let is_closed = after.as_bytes().get(length) == Some(&b';');
    Some((c, skipped + length + usize::from(is_closed)))
}

/// Removes what follows the `&` of an encoded `&`: `amp;`, `#38;` or `#x26;`.
fn without_ampersand(rest: &str) -> Option<&str> {
    let named = AMPERSANDS.iter().find_map(|amp| rest.strip_prefix(amp));
    named.or_else(|| {
        let digits = rest.strip_prefix('#')?;
        let (_, length) = numeric(digits).filter(|(c, _)| *c == '&')?;
        let inner = digits.get(length..)?;
        Some(inner.strip_prefix(';').unwrap_or(inner))
    })
}

/// Decodes what follows `&#`.
fn numeric(text: &str) -> Option<(char, usize)> {
    let (radix, skipped) = if text.starts_with(['x', 'X']) { (16, 1) } else { (10, 0) };
    let all = text.get(skipped..)?;
    let significant = all.trim_start_matches('0');
    let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
    let length = significant.bytes().take(9).take_while(is_digit).count();
    let code = u32::from_str_radix(significant.get(..length)?, radix).ok()?;
    Some((char::from_u32(code)?, skipped + all.len() - significant.len() + length))
}

/// Decodes what follows `&`. A name that is not listed stands for some letter or some symbol.
fn named(text: &str) -> Option<(char, usize)> {
    let listed = ENTITIES.iter().find(|(name, _)| text.starts_with(name));
    if let Some((name, c)) = listed {
        return Some((*c, name.len()));
    }
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric();
    let length = text.bytes().take(MAX_NAME + 1).take_while(is_of_name).count();
    let name = text.get(..length).filter(|name| {
        name.len() >= 2 && text.get(name.len()..).is_some_and(|end| end.starts_with(';'))
    })?;
    let is_letter = LETTERS.iter().any(|end| name.len() == 1 + end.len() && name.ends_with(end));
    Some((if is_letter { ANY_LETTER } else { ANY_SYMBOL }, length))
}

/// Decodes `\74`, as C and Python write a character of ASCII.
fn of_octal(rest: &str) -> Option<(char, usize)> {
    let is_octal = |byte: &u8| matches!(byte, b'0'..=b'7');
    let length = rest.bytes().skip(1).take(3).take_while(is_octal).count();
    let code = u8::from_str_radix(rest.get(1..=length)?, 8).ok()?;
    (length > 1 && code.is_ascii()).then(|| (code.into(), 1 + length))
}

/// Decodes `%3C`, `%u003C`, or the bytes of one character in UTF-8. Each `%` may be encoded again
/// as `%25`.
fn of_url(rest: &str) -> Option<(char, usize)> {
    let byte = |text: &str| {
        let mut after = text.strip_prefix('%')?;
        while let Some(inner) = after.strip_prefix("25") {
            after = inner;
        }
        let byte = u8::try_from(u32::from(hex(after.get(..2)?)?)).ok()?;
        Some((byte, text.len() - after.len() + 2))
    };
    if let Some(digits) = rest.strip_prefix("%u") {
        return Some((hex(digits.get(..4)?)?, 6));
    }
    let (first, mut length) = byte(rest)?;
    let mut bytes = vec![first];
    let count = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    while bytes.len() < count {
        let (next, more) = byte(rest.get(length..)?)?;
        bytes.push(next);
        length += more;
    }
    Some((std::str::from_utf8(&bytes).ok()?.chars().next()?, length))
}
