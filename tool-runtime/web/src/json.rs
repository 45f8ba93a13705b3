//! Indents JSON without changing its values: numbers keep their digits, members their order.

use std::iter::repeat_n;

use serde::de::IgnoredAny;

/// The deepest indentation: beyond it, a document of brackets would grow by the square of its size.
const MAX_INDENT: usize = 32;

/// The most bytes of an indented document, for each byte of the source. Beyond it, the document is
/// left as it is: short values in deep lists would grow by the number of brackets around them.
const MAX_GROWTH: usize = 8;

/// The bytes that an indented document may have in any case.
const MIN_LIMIT: usize = 64 * 1024;

/// Returns a document with one value on each line; `None` if the text is not JSON.
pub(crate) fn pretty(text: &str) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let limit = text.len().saturating_mul(MAX_GROWTH).saturating_add(MIN_LIMIT);
    let mut output = String::with_capacity(text.len() * 2);
    let (mut depth, mut is_in_string, mut is_escaped) = (0_usize, false, false);
    // An opening bracket waits for what follows: empty objects and lists stay on one line.
    let mut is_opened = false;
    for c in text.chars() {
        if output.len() > limit {
            return Some(text.to_owned());
        }
        if is_in_string {
            output.push(c);
            is_in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        if c.is_ascii_whitespace() {
            continue;
        }
        if is_opened && !matches!(c, '}' | ']') {
            depth += 1;
            break_line(&mut output, depth);
        }
        match c {
            '}' | ']' if !is_opened => {
                depth = depth.saturating_sub(1);
                break_line(&mut output, depth);
                output.push(c);
            }
            ',' => {
                output.push(c);
                break_line(&mut output, depth);
            }
            ':' => output.push_str(": "),
            _ => output.push(c),
        }
        is_opened = matches!(c, '{' | '[');
        is_in_string = c == '"';
    }
    Some(output)
}

fn break_line(output: &mut String, depth: usize) {
    output.push('\n');
    output.extend(repeat_n("  ", depth.min(MAX_INDENT)));
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn values_keep_their_digits_and_order() {
        let text =
            r#" {"b": [1.10, 12345678901234567890123],"a":{"c":"x\\\", {y}" , "d":[] ,"e":{}}}"#;
        let expected = r#"{
  "b": [
    1.10,
    12345678901234567890123
  ],
  "a": {
    "c": "x\\\", {y}",
    "d": [],
    "e": {}
  }
}"#;
        assert_eq!(pretty(text).as_deref(), Some(expected));
        assert_eq!(pretty(expected).as_deref(), Some(expected));
    }

    #[test]
    fn text_that_is_not_json_is_left_alone() {
        for text in ["", "{", "{a: 1}", "1 2", "<p>", r#""open"#] {
            assert_eq!(pretty(text), None, "{text}");
        }
    }
}
