//! How large a definition may be. A tool of another machine may say anything of itself.

use serde_json::Value;

/// The longest description, in bytes: far more than any provider takes.
pub(super) const LONGEST_TEXT: usize = 64 << 10;

/// The deepest schema. Values any deeper are never read, and to print one takes stack.
pub(super) const DEEPEST: usize = 128;

/// How much a schema may hold: bytes of text and keys, and one for each value.
pub(super) const LARGEST: usize = 512 << 10;

/// Whether a text is one that people and models can be shown: no control characters but those of
/// lines, for they hide what is said, or say it to a terminal.
pub(super) fn is_plain(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

/// Whether a document is of a size to work with; found out without recursion.
pub(super) fn is_bounded(document: &Value) -> bool {
    let (mut waiting, mut left) = (vec![(document, 1)], LARGEST);
    while let Some((value, depth)) = waiting.pop() {
        let size = match value {
            Value::String(text) => 1 + text.len(),
            Value::Object(members) => 1 + members.keys().map(String::len).sum::<usize>(),
            _ => 1,
        };
        match left.checked_sub(size) {
            Some(rest) if depth <= DEEPEST => left = rest,
            _ => return false,
        }
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                waiting.extend(members.values().map(|member| (member, depth + 1)));
            }
            _ => {}
        }
    }
    true
}
