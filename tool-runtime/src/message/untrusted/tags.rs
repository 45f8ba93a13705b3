//! Escaping of tags that would end an untrusted text, or begin another one.

use super::glyph::{ANY_LETTER, Glyph, glyphs};

/// The name of the tag.
const NAME: &str = "untrusted";

/// Inserts a backslash into `untrusted` tags, even if they are disguised by white space, invisible
/// or look-alike characters, upper case, or character references.
pub(super) fn escape_tags(text: &str) -> String {
    super::with_backslashes(text, '<', |after| is_tag(text, after))
}

/// Whether an opening bracket begins an `untrusted` tag.
fn is_tag(text: &str, after: usize) -> bool {
    let mut rest = glyphs(text, after).peekable();
    // A closing tag is recognized with white space anywhere in it; without a slash, the text may be
    // a comparison.
    let mut skipped = glyphs(text, after).filter(|glyph| glyph.c != ' ').peekable();
    match skipped.next_if(|glyph| glyph.c == '/') {
        Some(_) => has_name(&mut skipped),
        None => has_name(&mut rest) && !rest.peek().is_some_and(|next| is_of_name(next.c)),
    }
}

fn has_name(glyphs: &mut impl Iterator<Item = Glyph>) -> bool {
    NAME.chars().all(|letter| {
        glyphs
            .next()
            .is_some_and(|glyph| glyph.c == ANY_LETTER || glyph.c.eq_ignore_ascii_case(&letter))
    })
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | ANY_LETTER)
}
