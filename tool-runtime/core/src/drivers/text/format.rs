//! The [`Format`] contract, and the types that a format is written with.

use std::fmt;

use super::ToolLookup;
use crate::message::ToolCall;

/// A markup format in which models write tool calls into text.
///
/// The scanner searches the [start markers](Self::start_markers) of all formats and passes the text
/// from a marker on to [`parse`](Self::parse). After [`NoMatch::Incomplete`] it passes more of the
/// text. Every other result has to hold however the text continues.
///
/// A truncated call is returned with arguments without a closing bracket;
/// [`ArgumentBuilder`](super::ArgumentBuilder) builds them from single arguments. If only the end
/// of the line ends a call, the last line of a [truncated](ToolLookup::is_truncated) reply may be
/// half of a call and is returned in the same way.
///
/// # Examples
///
/// The format `@@name {…}@@`:
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::drivers::text::{
///     Format, Formats, Input, Match, NoMatch, StartMarker, ToolLookup,
/// };
///
/// #[derive(Debug)]
/// struct AtSigns;
///
/// impl Format for AtSigns {
///     fn name(&self) -> &str {
///         "at_signs"
///     }
///
///     fn start_markers(&self) -> &[StartMarker] {
///         &[StartMarker::Anywhere("@@")]
///     }
///
///     fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
///         let Some((body, _)) = input.text[2..].split_once("@@") else {
///             return Err(if input.is_complete { NoMatch::Text } else { NoMatch::Incomplete });
///         };
///         let (name, arguments) = body.split_once(' ').ok_or(NoMatch::Text)?;
///         let call = tools.call(name, arguments).ok_or(NoMatch::Text)?;
///         Ok(Match::Calls { calls: vec![call], end: body.len() + 4 })
///     }
/// }
///
/// let schema = serde_json::json!({ "type": "object" });
/// let find = ToolDefinition::new("find", "Finds it.", schema);
/// let formats = Formats::new().with(AtSigns);
/// let text = r#"One moment. @@find {"what": "it"}@@"#;
/// let parsed = formats.extract(text, &ToolLookup::new(&[&find]));
/// assert_eq!(parsed.calls[0].name, "find");
/// assert_eq!(parsed.text, "One moment.");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool-call format",
    label = "implement `Format` for a type of your own",
    note = "`Formats::new()` contains the built-in formats"
)]
pub trait Format: Send + Sync + fmt::Debug {
    /// Returns the name of the format, such as `hermes`.
    fn name(&self) -> &str;

    /// Returns the markers that may begin a call.
    fn start_markers(&self) -> &[StartMarker];

    /// Returns the markers that end a call. Default: none.
    ///
    /// If text stands between a call and one of them, it is the
    /// [leftover](crate::ToolCall::leftover) of the call.
    fn end_markers(&self) -> &[&str] {
        &[]
    }

    /// Returns true if calls of this format count only at the end of the text, on lines of their
    /// own. Default: false.
    ///
    /// Use this for a format that ordinary text may look like.
    fn only_at_end(&self) -> bool {
        false
    }

    /// Parses the markup at the beginning of `input`, which begins with one of the markers.
    ///
    /// A match counts as plain text if its end is 0, inside a character or beyond the text, or if
    /// it calls a tool by a text that is no name.
    ///
    /// # Errors
    ///
    /// Returns a [`NoMatch`] if the text is no call, or if more of it is needed to decide.
    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch>;
}

/// Parses `input` with a format, and checks the result, because third-party formats may be wrong.
pub(crate) fn checked_parse(
    format: &dyn Format,
    input: Input<'_>,
    tools: &ToolLookup<'_>,
) -> Result<Match, NoMatch> {
    let found = format.parse(input, tools)?;
    let (Match::Calls { end, .. }
    | Match::Text { end }
    | Match::Channel { end, .. }
    | Match::ReasoningEnd { end, .. }) = found;
    let is_sound = match &found {
        Match::Calls { calls, .. } => calls.iter().all(|call| tools.callee(&call.name).is_some()),
        _ => true,
    };
    let is_in_bounds = end > 0 && input.text.is_char_boundary(end);
    if is_in_bounds && is_sound { Ok(found) } else { Err(NoMatch::Text) }
}

/// A marker that may begin a call.
///
/// # Examples
///
/// ```
/// use tool_runtime::drivers::text::StartMarker;
///
/// assert_eq!(StartMarker::Anywhere("<tool_call>").as_str(), "<tool_call>");
/// assert_eq!(StartMarker::LineStart("Action:").as_str(), "Action:");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartMarker {
    /// A marker at any position. Markers that contain `<` or `[` add no cost for other texts; for
    /// others the scanner also searches their first byte.
    Anywhere(&'static str),
    /// A marker with only blanks before it on its line.
    LineStart(&'static str),
}

impl StartMarker {
    /// Returns the text of the marker.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Anywhere(word) | Self::LineStart(word) => word,
        }
    }
}

/// The text from a start marker on, which a [`Format`] parses.
///
/// # Examples
///
/// ```
/// use tool_runtime::drivers::text::Input;
///
/// let input = Input::new("<tool_call>{", false).with_line_start(true);
/// assert!(input.at_line_start && !input.is_complete);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Input<'t> {
    /// The text that has arrived so far.
    pub text: &'t str,
    /// True if no more text will arrive.
    pub is_complete: bool,
    /// True if only blanks precede the text on its line.
    pub at_line_start: bool,
}

impl<'t> Input<'t> {
    /// Creates an input inside a line.
    pub const fn new(text: &'t str, is_complete: bool) -> Self {
        Self { text, is_complete, at_line_start: false }
    }

    /// Sets whether only blanks precede the text on its line.
    #[must_use]
    pub const fn with_line_start(self, at_line_start: bool) -> Self {
        Self { at_line_start, ..self }
    }
}

/// The markup that a [`Format`] finds. Ends are byte offsets from the start marker.
///
/// # Examples
///
/// ```
/// use tool_runtime::ToolCall;
/// use tool_runtime::drivers::text::Match;
///
/// let found = Match::Calls { calls: vec![ToolCall::new("", "now", "{}")], end: 12 };
/// assert!(matches!(found, Match::Calls { end: 12, .. }));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Match {
    /// Calls, or markup without calls that is removed.
    Calls {
        /// The calls, without ids.
        calls: Vec<ToolCall>,
        /// The end of the markup.
        end: usize,
    },
    /// Plain text, in which no other format is searched.
    Text {
        /// The end of the text.
        end: usize,
    },
    /// The beginning of a channel: a part of the reply without calls.
    Channel {
        /// The end of the opening markup.
        end: usize,
        /// True if the content is visible text; false if it is reasoning.
        is_visible: bool,
        /// Markers that close the channel.
        end_markers: &'static [&'static str],
        /// Markers that end the channel and begin the next part of the reply.
        next_markers: &'static [&'static str],
    },
    /// The end of reasoning whose start marker is missing: all text up to here is reasoning.
    ReasoningEnd {
        /// The end of the closing marker.
        end: usize,
        /// The start marker that belongs to the closing one. If it occurs earlier in the text, this
        /// match is ignored.
        start_marker: &'static str,
    },
}

/// The reason why a [`Format`] finds no markup.
///
/// # Examples
///
/// ```
/// use tool_runtime::drivers::text::{Input, NoMatch};
///
/// fn closing_bracket(input: Input<'_>) -> Result<usize, NoMatch> {
///     match input.text.find(']') {
///         Some(at) => Ok(at),
///         None if input.is_complete => Err(NoMatch::Text),
///         None => Err(NoMatch::Incomplete),
///     }
/// }
///
/// assert_eq!(closing_bracket(Input::new("[a", false)), Err(NoMatch::Incomplete));
/// assert_eq!(closing_bracket(Input::new("[a", true)), Err(NoMatch::Text));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoMatch {
    /// The text is plain text.
    Text,
    /// The text is plain text, and the format read much of it before rejecting it.
    ///
    /// After 32 of these in one text, the scanner treats the rest as text, so that no text takes
    /// long.
    Malformed,
    /// More of the text is needed to decide.
    Incomplete,
}
