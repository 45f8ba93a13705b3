//! Finds the end of a JSON value without parsing it; the caller validates the content.

use memchr::memchr2;

/// Returns the position after the value that begins at `at`.
#[inline]
pub fn end_of_value(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at) {
        Some(b'"') => end_of_string(text, at),
        Some(b'{' | b'[') => end_of_nested(text, at),
        _ => Some(end_of_word(text, at)),
    }
}

/// Returns the position after the number or literal that begins at `at`.
#[inline]
fn end_of_word(text: &[u8], at: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
    let word = text.get(at..).unwrap_or_default();
    at + word.iter().position(ends).unwrap_or(word.len())
}

/// Returns the position after the string that begins at `at`.
#[inline]
pub(crate) fn end_of_string(text: &[u8], at: usize) -> Option<usize> {
    // Most keys are short, and each call of memchr has a fixed cost.
    for (end, byte) in (at + 1..).zip(text.get(at + 1..)?.iter().take(16)) {
        match byte {
            b'"' => return Some(end + 1),
            b'\\' => return end_of_long_string(text, end),
            _ => {}
        }
    }
    end_of_long_string(text, at + 17)
}

/// Returns the position after the string whose content continues at `at`.
fn end_of_long_string(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns the position after the array or object that begins at `at`.
fn end_of_nested(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match text.get(at)? {
            b'"' => {
                at = end_of_string(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}
