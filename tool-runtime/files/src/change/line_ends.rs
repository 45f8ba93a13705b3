//! Replaces parts of a text, and keeps the ends of its lines.

/// A text whose lines end with `\n`, and the ends that they have in the file.
#[derive(Clone, Debug)]
pub(crate) struct UnixText {
    pub(crate) text: String,
    /// Whether the file has `\r\n` in the place of each `\n`.
    is_crlf: Vec<bool>,
}

impl UnixText {
    /// Takes the text as it is, with each `\r` before the end of a line.
    pub(crate) fn verbatim(text: &str) -> Self {
        Self { text: text.to_owned(), is_crlf: vec![false; text.matches('\n').count()] }
    }

    /// Removes the `\r` before the end of each line from the text.
    pub(crate) fn normalized(text: &str) -> Self {
        let ends = text.match_indices('\n');
        let is_crlf = ends.map(|(at, _)| text.get(..at).is_some_and(|head| head.ends_with('\r')));
        Self { is_crlf: is_crlf.collect(), text: text.replace("\r\n", "\n") }
    }

    /// Returns the text with the ends of the file.
    pub(crate) fn into_file_text(self) -> String {
        let Self { text, is_crlf } = self;
        if !is_crlf.contains(&true) {
            return text;
        }
        let mut file_text = String::with_capacity(text.len() + is_crlf.len());
        let mut ends = is_crlf.into_iter();
        for line in text.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                Some(line) if ends.next() == Some(true) => {
                    file_text.push_str(line);
                    file_text.push_str("\r\n");
                }
                _ => file_text.push_str(line),
            }
        }
        file_text
    }

    /// Replaces all occurrences of a text that is not empty.
    ///
    /// The last lines keep their ends if both texts have them. The lines before them keep theirs by
    /// position; a further one gets the end of the line before it, or else of the one after it. If
    /// the text has no line ends, an added line gets `\r\n` if `is_crlf` is set.
    #[must_use]
    pub(crate) fn replace(&self, old: &str, new: &str, is_crlf: bool) -> Self {
        let [old_count, new_count] = [old, new].map(|text| text.matches('\n').count());
        let shared_count = shared_at_end(old, new);
        let added = new_count - shared_count;
        let mut replaced = Self { text: String::new(), is_crlf: Vec::new() };
        let (mut rest, mut ends) = (&*self.text, &*self.is_crlf);
        while let Some((before, after)) = rest.split_once(old) {
            let (before_ends, others) = split(ends, before.matches('\n').count());
            let (old_ends, following) = split(others, old_count);
            let (changed, shared) = split(old_ends, old_count - shared_count);
            replaced.text.push_str(before);
            replaced.text.push_str(new);
            replaced.is_crlf.extend(before_ends);
            let neighbor = following.first().or_else(|| replaced.is_crlf.last());
            let last = changed.get(..added).unwrap_or(changed).last();
            let last = last.or_else(|| shared.first()).or(neighbor).copied().unwrap_or(is_crlf);
            let first = changed.iter().copied().chain(std::iter::repeat(last)).take(added);
            replaced.is_crlf.extend(first);
            replaced.is_crlf.extend(shared);
            (rest, ends) = (after, following);
        }
        replaced.text.push_str(rest);
        replaced.is_crlf.extend(ends);
        replaced
    }
}

fn split(ends: &[bool], at: usize) -> (&[bool], &[bool]) {
    ends.split_at_checked(at).unwrap_or((ends, &[]))
}

/// Returns the number of the last lines that both texts have, without those that they share at
/// their start.
fn shared_at_end(old: &str, new: &str) -> usize {
    let lines = |text| str::split_inclusive(text, '\n').filter(|line| line.ends_with('\n'));
    let start = lines(old).zip(lines(new)).take_while(|(old, new)| old == new).count();
    let [old, new] = [old, new].map(|text| lines(text).skip(start).collect::<Vec<_>>());
    let pairs = old.iter().rev().zip(new.iter().rev());
    pairs.take_while(|(old, new)| old == new).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

    use super::UnixText;

    fn replace(text: &str, old: &str, new: &str) -> String {
        UnixText::normalized(text).replace(old, new, false).into_file_text()
    }

    #[test]
    fn lines_keep_their_ends() {
        let text = "a\r\nb\nc\r\nd\n";
        for (old, new, expected) in [
            // One line is changed, removed, or divided.
            ("b", "x", "a\r\nx\nc\r\nd\n"),
            ("b\n", "", "a\r\nc\r\nd\n"),
            ("c", "x\ny", "a\r\nb\nx\r\ny\r\nd\n"),
            // Several lines are changed, joined, or have a further one between them.
            ("a\nb\nc", "x\ny\nz", "x\r\ny\nz\r\nd\n"),
            ("a\nb", "ab", "ab\nc\r\nd\n"),
            ("a\nb\nc\n", "a\nb\nx\ny\nc\n", "a\r\nb\nx\ny\nc\r\nd\n"),
            ("a\nb\n", "a\nx\nb\n", "a\r\nx\r\nb\nc\r\nd\n"),
            // The shared lines are those at the end.
            ("b\nc\n", "c\n", "a\r\nc\r\nd\n"),
            ("c\n", "x\nc\n", "a\r\nb\nx\r\nc\r\nd\n"),
        ] {
            assert_eq!(replace(text, old, new), expected, "{old:?} {new:?}");
        }
        assert_eq!(replace("a\r\nb\na\r\n", "a\n", "a\nx\n"), "a\r\nx\r\nb\na\r\nx\r\n");
        assert_eq!(replace("a\r\nb", "b", "b\nc"), "a\r\nb\r\nc", "the end of the line before");
    }

    #[test]
    fn first_line_gets_the_default_end() {
        for (is_crlf, expected) in [(false, "b\nc"), (true, "b\r\nc")] {
            let text = UnixText::normalized("a").replace("a", "b\nc", is_crlf);
            assert_eq!(text.into_file_text(), expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn text_is_restored(text in "[ab\r\n]{0,12}") {
            prop_assert_eq!(&UnixText::normalized(&text).into_file_text(), &text);
            prop_assert_eq!(&UnixText::verbatim(&text).into_file_text(), &text);
        }

        #[test]
        fn lines_are_those_of_a_plain_replacement(
            text in "([ab]{0,2}(\r\n|\n)){0,6}",
            old in "[ab\n]{1,4}",
            new in "[ab\n]{0,4}",
        ) {
            let replaced = replace(&text, &old, &new);
            let expected = text.replace("\r\n", "\n").replace(&old, &new);
            prop_assert_eq!(replaced.replace("\r\n", "\n"), expected);
        }

        #[test]
        fn text_with_one_kind_of_ends_gets_no_others(
            lines in "([ab]{0,2}\n){1,6}",
            old in "[ab\n]{1,4}",
            new in "[ab\n]{0,4}",
        ) {
            for end in ["\n", "\r\n"] {
                let replaced = replace(&lines.replace('\n', end), &old, &new);
                let expected = lines.replace(&old, &new).replace('\n', end);
                prop_assert_eq!(replaced, expected);
            }
        }
    }
}
