//! Where two long texts begin to differ.

/// So many letters are shown before the first that differs, and so many from there on.
const BEFORE: usize = 40;
const BEHIND: usize = 80;

/// What is there and what should be, each around the first letter that is not the same.
pub(super) fn of(is: &str, should_be: &str) -> String {
    let place = is.chars().zip(should_be.chars()).take_while(|(a, b)| a == b).count();
    let (is, should_be) = (around(is, place), around(should_be, place));
    format!("from letter {place} on it is\n{is}\nand should be\n{should_be}")
}

fn around(text: &str, place: usize) -> String {
    let from = place.saturating_sub(BEFORE);
    let shown: String = text.chars().skip(from).take(place - from + BEHIND).collect();
    let before = if from > 0 { "…" } else { "" };
    let behind = if text.chars().nth(place + BEHIND).is_some() { "…" } else { "" };
    format!("{before}{shown}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_around_the_first_difference_is_shown() {
        assert_eq!(of("Some(ä)", "None"), "from letter 0 on it is\nSome(ä)\nand should be\nNone");
        assert_eq!(of("abc", "ab"), "from letter 2 on it is\nabc\nand should be\nab");
        let (same, rest) = ("ö".repeat(1_000), "z".repeat(1_000));
        let (is, should_be) = (format!("{same}a{rest}"), format!("{same}b{rest}"));
        let shown = |c| format!("…{}{c}{}…", "ö".repeat(BEFORE), "z".repeat(BEHIND - 1));
        let expected =
            format!("from letter 1000 on it is\n{}\nand should be\n{}", shown('a'), shown('b'));
        assert_eq!(of(&is, &should_be), expected);
        // As far as both go.
        assert!(of(&same, &is).ends_with(&shown('a')));
    }
}
