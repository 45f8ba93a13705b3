//! Recognizes placeholders without quotes, which stand for a value that the model left out.

/// Words that stand alone for what is to be written, and the names of types.
const OPEN_WORDS: [&str; 21] = [
    "changeme",
    "ditto",
    "omitted",
    "redacted",
    "unchanged",
    "todo",
    "tbd",
    "tba",
    "fixme",
    "xxx",
    "placeholder",
    "string",
    "str",
    "integer",
    "int",
    "number",
    "boolean",
    "bool",
    "array",
    "object",
    "datetime",
];

/// Abbreviations and phrases for a value that there is not.
const MISSING: [&str; 17] = [
    "as above",
    "as before",
    "same as above",
    "same as before",
    "see above",
    "n/a",
    "n.a.",
    "n/k",
    "not applicable",
    "not available",
    "not given",
    "not known",
    "not provided",
    "not specified",
    "none given",
    "unspecified",
    "to be determined",
];

/// The longest request that stands for a value, in bytes.
const MAX_REQUEST_LEN: usize = 60;

/// Returns whether what stands in parentheses is a placeholder, such as `(city)`: words alone.
pub(in crate::recover) fn is_bracketed_placeholder(words: &str) -> bool {
    let is_of_words = |c: char| c.is_alphanumeric() || " _-'".contains(c);
    words.starts_with(char::is_alphabetic) && words.chars().all(is_of_words)
}

/// Returns whether a word without quotes is the name of its own argument: `{"city": city}`.
pub(in crate::recover) fn is_name_of(words: &str, key: &str) -> bool {
    let letters = |text: &str| -> Vec<char> {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    words.len() < 2 * key.len() + 2 && !letters(key).is_empty() && letters(words) == letters(key)
}

/// Returns whether words without quotes are a placeholder: `<query>`, `${query}`, `%s`,
/// `YOUR_QUERY`, `#QUERY#`, `string`, `insert text`, `text goes here`, `TODO`, `N/A`, `???`; or
/// hold one, as `ls <folder>` does.
///
/// Quoted text is never one.
pub(in crate::recover) fn is_placeholder(words: &str) -> bool {
    let has_marks = |mark| words.len() > 1 && words.starts_with(mark) && words.ends_with(mark);
    let is_marked = words.starts_with(['<', '＜', '‹', '〈', '⟨'])
        || words.starts_with("process.env.")
        || ['#', '@', '*', '_', '~', '|'].into_iter().any(has_marks)
        || words.starts_with('%')
        || words
            .strip_prefix('$')
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut parts = words.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let first = parts.next().map(str::to_lowercase);
    let last = parts.next_back().map(str::to_lowercase);
    let Some(first) = first else { return true };
    // `REPLACE_ME`, `ENTER QUERY`
    let is_order = matches!(first.as_str(), "replace" | "change" | "fill" | "enter")
        && (matches!(last.as_deref(), Some("me" | "this" | "in"))
            || first == "enter" && !words.contains(char::is_lowercase));
    let is_request = last.is_some() && (is_order || matches!(first.as_str(), "your" | "insert"))
        || last.as_deref() == Some("here");
    let is_missing = MISSING.iter().any(|missing| words.eq_ignore_ascii_case(missing));
    is_marked
        || is_missing
        || is_request
        || holds_placeholder(words)
        || last.is_none() && OPEN_WORDS.contains(&first.as_str())
}

/// Returns whether words hold others in angle brackets that touch no word: `--user=<name>`, unlike
/// `Vec<String>` and `<b>text`.
fn holds_placeholder(words: &str) -> bool {
    words.match_indices('<').any(|(at, _)| {
        let before = words.get(..at).and_then(|before| before.chars().next_back());
        let rest = words.get(at + 1..).unwrap_or_default();
        let close = rest.char_indices().take(MAX_REQUEST_LEN).find(|(_, c)| *c == '>');
        let inner = close.and_then(|(end, _)| rest.get(..end));
        let after = close.and_then(|(end, _)| rest.get(end + 1..)).unwrap_or_default();
        !before.is_some_and(char::is_alphanumeric)
            && inner.is_some_and(is_bracketed_placeholder)
            && !after.starts_with(char::is_alphanumeric)
    })
}

/// Returns whether plain text stands for the value of the argument `key`, which the model left out:
/// its name or a request in brackets (`<query>`, `[your query here]`), a request, or an ellipsis.
///
/// Other text in brackets, such as `<b>`, may be intended.
///
/// ```
/// use tool_json::__private::is_placeholder_for;
///
/// assert!(is_placeholder_for("<query>", "query"));
/// assert!(!is_placeholder_for("<b>", "query"));
/// ```
#[doc(hidden)]
pub fn is_placeholder_for(text: &str, key: &str) -> bool {
    let text = text.trim();
    if matches!(text, "..." | "…") {
        return true;
    }
    let Some(inner) = in_brackets(text) else {
        return text.len() <= MAX_REQUEST_LEN && begins_request(text) && ends_request(text);
    };
    let inner = in_brackets(inner).unwrap_or(inner).trim();
    let is_request = || begins_request(inner) || ends_request(inner);
    is_name_of(inner, key) || is_bracketed_placeholder(inner) && is_request()
}

/// Returns whether words begin as `your query` or `insert text` do.
fn begins_request(words: &str) -> bool {
    let words = words.to_lowercase();
    let after = |first: &&str| words.strip_prefix(*first);
    let mut rests = ["your", "insert", "enter"].iter().filter_map(after);
    rests.any(|rest| rest.starts_with([' ', '-', '_']))
}

/// Returns whether words end as `query here` does.
fn ends_request(words: &str) -> bool {
    let words = words.to_lowercase();
    words.strip_suffix("here").is_some_and(|rest| rest.ends_with([' ', '-', '_']))
}

/// Returns what is in the brackets around `text`.
fn in_brackets(text: &str) -> Option<&str> {
    let text = text.strip_prefix('$').unwrap_or(text);
    [('<', '>'), ('[', ']'), ('{', '}'), ('(', ')')]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
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
            "N/A",
            "n.a.",
            "Not specified",
            "REPLACE_ME",
            "CHANGE_ME",
            "CHANGEME",
            "FILL_IN",
            "ENTER QUERY",
            "same as above",
            "omitted",
            "＜query＞",
            "‹query›",
            "process.env.QUERY",
            "ls <folder>",
            "ada <user>",
            "--user=<your name> -v",
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
            "enter the room",
            "change the oil",
            "fill",
            "x",
            "Vec<String>",
            "a <b>bold</b> word",
            "1 <2 and 3> 2",
        ] {
            assert!(!is_placeholder(words), "{words}");
        }
    }
    #[test]
    fn plain_text_is_a_placeholder_for_its_argument() {
        for text in [
            "<query>",
            " <query> ",
            "[query]",
            "{query}",
            "{{query}}",
            "${query}",
            "(query)",
            "<QUERY>",
            "<your query>",
            "<your-query>",
            "[your query here]",
            "<insert text>",
            "<text goes here>",
            "your query here",
            "YOUR_QUERY_HERE",
            "...",
            "…",
        ] {
            assert!(is_placeholder_for(text, "query"), "{text}");
        }
        for text in [
            "<b>",
            "<b>query</b>",
            "query",
            "your query",
            "a <query>",
            "[1]",
            "[a, b]",
            "(see here)...",
            "{}",
            "here",
            "<>",
            "",
        ] {
            assert!(!is_placeholder_for(text, "query"), "{text}");
        }
    }

    #[test]
    fn bracketed_words_are_a_placeholder() {
        for words in ["city", "your city", "start_date", "user's name"] {
            assert!(is_bracketed_placeholder(words), "{words}");
        }
        for words in ["1", "a, b", "\"city\"", "", "f(x)", "-"] {
            assert!(!is_bracketed_placeholder(words), "{words}");
        }
    }

    #[test]
    fn word_is_compared_with_its_key() {
        assert!(is_name_of("city", "city") && is_name_of("startDate", "start_date"));
        assert!(!is_name_of("oslo", "city") && !is_name_of("", "_") && !is_name_of("a", "b"));
    }
}
