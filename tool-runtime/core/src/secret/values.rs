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
                for (name, member) in members {
                    // In a map, the keys may be secret as well. Names of fields are words, which
                    // must stay readable elsewhere.
                    if !is_field_name(&name) {
                        texts.push(name);
                    }
                    queue.push((member, depth));
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    texts
}

/// Whether a key looks like the name of a field: words of letters, such as `api_key` or `userName`.
fn is_field_name(key: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | ' ' | '.');
    key.chars().all(is_of_name)
}
