//! A bracketed text: from a bracket to its matching closing bracket.

use serde_json::Value;

use crate::{strict::parse_unique, whitespace::is_json_whitespace};

/// The maximum depth that serde_json parses.
const MAX_DEPTH: u32 = 127;

/// A stretch of text whose brackets match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bracketed<'t> {
    pub(super) text: &'t str,
    /// Whether its quotes are written `\"`. JSON has no backslash outside strings, so this is
    /// certain.
    pub(super) escaped: bool,
}

impl<'t> Bracketed<'t> {
    /// Returns the bracketed text at the start of `text`, which begins with a bracket. Brackets in
    /// strings are ignored. Returns `None` if brackets do not match, are nested too deep, or are
    /// still open at the end.
    ///
    /// The kinds of the open brackets are the bits of one number, so this does not recurse.
    pub(super) fn at(text: &'t str) -> Option<Self> {
        let (mut kinds, mut depth) = (0_u128, 0_u32);
        let mut in_string = false;
        let mut units = UnescapedBytes { bytes: text.as_bytes(), at: 0, escaped: None };
        while let Some(unit) = units.next(in_string)? {
            match unit {
                b'"' => in_string = !in_string,
                b'\\' if in_string => drop(units.next(in_string)?),
                _ if in_string => {}
                b'{' | b'[' => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return None;
                    }
                    kinds = kinds << 1 | u128::from(unit == b'{');
                }
                b'}' | b']' => {
                    if (kinds & 1 == 1) != (unit == b'}') {
                        return None;
                    }
                    kinds >>= 1;
                    depth -= 1;
                    if depth == 0 {
                        let text = text.get(..units.at)?;
                        let escaped = units.escaped == Some(true) && text.contains("\\\"");
                        return Some(Self { text, escaped });
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Parses the value, and returns it with its text without the extra level of escaping.
    pub(super) fn parse(&self) -> serde_json::Result<(Value, String)> {
        let json = if self.escaped { unescape(self.text)? } else { self.text.to_owned() };
        Ok((parse_unique(&json)?, json))
    }

    /// Removes a level of escaping from `text`, which begins with a bracket and an escaped quote. A
    /// truncated escape at the end is dropped.
    pub(super) fn unescaped(text: &str) -> Option<String> {
        if !Self::starts_escaped(text) {
            return None;
        }
        let body = text.trim_end_matches('\\');
        let escapes = text.len() - body.len();
        let body = text.get(..text.len() - escapes % 2)?;
        unescape(body).ok()
    }

    /// Returns whether an escaped quote follows the opening brackets of `text`.
    pub(super) fn starts_escaped(text: &str) -> bool {
        let inside =
            text.trim_start_matches(|c: char| matches!(c, '{' | '[') || is_json_whitespace(c));
        inside.starts_with("\\\"")
    }

    /// Returns whether this is a word in brackets, such as `{city}`, `[see below]` or
    /// `[TOOL_CALLS]`: it contains no quotes, colons, commas, equals signs or literals.
    pub(super) fn is_placeholder(&self) -> bool {
        let words = self.text.trim_matches(|c: char| {
            matches!(c, '{' | '}' | '[' | ']' | '/') || is_json_whitespace(c)
        });
        let first =
            words.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let literals = ["true", "false", "null", "none", "undefined", "nan", "infinity"];
        first.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !literals.iter().any(|literal| first.eq_ignore_ascii_case(literal))
            && !words.contains(['"', '\'', '`', '“', '”', '‘', '’', ':', ',', '='])
    }
}

/// The bytes of a text; for an escaped text, the bytes it stands for.
struct UnescapedBytes<'t> {
    bytes: &'t [u8],
    at: usize,
    /// `None` until the first quote or backslash.
    escaped: Option<bool>,
}

impl UnescapedBytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    /// The next byte, `Some(None)` at the end, and `None` if an escaped text contains a bare quote.
    #[expect(clippy::option_option, reason = "the end and the contradiction are two things")]
    fn next(&mut self, in_string: bool) -> Option<Option<u8>> {
        let Some(byte) = self.byte() else {
            return Some(None);
        };
        if !in_string && matches!(byte, b'"' | b'\\') && self.escaped.is_none() {
            self.escaped = Some(byte == b'\\');
        }
        match (self.escaped, byte) {
            (Some(true), b'\\') => {
                Some(self.byte().map(
                    |byte| {
                        if matches!(byte, b'"' | b'\\' | b'/') { byte } else { b' ' }
                    },
                ))
            }
            (Some(true), b'"') => None,
            _ => Some(Some(byte)),
        }
    }
}

/// The length of the string or literal at the start of `text`; `None` if its quote never closes.
pub(super) fn scalar_len(text: &str) -> Option<usize> {
    if !text.starts_with('"') {
        return text
            .find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c))
            .or(Some(text.len()));
    }
    let mut units = UnescapedBytes { bytes: text.as_bytes(), at: 1, escaped: Some(false) };
    loop {
        match units.byte()? {
            b'"' => return Some(units.at),
            b'\\' => drop(units.byte()?),
            _ => {}
        }
    }
}

/// Unescapes `body` as the content of a string. Line breaks between members may be unescaped; one
/// after a backslash is invalid.
fn unescape(body: &str) -> serde_json::Result<String> {
    let mut quoted = String::with_capacity(body.len() + 2);
    quoted.push('"');
    let mut is_escaped = false;
    for c in body.chars() {
        match c {
            '\n' if !is_escaped => quoted.push_str("\\n"),
            '\r' if !is_escaped => quoted.push_str("\\r"),
            '\t' if !is_escaped => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    quoted.push('"');
    serde_json::from_str(&quoted)
}

/// Returns whether a scalar or a tuple can begin with `c`.
pub(super) fn begins_scalar(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '“' | '„' | '«' | '＂' | '‘' | '‚' | '´' | '「' | '-' | '+' | '.' | '0'
            ..='9' | 't' | 'f' | 'n' | 'T' | 'F' | 'N' | 'u' | '('
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<&str> {
        Bracketed::at(text).map(|bracketed| bracketed.text)
    }

    #[test]
    fn bracketed_text_ends_with_matching_bracket() {
        assert_eq!(text(r#"{"a": [1, "]}"]} and"#), Some(r#"{"a": [1, "]}"]}"#));
        assert_eq!(text(r#"["\"]", "\\"] ]"#), Some(r#"["\"]", "\\"]"#));
        assert_eq!(text("{city} {"), Some("{city}"));
        assert_eq!(text("[å] x"), Some("[å]"));
    }

    #[test]
    fn mismatched_brackets_return_none() {
        for open in ["[", "{", "[}", "[[]", r#"["]"#, r#"["\"]"#, r"{\", r#"{\"a\": "b"}"#] {
            assert_eq!(text(open), None, "{open}");
        }
    }

    #[test]
    fn depth_limit_equals_serde_json() {
        for depth in [126, 127, 128, 129] {
            let nested = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(
                Bracketed::at(&nested).is_some(),
                serde_json::from_str::<Value>(&nested).is_ok(),
                "{depth}"
            );
        }
    }

    #[test]
    fn escaped_text_is_parsed_without_escapes() {
        let bracketed =
            Bracketed::at(r#"{\"a\": \"x \\\"}\\\" \\n \\\\\", \"b\":\n[1]} }"#).unwrap();
        assert!(bracketed.escaped);
        assert_eq!(
            bracketed.parse().unwrap().0,
            serde_json::json!({"a": "x \"}\" \n \\", "b": [1]})
        );
    }

    #[test]
    fn scalar_ends_with_quote_or_last_letter() {
        assert_eq!(scalar_len(r#""a \" b" c"#), Some(8));
        assert_eq!(scalar_len("-1.5e+3 x"), Some(7));
        assert_eq!(scalar_len("true"), Some(4));
        assert_eq!(scalar_len(r#""a\"#), None);
    }

    #[test]
    fn placeholder_contains_only_words() {
        for text in ["{city}", "[see below]", "[/TOOL_CALLS]", "{{name}}", "[step 1]", "{ å }"] {
            assert!(Bracketed::at(text).unwrap().is_placeholder(), "{text}");
        }
        for text in
            ["{}", "[1 2]", "[a, b]", "{a: 1}", "{'a'}", "[True]", "{null}", "{a=1}", r"{\w+}"]
        {
            assert!(!Bracketed::at(text).unwrap().is_placeholder(), "{text}");
        }
    }
}
