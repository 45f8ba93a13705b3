//! The literals of JSON and of other languages.

/// The literals of JSON and of other languages; `None` is null.
pub(in crate::recover) const LITERALS: [(&str, Option<bool>); 12] = [
    ("true", Some(true)),
    ("false", Some(false)),
    ("null", None),
    ("True", Some(true)),
    ("False", Some(false)),
    ("None", None),
    ("TRUE", Some(true)),
    ("FALSE", Some(false)),
    ("NULL", None),
    ("Null", None),
    ("undefined", None),
    ("nil", None),
];

/// Returns whether `text` begins with a literal.
pub(in crate::recover) fn begins_literal(text: &str) -> bool {
    LITERALS.iter().any(|(word, _)| {
        text.strip_prefix(word)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}
