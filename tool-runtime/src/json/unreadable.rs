//! Why a text could not be read, in words that a language model can act upon.

use std::{error::Error, fmt, ops::Range};

use super::{coerce::Roots, recover::Refusal};

/// At most this many characters are quoted on each side of the place, or of each candidate.
const QUOTED: usize = 16;
/// At most this many candidates are quoted; all are counted.
const CANDIDATES: usize = 3;

/// The ways in which a text can be unreadable.
///
/// ```
/// use tool_runtime::json::{UnreadableKind, parse};
///
/// assert_eq!(parse("").unwrap_err().kind(), UnreadableKind::Empty);
/// assert_eq!(parse("Sorry, I can't.").unwrap_err().kind(), UnreadableKind::NoValue);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnreadableKind {
    /// There is no text, or only blanks.
    Empty,
    /// There is text but no JSON value of the right type in it.
    NoValue,
    /// There is a value, and it is not JSON.
    Syntax,
    /// The text ends before the value does.
    Incomplete,
    /// The value is nested too deep.
    TooDeep,
    /// There are several values, and they differ.
    Ambiguous,
    /// Something is left out: an ellipsis stands for it.
    Elided,
    /// A number that can be read in two ways, or is none.
    Number,
    /// A key comes twice, with two values.
    Conflict,
    /// To read it would take more than the options allow.
    Limit,
}

/// The text cannot be read without guessing.
///
/// Printed, it tells a language model what is wrong, where, and what to send instead; it quotes
/// a few characters only, whatever the length of the text.
///
/// ```
/// use tool_runtime::json::parse;
///
/// let error = parse(r#"{"city": "Oslo", "days": 1.000,5}"#).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "this number can be read in two ways: write it without separators of thousands, and with \
///      a point at line 1 column 32, near `, \"days\": 1.000,5}`. Send one JSON value and \
///      nothing else.",
/// );
/// assert_eq!(error.offset(), 31);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    kind: UnreadableKind,
    offset: usize,
    message: String,
}

impl Unreadable {
    /// In which way the text is unreadable.
    ///
    /// ```
    /// use tool_runtime::json::{UnreadableKind, parse};
    ///
    /// assert_eq!(parse("[1, 2").unwrap_err().kind(), UnreadableKind::Incomplete);
    /// ```
    pub const fn kind(&self) -> UnreadableKind {
        self.kind
    }

    /// Where the trouble is, in bytes from the start of the text.
    ///
    /// ```
    /// use tool_runtime::json::parse;
    ///
    /// assert_eq!(parse("[1, ...]").unwrap_err().offset(), 4);
    /// ```
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Whether there was nothing to read.
    ///
    /// ```
    /// use tool_runtime::json::parse;
    ///
    /// assert!(parse(" \n").unwrap_err().is_empty());
    /// ```
    pub const fn is_empty(&self) -> bool {
        matches!(self.kind, UnreadableKind::Empty)
    }

    /// Whether several values were found that differ.
    ///
    /// ```
    /// use tool_runtime::json::parse;
    ///
    /// assert!(parse(r#"{"city": "Oslo"} or {"city": "Rome"}"#).unwrap_err().is_ambiguous());
    /// ```
    pub const fn is_ambiguous(&self) -> bool {
        matches!(self.kind, UnreadableKind::Ambiguous)
    }

    /// Whether the text ends before the value does.
    ///
    /// ```
    /// use tool_runtime::json::parse;
    ///
    /// assert!(parse(r#"{"days": 1"#).unwrap_err().is_incomplete());
    /// ```
    pub const fn is_incomplete(&self) -> bool {
        matches!(self.kind, UnreadableKind::Incomplete)
    }

    pub(super) fn empty(wanted: Roots) -> Self {
        let message = format!("the text is empty. Send one JSON {}.", wanted.noun());
        Self { kind: UnreadableKind::Empty, offset: 0, message }
    }

    /// More may have been meant than the text says.
    pub(super) fn cut(text: &str, wanted: Roots) -> Self {
        let message = format!(
            "the text was cut off: it ends before the value does. Send one whole JSON {} and \
             nothing else.",
            wanted.noun()
        );
        Self { kind: UnreadableKind::Incomplete, offset: text.len(), message }
    }

    pub(super) fn too_long(text: &str, limit: usize, wanted: Roots) -> Self {
        let message = format!(
            "the text is too long: it has {} bytes, where {limit} may be. {}",
            text.len(),
            send(wanted)
        );
        Self { kind: UnreadableKind::Limit, offset: 0, message }
    }

    pub(super) fn no_value(text: &str, wanted: Roots) -> Self {
        let noun = wanted.noun();
        let start = text.len() - text.trim_start().len();
        let bare = if begins_member(text.trim_start()) {
            ": members need braces around them, and quotes around keys and text"
        } else {
            ""
        };
        let message = format!(
            "there is no JSON {noun} in the text, which begins `{}`{bare}. {}",
            quote_start(text.trim_start()),
            send(wanted)
        );
        Self { kind: UnreadableKind::NoValue, offset: start, message }
    }

    pub(super) fn ambiguous(text: &str, spans: &[Range<usize>], wanted: Roots) -> Self {
        let shown: Vec<_> = spans
            .iter()
            .take(CANDIDATES)
            .map(|span| format!("`{}`", quote_start(text.get(span.clone()).unwrap_or_default())))
            .collect();
        let message = format!(
            "the text holds {} JSON values that differ; they begin {}{}. {}",
            spans.len(),
            shown.join(", "),
            if spans.len() > CANDIDATES { ", …" } else { "" },
            send(wanted)
        );
        let offset = spans.get(1).map_or(0, |second| second.start);
        Self { kind: UnreadableKind::Ambiguous, offset, message }
    }

    /// What the recovery parser says.
    pub(super) fn refused(text: &str, refusal: &Refusal, wanted: Roots) -> Self {
        match refusal.kind {
            UnreadableKind::Syntax => Self::syntax(text, refusal.at, &refusal.what, wanted),
            kind => Self::at(kind, text, refusal.at, &refusal.what, wanted),
        }
    }

    pub(super) fn syntax(text: &str, offset: usize, what: &str, wanted: Roots) -> Self {
        Self::at(
            UnreadableKind::Syntax,
            text,
            offset,
            &format!("the text is not valid JSON: {what}"),
            wanted,
        )
    }

    fn at(kind: UnreadableKind, text: &str, offset: usize, what: &str, wanted: Roots) -> Self {
        let (offset, place) = place(text, offset);
        let message = format!("{what} {place}. {}", send(wanted));
        Self { kind, offset, message }
    }
}

/// The place in words, and its offset, which doesn't split a character.
pub(super) fn place(text: &str, offset: usize) -> (usize, String) {
    // serde_json may point into the middle of a character.
    let offset =
        (0..=offset.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let before = text.get(..offset).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    let near = quote_around(text, offset);
    (offset, format!("at line {line} column {column}, near `{near}`"))
}

/// Whether `text` begins as a member does, not as a sentence: with one word, written small, and a
/// colon.
fn begins_member(text: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '"' | '\'');
    let word = text.split(|c| !is_name(c)).next().unwrap_or_default();
    let key = word.trim_matches(['"', '\'']);
    let behind = text.get(word.len()..).unwrap_or_default();
    key.starts_with(char::is_lowercase)
        && behind.starts_with([':', '='])
        && !behind.starts_with("://")
}

fn send(wanted: Roots) -> String {
    format!("Send one JSON {} and nothing else.", wanted.noun())
}

fn quote_start(text: &str) -> String {
    quoted(text.chars().take(QUOTED))
}

fn quote_around(text: &str, offset: usize) -> String {
    let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
    let start = before.char_indices().rev().take(QUOTED).last().map_or(offset, |(at, _)| at);
    let before = before.get(start..).unwrap_or_default();
    quoted(before.chars().chain(after.chars().take(QUOTED)))
}

/// Line breaks and control characters would break up the sentence.
fn quoted(chars: impl Iterator<Item = char>) -> String {
    chars.map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Unreadable {}
