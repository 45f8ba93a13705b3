//! What touches a candidate: signs that it is a part of something larger, and the call it is in.

use std::ops::Range;

use super::mark::is_blank;

/// The text before and after a candidate.
pub(super) struct Around<'t> {
    before: &'t str,
    after: &'t str,
    start: usize,
    end: usize,
}

const QUOTES: [char; 2] = ['"', '\''];

impl<'t> Around<'t> {
    pub(super) fn new(text: &'t str, span: &Range<usize>) -> Self {
        let before = text.get(..span.start).unwrap_or_default();
        let after = text.get(span.end..).unwrap_or_default();
        Self { before, after, start: span.start, end: span.end }
    }

    /// How many bytes are looked at: the blanks on both sides, three times at most.
    pub(super) fn steps(&self) -> usize {
        let blanks_before = self.before.len() - self.before.trim_end_matches(is_blank).len();
        let blanks_after = self.after.len() - self.after.trim_start_matches(is_blank).len();
        3 * (blanks_before + blanks_after)
    }

    /// A double quote touches the candidate on both sides.
    pub(super) fn is_quoted(&self) -> bool {
        self.before.ends_with('"') && self.after.starts_with('"')
    }

    /// What shows that the candidate is a part of something that has lost its brackets.
    pub(super) fn damage(&self) -> Option<&'static str> {
        if self.before.ends_with('"') || self.after.starts_with('"') {
            return Some("a quote touches this bracket");
        }
        let before = self.before.trim_end_matches(is_blank);
        let after = self.after.trim_start_matches(is_blank);
        let is_item = |c: char| QUOTES.contains(&c) || c.is_ascii_digit();
        let member = "this value is a member of something that is not there";
        if let Some(key) = before.strip_suffix(':')
            && key.trim_end_matches(is_blank).ends_with(QUOTES)
        {
            return Some(member);
        }
        if let Some(item) = before.strip_suffix(',')
            && item.trim_end_matches(is_blank).ends_with(is_item)
        {
            return Some(member);
        }
        if let Some(item) = after.strip_prefix(',')
            && item.trim_start_matches(is_blank).starts_with(is_item)
        {
            return Some(member);
        }
        let in_call = before.strip_suffix('(').is_some_and(|name| name.ends_with(is_name));
        (in_call && !after.starts_with(')'))
            .then_some("this value is not the only argument of the call")
    }

    /// `name(` and `)` or `);`, if they are next to the candidate.
    pub(super) fn call(&self) -> Option<(Range<usize>, Range<usize>)> {
        let before = self.before.trim_end_matches(is_blank);
        let after = self.after.trim_start_matches(is_blank);
        let bare = before.strip_suffix('(')?;
        let closed = after.strip_prefix(')')?;
        let name = bare.len() - bare.trim_end_matches(is_name).len();
        let close = 1 + usize::from(closed.starts_with(';'));
        let at = self.end + self.after.len() - after.len();
        (name > 0).then(|| (bare.len() - name..self.start, at..at + close))
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(text: &str) -> Around<'_> {
        let at = text.find("[]").unwrap();
        Around::new(text, &(at..at + 2))
    }

    #[test]
    fn a_member_of_something_is_damage() {
        for text in [
            r#""a": []"#,
            r#""a" :[]"#,
            "'a': []",
            r#""a", []"#,
            "1, []",
            r#"[], "a""#,
            "[] , 2",
            r#""[]"#,
            r#"[]""#,
            "f([]",
            "f([], x)",
        ] {
            assert!(around(text).damage().is_some(), "{text}");
        }
    }

    #[test]
    fn prose_is_no_damage() {
        for text in [
            "a: []",
            "Use [], then",
            "so, []",
            "'[]'",
            "([])",
            "(as [] shows)",
            "f([])",
            "step 1: []",
            "“[]”",
        ] {
            assert_eq!(around(text).damage(), None, "{text}");
        }
    }

    #[test]
    fn a_call_has_a_name() {
        assert_eq!(around("do shop.find( [] );").call(), Some((3..14, 17..19)));
        assert_eq!(around("f([])").call(), Some((0..2, 4..5)));
        assert_eq!(around("([])").call(), None);
        assert_eq!(around("f([]").call(), None);
    }
}
