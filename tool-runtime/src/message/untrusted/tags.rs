//! Escaping of tags that would end an untrusted text, or begin another one.
//!
//! What looks like a tag begins with a bracket and names the tag. Between them and between the
//! letters, a closing tag may have white space and punctuation; between the letters, also
//! characters of other scripts. The search for one tag stops at the next bracket, which may begin
//! a tag itself, so the time is linear in the text.

use std::borrow::Cow;
use std::iter::Peekable;

use super::glyph::{Glyph, glyphs};
use super::reference::{ANY_LETTER, ANY_SYMBOL};

/// The name of the tag.
const NAME: &str = "untrusted";

/// The characters of ASCII of which a tag has at least one: `<` or a slash, or the start of an
/// escape that stands for it.
const TAG_PARTS: [char; 6] = ['<', '/', '&', '\\', '%', '='];

/// Inserts a backslash into `untrusted` tags, even if they are disguised by white space,
/// punctuation, invisible or look-alike characters, other brackets, upper case, or character
/// references.
pub(super) fn escape_tags(text: &str) -> Cow<'_, str> {
    if text.is_ascii() && !text.contains(TAG_PARTS) {
        return text.into();
    }
    super::with_backslashes(text, |bracket| {
        is_bracket(bracket.c) && is_tag(bracket.c, glyphs(text, bracket.end))
    })
    .into()
}

/// Whether an opening bracket begins an `untrusted` tag.
fn is_tag(bracket: char, after: impl Iterator<Item = Glyph> + Clone) -> bool {
    // An escaped tag stays as it is.
    if after.clone().next().is_none_or(|next| next.c == '\\') {
        return false;
    }
    is_closing_tag(bracket, after.clone()) || (bracket == '<' && is_opening_tag(after))
}

/// Whether a closing tag follows a bracket: a slash among punctuation, and the name.
fn is_closing_tag(bracket: char, after: impl Iterator<Item = Glyph>) -> bool {
    let mut rest = after.peekable();
    let mut has_slash = false;
    while let Some(mark) = rest.next_if(|next| is_mark(next.c) && !is_bracket(next.c)) {
        has_slash |= mark.c == '/';
    }
    let is_next_tag = rest.peek().is_some_and(|next| is_bracket(next.c));
    // Only marks may precede the first letter: otherwise every bracket in a text of another script
    // would search it to the end.
    let is_word = rest.peek().is_some_and(|next| is_letter(next.c, 'u'));
    if !has_slash || is_next_tag || !is_word || !NAME.chars().all(|it| has_letter(&mut rest, it)) {
        return false;
    }
    // Other brackets stand before paths, such as `(/untrusted/list)`.
    bracket == '<' || rest.find(|next| next.c != ' ').is_none_or(|next| ends_name(next.c))
}

/// Returns whether the next character is a letter of the name, after what may separate letters.
fn has_letter(rest: &mut Peekable<impl Iterator<Item = Glyph>>, letter: char) -> bool {
    while rest.next_if(|next| is_between_letters(next.c)).is_some() {}
    rest.next().is_some_and(|next| is_letter(next.c, letter))
}

/// Whether a character between two letters of the name leaves it readable: punctuation, and what
/// can't be a letter of it, such as the vowel signs of other scripts.
fn is_between_letters(c: char) -> bool {
    is_mark(c) || !(c.is_ascii() || c == ANY_LETTER)
}

/// Whether an opening tag follows a bracket. After white space the text may be a comparison, so
/// that a bracket or an attribute has to follow the name.
fn is_opening_tag(after: impl Iterator<Item = Glyph>) -> bool {
    let mut rest = after.peekable();
    let mut is_apart = false;
    while rest.next_if(|next| next.c == ' ').is_some() {
        is_apart = true;
    }
    if !NAME.chars().all(|letter| rest.next().is_some_and(|next| is_letter(next.c, letter))) {
        return false;
    }
    if !is_apart {
        return rest.peek().is_none_or(|next| !is_of_name(next.c));
    }
    let mut rest = rest.skip_while(|next| next.c == ' ').peekable();
    if rest.peek().is_some_and(|next| matches!(next.c, '>' | '/')) {
        return true;
    }
    let mut attribute = rest.skip_while(|next| is_of_name(next.c)).skip_while(|next| next.c == ' ');
    attribute.next().is_some_and(|next| next.c == '=')
}

fn is_letter(c: char, letter: char) -> bool {
    c == ANY_LETTER || c.eq_ignore_ascii_case(&letter)
}

/// Whether a character can be read as the bracket of a tag.
fn is_bracket(c: char) -> bool {
    matches!(c, '<' | '[' | '{' | '(' | ANY_SYMBOL) || (!c.is_ascii() && is_mark(c))
}

/// Whether a character is white space or punctuation.
fn is_mark(c: char) -> bool {
    c != ANY_LETTER && !c.is_alphanumeric()
}

fn ends_name(c: char) -> bool {
    !is_of_name(c) && !matches!(c, '/' | '.')
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | ANY_LETTER)
}
