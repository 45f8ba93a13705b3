//! How much of an output a model is told.

/// The most bytes of a result's text, unless a program says otherwise: some 25,000 tokens.
pub(in crate::dispatch) const DEFAULT: usize = 100_000;

/// The head and the tail of a text that is longer than `most` bytes, and between them how much was
/// left out. What stands at the end, such as the outcome of a build, is worth as much as how it
/// began.
pub(in crate::dispatch) fn capped(text: &str, most: usize) -> Option<String> {
    if text.len() <= most {
        return None;
    }
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=most / 2).rev().find(is_boundary)?;
    let tail = (text.len() - (most - most / 2)..=text.len()).find(is_boundary)?;
    let (head, rest) = text.split_at_checked(head)?;
    let (cut, tail) = rest.split_at_checked(tail - head.len())?;
    Some(format!("{head}\n[… {} of {} bytes left out …]\n{tail}", cut.len(), text.len()))
}

#[cfg(test)]
mod tests {
    use super::capped;

    #[test]
    fn head_and_tail_are_kept() {
        assert_eq!(capped("short", 5), None);
        let cut = capped("0123456789", 4).unwrap();
        assert_eq!(cut, "01\n[… 6 of 10 bytes left out …]\n89");
        // No character is cut in two, and nothing is told twice.
        let cut = capped("äöüß", 5).unwrap();
        assert_eq!(cut, "ä\n[… 4 of 8 bytes left out …]\nß");
        assert_eq!(capped("äö", 1).unwrap(), "\n[… 4 of 4 bytes left out …]\n");
        assert_eq!(capped("ab", 0).unwrap(), "\n[… 2 of 2 bytes left out …]\n");
    }
}
