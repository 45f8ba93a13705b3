//! Edits JSON without losing the digits of numbers that a [`Value`] can't represent.

use serde_json::Value;

/// Edits the value of a JSON text. Numbers beyond 64 bits keep all their digits.
///
/// Returns the text unchanged if the edit changes nothing, and `None` if it is not JSON.
pub(crate) fn edit_json(json: &str, edit: impl FnOnce(&mut Value)) -> Option<String> {
    // Each number that would lose digits is a string while the value is edited.
    let mark = unused_mark(json);
    let mut numbers = Vec::new();
    let mut text = String::with_capacity(json.len());
    for token in tokens(json) {
        if is_lossy(token) {
            text.push_str(&format!("\"{mark}{}{mark}\"", numbers.len()));
            numbers.push(token);
        } else {
            text.push_str(token);
        }
    }
    let before: Value = serde_json::from_str(&text).ok()?;
    let mut after = before.clone();
    edit(&mut after);
    if after == before {
        return Some(json.to_owned());
    }
    let mut text = after.to_string();
    for (index, number) in numbers.iter().enumerate() {
        text = text.replace(&format!("\"{mark}{index}{mark}\""), number);
    }
    Some(text)
}

/// Returns whether a [`Value`] of this JSON text has lost digits.
pub(crate) fn has_lossy_numbers(json: &str) -> bool {
    tokens(json).any(is_lossy)
}

/// Returns a text of private-use characters that does not occur in `json`.
fn unused_mark(json: &str) -> String {
    let mut mark = String::from('\u{e000}');
    while json.contains(&mark) {
        mark.push('\u{e000}');
    }
    mark
}

/// Whether a token is a number that a [`Value`] prints with other digits.
fn is_lossy(token: &str) -> bool {
    let is_number = token.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let printed = || serde_json::from_str::<Value>(token).map(|value| value.to_string());
    is_number && printed().map_or(true, |printed| printed != token)
}

/// Splits JSON into strings, numbers and the text between them.
fn tokens(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        let is_number_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        let end = match rest.chars().next()? {
            '"' => end_of_string(rest),
            c if c == '-' || c.is_ascii_digit() => {
                rest.find(|c| !is_number_part(c)).unwrap_or(rest.len())
            }
            _ => rest
                .find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
                .unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(token)
    })
}

fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let close = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    close.map_or(text.len(), |at| at + 2)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::edit_json;

    #[test]
    fn digits_survive_an_edit_and_the_text_survives_none() {
        for (json, expected) in [
            (r#"{ "b": 1.50, "a": "x" }"#, r#"{"a":"-","b":1.50}"#),
            (
                r#"{"a": "x", "n": [123456789012345678901234567890, -0.10, 1e400, 7]}"#,
                r#"{"a":"-","n":[123456789012345678901234567890,-0.10,1e400,7]}"#,
            ),
            ("{\"a\": \"x\", \"b\": \"\u{e000}0\u{e000} 1.50 \\\" 2.50\"}", {
                "{\"a\":\"-\",\"b\":\"\u{e000}0\u{e000} 1.50 \\\" 2.50\"}"
            }),
        ] {
            let edit = |value: &mut Value| value["a"] = "-".into();
            assert_eq!(edit_json(json, edit).as_deref(), Some(expected));
            assert_eq!(edit_json(json, |_| ()).as_deref(), Some(json));
        }
        assert_eq!(edit_json("{", |_| ()), None);
    }
}
