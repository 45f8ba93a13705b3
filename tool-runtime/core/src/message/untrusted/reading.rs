//! The characters of a text as a model may read them: without what is invisible, with forms of
//! ASCII characters as ASCII, and with references and escapes decoded.

use super::glyph::{Glyph, folded};
use super::reference::decode;
use crate::message::visible::is_unseen;

/// How often a text can be encoded for its references to be recognized.
const MAX_ENCODINGS: usize = 8;

/// Returns the visible characters of a text. What is encoded more than once is decoded as often.
pub(super) fn glyphs(text: &str) -> Vec<Glyph> {
    let mut glyphs = Vec::with_capacity(text.len());
    for (start, c) in text.char_indices().filter(|(_, c)| !is_unseen(*c)) {
        glyphs.push(Glyph { c: folded(c), start, end: start + c.len_utf8() });
    }
    for _ in 0..MAX_ENCODINGS {
        match decode(&glyphs) {
            Some(decoded) => glyphs = decoded,
            None => break,
        }
    }
    glyphs
}
