//! Shortens the texts of previews.

/// Returns the first characters of a text that fit into `limit` bytes, with a note about the
/// others.
pub fn first_bytes(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let len = text.len();
        let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        text.push_str(&format!("\n[{} more bytes]", len - text.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::first_bytes;

    #[test]
    fn text_is_cut_between_characters() {
        for (limit, expected) in
            [(6, "aøøc"), (5, "aøø\n[1 more bytes]"), (4, "aø\n[3 more bytes]")]
        {
            assert_eq!(first_bytes("aøøc".to_owned(), limit), expected, "{limit}");
        }
    }
}
