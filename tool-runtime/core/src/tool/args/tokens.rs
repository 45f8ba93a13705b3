//! The tokens of valid JSON text.

/// A token, and the position after it.
pub(super) struct TextToken<'t> {
    pub(super) text: &'t str,
    pub(super) end: usize,
}

/// The tokens of valid JSON: strings, brackets, commas, colons, and scalars.
pub(super) struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = TextToken<'t>;

    fn next(&mut self) -> Option<TextToken<'t>> {
        let rest = self.text.get(self.at..)?.trim_start();
        let start = self.text.len() - rest.len();
        let length = match rest.chars().next()? {
            '"' => string_length(rest),
            '[' | ']' | '{' | '}' | ',' | ':' => 1,
            _ => rest.find([',', ']', '}', ' ', '\n', '\r', '\t']).unwrap_or(rest.len()),
        };
        self.at = start + length;
        Some(TextToken { text: rest.get(..length)?, end: self.at })
    }
}

/// Returns the length of a string with both quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let mut bytes = text.bytes().skip(1);
    let content = bytes.position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    content.map_or(text.len(), |content| content + 2)
}
