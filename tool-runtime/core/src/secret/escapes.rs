//! The normal form of a text, which all its escaped spellings share.
//!
//! Backslashes are removed, the characters that escapes stand for are decoded, and a control
//! character becomes the letter of its escape, such as `n` for a line break. Two different texts
//! may have the same form: then more is redacted than necessary, never less.

use std::ops::Range;

use super::view::View;

/// The longest escape, in bytes: a surrogate pair with many backslashes.
const MAX_ESCAPE: usize = 40;

/// The longest number of a character reference, in bytes.
const MAX_NUMBER: usize = 12;

/// The highest number of times that a text may be escaped by percent signs or as HTML. By
/// backslashes, it may be escaped any number of times.
const MAX_LAYERS: usize = 4;

/// The character references of HTML that texts are escaped by, beside those by number.
const ENTITIES: [(&[u8], u8); 6] = [
    (b"quot;", b'"'),
    (b"apos;", b'\''),
    (b"amp;", b'&'),
    (b"lt;", b'<'),
    (b"gt;", b'>'),
    (b"nbsp;", b' '),
];

/// The escapes that are decoded, in addition to those of single letters.
#[derive(Clone, Copy)]
struct Escapes {
    /// `%41`.
    percent: bool,
    /// `\u0041` and `\x41`.
    code: bool,
    /// `&#65;` and `&quot;`.
    entity: bool,
}

impl Escapes {
    const ALL: Self = Self { percent: true, code: true, entity: true };
}

/// Returns the normal forms of a secret. There are several if the secret itself looks escaped: its
/// escapes may be meant literally, and be escaped in turn.
pub(super) fn forms(secret: &str) -> Vec<Vec<u8>> {
    let mut forms: Vec<Vec<u8>> = (0_u8..8)
        .map(|bits| {
            let escapes =
                Escapes { percent: bits & 1 > 0, code: bits & 2 > 0, entity: bits & 4 > 0 };
            let mut form = Vec::new();
            for_each_unit(secret.as_bytes(), escapes, |bytes, _| form.extend_from_slice(bytes));
            form
        })
        .collect();
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Returns the normal forms of a text that has escapes, after each layer of them. If the text is
/// partial, its forms are those of the text before the escapes at its end; also returns where these
/// begin in the original text.
pub(super) fn normal_views(view: &View<'_>, is_partial: bool) -> (Vec<View<'static>>, usize) {
    let (mut views, mut open): (Vec<View<'static>>, usize) = (Vec::new(), usize::MAX);
    while views.len() < MAX_LAYERS {
        let last = views.last().unwrap_or(view);
        let has_escapes = if views.is_empty() {
            memchr::memchr3(b'\\', b'%', b'&', last.bytes()).is_some()
        } else {
            memchr::memchr2(b'%', b'&', last.bytes()).is_some()
        };
        if !has_escapes {
            break;
        }
        let end = if is_partial { complete_len(last.bytes()) } else { last.bytes().len() };
        if end < last.bytes().len() {
            open = open.min(last.source(end..end + 1).start);
        }
        let next = normal_view(last, end);
        let is_unchanged = next.bytes().len() == last.bytes().len();
        if !views.is_empty() && is_unchanged {
            break;
        }
        views.push(next);
    }
    (views, open)
}

/// Returns the length of a text without the escapes at its end, the last of which may be
/// incomplete.
fn complete_len(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(MAX_ESCAPE);
    let first = memchr::memchr3(b'\\', b'%', b'&', bytes.get(tail..).unwrap_or_default());
    let Some(first) = first else { return bytes.len() };
    let mut end = without_backslashes(bytes, tail + first);
    // The first half of a surrogate pair waits for the second one.
    if let Some(half) = end.checked_sub(5)
        && let Some([b'u', b'd' | b'D', b'8' | b'9' | b'a'..=b'b' | b'A'..=b'B', _, _]) =
            bytes.get(half..end)
    {
        end = without_backslashes(bytes, half);
    }
    end
}

/// Returns the offset of the backslashes before an offset.
fn without_backslashes(bytes: &[u8], end: usize) -> usize {
    let before = bytes.get(..end).unwrap_or_default();
    end - before.iter().rev().take_while(|byte| **byte == b'\\').count()
}

fn normal_view(view: &View<'_>, end: usize) -> View<'static> {
    let mut normal = View::of_whole(view);
    let bytes = view.bytes().get(..end).unwrap_or_default();
    for_each_unit(bytes, Escapes::ALL, |bytes, range| {
        bytes.iter().for_each(|byte| normal.push(*byte, view.source(range.clone())));
    });
    normal
}

/// Calls `on_unit` with the normal form of each character and escape, and its range.
fn for_each_unit(text: &[u8], escapes: Escapes, mut on_unit: impl FnMut(&[u8], Range<usize>)) {
    let (mut at, mut bytes) = (0, Vec::new());
    while let Some(&first) = text.get(at) {
        bytes.clear();
        let end = match first {
            b'%' if escapes.percent => percent(text, at, &mut bytes),
            b'&' if escapes.entity => entity(text, at, &mut bytes),
            b'\\' => Some(backslash(text, at, escapes.code, &mut bytes)),
            _ => None,
        };
        let end = end.unwrap_or_else(|| {
            push_normal(first, &mut bytes);
            at + 1
        });
        on_unit(&bytes, at..end);
        at = end;
    }
}

fn percent(text: &[u8], at: usize, bytes: &mut Vec<u8>) -> Option<usize> {
    let byte = hex(text.get(at + 1..at + 3)?)?;
    push_normal(u8::try_from(byte).ok()?, bytes);
    Some(at + 3)
}

fn entity(text: &[u8], at: usize, bytes: &mut Vec<u8>) -> Option<usize> {
    let rest = text.get(at + 1..)?;
    let Some(number) = rest.strip_prefix(b"#") else {
        let (name, byte) = ENTITIES.iter().find(|(name, _)| rest.starts_with(name))?;
        push_normal(*byte, bytes);
        return Some(at + 1 + name.len());
    };
    let length = number.iter().take(MAX_NUMBER).position(|byte| *byte == b';')?;
    let digits = number.get(..length)?;
    let code = match digits.strip_prefix(b"x").or_else(|| digits.strip_prefix(b"X")) {
        Some(digits) => hex(digits)?,
        None => std::str::from_utf8(digits).ok()?.parse().ok()?,
    };
    push_char(char::from_u32(code)?, bytes);
    Some(at + length + 3)
}

/// Decodes backslashes and what they escape, and returns the end.
fn backslash(text: &[u8], at: usize, decodes_codes: bool, bytes: &mut Vec<u8>) -> usize {
    let after = after_backslashes(text, at);
    if decodes_codes {
        if let Some(digits) = text.get(after + 1..after + 3)
            && text.get(after) == Some(&b'x')
            && let Some(byte) = hex(digits).and_then(|byte| u8::try_from(byte).ok())
        {
            push_normal(byte, bytes);
            return after + 3;
        }
        if let Some((c, end)) = unicode_char(text, after) {
            push_char(c, bytes);
            return end;
        }
    }
    match text.get(after) {
        // A backslash before a line break and the like changes nothing in the form.
        Some(escaped) => {
            push_normal(*escaped, bytes);
            after + 1
        }
        None => after,
    }
}

/// Decodes `uXXXX` or `u{X…}`, with the second half of a surrogate pair.
fn unicode_char(text: &[u8], at: usize) -> Option<(char, usize)> {
    let (high, end) = unicode(text, at)?;
    let low = unicode(text, after_backslashes(text, end)).filter(|_| text.get(end) == Some(&b'\\'));
    let pair = low.and_then(|(low, end)| {
        let units = [u16::try_from(high).ok()?, u16::try_from(low).ok()?];
        let mut decoded = char::decode_utf16(units);
        decoded.next()?.ok().filter(|_| decoded.next().is_none()).map(|c| (c, end))
    });
    pair.or_else(|| Some((char::from_u32(high)?, end)))
}

/// Decodes `uXXXX` or `u{X…}`, and returns the code and its end.
fn unicode(text: &[u8], at: usize) -> Option<(u32, usize)> {
    let rest = text.get(at..)?.strip_prefix(b"u")?;
    match rest.strip_prefix(b"{") {
        Some(rest) => {
            let length = rest.iter().take(7).position(|byte| *byte == b'}')?;
            Some((rest.get(..length).and_then(hex)?, at + length + 3))
        }
        None => Some((rest.get(..4).and_then(hex)?, at + 5)),
    }
}

fn push_char(c: char, bytes: &mut Vec<u8>) {
    let mut buffer = [0; 4];
    c.encode_utf8(&mut buffer).bytes().for_each(|byte| push_normal(byte, bytes));
}

/// Appends the normal form of a byte, which is empty for a backslash.
fn push_normal(byte: u8, bytes: &mut Vec<u8>) {
    let normal = match byte {
        b'\\' => return,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        b'\x08' => b'b',
        b'\x0c' => b'f',
        b'\0' => b'0',
        other => other,
    };
    bytes.push(normal);
}

/// Returns the offset of the first byte from `start` on that is not a backslash.
fn after_backslashes(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| **byte == b'\\').count()
}

/// Parses hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u32> {
    let digit =
        |sum: u32, byte: &u8| sum.checked_mul(16)?.checked_add(char::from(*byte).to_digit(16)?);
    (!digits.is_empty()).then(|| digits.iter().try_fold(0, digit)).flatten()
}
