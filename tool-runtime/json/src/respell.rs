//! Readings of a whole text that is damaged throughout: each of its tokens is spelled in another
//! way, or its outermost bracket is.
//!
//! A reading is tried after the search for a value has failed. It has the length of the text where
//! that is possible, so that the positions of errors and fixes stay right.

use std::ops::Range;

use super::{Fix, FixKind, coerce::TypeSet, whitespace::is_json_whitespace};

/// The character references of HTML in escaped JSON.
const REFERENCES: [(&str, &str); 13] = [
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#x22;", "\""),
    ("&#39;", "'"),
    ("&#039;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&nbsp;", " "),
    ("&#x2F;", "/"),
    ("&#47;", "/"),
    ("&amp;", "&"),
];

/// The names of the references to quotes.
const QUOTES: [&str; 7] = ["quot;", "#34;", "#x22;", "apos;", "#39;", "#039;", "#x27;"];
/// The number of times that a text may be HTML-escaped.
const MAX_HTML_LAYERS: usize = 3;

/// A respelled text, which is parsed in place of the original.
pub(super) struct Respelling {
    pub(super) text: String,
    /// The fixes that lead to it, with spans of the original text.
    pub(super) fixes: Vec<Fix>,
    pub(super) positions: Positions,
}

/// The mapping from positions in a respelled text to the original text.
#[derive(Clone, Copy)]
pub(super) enum Positions {
    Same,
    /// One character was inserted at the start.
    Shifted,
    /// Only the span of the whole text is known.
    Unknown,
}

impl Respelling {
    /// Returns the first reading that applies to `text`.
    pub(super) fn of(text: &str, expected: TypeSet) -> Option<Self> {
        html(text)
            .or_else(|| escaped_breaks(text))
            .or_else(|| doubled_braces(text))
            .or_else(|| quoted_container(text, expected))
            .or_else(|| missing_opener(text))
    }

    /// Returns a text of the same length with blanks in place of `spans`.
    fn blanked(text: &str, spans: &[Range<usize>], fixes: Vec<Fix>) -> Option<Self> {
        let mut bytes = text.as_bytes().to_vec();
        for span in spans {
            bytes.get_mut(span.clone())?.fill(b' ');
        }
        let text = String::from_utf8(bytes).ok()?;
        Some(Self { text, fixes, positions: Positions::Same })
    }

    /// Returns a span of the original text.
    pub(super) fn original(&self, span: &Range<usize>, len: usize) -> Range<usize> {
        match self.positions {
            Positions::Same => span.clone(),
            Positions::Shifted => span.start.saturating_sub(1)..span.end.saturating_sub(1),
            Positions::Unknown => 0..len,
        }
    }
}

/// Reads HTML-escaped JSON, escaped up to three times: `{&quot;a&quot;: 1}`, `{&amp;quot;a…`.
fn html(text: &str) -> Option<Respelling> {
    if !text.contains(['{', '[']) || text.contains('"') {
        return None;
    }
    let mut json = text.to_owned();
    for _ in 0..html_layers(text).filter(|layers| *layers <= MAX_HTML_LAYERS)? {
        json = unescaped(&json)?;
    }
    let fixes = vec![Fix::new(FixKind::Escaped, 0..text.len())];
    Some(Respelling { text: json, fixes, positions: Positions::Unknown })
}

/// Returns how often a text is escaped, by the first of its quotes that is where JSON has one: at
/// the start, or next to a bracket, a colon or a comma.
fn html_layers(text: &str) -> Option<usize> {
    text.match_indices('&').find_map(|(at, _)| {
        let (before, reference) = text.split_at_checked(at)?;
        let before = before.trim_end();
        let name = reference.trim_start_matches('&');
        let inner = name.trim_start_matches("amp;");
        let is_quote = QUOTES.iter().any(|quote| inner.starts_with(quote));
        let is_delimiter = before.is_empty() || before.ends_with(['{', '[', ':', ',']);
        (is_quote && is_delimiter).then(|| 1 + (name.len() - inner.len()) / "amp;".len())
    })
}

/// Returns the text without one layer of HTML escaping.
fn unescaped(text: &str) -> Option<String> {
    let (mut json, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('&') {
        let (before, reference) = rest.split_at_checked(at)?;
        json.push_str(before);
        // An ampersand that is not escaped shows that the text is not escaped throughout.
        let (name, character) = REFERENCES.iter().find(|(name, _)| reference.starts_with(name))?;
        json.push_str(character);
        rest = reference.get(name.len()..)?;
    }
    json.push_str(rest);
    Some(json)
}

/// Reads `\n`, `\r` and `\t` between tokens as whitespace.
fn escaped_breaks(text: &str) -> Option<Respelling> {
    // In text that is escaped throughout, the quotes are escaped as well.
    if !text.contains('\\') || text.contains("{\\\"") || text.contains("n\\\"") {
        return None;
    }
    let breaks = ["\\n", "\\r", "\\t"];
    let mut spans: Vec<Range<usize>> = Vec::new();
    walk(text, |at, rest| {
        let is_break = breaks.iter().any(|escape| rest.starts_with(escape));
        is_break.then(|| spans.push(at..at + 2));
        Some(if is_break { 2 } else { 1 })
    })?;
    let fixes = spans.iter().map(|span| Fix::new(FixKind::Whitespace, span.clone())).collect();
    if spans.is_empty() { None } else { Respelling::blanked(text, &spans, fixes) }
}

/// Reads doubled braces around an object, which templates write for plain ones, as single ones.
fn doubled_braces(text: &str) -> Option<Respelling> {
    let (mut open, mut spans) = (Vec::new(), Vec::new());
    let next = |rest: &str| {
        rest.get(1..).unwrap_or_default().trim_start_matches(is_json_whitespace).chars().next()
    };
    walk(text, |at, rest| {
        match rest.chars().next()? {
            '{' => open.push((at, next(rest) == Some('{'))),
            '}' => {
                let (_, is_outer) = open.pop()?;
                if is_outer {
                    spans.push(at..at + 1);
                }
                if let Some((outer, true)) = open.last() {
                    // Another member or item follows, so the outer brace is not doubled.
                    (next(rest) == Some('}')).then_some(())?;
                    spans.push(*outer..outer + 1);
                }
            }
            _ => {}
        }
        Some(1)
    })?;
    let is_paired = spans.len().is_multiple_of(2) && open.is_empty();
    if spans.is_empty() || !is_paired {
        return None;
    }
    let fixes = spans.iter().map(|span| Fix::new(FixKind::DoubledBraces, span.clone())).collect();
    Respelling::blanked(text, &spans, fixes)
}

/// Reads an object or a list in quotes although its own quotes are not escaped.
fn quoted_container(text: &str, expected: TypeSet) -> Option<Respelling> {
    let start = text.len() - text.trim_start().len();
    let inner = text.trim().strip_prefix('"')?.strip_suffix('"')?;
    let is_container = inner.starts_with('{') && inner.ends_with('}')
        || inner.starts_with('[') && inner.ends_with(']');
    if expected.allows_string() || !is_container || !inner.contains('"') || inner.contains('\\') {
        return None;
    }
    let span = start..start + inner.len() + 2;
    let quotes = [start..start + 1, span.end - 1..span.end];
    let fixes =
        [FixKind::InnerQuotes, FixKind::EncodedTwice].map(|kind| Fix::new(kind, span.clone()));
    Respelling::blanked(text, &quotes, fixes.to_vec())
}

/// Inserts the missing brace before the first key.
fn missing_opener(text: &str) -> Option<Respelling> {
    let start = text.len() - text.trim_start().len();
    let members = text.trim();
    if !members.ends_with('}') || !begins_with_key(members) {
        return None;
    }
    let (mut depth, mut end) = (1_usize, None);
    walk(text, |at, rest| {
        match rest.chars().next()? {
            '{' | '[' => depth += 1,
            '}' | ']' => {
                depth = depth.checked_sub(1)?;
                end = (depth == 0).then_some(at + 1);
            }
            _ => {}
        }
        Some(1)
    })?;
    let is_whole = depth == 0 && end == Some(text.trim_end().len());
    let fixes = vec![Fix::new(FixKind::MissingOpener, start..start)];
    let text = format!("{{{text}");
    is_whole.then_some(Respelling { text, fixes, positions: Positions::Shifted })
}

/// Returns whether the text begins with a key and a colon.
fn begins_with_key(text: &str) -> bool {
    let after = match text.strip_prefix('"') {
        Some(rest) => rest.split_once('"').map(|(_, after)| after),
        None => {
            let after = text.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            (after.len() < text.len()).then_some(after)
        }
    };
    after.is_some_and(|after| after.trim_start_matches(is_json_whitespace).starts_with(':'))
}

/// Visits the text outside strings. `visit` receives the position and the text from there on, and
/// returns the number of bytes to skip, or `None` to stop without a result.
fn walk(text: &str, mut visit: impl FnMut(usize, &str) -> Option<usize>) -> Option<()> {
    let (mut at, mut before) = (0, ':');
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let c = rest.chars().next()?;
        let opens = c == '"' || c == '\'' && ",:{[(".contains(before);
        if opens {
            at += string_len(rest, c)?;
            before = c;
            continue;
        }
        at += if c.is_ascii() { visit(at, rest)? } else { c.len_utf8() };
        if !is_json_whitespace(c) {
            before = c;
        }
    }
    Some(())
}

/// Returns the length of the string at the start of `text`, with its quotes.
fn string_len(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = true;
    let end = text.char_indices().find(|(_, c)| {
        let ends = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map(|(end, _)| end + 1)
}
