//! Where a value ends, by its brackets and quotes alone.

use memchr::{memchr2, memmem};

/// The end of the value that begins at `at` with a bracket or a quote; none where the text ends before.
pub(in crate::drivers::text) fn closed(text: &str, at: usize, is_end: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (at, 0_usize);
    // A quote within a word, or behind one, opens no string.
    let mut begins = true;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' if begins => {
                at = string_end(text, at, is_end)?;
                begins = false;
                if depth == 0 {
                    return Some(at);
                }
                continue;
            }
            b'{' | b'[' | b'(' => {
                depth += 1;
                begins = true;
            }
            b'}' | b']' | b')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
                begins = false;
            }
            b',' | b':' | b'=' => begins = true,
            b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => begins = false,
        }
        at += 1;
    }
    None
}

/// The end of the string whose quote is at `at`. Three quotes that none close are one string and a quote; before
/// the end of the text that can't be told yet.
fn string_end(text: &str, at: usize, is_end: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = bytes.get(at)?;
    let triple = [*quote; 3];
    let rest = bytes.get(at..)?;
    match rest.strip_prefix(&triple) {
        Some(inner) => match memmem::find(inner, &triple) {
            Some(end) => return Some(at + end + 6),
            None if !is_end => return None,
            None => {}
        },
        None if !is_end && triple.starts_with(rest) => return None,
        None => {}
    }
    let mut at = at + 1;
    loop {
        at += memchr2(*quote, b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(quote) {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::closed;

    #[test]
    fn values_end_where_their_brackets_do() {
        for (text, end) in [
            ("{\"a\": \"}\"} x", Some(10)),
            ("{'a': 'it\\'s }'}", Some(16)),
            ("[1, (2, 3)], 4", Some(11)),
            ("{a: it's} ", Some(9)),
            ("{\"a\": \"\"\"x\"}\"\"\"}!", Some(16)),
            ("{\"a\": \"x", None),
            ("{\"a\": [1, 2]", None),
            ("\"a\\\"b\" c", Some(6)),
        ] {
            assert_eq!(closed(text, 0, true), end, "{text}");
        }
    }

    #[test]
    fn an_end_holds_however_the_text_goes_on() {
        let text = "{\"a\": \"\"\"}\"\"\", \"b\": \"\"}, {'c': ''}";
        let end = closed(text, 0, true);
        for (at, _) in text.char_indices() {
            let (before, _) = text.split_at(at);
            let early = closed(before, 0, false);
            assert!(early.is_none() || early == end, "{before}");
        }
        // Three quotes that none close.
        assert_eq!(closed("{\"a\": \"\"\"}", 0, false), None);
        assert_eq!(closed("{\"a\": \"\"\"}", 0, true), Some(10));
    }
}
