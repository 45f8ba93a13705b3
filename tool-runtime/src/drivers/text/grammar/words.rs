//! Words that are looked for together.

use std::ops::Range;

use memchr::{memchr_iter, memchr3_iter, memmem};

/// Where the first of `words` stands: one pass, however many they are.
pub(in crate::drivers::text) fn first_of<'w>(
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

/// What stands before the first of `words`, or all of it.
pub(in crate::drivers::text) fn up_to<'t>(text: &'t str, words: &[&str]) -> &'t str {
    let first = first_of(text, words.iter().copied());
    first.and_then(|first| text.get(..first.start)).unwrap_or(text)
}

/// The text without the beginning of one of `words` in which it breaks off.
pub(in crate::drivers::text) fn without_begun<'t>(text: &'t str, words: &[&str]) -> &'t str {
    let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
    let mut before =
        (text.len().saturating_sub(longest)..text.len()).filter_map(|at| text.split_at_checked(at));
    let begun = before.find(|(_, tail)| words.iter().any(|word| word.starts_with(tail)));
    begun.map_or(text, |(before, _)| before)
}

/// What stands before `word`, if that begins within so many bytes.
pub(in crate::drivers::text) fn before<'t>(
    text: &'t str,
    word: &str,
    most: usize,
) -> Option<&'t str> {
    let near = text.as_bytes().get(..most + word.len()).unwrap_or(text.as_bytes());
    text.get(..memmem::find(near, word.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::first_of;

    #[test]
    fn the_first_in_the_text_is_found() {
        for (words, place) in [
            (&["<b>", "<a>"][..], Some(2..5)),
            (&["<b>"], Some(5..8)),
            (&["[c", "<b>"], Some(5..8)),
            (&["[c", "é", "x", "y", "z"], Some(0..2)),
            (&["<c>"], None),
            (&[], None),
        ] {
            assert_eq!(first_of("é<a><b>[c", words.iter().copied()), place, "{words:?}");
        }
    }
}
