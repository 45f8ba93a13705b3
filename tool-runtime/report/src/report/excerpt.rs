//! Parts of long texts, with a note of what was left out.

/// The highest number of bytes of one text.
pub(super) const MAX_TEXT: usize = 256 << 10;

/// The note in the place of what was left out.
pub(super) const NOTE: &str = "\n[… the middle of this text is left out …]\n";

/// Shortens a text to the maximum of one text. Returns the number of bytes that were left out.
pub(super) fn shorten_one(text: &mut String) -> u64 {
    shorten_text(text, MAX_TEXT)
}

/// Keeps the beginning and the end of a text of more than `max` bytes, which a note separates.
/// Returns the number of bytes that were left out.
pub(super) fn shorten_text(text: &mut String, max: usize) -> u64 {
    if text.len() <= max {
        return 0;
    }
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=max / 2).rev().find(is_boundary).unwrap_or(0);
    let tail = (text.len() - max / 2..).find(is_boundary).unwrap_or(text.len());
    let count = tail - head;
    let [start, end] = [text.get(..head), text.get(tail..)].map(Option::unwrap_or_default);
    // `replace_range` would drop the middle byte by byte, and keep the memory of the whole text.
    *text = [start, NOTE, end].concat();
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_of_a_long_text_are_kept() {
        for (text, expected, bytes) in [
            ("", String::new(), 0),
            ("0123456789", "0123456789".to_owned(), 0),
            ("0123456789a", format!("01234{NOTE}6789a"), 1),
            // Characters are not split.
            ("ööööööö", format!("öö{NOTE}öö"), 6),
        ] {
            let mut shortened = text.to_owned();
            assert_eq!(shorten_text(&mut shortened, 10), bytes, "{text}");
            assert_eq!(shortened, expected);
        }
    }
}
