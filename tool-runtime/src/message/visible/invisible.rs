//! Characters that a person can't see, or that change how others are shown.

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

/// Returns a text without the characters that people can't see. The removal may leave a joiner
/// without its base.
pub(super) fn without_hidden(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let all = chars.iter().copied().enumerate();
    let visible = all.filter(|(at, c)| is_line_break(*c) || !is_hidden(&chars, *at, |_| false));
    visible.map(|(_, c)| c).collect()
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
    !c.is_whitespace()
        && (is_combining_mark(c) || is_joiner(c) || is_selector(c) || is_invisible(c))
}

/// Whether a character is drawn on the letter before it. Covers the marks that scripts share, and
/// those of the most common scripts.
fn is_combining_mark(c: char) -> bool {
    match c {
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' => true,
        '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}' => true,
        // Cyrillic, Hebrew, Arabic, Thai, Chinese and Japanese.
        '\u{483}'..='\u{489}' | '\u{a66f}'..='\u{a672}' | '\u{a674}'..='\u{a67d}' => true,
        '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}' | '\u{5c4}'..='\u{5c5}' => true,
        '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}' => true,
        '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' => true,
        '\u{302a}'..='\u{302d}' | '\u{3099}'..='\u{309a}' => true,
        _ => false,
    }
}

/// Whether a character is a space or a line break that is none of ASCII.
pub(super) fn is_space(c: char) -> bool {
    !c.is_ascii() && c.is_whitespace()
}

/// Whether a character is invisible wherever it occurs.
pub(crate) fn is_invisible(c: char) -> bool {
    match c {
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{feff}' => true,
        // Letters without a glyph: Hangul fillers, Khmer vowels, the empty Braille pattern.
        '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{2800}' => true,
        '\u{3164}' | '\u{ffa0}' => true,
        // Mongolian selectors and the vowel separator.
        '\u{180b}'..='\u{180f}' => true,
        // Zero-width spaces, direction marks and overrides, line separators, invisible operators.
        '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{fff0}'..='\u{fffb}' => true,
        // Format characters of shorthand and music.
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        // Tags, and variation selectors that common text does not need: both can encode sentences.
        '\u{fe00}'..='\u{fe0d}' | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}
