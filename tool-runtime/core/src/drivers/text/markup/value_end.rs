//! The end of a JSON or Python value, judged by its brackets and quotes.

use memchr::{memchr2, memmem};

/// Returns the end of the value that begins at `at` with a bracket or a quote; `None` if the text
/// ends before.
pub(crate) fn value_end(text: &str, at: usize, is_complete: bool) -> Option<usize> {
    let end = find_value_end(text, at, is_complete);
    #[cfg(test)]
    super::scan_counter::count(end.unwrap_or(text.len()).saturating_sub(at));
    end
}

fn find_value_end(text: &str, at: usize, is_complete: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (at, 0_usize);
    // A quote inside a word, or after one, opens no string.
    let mut may_open_string = true;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' if may_open_string => {
                at = string_end(text, at, is_complete)?;
                may_open_string = false;
                if depth == 0 {
                    return Some(at);
                }
                continue;
            }
            b'{' | b'[' | b'(' => {
                depth += 1;
                may_open_string = true;
            }
            b'}' | b']' | b')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
                may_open_string = false;
            }
            b',' | b':' | b'=' => may_open_string = true,
            b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => may_open_string = false,
        }
        at += 1;
    }
    None
}

/// Returns the end of the string whose quote is at `at`. Three quotes that are never closed are an
/// empty string and a quote, which is only known at the end of the text.
fn string_end(text: &str, at: usize, is_complete: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = bytes.get(at)?;
    let triple = [*quote; 3];
    let rest = bytes.get(at..)?;
    match rest.strip_prefix(&triple) {
        Some(inner) => match memmem::find(inner, &triple) {
            Some(end) => return Some(at + end + 6),
            None if !is_complete => return None,
            None => {}
        },
        None if !is_complete && triple.starts_with(rest) => return None,
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
    use super::value_end;

    #[test]
    fn value_end_matches_brackets_and_quotes() {
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
            assert_eq!(value_end(text, 0, true), end, "{text}");
        }
    }

    #[test]
    fn value_end_is_stable_while_text_grows() {
        let text = "{\"a\": \"\"\"}\"\"\", \"b\": \"\"}, {'c': ''}";
        let end = value_end(text, 0, true);
        for (at, _) in text.char_indices() {
            let (before, _) = text.split_at(at);
            let early = value_end(before, 0, false);
            assert!(early.is_none() || early == end, "{before}");
        }
        // Three quotes that are never closed.
        assert_eq!(value_end("{\"a\": \"\"\"}", 0, false), None);
        assert_eq!(value_end("{\"a\": \"\"\"}", 0, true), Some(10));
    }
}
