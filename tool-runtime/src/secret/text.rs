//! Finding a secret in a text, however it is spelled there: as it is, escaped as in JSON or in Rust,
//! any number of times, or percent-encoded as in a URL.
//!
//! Text and secret are brought into one form that all spellings share: backslashes are left out, what
//! they escape is written out, and a control character is the letter of its escape, `n` for a line
//! break. That two different texts have the same form does no harm.

use std::ops::Range;

use memchr::memmem::Finder;

use super::HIDDEN;

/// A secret to look for.
#[derive(Clone)]
pub(super) struct Needle {
    text: Finder<'static>,
    /// More than one where it looks escaped itself: what reads as an escape there may be a sign of its
    /// own that was escaped in turn.
    forms: Vec<Finder<'static>>,
}

impl Needle {
    pub(super) fn new(text: &str) -> Self {
        let form_of =
            |escapes| -> Vec<u8> { form(text.as_bytes(), escapes).map(|(byte, _)| byte).collect() };
        let mut forms: Vec<_> = Escapes::EACH.map(form_of).into();
        forms.sort_unstable();
        forms.dedup();
        let finders = forms.iter().map(|form| Finder::new(form).into_owned());
        Self { text: Finder::new(text).into_owned(), forms: finders.collect() }
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.text.needle() == text.as_bytes()
    }
}

/// Which escapes are written out, beside those of a letter.
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

/// The text without the secrets; none where none is in it.
pub(super) fn hidden<'n>(
    text: &str,
    needles: impl Iterator<Item = &'n Needle> + Clone,
) -> Option<String> {
    let places = places(text, needles);
    (!places.is_empty()).then(|| without(text, places))
}

/// Where in the text the secrets stand, in no order; one may lie over another.
pub(super) fn places<'n>(
    text: &str,
    needles: impl Iterator<Item = &'n Needle> + Clone,
) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    for needle in needles.clone() {
        let length = needle.text.needle().len();
        let found = needle.text.find_iter(text.as_bytes());
        places.extend(found.map(|start| start..start + length));
    }
    if memchr::memchr2(b'\\', b'%', text.as_bytes()).is_some() {
        let (bytes, spans): (Vec<u8>, Vec<Range<usize>>) =
            form(text.as_bytes(), Escapes::ALL).unzip();
        for form in needles.flat_map(|needle| &needle.forms) {
            let length = form.needle().len();
            // A secret of nothing but backslashes has no form.
            let found = form.find_iter(&bytes).filter(|_| length > 0);
            places.extend(found.filter_map(|start| {
                let (first, last) = (spans.get(start)?, spans.get(start + length - 1)?);
                // What has no byte in the form is a backslash, and may be one of the secret's.
                let before = start.checked_sub(1).and_then(|at| spans.get(at));
                let from = before.map_or(0, |before| before.end).min(first.start);
                let behind = spans.get(start + length);
                let to = behind.map_or(text.len(), |behind| behind.start).max(last.end);
                Some(from..to)
            }));
        }
    }
    places
}

/// The text with these places hidden; those that touch or overlap as one.
fn without(text: &str, mut places: Vec<Range<usize>>) -> String {
    places.sort_by_key(|place| place.start);
    let (mut hidden, mut at) = (String::with_capacity(text.len()), 0);
    for Range { start, end } in places {
        if start > at || at == 0 {
            hidden.push_str(text.get(at..start).unwrap_or_default());
            hidden.push_str(HIDDEN);
        }
        at = at.max(end);
    }
    hidden.push_str(text.get(at..).unwrap_or_default());
    hidden
}

/// The bytes of a text in the form that all its spellings share, and where in the text each stands.
fn form(text: &[u8], escapes: Escapes) -> impl Iterator<Item = (u8, Range<usize>)> {
    let (mut at, mut ready) = (0, Vec::new());
    std::iter::from_fn(move || {
        while ready.is_empty() {
            let (bytes, end) = unit(text, at, escapes)?;
            ready.extend(bytes.iter().rev().map(|byte| (*byte, at..end)));
            at = end;
        }
        ready.pop()
    })
}

/// What one byte, or one escape, stands for, and where it ends.
fn unit(text: &[u8], start: usize, escapes: Escapes) -> Option<(Vec<u8>, usize)> {
    let first = *text.get(start)?;
    if escapes.percent
        && first == b'%'
        && let Some(byte) = text.get(start + 1..start + 3).and_then(hex)
        && let Ok(byte) = u8::try_from(byte)
    {
        return Some((plain(byte), start + 3));
    }
    if first != b'\\' {
        return Some((plain(first), start + 1));
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
            let mut room = [0; 4];
            let bytes = c.encode_utf8(&mut room).bytes().flat_map(plain).collect();
            return Some((bytes, end));
        }
    }
    match text.get(after) {
        // A line break behind a backslash, and the like, is what it is anyway.
        Some(escaped) => Some((plain(*escaped), after + 1)),
        None => Some((Vec::new(), after)),
    }
}

/// A byte in the form; none for a backslash.
fn plain(byte: u8) -> Vec<u8> {
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

fn after_backslashes(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| **byte == b'\\').count()
}

/// The code of `uXXXX` or of `u{X…}`, and where it ends.
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

fn hex(digits: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    (!digits.is_empty())
        .then(|| digits.iter().try_fold(0, |sum, byte| Some(sum * 16 + digit(byte)?)))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hide(text: &str, secrets: &[&str]) -> String {
        let needles: Vec<_> = secrets.iter().map(|secret| Needle::new(secret)).collect();
        hidden(text, needles.iter()).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn a_secret_is_found_in_every_spelling() {
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
                let hidden = hide(&text, &[secret]);
                assert!(hidden.contains(HIDDEN), "{text}");
                assert!(hidden.starts_with("before ") && hidden.ends_with(" after"), "{hidden}");
                let left = hidden.replace(HIDDEN, "").replace(['"', '\\'], "");
                assert_eq!(left.trim(), "before  after", "{text} → {hidden}");
            }
        }
    }

    #[test]
    fn all_else_stays() {
        assert_eq!(hide("a hunter22, b", &["hunter22"]), "a [redacted], b");
        assert_eq!(hide("hunter22hunter22 x", &["hunter22"]), "[redacted] x");
        assert_eq!(hide("abcdef", &["abcd", "cdef"]), "[redacted]");
        assert_eq!(
            hide("ab hunter2 \\u00zz \\ 5% %zz \\", &["hunter22"]),
            "ab hunter2 \\u00zz \\ 5% %zz \\"
        );
        assert_eq!(hide("x \\\\ y", &["\\\\\\\\"]), "x \\\\ y");
        assert_eq!(hide("", &["hunter22"]), "");
    }
}
