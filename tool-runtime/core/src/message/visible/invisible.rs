//! Characters that a person can't see, or that change how others are shown.

use super::table::{COMBINING, INVISIBLE, contains};

/// Returns the first character of a text that people can't see.
///
/// - Control characters except those of line breaks and tabs control a terminal.
/// - Characters that change the direction of writing, and those without width, hide text from
///   people.
/// - A joiner is allowed between two characters outside of ASCII that are no joiners themselves,
///   because some scripts and emoji need it.
pub(crate) fn invisible_character(text: &str) -> Option<char> {
    let chars: Vec<char> = text.chars().collect();
    let mut all = chars.iter().copied().enumerate();
    all.find(|(at, c)| !is_line_break(*c) && is_hidden(&chars, *at, |_| false)).map(|(_, c)| c)
}

/// Returns a text in which `replace` writes something in place of each character that people can't
/// see. A joiner or a selector stays only between characters that stay.
pub(super) fn replace_hidden(text: &str, replace: impl Fn(char, &mut String)) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut replaced = String::with_capacity(text.len());
    for (at, c) in chars.iter().copied().enumerate() {
        if is_line_break(c) || !is_hidden(&chars, at, |_| false) {
            replaced.push(c);
        } else {
            replace(c, &mut replaced);
        }
    }
    replaced
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\t')
}

/// Whether the character at this index is invisible. `is_marked` returns whether another character
/// is replaced by a mark.
pub(super) fn is_hidden(chars: &[char], at: usize, is_marked: impl Fn(usize) -> bool) -> bool {
    let Some(&c) = chars.get(at) else { return false };
    // Whether a character can carry a joiner or a selector: it stays as it is, and is visible.
    let carries = |at: Option<usize>| {
        at.and_then(|at| Some((at, *chars.get(at)?))).is_some_and(|(at, c)| {
            !c.is_ascii()
                && !is_joiner(c)
                && !is_selector(c)
                && !is_space(c)
                && !is_invisible(c)
                && !is_marked(at)
        })
    };
    let before = |by: usize| at.checked_sub(by);
    match c {
        c if is_joiner(c) => {
            let last = before(1).and_then(|at| chars.get(at));
            let is_after_selector = last.is_some_and(|c| is_selector(*c));
            let base = if is_after_selector { before(2) } else { before(1) };
            !(carries(base) && carries(at.checked_add(1)))
        }
        c if is_selector(c) => {
            let last = before(1).and_then(|at| chars.get(at));
            let is_keycap = last.is_some_and(|c| matches!(c, '#' | '*' | '0'..='9'))
                && chars.get(at.saturating_add(1)) == Some(&'\u{20e3}');
            !(carries(before(1)) || is_keycap)
        }
        c => is_invisible(c),
    }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether a character chooses between the text and the emoji form of the one before it.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Whether a character is not seen as one of its own: it is invisible, or a mark on another one.
pub(in crate::message) fn is_unseen(c: char) -> bool {
    !c.is_whitespace() && !c.is_ascii_graphic() && (is_drawn_on_last(c) || is_without_width(c))
}

/// Whether a character is drawn on the one before it: a mark, or a later part of a syllable of
/// Hangul.
pub(super) fn is_drawn_on_last(c: char) -> bool {
    contains(COMBINING, c) || matches!(c, '\u{1161}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}')
}

/// Whether a character is invisible, or is so where no script or emoji needs it.
pub(super) fn is_without_width(c: char) -> bool {
    is_joiner(c) || is_selector(c) || is_invisible(c)
}

/// Whether a character is a space or a line break that is none of ASCII.
pub(super) fn is_space(c: char) -> bool {
    !c.is_ascii() && c.is_whitespace()
}

/// Whether a character is invisible wherever it occurs.
#[doc(hidden)]
pub fn is_invisible(c: char) -> bool {
    c.is_control() || contains(INVISIBLE, c)
}
