//! The text next to a candidate: quotes, and the function call that encloses it.

use std::ops::Range;

use super::whitespace::is_json_whitespace;

/// The text before and after a candidate.
pub(super) struct AdjacentText<'t> {
    before: &'t str,
    after: &'t str,
    start: usize,
    end: usize,
}

impl<'t> AdjacentText<'t> {
    pub(super) fn new(text: &'t str, span: &Range<usize>) -> Self {
        let before = text.get(..span.start).unwrap_or_default();
        let after = text.get(span.end..).unwrap_or_default();
        Self { before, after, start: span.start, end: span.end }
    }

    /// The number of bytes inspected: the whitespace on both sides, three times at most.
    pub(super) fn steps(&self) -> usize {
        let blanks_before =
            self.before.len() - self.before.trim_end_matches(is_json_whitespace).len();
        let blanks_after =
            self.after.len() - self.after.trim_start_matches(is_json_whitespace).len();
        3 * (blanks_before + blanks_after)
    }

    /// Returns whether a double quote touches the candidate on both sides.
    pub(super) fn is_quoted(&self) -> bool {
        self.before.ends_with('"') && self.after.starts_with('"')
    }

    /// The spans of `name(` and of `)` or `);`, if they are next to the candidate.
    pub(super) fn enclosing_call(&self) -> Option<(Range<usize>, Range<usize>)> {
        let before = self.before.trim_end_matches(is_json_whitespace);
        let after = self.after.trim_start_matches(is_json_whitespace);
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

    fn adjacent(text: &str) -> AdjacentText<'_> {
        let at = text.find("[]").unwrap();
        AdjacentText::new(text, &(at..at + 2))
    }

    #[test]
    fn enclosing_call_requires_a_name() {
        assert_eq!(adjacent("do shop.find( [] );").enclosing_call(), Some((3..14, 17..19)));
        assert_eq!(adjacent("f([])").enclosing_call(), Some((0..2, 4..5)));
        assert_eq!(adjacent("([])").enclosing_call(), None);
        assert_eq!(adjacent("f([]").enclosing_call(), None);
    }
}
