//! Escaping of tags that would end an untrusted text, or begin another one.
//!
//! What looks like a tag begins with a bracket and names the tag. Between them and between the
//! letters, a closing tag may have white space, punctuation and other tags; between the letters,
//! also characters of other scripts. One pass follows all tags that may have begun, and of those
//! that have come equally far the last one. So the time is linear in the text.

use std::borrow::Cow;

use super::glyph::{ANY_LETTERS, ANY_SYMBOL, Glyph, is_any_letter};
use super::reading::glyphs;

/// The name of the tag.
const NAME: [char; 9] = ['u', 'n', 't', 'r', 'u', 's', 't', 'e', 'd'];

/// The most letters that one character looks like.
const MAX_LETTERS: usize = 4;

/// The characters of ASCII of which a tag has at least one: `<` or a slash, or the start of an
/// escape that stands for it.
const TAG_PARTS: [char; 6] = ['<', '/', '&', '\\', '%', '='];

/// Inserts a backslash into `untrusted` tags, even if they are disguised by white space,
/// punctuation, tags within, invisible or look-alike characters, other brackets, upper case, or
/// character references.
pub(super) fn escape_tags(text: &str) -> Cow<'_, str> {
    if text.is_ascii() && !text.contains(TAG_PARTS) {
        return text.into();
    }
    let glyphs = glyphs(text);
    let mut tags = closing_tags(&glyphs);
    let opening = glyphs.iter().enumerate().filter(|(_, glyph)| glyph.c == '<');
    tags.extend(opening.map(|(at, _)| at).filter(|at| {
        glyphs.get(at + 1..).is_some_and(|after| !is_escaped(after) && is_opening_tag(after))
    }));
    tags.sort_unstable();
    tags.dedup();
    super::with_backslashes(text, tags.iter().filter_map(|at| glyphs.get(*at)))
}

/// Whether an escaped tag follows a bracket. It stays as it is.
fn is_escaped(after: &[Glyph]) -> bool {
    after.first().is_some_and(|next| next.c == '\\')
}

/// A closing tag that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartialTag {
    /// The index of its bracket.
    at: usize,
    /// Whether `<` is among its brackets. Others also stand before paths, such as
    /// `(/untrusted/list)`, so that the name has to end.
    is_angled: bool,
}

/// The closing tags that have begun, the last one at each place.
#[derive(Debug, Default)]
struct State {
    /// The tag of which only brackets and punctuation were read.
    open: Option<PartialTag>,
    /// The tags of which a slash and so many letters were read, by the number of letters.
    letters: [Option<PartialTag>; NAME.len() + 1],
    /// The tag of `open` at the start of an inner tag, while the inner tag is read.
    open_within: Option<PartialTag>,
    /// The tags of `letters` at the start of an inner tag, while the inner tag is read.
    letters_within: [Option<PartialTag>; NAME.len() + 1],
    /// The tag whose name was read, and has to end.
    named: Option<PartialTag>,
}

/// Returns the indices of the brackets that begin closing tags.
fn closing_tags(glyphs: &[Glyph]) -> Vec<usize> {
    let (mut state, mut tags) = (State::default(), Vec::new());
    for (at, glyph) in glyphs.iter().enumerate() {
        if let Some(tag) = state.read(at, glyph.c) {
            tags.push(tag);
        }
    }
    tags.extend(state.named.map(|tag| tag.at));
    tags
}

impl State {
    /// Reads the next character. Returns the bracket of a tag that it ends.
    fn read(&mut self, at: usize, c: char) -> Option<usize> {
        #[cfg(test)]
        super::steps::count(1);
        if !is_bracket(c) && self.places().all(|place| place.is_none()) {
            return None;
        }
        let ended = self.named.take_if(|_| c != ' ').filter(|_| ends_name(c));
        self.read_letter(c);
        self.read_slash(at, c);
        match c {
            '<' => self.begin_inner_tag(),
            '>' => self.end_inner_tag(),
            _ => {}
        }
        if is_bracket(c) {
            let is_angled = c == '<' || self.open.is_some_and(|tag| tag.is_angled);
            self.open = Some(PartialTag { at, is_angled });
        }
        let named = self.letters.last_mut().and_then(Option::take);
        let complete = named.filter(|tag| tag.is_angled);
        if complete.is_none() {
            self.named = last(self.named, named);
        }
        let read = ended.or(complete)?.at;
        self.places().for_each(|place| {
            place.take_if(|tag| tag.at == read);
        });
        Some(read)
    }

    fn places(&mut self) -> impl Iterator<Item = &mut Option<PartialTag>> {
        let singles = [&mut self.open, &mut self.open_within, &mut self.named];
        singles.into_iter().chain(&mut self.letters).chain(&mut self.letters_within)
    }

    /// Moves the tags forward whose next letter this is.
    fn read_letter(&mut self, c: char) {
        let stays = is_between_letters(c);
        let count = if c == ANY_LETTERS { MAX_LETTERS } else { 1 };
        for read in (1..=NAME.len()).rev() {
            let mut next = if stays { self.letter(read) } else { None };
            for earlier in read.saturating_sub(count)..read {
                let is_next = NAME.get(earlier).is_some_and(|letter| is_letter(c, *letter));
                if is_next || c == ANY_LETTERS {
                    next = last(next, self.letter(earlier));
                }
            }
            if let Some(place) = self.letters.get_mut(read) {
                *place = next;
            }
        }
    }

    fn letter(&self, count: usize) -> Option<PartialTag> {
        self.letters.get(count).copied().flatten()
    }

    /// Reads a character before the first letter.
    fn read_slash(&mut self, at: usize, c: char) {
        let Self {
            open,
            letters: [slashed, ..],
            open_within,
            letters_within: [slashed_within, ..],
            ..
        } = self;
        if !is_between_letters(c) {
            (*open, *slashed) = (None, None);
        } else if !is_mark(c) {
            // In a text of another script, many brackets of other forms precede letters.
            open.take_if(|tag| !tag.is_angled);
            slashed.take_if(|tag| !tag.is_angled);
        } else if c == '\\' && open.is_some_and(|tag| tag.at + 1 == at) {
            // An escaped tag stays as it is, and ends those before it.
            (*open, *slashed) = (None, None);
            (*open_within, *slashed_within) = (None, None);
        } else if c == '/' {
            *slashed = last(*slashed, open.take());
        }
    }

    fn begin_inner_tag(&mut self) {
        self.open_within = last(self.open_within, self.open);
        for (outer, tag) in self.letters_within.iter_mut().zip(&self.letters) {
            *outer = last(*outer, *tag);
        }
    }

    fn end_inner_tag(&mut self) {
        self.open = last(self.open, self.open_within.take());
        for (outer, tag) in self.letters_within.iter_mut().zip(&mut self.letters) {
            *tag = last(*tag, outer.take());
        }
    }
}

/// Returns the tag that begins later, or the second of two equal ones.
fn last(first: Option<PartialTag>, second: Option<PartialTag>) -> Option<PartialTag> {
    match (first, second) {
        (Some(first), Some(second)) if second.at < first.at => Some(first),
        (first, second) => second.or(first),
    }
}

/// Whether an opening tag follows a bracket. After white space the text may be a comparison, so
/// that a bracket or an attribute has to follow the name.
fn is_opening_tag(after: &[Glyph]) -> bool {
    let is_apart = after.first().is_some_and(|next| next.c == ' ');
    let read = after.iter().map(|glyph| glyph.c);
    #[cfg(test)]
    let read = read.inspect(|_| super::steps::count(1));
    let mut rest = read.skip_while(|c| *c == ' ');
    if !reads_name(&mut rest) {
        return false;
    }
    let mut rest = rest.peekable();
    if !is_apart {
        return rest.peek().is_none_or(|c| !is_of_name(*c));
    }
    let mut rest = rest.skip_while(|c| *c == ' ').peekable();
    if rest.peek().is_some_and(|c| matches!(c, '>' | '/')) {
        return true;
    }
    let mut attribute = rest.skip_while(|c| is_of_name(*c)).skip_while(|c| *c == ' ');
    attribute.next() == Some('=')
}

/// Reads the letters of the name, and nothing between them.
fn reads_name(rest: &mut impl Iterator<Item = char>) -> bool {
    // One bit for each number of letters that may have been read.
    let (mut counts, complete) = (1_u32, 1_u32 << NAME.len());
    while counts & complete == 0 {
        let Some(c) = rest.next().filter(|_| counts != 0) else { return false };
        let reach = if c == ANY_LETTERS { MAX_LETTERS } else { 1 };
        let fits = |at: usize| {
            c == ANY_LETTERS || NAME.get(at).is_some_and(|letter| is_letter(c, *letter))
        };
        let moved = (0..NAME.len()).filter(|at| counts & (1 << at) != 0 && fits(*at));
        counts =
            moved.fold(0, |counts, at| (1..=reach).fold(counts, |all, by| all | 1 << (at + by)));
    }
    true
}

fn is_letter(c: char, letter: char) -> bool {
    is_any_letter(c) || c.eq_ignore_ascii_case(&letter)
}

/// Whether a character can be read as the bracket of a tag.
fn is_bracket(c: char) -> bool {
    matches!(c, '<' | '[' | '{' | '(' | ANY_SYMBOL) || (!c.is_ascii() && is_mark(c))
}

/// Whether a character is white space or punctuation.
fn is_mark(c: char) -> bool {
    !is_any_letter(c) && !c.is_alphanumeric()
}

/// Whether a character between two letters of the name leaves it readable: punctuation, and what
/// can't be a letter of it, such as the vowel signs of other scripts.
fn is_between_letters(c: char) -> bool {
    is_mark(c) || !(c.is_ascii() || is_any_letter(c))
}

fn ends_name(c: char) -> bool {
    !is_of_name(c) && !matches!(c, '/' | '.')
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-') || is_any_letter(c)
}
