//! Size limits and allowed characters of definitions. The definition of a remote tool is untrusted.

use serde_json::Value;

use crate::message::invisible_character;

/// The maximum length of a description in bytes. It exceeds what any provider accepts.
pub(crate) const MAX_TEXT_BYTES: usize = 64 << 10;

/// The maximum depth of a schema. Deeper values are never parsed, and writing one would need too
/// much stack.
pub(crate) const MAX_DEPTH: usize = 128;

/// The maximum length of a required capability in bytes, and the maximum number of capabilities.
pub(crate) const MAX_CAPABILITIES: usize = 128;

/// The maximum number of labels of a tool.
pub(crate) const MAX_LABELS: usize = 128;

/// The maximum length of a label in bytes.
pub(crate) const MAX_LABEL_BYTES: usize = 128;

/// The maximum size of all schemas: the bytes of texts and keys, plus one for each value.
pub(crate) const MAX_SCHEMA_SIZE: usize = 512 << 10;

/// Returns whether a text contains only characters that people can see.
pub(crate) fn is_plain(text: &str) -> bool {
    invisible_character(text).is_none()
}

/// Why a definition contains an unacceptable JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentError {
    TooLarge,
    TooDeep,
    InvisibleCharacter(char),
}

/// Checks the total size, the depth and all texts of JSON documents, without recursion.
pub(crate) fn check_documents<'d>(
    documents: impl Iterator<Item = &'d Value>,
) -> Result<(), DocumentError> {
    let mut stack: Vec<_> = documents.map(|document| (document, 1)).collect();
    let mut left = MAX_SCHEMA_SIZE;
    let mut invisible = None;
    while let Some((value, depth)) = stack.pop() {
        let size = match value {
            Value::String(text) => 1 + text.len(),
            Value::Object(members) => 1 + members.keys().map(String::len).sum::<usize>(),
            _ => 1,
        };
        if depth > MAX_DEPTH {
            return Err(DocumentError::TooDeep);
        }
        left = left.checked_sub(size).ok_or(DocumentError::TooLarge)?;
        match value {
            Value::String(text) => invisible = invisible.or_else(|| invisible_character(text)),
            Value::Array(items) => stack.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                invisible =
                    invisible.or_else(|| members.keys().find_map(|name| invisible_character(name)));
                stack.extend(members.values().map(|member| (member, depth + 1)));
            }
            _ => {}
        }
    }
    invisible.map_or(Ok(()), |character| Err(DocumentError::InvisibleCharacter(character)))
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn text_in_any_script_is_plain() {
        for text in [
            "a\tb\r\nc",
            "می‌خواهم",
            "क्‍ष",
            "👩‍💻 👨‍👩‍👧 ❤️ 🏳️‍🌈",
            "日本語、中文",
            "שלום عالم",
            "naïve – “so”",
        ] {
            assert!(is_plain(text), "{text:?}");
        }
    }

    #[test]
    fn invisible_characters_are_not_plain() {
        for text in [
            "\0",
            "\u{1b}[2J",
            "\u{85}",
            "pay\u{200b}pal",
            "\u{202e}gnp.exe",
            "\u{2066}a\u{2069}",
            "a\u{2028}- b(): c",
            "\u{feff}a",
            "so\u{ad}ft",
            "hi\u{e0068}\u{e0069}",
            "\u{e0101}\u{e0102}",
            "a\u{200d}b",
            "é\u{200d}",
            "\u{200c}é",
            "é\u{200c}\u{200d}\u{200c}é",
        ] {
            assert!(!is_plain(text), "{text:?}");
        }
    }
}
