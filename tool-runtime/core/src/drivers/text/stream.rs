//! Incremental extraction from a text that arrives in pieces.

use super::scanner::Scanner;
use super::{Formats, ParsedText, ToolLookup};
use crate::message::ToolCall;

/// Extracts tool calls from a text that arrives in pieces.
///
/// The stream returns text as early as possible. It holds back what may still become markup, and,
/// after a call whose arguments are plain text between tags, everything up to the next call or the
/// end, because another end tag may follow.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct TextStream<'f> {
    formats: &'f Formats,
    tools: ToolLookup<'f>,
    text: String,
    scanner: Scanner,
    retractions: usize,
    emitted_text: usize,
    emitted_reasoning: usize,
    emitted_calls: usize,
}

/// The new content that [`TextStream::push`] returns.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TextChunk<'s> {
    /// The next part of the visible text.
    pub text: &'s str,
    /// The next part of the reasoning.
    pub reasoning: &'s str,
    /// The next complete calls. An incomplete call is held back, because it may turn out to be
    /// text. Text after a call may make it doubtful later: for that, use the calls of
    /// [`TextStream::finish`].
    pub calls: &'s [ToolCall],
    /// True if all text and calls that were returned before are void, because the model was found
    /// to have been reasoning. They are returned again as reasoning, and [`text`](Self::text)
    /// begins anew.
    pub replaces_previous: bool,
}

#[doc(hidden)]
impl<'f> TextStream<'f> {
    /// Creates an empty stream that knows `formats` and the offered `tools`.
    pub fn new(formats: &'f Formats, tools: ToolLookup<'f>) -> Self {
        let (text, scanner) = (String::new(), Scanner::new());
        Self {
            formats,
            tools,
            text,
            scanner,
            retractions: 0,
            emitted_text: 0,
            emitted_reasoning: 0,
            emitted_calls: 0,
        }
    }

    /// Returns the number of calls found so far.
    pub(crate) fn emitted_calls(&self) -> usize {
        self.emitted_calls
    }

    /// Appends the next piece and returns the content that is certain by now.
    ///
    /// Trailing whitespace is held back until text follows.
    pub fn push(&mut self, piece: &str) -> TextChunk<'_> {
        self.text.push_str(piece);
        self.scanner.advance(self.formats, &self.tools, &self.text, false);
        let (text, reasoning) = (&self.scanner.visible.text, &self.scanner.reasoning.text);
        // The length is no indication: the text may have grown again.
        let is_replaced = std::mem::replace(&mut self.retractions, self.scanner.retractions)
            != self.scanner.retractions;
        let previous = std::mem::replace(&mut self.emitted_text, text.len());
        let emitted_text = if is_replaced { 0 } else { previous };
        let emitted_reasoning = std::mem::replace(&mut self.emitted_reasoning, reasoning.len());
        let calls = self.scanner.calls();
        let before_calls = std::mem::replace(&mut self.emitted_calls, calls.len());
        let emitted_calls = if is_replaced { 0 } else { before_calls };
        TextChunk {
            text: text.get(emitted_text..).unwrap_or_default(),
            reasoning: reasoning.get(emitted_reasoning..).unwrap_or_default(),
            calls: calls.get(emitted_calls..).unwrap_or_default(),
            replaces_previous: is_replaced && (previous > 0 || before_calls > 0),
        }
    }

    /// Ends the text and returns its content, which equals what [`Formats::extract`] returns for
    /// the whole text.
    ///
    /// The visible text begins with all text that was returned and not replaced, unless the end of
    /// the text reveals that the model was reasoning.
    pub fn finish(mut self) -> ParsedText {
        self.scanner.advance(self.formats, &self.tools, &self.text, true);
        self.scanner.finish()
    }
}
