//! Decoding of output that arrives in pieces.

/// Decodes UTF-8, and replaces bytes that are none.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The bytes at the end that are not a complete character.
    rest: Vec<u8>,
}

impl Decoder {
    /// Appends the characters of a piece that are complete.
    pub(crate) fn decode(&mut self, bytes: &[u8], text: &mut String) {
        self.rest.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.rest);
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_incomplete(invalid) {
                self.rest = invalid.to_owned();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// Replaces what is incomplete at the end of the output.
    pub(crate) fn finish(&mut self, text: &mut String) {
        if !std::mem::take(&mut self.rest).is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Whether bytes may be the start of a character.
fn is_incomplete(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
