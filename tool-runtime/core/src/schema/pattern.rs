//! Patterns that the validator can't compile: malformed ones, and those with features that its
//! regular expressions lack.

use crate::json::__private::is_supported;

/// Returns true if the pattern is no regular expression in any common syntax. A pattern that only
/// has features which the validator lacks, such as look-around, is not malformed.
pub(super) fn is_malformed(pattern: &str) -> bool {
    has_syntax_error(pattern) && !is_supported(pattern)
}

/// Returns true if a group or a class is unbalanced, an escape is cut, or a quantifier has nothing
/// to repeat.
fn has_syntax_error(pattern: &str) -> bool {
    let mut open_groups = 0_usize;
    let mut is_in_class = false;
    let mut can_repeat = false;
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' if rest.next().is_none() => return true,
            '\\' => can_repeat = true,
            ']' if is_in_class => (is_in_class, can_repeat) = (false, true),
            _ if is_in_class => {}
            '[' => is_in_class = true,
            '(' => {
                open_groups += 1;
                // The kind of a group, such as `(?:`, is no quantifier.
                rest.next_if_eq(&'?');
                can_repeat = false;
            }
            ')' if open_groups == 0 => return true,
            ')' => (open_groups, can_repeat) = (open_groups - 1, true),
            '|' | '^' => can_repeat = false,
            '*' | '+' | '?' if !can_repeat => return true,
            _ => can_repeat = true,
        }
    }
    is_in_class || open_groups > 0
}

#[cfg(test)]
mod tests {
    use super::is_malformed;

    #[test]
    fn syntax_errors_are_malformed_and_other_dialects_are_not() {
        for pattern in ["(", ")", "a)", "[a", "a\\", "*a", "a|+b", "(?:a", "(*)", "(?=R", "^?\\"] {
            assert!(is_malformed(pattern), "{pattern}");
        }
        for pattern in [
            "",
            "^a+?$",
            "^(?=R)",
            "^(?!x)[^/]+$",
            "(?<=a)b|(?<!c)d",
            "\\p{L}+",
            "(a)\\1",
            "(?<year>\\d{4})\\k<year>",
            "[\\]]",
            "[(*]",
            "\\(",
            "\\cA",
            "a{2,}?",
            "\\w{600}{600}",
        ] {
            assert!(!is_malformed(pattern), "{pattern}");
        }
    }
}
