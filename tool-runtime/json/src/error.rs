//! The errors of parsing, with messages that a model can act on.

use std::{error::Error, fmt, ops::Range};

#[cfg(feature = "check")]
use super::Mismatch;
use super::{
    coerce::TypeSet,
    position::{describe_position, quote_start},
    recover::RecoveryError,
};

/// The maximum number of candidates quoted; all are counted.
const MAX_QUOTED_CANDIDATES: usize = 3;

/// The reasons for which a text cannot be parsed.
///
/// ```
/// use tool_json::{ParseErrorKind, parse};
///
/// assert_eq!(parse("").unwrap_err().kind(), ParseErrorKind::Empty);
/// assert_eq!(parse("Sorry, I can't.").unwrap_err().kind(), ParseErrorKind::NoValue);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The text is empty or whitespace.
    Empty,
    /// The text holds no JSON value of an expected type.
    NoValue,
    /// The value is not valid JSON and cannot be repaired.
    Syntax,
    /// The text ends inside the value.
    Incomplete,
    /// The value is nested too deep.
    TooDeep,
    /// The text holds several values that differ.
    Ambiguous,
    /// An ellipsis stands for omitted content.
    Ellipsis,
    /// A number has two readings, or is not a number.
    Number,
    /// A key occurs twice, with two values.
    DuplicateKey,
    /// The arguments seem to be inside another object, none of whose members the schema declares.
    Envelope,
    /// The text or its repairs exceed the [`Options`](super::Options).
    Limit,
}

/// The error returned for a text that cannot be parsed without guessing.
///
/// [`Display`](fmt::Display) writes a message for the model: the problem, its position, and an
/// instruction. It quotes only a few characters of the text.
///
/// ```
/// use tool_json::parse;
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
pub struct ParseError {
    kind: ParseErrorKind,
    offset: usize,
    message: String,
    /// The length of the message without the instruction at its end.
    reason_len: usize,
}

impl ParseError {
    /// Returns the kind of the problem, for programs.
    ///
    /// ```
    /// use tool_json::{ParseErrorKind, parse};
    ///
    /// assert_eq!(parse("[1, 2").unwrap_err().kind(), ParseErrorKind::Incomplete);
    /// ```
    pub const fn kind(&self) -> ParseErrorKind {
        self.kind
    }

    /// Returns the byte offset of the error in the text.
    ///
    /// ```
    /// use tool_json::parse;
    ///
    /// assert_eq!(parse("[1, ...]").unwrap_err().offset(), 4);
    /// ```
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the message without its last sentence, which tells the model what to send: the
    /// problem and its position.
    ///
    /// ```
    /// use tool_json::parse;
    ///
    /// let error = parse("").unwrap_err();
    /// assert_eq!(error.reason(), "the text is empty");
    /// assert_eq!(error.to_string(), "the text is empty. Send one JSON value.");
    /// ```
    pub fn reason(&self) -> &str {
        self.message.get(..self.reason_len).unwrap_or(&self.message)
    }

    /// Returns whether the text was empty.
    ///
    /// ```
    /// use tool_json::parse;
    ///
    /// assert!(parse(" \n").unwrap_err().is_empty());
    /// ```
    pub const fn is_empty(&self) -> bool {
        matches!(self.kind, ParseErrorKind::Empty)
    }

    /// Returns whether the text holds several values that differ.
    ///
    /// ```
    /// use tool_json::parse;
    ///
    /// assert!(parse(r#"{"city": "Oslo"} or {"city": "Rome"}"#).unwrap_err().is_ambiguous());
    /// ```
    pub const fn is_ambiguous(&self) -> bool {
        matches!(self.kind, ParseErrorKind::Ambiguous)
    }

    /// Returns whether the text ends inside the value.
    ///
    /// ```
    /// use tool_json::parse;
    ///
    /// assert!(parse(r#"{"days": 1"#).unwrap_err().is_incomplete());
    /// ```
    pub const fn is_incomplete(&self) -> bool {
        matches!(self.kind, ParseErrorKind::Incomplete)
    }

    pub(super) fn empty(expected: TypeSet) -> Self {
        let instruction = format!("Send one JSON {}.", expected.noun());
        Self::new(ParseErrorKind::Empty, 0, "the text is empty".to_owned(), &instruction)
    }

    /// The text was cut off, so content may be missing.
    pub(super) fn truncated(text: &str, expected: TypeSet) -> Self {
        let reason = "the text was cut off: it ends before the value does".to_owned();
        let instruction = format!("Send one whole JSON {} and nothing else.", expected.noun());
        Self::new(ParseErrorKind::Incomplete, text.len(), reason, &instruction)
    }

    pub(super) fn too_long(text: &str, limit: usize, expected: TypeSet) -> Self {
        let reason =
            format!("the text is too long: it has {} bytes; the limit is {limit}", text.len());
        Self::new(ParseErrorKind::Limit, 0, reason, &instruction(expected))
    }

    pub(super) fn too_long_to_repair(text: &str, limit: usize, expected: TypeSet) -> Self {
        let reason = format!(
            "the text is too long to repair: it has {} bytes; the limit is {limit}",
            text.len()
        );
        Self::new(ParseErrorKind::Limit, 0, reason, &instruction(expected))
    }

    pub(super) fn no_value(text: &str, expected: TypeSet) -> Self {
        let noun = expected.noun();
        let start = text.len() - text.trim_start().len();
        let bare = if begins_member(text.trim_start()) {
            ": members need braces around them, and quotes around keys and text"
        } else {
            ""
        };
        let reason = format!(
            "there is no JSON {noun} in the text, which begins `{}`{bare}",
            quote_start(text.trim_start())
        );
        Self::new(ParseErrorKind::NoValue, start, reason, &instruction(expected))
    }

    pub(super) fn ambiguous(text: &str, spans: &[Range<usize>], expected: TypeSet) -> Self {
        let starts: Vec<_> = spans
            .iter()
            .take(MAX_QUOTED_CANDIDATES)
            .map(|span| format!("`{}`", quote_start(text.get(span.clone()).unwrap_or_default())))
            .collect();
        let reason = format!(
            "the text holds {} JSON values that differ; they begin {}{}",
            spans.len(),
            starts.join(", "),
            if spans.len() > MAX_QUOTED_CANDIDATES { ", …" } else { "" }
        );
        let offset = spans.get(1).map_or(0, |second| second.start);
        Self::new(ParseErrorKind::Ambiguous, offset, reason, &instruction(expected))
    }

    /// Converts an error of the recovery parser.
    pub(super) fn from_recovery(text: &str, error: &RecoveryError, expected: TypeSet) -> Self {
        match error.kind {
            ParseErrorKind::Syntax => Self::syntax(text, error.at, &error.reason, expected),
            kind => Self::at(kind, text, error.at, &error.reason, expected),
        }
    }

    pub(super) fn shut_envelope(text: &str, offset: usize, expected: TypeSet) -> Self {
        let reason = "the arguments seem to be inside another object: send them alone";
        Self::at(ParseErrorKind::Envelope, text, offset, reason, expected)
    }

    pub(super) fn syntax(text: &str, offset: usize, reason: &str, expected: TypeSet) -> Self {
        Self::at(
            ParseErrorKind::Syntax,
            text,
            offset,
            &format!("the text is not valid JSON: {reason}"),
            expected,
        )
    }

    fn at(
        kind: ParseErrorKind,
        text: &str,
        offset: usize,
        reason: &str,
        expected: TypeSet,
    ) -> Self {
        let (offset, position) = describe_position(text, offset);
        Self::new(kind, offset, format!("{reason} {position}"), &instruction(expected))
    }

    fn new(kind: ParseErrorKind, offset: usize, mut message: String, instruction: &str) -> Self {
        let reason_len = message.len();
        message.push_str(". ");
        message.push_str(instruction);
        Self { kind, offset, message, reason_len }
    }
}

/// Returns whether `text` begins like a member rather than a sentence: with one lower-case word and
/// a colon.
fn begins_member(text: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '"' | '\'');
    let word = text.split(|c| !is_name(c)).next().unwrap_or_default();
    let key = word.trim_matches(['"', '\'']);
    let after = text.get(word.len()..).unwrap_or_default();
    key.starts_with(char::is_lowercase)
        && after.starts_with([':', '='])
        && !after.starts_with("://")
}

fn instruction(expected: TypeSet) -> String {
    format!("Send one JSON {} and nothing else.", expected.noun())
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ParseError {}

/// The reason for which a text yields no value that satisfies the schema.
///
/// [`Display`](fmt::Display) writes a message for the model: the parse error, or one line for each
/// mismatch.
///
/// ```
/// use tool_json::{ParseErrorKind, ParseValidError, parse_valid};
///
/// let schema = serde_json::json!({"type": "object"});
/// match parse_valid("Sorry, I can't.", &schema).unwrap_err() {
///     ParseValidError::Unreadable(error) => assert_eq!(error.kind(), ParseErrorKind::NoValue),
///     error => panic!("{error}"),
/// }
/// ```
#[cfg(feature = "check")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseValidError {
    /// The text cannot be parsed without guessing.
    Unreadable(ParseError),
    /// The value does not satisfy the schema. Contains all mismatches.
    Invalid(Vec<Mismatch>),
}

#[cfg(feature = "check")]
impl fmt::Display for ParseValidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::Invalid(mismatches) => {
                for (at, mismatch) in mismatches.iter().enumerate() {
                    let separator = if at == 0 { "" } else { "\n" };
                    write!(f, "{separator}{mismatch}")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(feature = "check")]
impl Error for ParseValidError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreadable(error) => Some(error),
            Self::Invalid(_) => None,
        }
    }
}

#[cfg(feature = "check")]
impl From<ParseError> for ParseValidError {
    fn from(error: ParseError) -> Self {
        Self::Unreadable(error)
    }
}
