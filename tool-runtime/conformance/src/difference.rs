//! Excerpts of two long texts, where they begin to differ.

/// The number of characters to show before the first that differs, and from there on.
const CONTEXT_BEFORE: usize = 40;
const CONTEXT_AFTER: usize = 80;

/// Returns both texts around the first character that differs.
pub(crate) fn excerpts(expected: &str, found: &str) -> (String, String) {
    let index = expected.chars().zip(found.chars()).take_while(|(a, b)| a == b).count();
    (excerpt(expected, index), excerpt(found, index))
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
    use super::{CONTEXT_AFTER, CONTEXT_BEFORE, excerpts};

    #[test]
    fn excerpts_show_only_text_around_the_first_difference() {
        let pair = |left: &str, right: &str| (left.to_owned(), right.to_owned());
        assert_eq!(excerpts("None", "Some(ä)"), pair("None", "Some(ä)"));
        assert_eq!(excerpts("ab", "abc"), pair("ab", "abc"));
        let (same, rest) = ("ö".repeat(1_000), "z".repeat(1_000));
        let [expected, found] = ["a", "b"].map(|char| format!("{same}{char}{rest}"));
        let excerpt = |char: &str| {
            format!("…{}{char}{}…", "ö".repeat(CONTEXT_BEFORE), "z".repeat(CONTEXT_AFTER - 1))
        };
        assert_eq!(excerpts(&expected, &found), (excerpt("a"), excerpt("b")));
        // One is a prefix of the other.
        let before = format!("…{}", "ö".repeat(CONTEXT_BEFORE));
        assert_eq!(excerpts(&same, &found), (before, excerpt("b")));
    }
}
