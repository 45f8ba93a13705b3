//! Whitespace and invisible characters.

/// Returns whether `c` is whitespace outside JSON's grammar, or an invisible character.
pub(super) fn is_non_json_whitespace(c: char) -> bool {
    !is_json_whitespace(c) && c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// Returns whether `c` is one of the four whitespace characters of JSON.
pub(super) const fn is_json_whitespace(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}
