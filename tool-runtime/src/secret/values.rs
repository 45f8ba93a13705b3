//! The texts in which a secret value may occur.

use serde_json::Value;

use crate::json;

/// The maximum depth of JSON texts within JSON texts that are searched.
const MAX_DEPTH: u8 = 4;

/// Returns the texts and numbers in a value, and in the JSON values that its texts contain.
pub(super) fn texts(value: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    let mut queue = vec![(value.clone(), 0)];
    while let Some((value, depth)) = queue.pop() {
        match value {
            Value::String(text) => {
                let may_be_json = text.trim_start().starts_with(['{', '[', '"']);
                if may_be_json
                    && depth < MAX_DEPTH
                    && let Ok(parsed) = json::parse(&text)
                {
                    queue.push((parsed.value, depth + 1));
                }
                // A tool may use the text without the surrounding space.
                let trimmed = text.trim();
                if trimmed.len() < text.len() {
                    texts.push(trimmed.to_owned());
                }
                texts.push(text);
            }
            Value::Number(number) => texts.push(number.to_string()),
            Value::Array(items) => queue.extend(items.into_iter().map(|item| (item, depth))),
            Value::Object(members) => {
                queue.extend(members.into_iter().map(|(_, member)| (member, depth)));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    texts
}

/// Splits an unparsable text at punctuation and white space, since any part of it may be a secret.
pub(super) fn fragments(text: &str) -> impl Iterator<Item = &str> {
    let is_separator = |c: char| c.is_whitespace() || "\"'`{}[](),:;=<>\\".contains(c);
    text.split(is_separator).filter(|fragment| !fragment.is_empty())
}
