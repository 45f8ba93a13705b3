//! Search for several markers at once.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr3_iter, memmem};

/// Returns the beginning of a text, of at most this many bytes.
pub(crate) fn beginning(text: &str, max_len: usize) -> &str {
    let mut end = text.len().min(max_len);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Returns the end of a text of at most `max_len` bytes, from a character on.
pub(crate) fn ending(text: &str, max_len: usize) -> &str {
    let mut start = text.len().saturating_sub(max_len);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// Returns the first line of a text, or its beginning of at most `max_len` bytes, and true if a
/// line break follows it. A line may be as long as the text, and each call on it examines the rest.
pub(crate) fn first_line(text: &str, max_len: usize) -> (&str, bool) {
    let window = beginning(text, max_len);
    let line = memchr(b'\n', window.as_bytes()).and_then(|end| window.get(..end));
    #[cfg(test)]
    super::scan_counter::count(line.unwrap_or(window).len());
    (line.unwrap_or(window), line.is_some())
}

/// Returns the position of the first of `words`, found in one pass.
pub(crate) fn find_first<'w>(
    text: &str,
    words: impl Iterator<Item = &'w str> + Clone,
) -> Option<Range<usize>> {
    let first = find_leftmost(text, words);
    #[cfg(test)]
    super::scan_counter::count(first.as_ref().map_or(text.len(), |first| first.end));
    first
}

fn find_leftmost<'w>(
    text: &str,
    words: impl Iterator<Item = &'w str> + Clone,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut firsts: Vec<u8> = words.clone().filter_map(|word| word.bytes().next()).collect();
    firsts.sort_unstable();
    firsts.dedup();
    let found = move |at: usize| {
        let rest = bytes.get(at..)?;
        let word = words.clone().find(|word| rest.starts_with(word.as_bytes()))?;
        Some(at..at + word.len())
    };
    match *firsts.as_slice() {
        [] => None,
        [a] => memchr_iter(a, bytes).find_map(found),
        [a, b] => memchr3_iter(a, b, b, bytes).find_map(found),
        [a, b, c] => memchr3_iter(a, b, c, bytes).find_map(found),
        _ => (0..bytes.len()).filter(|at| text.is_char_boundary(*at)).find_map(found),
    }
}

/// Returns the text before the first of `words`, or all of it.
pub(crate) fn text_before_any<'t>(text: &'t str, words: &[&str]) -> &'t str {
    let first = find_first(text, words.iter().copied());
    first.and_then(|first| text.get(..first.start)).unwrap_or(text)
}

/// Returns the text without a partial marker at its end.
pub(crate) fn without_partial_marker<'t>(text: &'t str, words: &[&str]) -> &'t str {
    let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
    let mut before =
        (text.len().saturating_sub(longest)..text.len()).filter_map(|at| text.split_at_checked(at));
    let partial = before.find(|(_, tail)| words.iter().any(|word| word.starts_with(tail)));
    partial.map_or(text, |(before, _)| before)
}

/// Returns the text before `word`, if `word` begins within `max` bytes.
pub(crate) fn text_before<'t>(text: &'t str, word: &str, max: usize) -> Option<&'t str> {
    let window = text.as_bytes().get(..max + word.len()).unwrap_or(text.as_bytes());
    text.get(..memmem::find(window, word.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::find_first;

    #[test]
    fn find_first_returns_leftmost_match() {
        for (words, expected) in [
            (&["<b>", "<a>"][..], Some(2..5)),
            (&["<b>"], Some(5..8)),
            (&["[c", "<b>"], Some(5..8)),
            (&["[c", "é", "x", "y", "z"], Some(0..2)),
            (&["<c>"], None),
            (&[], None),
        ] {
            assert_eq!(find_first("é<a><b>[c", words.iter().copied()), expected, "{words:?}");
        }
    }
}
