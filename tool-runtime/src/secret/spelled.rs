//! The texts that a secret value may turn up as.

use serde_json::Value;

use crate::json;

/// The deepest a value is looked into that is the text of a value that is the text of one.
const DEEPEST: u8 = 4;

/// The texts and numbers in a value, and in the values that its texts hold in turn.
pub(super) fn texts(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![(value.clone(), 0)];
    while let Some((value, depth)) = waiting.pop() {
        match value {
            Value::String(text) => {
                let begins_value = text.trim_start().starts_with(['{', '[', '"']);
                if begins_value
                    && depth < DEEPEST
                    && let Ok(parsed) = json::parse(&text)
                {
                    waiting.push((parsed.value, depth + 1));
                }
                // Whoever reads it may do without the space around it.
                let trimmed = text.trim();
                if trimmed.len() < text.len() {
                    found.push(trimmed.to_owned());
                }
                found.push(text);
            }
            Value::Number(number) => found.push(number.to_string()),
            Value::Array(items) => waiting.extend(items.into_iter().map(|item| (item, depth))),
            Value::Object(members) => {
                waiting.extend(members.into_iter().map(|(_, member)| (member, depth)));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    found
}

/// The pieces between marks of punctuation and blanks, where nobody knows which is what.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "\"'`{}[](),:;=<>\\".contains(c);
    text.split(ends).filter(|piece| !piece.is_empty())
}
