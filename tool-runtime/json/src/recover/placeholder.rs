//! Recognizes placeholders without quotes, which stand for a value that the model left out.

/// Words that stand alone for what is to be written, and the names of types.
const OPEN_WORDS: [&str; 13] = [
    "todo",
    "tbd",
    "tba",
    "fixme",
    "xxx",
    "placeholder",
    "string",
    "integer",
    "number",
    "boolean",
    "array",
    "object",
    "datetime",
];

/// Returns whether words without quotes are a placeholder: `<query>`, `${query}`, `%s`,
/// `YOUR_QUERY`, `#QUERY#`, `string`, `insert text`, `text goes here`, `TODO`, `???`.
///
/// Quoted text is never one.
pub(super) fn is_placeholder(words: &str) -> bool {
    let has_marks = |mark| words.len() > 1 && words.starts_with(mark) && words.ends_with(mark);
    let is_marked = words.starts_with('<')
        || ['#', '@', '*', '_', '~', '|'].into_iter().any(has_marks)
        || words.starts_with('%')
        || words
            .strip_prefix('$')
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut parts = words.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let first = parts.next().map(str::to_lowercase);
    let last = parts.next_back().map(str::to_lowercase);
    let Some(first) = first else { return true };
    let is_request = last.is_some() && matches!(first.as_str(), "your" | "insert")
        || last.as_deref() == Some("here");
    is_marked || is_request || last.is_none() && OPEN_WORDS.contains(&first.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholder_is_distinguished_from_text() {
        for words in [
            "<query>",
            "<your query here>",
            "<<query>>",
            "<query",
            "#query#",
            "@query@",
            "string",
            "Integer",
            "${query}",
            "$query",
            "%query%",
            "%s",
            "YOUR_QUERY",
            "your-api-key",
            "your query here",
            "INSERT QUERY",
            "text goes here",
            "TODO",
            "tbd",
            "???",
            "___",
            "*",
        ] {
            assert!(is_placeholder(words), "{words}");
        }
        for words in [
            "Oslo",
            "hello world",
            "$5.00",
            "a < b",
            "todo list",
            "50%",
            "here",
            "yours",
            "@ada",
            "#fff",
            "string theory",
            "insertion sort",
            "x",
        ] {
            assert!(!is_placeholder(words), "{words}");
        }
    }
}
