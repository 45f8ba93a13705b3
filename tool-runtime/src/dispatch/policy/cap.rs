/// The default size limit of a result's text in bytes: about 25,000 tokens.
pub(in crate::dispatch) const DEFAULT_OUTPUT_LIMIT: usize = 100_000;

/// Returns the head and the tail of a text that is longer than `limit` bytes, with a note about the
/// omitted bytes between them; `None` if the text is short enough.
///
/// The tail is kept because the end of an output, such as the outcome of a build, matters as much
/// as its beginning.
pub(in crate::dispatch) fn truncate_middle(text: &str, limit: usize) -> Option<String> {
    if text.len() <= limit {
        return None;
    }
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head_end = (0..=limit / 2).rev().find(is_boundary)?;
    let tail_start = (text.len() - (limit - limit / 2)..=text.len()).find(is_boundary)?;
    let (head, rest) = text.split_at_checked(head_end)?;
    let (omitted, tail) = rest.split_at_checked(tail_start - head_end)?;
    Some(format!("{head}\n[… {} of {} bytes left out …]\n{tail}", omitted.len(), text.len()))
}

#[cfg(test)]
mod tests {
    use super::truncate_middle;

    #[test]
    fn long_text_keeps_its_head_and_tail() {
        assert_eq!(truncate_middle("short", 5), None);
        let text = truncate_middle("0123456789", 4).unwrap();
        assert_eq!(text, "01\n[… 6 of 10 bytes left out …]\n89");
        // No character is split, and no byte appears twice.
        let text = truncate_middle("äöüß", 5).unwrap();
        assert_eq!(text, "ä\n[… 4 of 8 bytes left out …]\nß");
        assert_eq!(truncate_middle("äö", 1).unwrap(), "\n[… 4 of 4 bytes left out …]\n");
        assert_eq!(truncate_middle("ab", 0).unwrap(), "\n[… 2 of 2 bytes left out …]\n");
    }
}
