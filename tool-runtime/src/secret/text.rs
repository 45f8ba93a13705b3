//! Finds a secret in a text, in every spelling: verbatim, escaped as in JSON or in Rust any number
//! of times, or percent-encoded as in a URL.
//!
//! Text and secret are converted to one normal form that all spellings share. Backslashes are
//! removed, the characters that they escape are decoded, and a control character becomes the letter
//! of its escape, such as `n` for a line break. Two different texts may have the same form: then
//! more is redacted than necessary, never less.

use std::ops::Range;

use memchr::memmem::Finder;

use super::REDACTED;

/// A secret to search for.
#[derive(Clone)]
pub(super) struct Needle {
    text: Finder<'static>,
    /// The normal forms. There are several if the secret itself looks escaped: its escapes may be
    /// meant literally, and be escaped in turn.
    forms: Vec<Finder<'static>>,
}

impl Needle {
    pub(super) fn new(text: &str) -> Self {
        let normal_form = |escapes| -> Vec<u8> {
            normalized(text.as_bytes(), escapes).map(|(byte, _)| byte).collect()
        };
        let mut forms: Vec<_> = Escapes::EACH.map(normal_form).into();
        forms.sort_unstable();
        forms.dedup();
        let finders = forms.iter().map(|form| Finder::new(form).into_owned());
        Self { text: Finder::new(text).into_owned(), forms: finders.collect() }
    }

    /// Whether this is the needle of `text`.
    pub(super) fn is_needle_of(&self, text: &str) -> bool {
        self.text.needle() == text.as_bytes()
    }
}

/// The escapes that are decoded, in addition to those of single letters.
#[derive(Clone, Copy)]
struct Escapes {
    /// `%41`.
    percent: bool,
    /// `\u0041`.
    code: bool,
}

impl Escapes {
    const ALL: Self = Self { percent: true, code: true };
    const EACH: [Self; 4] = [
        Self::ALL,
        Self { percent: false, ..Self::ALL },
        Self { code: false, ..Self::ALL },
        Self { percent: false, code: false },
    ];
}

/// Returns the text with its secrets replaced; `None` if it contains none.
pub(super) fn redacted<'n>(
    text: &str,
    needles: impl Iterator<Item = &'n Needle> + Clone,
) -> Option<String> {
    let ranges = secret_ranges(text, needles);
    (!ranges.is_empty()).then(|| replace(text, ranges))
}

/// Returns the byte ranges of the secrets in a text, in no order; they may overlap.
pub(super) fn secret_ranges<'n>(
    text: &str,
    needles: impl Iterator<Item = &'n Needle> + Clone,
) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for needle in needles.clone() {
        let length = needle.text.needle().len();
        let matches = needle.text.find_iter(text.as_bytes());
        ranges.extend(matches.map(|start| start..start + length));
    }
    if memchr::memchr2(b'\\', b'%', text.as_bytes()).is_some() {
        let (bytes, spans): (Vec<u8>, Vec<Range<usize>>) =
            normalized(text.as_bytes(), Escapes::ALL).unzip();
        for form in needles.flat_map(|needle| &needle.forms) {
            let length = form.needle().len();
            // The form of a secret that consists of backslashes is empty.
            let matches = form.find_iter(&bytes).filter(|_| length > 0);
            ranges.extend(matches.filter_map(|start| {
                let (first, last) = (spans.get(start)?, spans.get(start + length - 1)?);
                // Text without a byte in the form is backslashes, which may belong to the secret.
                let previous = start.checked_sub(1).and_then(|at| spans.get(at));
                let from = previous.map_or(0, |previous| previous.end).min(first.start);
                let next = spans.get(start + length);
                let to = next.map_or(text.len(), |next| next.start).max(last.end);
                Some(from..to)
            }));
        }
    }
    ranges
}

/// Replaces these ranges of a text; adjacent and overlapping ranges are replaced as one.
fn replace(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let (mut redacted, mut at) = (String::with_capacity(text.len()), 0);
    for Range { start, end } in ranges {
        if start > at || at == 0 {
            redacted.push_str(text.get(at..start).unwrap_or_default());
            redacted.push_str(REDACTED);
        }
        at = at.max(end);
    }
    redacted.push_str(text.get(at..).unwrap_or_default());
    redacted
}

/// Returns the bytes of the normal form of a text, each with its range in the text.
fn normalized(text: &[u8], escapes: Escapes) -> impl Iterator<Item = (u8, Range<usize>)> {
    let (mut at, mut pending) = (0, Vec::new());
    std::iter::from_fn(move || {
        while pending.is_empty() {
            let (bytes, end) = next_unit(text, at, escapes)?;
            pending.extend(bytes.iter().rev().map(|byte| (*byte, at..end)));
            at = end;
        }
        pending.pop()
    })
}

/// Returns the normal form of the byte or escape at `start`, and its end.
fn next_unit(text: &[u8], start: usize, escapes: Escapes) -> Option<(Vec<u8>, usize)> {
    let first = *text.get(start)?;
    if escapes.percent
        && first == b'%'
        && let Some(byte) = text.get(start + 1..start + 3).and_then(hex)
        && let Ok(byte) = u8::try_from(byte)
    {
        return Some((normal_byte(byte), start + 3));
    }
    if first != b'\\' {
        return Some((normal_byte(first), start + 1));
    }
    let after = after_backslashes(text, start);
    if escapes.code
        && let Some((high, end)) = unicode(text, after)
    {
        let low =
            unicode(text, after_backslashes(text, end)).filter(|_| text.get(end) == Some(&b'\\'));
        let pair = low.and_then(|(low, end)| {
            let units = [u16::try_from(high).ok()?, u16::try_from(low).ok()?];
            let mut decoded = char::decode_utf16(units);
            decoded.next()?.ok().filter(|_| decoded.next().is_none()).map(|c| (c, end))
        });
        if let Some((c, end)) = pair.or_else(|| Some((char::from_u32(high)?, end))) {
            let mut buffer = [0; 4];
            let bytes = c.encode_utf8(&mut buffer).bytes().flat_map(normal_byte).collect();
            return Some((bytes, end));
        }
    }
    match text.get(after) {
        // A backslash before a line break and the like changes nothing in the form.
        Some(escaped) => Some((normal_byte(*escaped), after + 1)),
        None => Some((Vec::new(), after)),
    }
}

/// Returns the normal form of a byte, which is empty for a backslash.
fn normal_byte(byte: u8) -> Vec<u8> {
    match byte {
        b'\\' => Vec::new(),
        b'\n' => vec![b'n'],
        b'\r' => vec![b'r'],
        b'\t' => vec![b't'],
        b'\x08' => vec![b'b'],
        b'\x0c' => vec![b'f'],
        b'\0' => vec![b'0'],
        other => vec![other],
    }
}

/// Returns the offset of the first byte from `start` on that is not a backslash.
fn after_backslashes(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| **byte == b'\\').count()
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

/// Parses hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    (!digits.is_empty())
        .then(|| digits.iter().try_fold(0, |sum, byte| Some(sum * 16 + digit(byte)?)))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(text: &str, secrets: &[&str]) -> String {
        let needles: Vec<_> = secrets.iter().map(|secret| Needle::new(secret)).collect();
        redacted(text, needles.iter()).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn secret_is_redacted_in_every_spelling() {
        for secret in [
            "hunter22",
            "a\"b\nc\td\\",
            "C:\\new\\u0041",
            "naïve 🔑 key",
            "50%41 off",
            "\\n\\n",
            "'q'\0z",
        ] {
            let json = |text: &str| serde_json::to_string(text).unwrap();
            let ascii: String =
                secret.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            let percent: String = secret.bytes().map(|byte| format!("%{byte:02x}")).collect();
            let spellings = [
                secret.to_owned(),
                json(secret),
                json(&json(secret)),
                json(&json(&json(secret))),
                ascii.clone(),
                json(&ascii),
                percent,
                format!("{secret:?}"),
                format!("{:?}", format!("{secret:?}")),
            ];
            for spelled in spellings {
                let text = format!("before {spelled} after");
                let redacted = redact(&text, &[secret]);
                assert!(redacted.contains(REDACTED), "{text}");
                assert!(
                    redacted.starts_with("before ") && redacted.ends_with(" after"),
                    "{redacted}"
                );
                let left = redacted.replace(REDACTED, "").replace(['"', '\\'], "");
                assert_eq!(left.trim(), "before  after", "{text} → {redacted}");
            }
        }
    }

    #[test]
    fn text_around_a_secret_is_unchanged() {
        assert_eq!(redact("a hunter22, b", &["hunter22"]), "a [redacted], b");
        assert_eq!(redact("hunter22hunter22 x", &["hunter22"]), "[redacted] x");
        assert_eq!(redact("abcdef", &["abcd", "cdef"]), "[redacted]");
        assert_eq!(
            redact("ab hunter2 \\u00zz \\ 5% %zz \\", &["hunter22"]),
            "ab hunter2 \\u00zz \\ 5% %zz \\"
        );
        assert_eq!(redact("x \\\\ y", &["\\\\\\\\"]), "x \\\\ y");
        assert_eq!(redact("", &["hunter22"]), "");
    }
}
