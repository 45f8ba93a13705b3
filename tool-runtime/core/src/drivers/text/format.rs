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
pub(super) trait Format: Send + Sync + fmt::Debug {
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

/// Parses `input` with a format, and takes an invalid match for plain text.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum StartMarker {
    /// A marker at any position. Markers that contain `<` or `[` add no cost for other texts; for
    /// others the scanner also searches their first byte.
    Anywhere(&'static str),
    /// A marker with only blanks before it on its line.
    LineStart(&'static str),
}

impl StartMarker {
    /// Returns the text of the marker.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Anywhere(word) | Self::LineStart(word) => word,
        }
    }
}

/// The text from a start marker on, which a [`Format`] parses.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub(crate) struct Input<'t> {
    /// The text that has arrived so far.
    pub text: &'t str,
    /// True if no more text will arrive.
    pub is_complete: bool,
    /// True if only blanks precede the text on its line.
    pub at_line_start: bool,
}

impl<'t> Input<'t> {
    /// Creates an input inside a line.
    pub(crate) const fn new(text: &'t str, is_complete: bool) -> Self {
        Self { text, is_complete, at_line_start: false }
    }

    /// Sets whether only blanks precede the text on its line.
    #[must_use]
    pub(crate) const fn with_line_start(self, at_line_start: bool) -> Self {
        Self { at_line_start, ..self }
    }
}

/// The markup that a [`Format`] finds. Ends are byte offsets from the start marker.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub(crate) enum Match {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum NoMatch {
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
