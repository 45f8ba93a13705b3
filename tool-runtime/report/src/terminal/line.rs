//! One line of a terminal for one event.
//!
//! Names, arguments and errors come from models and tools. A character in them that a terminal
//! would interpret, or that would change the display of others, is shown as its code point.

use std::fmt::{self, Write};
use std::time::Duration;

use tool_core::__workspace::is_invisible;
use tool_core::message::visible;

/// The highest number of characters of a text.
const MAX_TEXT: usize = 72;
/// The highest number of characters of a run's error, which may contain a URL before the reason.
const MAX_ERROR: usize = 400;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Done,
    Failed,
    Blocked,
    /// Waits for a decision.
    Pending,
    Retry,
    Reply,
    /// The message to the model.
    Message,
    Other,
}

/// Line with its nesting depth, its sign and a text that is safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub depth: u32,
    pub sign: Sign,
    pub text: String,
}

impl Sign {
    fn symbol(self) -> char {
        match self {
            Self::Done => '✓',
            Self::Failed => '✗',
            Self::Blocked => '⊘',
            Self::Pending => '…',
            Self::Retry => '↻',
            Self::Reply => '›',
            Self::Message => '»',
            Self::Other => '·',
        }
    }

    /// Returns the number of the colour in ANSI escape sequences.
    fn colour(self) -> u8 {
        match self {
            Self::Done => 32,
            Self::Failed => 31,
            Self::Blocked | Self::Pending | Self::Retry => 33,
            Self::Reply | Self::Message => 36,
            Self::Other => 90,
        }
    }
}

impl Line {
    /// Returns the line with its sign in colour.
    pub(super) fn in_colour(&self) -> String {
        let Self { sign, text, .. } = self;
        let (colour, symbol) = (sign.colour(), sign.symbol());
        format!("{}\u{1b}[{colour}m{symbol}\u{1b}[0m {text}", self.indent())
    }

    fn indent(&self) -> String {
        indent(self.depth)
    }
}

/// Returns the indentation of a nesting depth, which is limited.
pub(super) fn indent(depth: u32) -> String {
    "  ".repeat(depth.min(8) as usize)
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} {}", self.indent(), self.sign.symbol(), self.text)
    }
}

/// Returns untrusted text on one truncated line, in which nothing deceives.
pub(super) fn excerpt(text: &str) -> String {
    sanitize(text, MAX_TEXT)
}

/// Returns the error of a run like [`excerpt`], but longer.
pub(super) fn error_excerpt(text: &str) -> String {
    sanitize(text, MAX_ERROR)
}

fn sanitize(text: &str, characters: usize) -> String {
    let text = text.trim();
    let end = text.char_indices().nth(characters).map(|(end, _)| end);
    let (start, ellipsis) = match end.and_then(|end| text.get(..end)) {
        Some(start) => (start, "…"),
        None => (text, ""),
    };
    format!("{}{ellipsis}", visible(&start.replace(['\n', '\t'], " ")))
}

/// Returns untrusted text with all its lines, but without other control characters.
pub(super) fn sanitize_lines(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' => lines.push('\n'),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\t' => lines.push_str("    "),
            // The parts of a stream are shown alone, so that no context tells what deceives.
            c if is_invisible(c) => lines.push_str(&visible(c.encode_utf8(&mut [0; 4]))),
            c => lines.push(c),
        }
    }
    lines
}

/// Joins the texts that are not empty.
pub(super) fn join_columns(texts: impl IntoIterator<Item = String>) -> String {
    let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    texts.join("  ")
}

/// Formats a duration with about three digits.
pub(super) fn time(span: Duration) -> String {
    let (seconds, micros) = (span.as_secs(), span.as_micros());
    let mut text = String::new();
    // Writing to a string cannot fail.
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
    use std::iter;

    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for (text, expected) in [
            ("plain ä 語 🙂", "plain ä 語 🙂"),
            ("\u{1b}[2J\u{1b}]0;title\u{7}", "<U+001B>[2J<U+001B>]0;title<U+0007>"),
            ("a\rb\u{8}\u{0}", "a<U+000D>b<U+0008><U+0000>"),
            ("\u{9b}31m\u{7f}", "<U+009B>31m<U+007F>"),
            ("gnp\u{202e}exe.\u{2066}", "gnp<U+202E>exe.<U+2066>"),
            (" two\n\tlines\n", "two  lines"),
            ("a\u{2028}\u{200b}\u{feff}\u{e0041}", "a<U+2028><U+200B><U+FEFF><U+E0041>"),
        ] {
            assert_eq!(excerpt(text), expected);
        }
        let all: Vec<char> = ('\0'..=char::MAX).collect();
        for chars in all.chunks(MAX_TEXT - 2) {
            let text: String = iter::once('a').chain(chars.iter().copied()).chain(['b']).collect();
            let line = excerpt(&text);
            assert!(!line.contains(char::is_control) && line.ends_with('b'), "{line:?}");
        }
        assert_eq!(excerpt(&"ä".repeat(1_000)), "ä".repeat(MAX_TEXT) + "…");
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
