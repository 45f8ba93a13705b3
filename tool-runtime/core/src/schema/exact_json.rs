//! Edits JSON without losing the digits of numbers that a [`Value`] can't represent, or the order
//! of members.

use serde_json::Value;

use super::member_order::MemberOrder;

/// The numbers of a JSON text that a [`Value`] can't represent. While the value is edited, each is
/// a string in it.
pub(crate) struct ExactNumbers<'j> {
    /// A text that does not occur in the JSON.
    mark: String,
    numbers: Vec<&'j str>,
}

impl<'j> ExactNumbers<'j> {
    /// Returns a string that stands for the number.
    fn add(&mut self, number: &'j str) -> String {
        self.numbers.push(number);
        format!("{0}{1}{0}", self.mark, self.numbers.len() - 1)
    }

    /// Returns the number that this string stands for.
    fn number(&self, text: &str) -> Option<&'j str> {
        let index = text.strip_prefix(&self.mark)?.strip_suffix(&self.mark)?;
        self.numbers.get(index.parse::<usize>().ok()?).copied()
    }

    /// Returns the number that this string stands for, as the JSON has it and as a [`Value`] prints
    /// it; any other text unchanged.
    pub(crate) fn spellings(&self, text: String) -> Vec<String> {
        let Some(number) = self.number(&text) else { return vec![text] };
        let printed = serde_json::from_str(number).map(|value: Value| value.to_string());
        std::iter::once(number.to_owned()).chain(printed).collect()
    }

    /// Replaces each number in a value for which `replacement` returns a string.
    pub(crate) fn replace(&self, value: &mut Value, replacement: &impl Fn(&str) -> Option<String>) {
        match value {
            Value::String(text) => {
                if let Some(replaced) = self.number(text).and_then(replacement) {
                    *text = replaced;
                }
            }
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.replace(item, replacement));
            }
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.replace(member, replacement));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Edits the value of a JSON text. Numbers beyond 64 bits keep all their digits, and members their
/// order.
///
/// Returns the text unchanged if the edit changes nothing, and `None` if it is not JSON.
pub(crate) fn edit_json(
    json: &str,
    edit: impl FnOnce(&mut Value, &ExactNumbers<'_>),
) -> Option<String> {
    let mut numbers = ExactNumbers { mark: unused_mark(json), numbers: Vec::new() };
    let mut text = String::with_capacity(json.len());
    for token in tokens(json) {
        if is_lossy(token) {
            text.push_str(&format!("\"{}\"", numbers.add(token)));
        } else {
            text.push_str(token);
        }
    }
    let before: Value = serde_json::from_str(&text).ok()?;
    let mut after = before.clone();
    edit(&mut after, &numbers);
    if after == before {
        return Some(json.to_owned());
    }
    let print_scalar = |scalar: &Value| {
        let number = scalar.as_str().and_then(|text| numbers.number(text));
        number.map_or_else(|| scalar.to_string(), str::to_owned)
    };
    Some(MemberOrder::of(&text)?.print(&after, &print_scalar))
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

    use super::{ExactNumbers, edit_json};

    #[test]
    fn digits_survive_an_edit_and_the_text_survives_none() {
        for (json, expected) in [
            (r#"{ "b": 1.50, "a": "x" }"#, r#"{"b":1.50,"a":"-"}"#),
            (
                r#"{"z": [{"y": 1, "x": 2}, {"b": 1, "a": 2}], "a": 1, "c": 2, "a": 3}"#,
                r#"{"z":[{"y":1,"x":2},{"b":1,"a":2}],"a":"-","c":2}"#,
            ),
            (
                r#"{"a": "x", "n": [123456789012345678901234567890, -0.10, 1e400, 7]}"#,
                r#"{"a":"-","n":[123456789012345678901234567890,-0.10,1e400,7]}"#,
            ),
            ("{\"a\": \"x\", \"b\": \"\u{e000}0\u{e000} 1.50 \\\" 2.50\"}", {
                "{\"a\":\"-\",\"b\":\"\u{e000}0\u{e000} 1.50 \\\" 2.50\"}"
            }),
        ] {
            let edit = |value: &mut Value, _: &ExactNumbers<'_>| value["a"] = "-".into();
            assert_eq!(edit_json(json, edit).as_deref(), Some(expected));
            assert_eq!(edit_json(json, |_, _| ()).as_deref(), Some(json));
        }
        assert_eq!(edit_json("{", |_, _| ()), None);
    }
}
