//! A piece: what a bracket opens, up to the bracket that closes it.

use serde_json::Value;

use super::{blank::is_blank, unique::read_unique};

/// As deep as serde_json reads.
const DEPTH: u32 = 127;

/// A stretch of text whose brackets match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    pub(super) text: &'t str,
    /// It has quotes, and they are written `\"`. Outside strings JSON has no backslash, so this is no guess.
    pub(super) escaped: bool,
}

impl<'t> Piece<'t> {
    /// The piece that `text`, which begins with a bracket, begins with. Brackets within strings
    /// don't count. `None` if brackets do not match, are too many, or are still open at the end.
    ///
    /// The kinds of the open brackets are the bits of one number, so nothing here recurses.
    pub(super) fn at(text: &'t str) -> Option<Self> {
        let (mut kinds, mut depth) = (0_u128, 0_u32);
        let mut in_string = false;
        let mut units = Units { bytes: text.as_bytes(), at: 0, escaped: None };
        while let Some(unit) = units.next(in_string)? {
            match unit {
                b'"' => in_string = !in_string,
                b'\\' if in_string => drop(units.next(in_string)?),
                _ if in_string => {}
                b'{' | b'[' => {
                    depth += 1;
                    if depth > DEPTH {
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

    /// The value that the piece spells, and its text without escapes around it.
    pub(super) fn read(&self) -> serde_json::Result<(Value, String)> {
        let json = if self.escaped { within_a_string(self.text)? } else { self.text.to_owned() };
        Ok((read_unique(&json)?, json))
    }

    /// What `text`, which begins with a bracket and an escaped quote, was before it was escaped. Of
    /// an escape that is cut off nothing is left.
    pub(super) fn unescaped(text: &str) -> Option<String> {
        if !Self::begins_escaped(text) {
            return None;
        }
        let body = text.trim_end_matches('\\');
        let escapes = text.len() - body.len();
        let body = text.get(..text.len() - escapes % 2)?;
        within_a_string(body).ok()
    }

    /// Whether the first thing in the brackets of `text` is an escaped quote.
    pub(super) fn begins_escaped(text: &str) -> bool {
        let inside = text.trim_start_matches(|c: char| matches!(c, '{' | '[') || is_blank(c));
        inside.starts_with("\\\"")
    }

    /// Whether this is a word in brackets, such as `{city}`, `[see below]` or `[TOOL_CALLS]`:
    /// nothing that a value consists of is in it, neither quotes, colons, commas nor literals.
    pub(super) fn is_placeholder(&self) -> bool {
        let words = self
            .text
            .trim_matches(|c: char| matches!(c, '{' | '}' | '[' | ']' | '/') || is_blank(c));
        let first =
            words.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let literals = ["true", "false", "null", "none", "undefined", "nan", "infinity"];
        first.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !literals.iter().any(|literal| first.eq_ignore_ascii_case(literal))
            && !words.contains(['"', '\'', '`', '“', '”', '‘', '’', ':', ',', '='])
    }
}

/// The bytes of a text; of an escaped one, the bytes that it stands for.
struct Units<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Undecided until the first quote or backslash.
    escaped: Option<bool>,
}

impl Units<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    /// The next unit, `Some(None)` at the end, and `None` where an escaped text holds a bare quote.
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

/// How long the string or literal is that `text` begins with; `None` if its quote never closes.
pub(super) fn scalar_len(text: &str) -> Option<usize> {
    if !text.starts_with('"') {
        return text
            .find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c))
            .or(Some(text.len()));
    }
    let mut units = Units { bytes: text.as_bytes(), at: 1, escaped: Some(false) };
    loop {
        match units.byte()? {
            b'"' => return Some(units.at),
            b'\\' => drop(units.byte()?),
            _ => {}
        }
    }
}

/// What `body` says as the content of a string. Line breaks between members may have been left as
/// they were; but one behind a backslash is no part of an escape.
fn within_a_string(body: &str) -> serde_json::Result<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<&str> {
        Piece::at(text).map(|piece| piece.text)
    }

    #[test]
    fn a_piece_ends_with_its_bracket() {
        assert_eq!(text(r#"{"a": [1, "]}"]} and"#), Some(r#"{"a": [1, "]}"]}"#));
        assert_eq!(text(r#"["\"]", "\\"] ]"#), Some(r#"["\"]", "\\"]"#));
        assert_eq!(text("{city} {"), Some("{city}"));
        assert_eq!(text("[å] x"), Some("[å]"));
    }

    #[test]
    fn brackets_that_do_not_match_make_no_piece() {
        for open in ["[", "{", "[}", "[[]", r#"["]"#, r#"["\"]"#, r"{\", r#"{\"a\": "b"}"#] {
            assert_eq!(text(open), None, "{open}");
        }
    }

    #[test]
    fn the_depth_is_that_of_serde_json() {
        for depth in [126, 127, 128, 129] {
            let nested = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(
                Piece::at(&nested).is_some(),
                serde_json::from_str::<Value>(&nested).is_ok(),
                "{depth}"
            );
        }
    }

    #[test]
    fn an_escaped_piece_is_read_through_its_escapes() {
        let piece = Piece::at(r#"{\"a\": \"x \\\"}\\\" \\n \\\\\", \"b\":\n[1]} }"#).unwrap();
        assert!(piece.escaped);
        assert_eq!(piece.read().unwrap().0, serde_json::json!({"a": "x \"}\" \n \\", "b": [1]}));
    }

    #[test]
    fn a_scalar_ends_with_its_quote_or_its_last_letter() {
        assert_eq!(scalar_len(r#""a \" b" c"#), Some(8));
        assert_eq!(scalar_len("-1.5e+3 x"), Some(7));
        assert_eq!(scalar_len("true"), Some(4));
        assert_eq!(scalar_len(r#""a\"#), None);
    }

    #[test]
    fn placeholders_hold_words_only() {
        for yes in ["{city}", "[see below]", "[/TOOL_CALLS]", "{{name}}", "[step 1]", "{ å }"] {
            assert!(Piece::at(yes).unwrap().is_placeholder(), "{yes}");
        }
        for no in
            ["{}", "[1 2]", "[a, b]", "{a: 1}", "{'a'}", "[True]", "{null}", "{a=1}", r"{\w+}"]
        {
            assert!(!Piece::at(no).unwrap().is_placeholder(), "{no}");
        }
    }
}
