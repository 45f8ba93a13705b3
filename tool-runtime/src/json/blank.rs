//! What shows nothing.

/// Blanks that JSON does not know, and characters that show nothing at all.
pub(super) fn is_odd_blank(c: char) -> bool {
    !is_blank(c) && c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// The four blanks of JSON.
pub(super) const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}
