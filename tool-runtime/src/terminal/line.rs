//! What is said of one thing that happened, on one line of a terminal.
//!
//! Names, arguments and errors are other people's. A letter in them that a terminal would obey, or that
//! would change how others are read, is shown by its number.

use std::fmt::{self, Write};
use std::time::Duration;

/// So many letters of a text are shown.
const LETTERS: usize = 72;
/// So many of why a run has ended: an address and all that may stand before the reason.
const LETTERS_OF_END: usize = 400;

/// What a line is about, at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Done,
    Failed,
    Held,
    /// For somebody to decide.
    Waits,
    Again,
    Said,
    /// To the model.
    Told,
    Other,
}

/// One line: how deep it lies, its sign, and a text that is safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub depth: u32,
    pub sign: Sign,
    pub text: String,
}

impl Sign {
    fn letter(self) -> char {
        match self {
            Self::Done => '✓',
            Self::Failed => '✗',
            Self::Held => '⊘',
            Self::Waits => '…',
            Self::Again => '↻',
            Self::Said => '›',
            Self::Told => '»',
            Self::Other => '·',
        }
    }

    /// The number of its colour, as terminals count them.
    fn colour(self) -> u8 {
        match self {
            Self::Done => 32,
            Self::Failed => 31,
            Self::Held | Self::Waits | Self::Again => 33,
            Self::Said | Self::Told => 36,
            Self::Other => 90,
        }
    }
}

impl Line {
    /// The line with its sign in colour.
    pub(super) fn in_colour(&self) -> String {
        let Self { sign, text, .. } = self;
        let (colour, letter) = (sign.colour(), sign.letter());
        format!("{}\u{1b}[{colour}m{letter}\u{1b}[0m {text}", self.indent())
    }

    fn indent(&self) -> String {
        indent(self.depth)
    }
}

/// What lies deeper stands further to the right, as far as that goes.
pub(super) fn indent(depth: u32) -> String {
    "  ".repeat(depth.min(8) as usize)
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} {}", self.indent(), self.sign.letter(), self.text)
    }
}

/// Other people's text: on one line, no longer than one, and nothing in it that a terminal obeys.
pub(super) fn shown(text: &str) -> String {
    beginning(text, LETTERS)
}

/// The same of why a run has ended, which is worth more than one line.
pub(super) fn reason(text: &str) -> String {
    beginning(text, LETTERS_OF_END)
}

fn beginning(text: &str, letters: usize) -> String {
    let mut shown = String::new();
    for (count, c) in text.trim().chars().enumerate() {
        if count == letters {
            shown.push('…');
            break;
        }
        match c {
            '\n' | '\t' => shown.push(' '),
            c if is_odd(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Other people's text, as long as it is, on as many lines: nothing in it but their ends is obeyed.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '\n' => plain.push('\n'),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\t' => plain.push_str("    "),
            c if is_odd(c) => plain.extend(c.escape_unicode()),
            c => plain.push(c),
        }
    }
    plain
}

/// Whether it can't be seen, or does something to what is around it.
fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// Texts that are there, beside each other.
pub(super) fn beside(texts: impl IntoIterator<Item = String>) -> String {
    let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    texts.join("  ")
}

/// A duration in three digits or so.
pub(super) fn time(span: Duration) -> String {
    let (seconds, micros) = (span.as_secs(), span.as_micros());
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = match (seconds, micros) {
        (0, ..1_000) => write!(text, "{micros} µs"),
        (0, ..10_000) => write!(text, "{:.1} ms", span.as_secs_f64() * 1e3),
        (0, _) => write!(text, "{} ms", micros / 1_000),
        (..60, _) => write!(text, "{:.1} s", span.as_secs_f64()),
        (..3_600, _) => write!(text, "{} min {:02} s", seconds / 60, seconds % 60),
        _ => write!(text, "{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        for (text, expected) in [
            ("plain ä 語 🙂", "plain ä 語 🙂"),
            ("\u{1b}[2J\u{1b}]0;title\u{7}", r"\u{1b}[2J\u{1b}]0;title\u{7}"),
            ("a\rb\u{8}\u{0}", r"a\u{d}b\u{8}\u{0}"),
            ("\u{9b}31m\u{7f}", r"\u{9b}31m\u{7f}"),
            ("gnp\u{202e}exe.\u{2066}", r"gnp\u{202e}exe.\u{2066}"),
            (" two\n\tlines\n", "two  lines"),
            ("a\u{2028}\u{200b}\u{feff}\u{e0041}", r"a\u{2028}\u{200b}\u{feff}\u{e0041}"),
        ] {
            assert_eq!(shown(text), expected);
        }
        let all: String = ('\0'..=char::MAX).collect();
        for c in all.chars() {
            assert!(!shown(&format!("a{c}b")).contains(|c: char| c.is_control()), "{c:?}");
        }
        assert_eq!(shown(&"ä".repeat(1_000)), "ä".repeat(LETTERS) + "…");
    }

    #[test]
    fn durations_have_few_digits() {
        for (micros, expected) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_240, "1.2 ms"),
            (83_900, "83 ms"),
            (2_340_000, "2.3 s"),
            (62_000_000, "1 min 02 s"),
            (3_720_000_000, "1 h 02 min"),
        ] {
            assert_eq!(time(Duration::from_micros(micros)), expected);
        }
    }
}
