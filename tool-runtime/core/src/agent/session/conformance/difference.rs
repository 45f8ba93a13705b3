//! Describes where two long texts start to differ.

/// The number of characters to show before the first that differs, and from there on.
const CONTEXT_BEFORE: usize = 40;
const CONTEXT_AFTER: usize = 80;

/// Returns the actual and the expected text around the first character that differs.
pub(super) fn describe(actual: &str, expected: &str) -> String {
    let index = actual.chars().zip(expected.chars()).take_while(|(a, b)| a == b).count();
    let (actual, expected) = (excerpt(actual, index), excerpt(expected, index));
    format!("from character {index} on it is\n{actual}\nand should be\n{expected}")
}

fn excerpt(text: &str, index: usize) -> String {
    let from = index.saturating_sub(CONTEXT_BEFORE);
    let excerpt: String = text.chars().skip(from).take(index - from + CONTEXT_AFTER).collect();
    let before = if from > 0 { "…" } else { "" };
    let after = if text.chars().nth(index + CONTEXT_AFTER).is_some() { "…" } else { "" };
    format!("{before}{excerpt}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_shows_only_text_around_the_first_difference() {
        assert_eq!(
            describe("Some(ä)", "None"),
            "from character 0 on it is\nSome(ä)\nand should be\nNone"
        );
        assert_eq!(describe("abc", "ab"), "from character 2 on it is\nabc\nand should be\nab");
        let (same, rest) = ("ö".repeat(1_000), "z".repeat(1_000));
        let (actual, expected) = (format!("{same}a{rest}"), format!("{same}b{rest}"));
        let excerpt =
            |c| format!("…{}{c}{}…", "ö".repeat(CONTEXT_BEFORE), "z".repeat(CONTEXT_AFTER - 1));
        let description = format!(
            "from character 1000 on it is\n{}\nand should be\n{}",
            excerpt('a'),
            excerpt('b')
        );
        assert_eq!(describe(&actual, &expected), description);
        // One is a prefix of the other.
        assert!(describe(&same, &actual).ends_with(&excerpt('a')));
    }
}
