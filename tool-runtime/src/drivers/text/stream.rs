//! The same while the text arrives.

use super::scan::Scan;
use super::{Formats, Offered, Reading};
use crate::message::ToolCall;

/// Reads calls out of a text that comes piece by piece.
///
/// ```
/// use tool_runtime::ToolDefinition;
/// use tool_runtime::drivers::text::{Formats, Offered, TextStream};
///
/// let schema = serde_json::json!({ "type": "object" });
/// let now = ToolDefinition::new("now", "Tells the time.", schema);
/// let mut stream = TextStream::new(Formats::all(), Offered::new(&[&now]));
/// assert_eq!(stream.push("One moment. <tool").text, "One moment.");
/// assert_eq!(stream.push("_call>{\"name\": \"now\", \"argum").text, "");
/// stream.push("ents\": {}}</tool_call>");
/// let read = stream.finish();
/// assert_eq!((read.calls[0].name.as_str(), read.text.as_str()), ("now", "One moment."));
/// ```
#[derive(Clone, Debug)]
pub struct TextStream<'f> {
    formats: &'f Formats,
    offered: Offered<'f>,
    text: String,
    scan: Scan,
    taken_back: usize,
    shown: usize,
    thought: usize,
    called: usize,
}

/// What may be shown of a text, and was not before.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Shown<'s> {
    /// More of the text.
    pub text: &'s str,
    /// More of what the model thinks.
    pub reasoning: &'s str,
    /// More calls, each whole: until then it may turn out to be text.
    pub calls: &'s [ToolCall],
    /// Whether the text shown before is void, and so are the calls: the model was found to have thought aloud, and all
    /// of that comes again as what it thinks. [`text`](Self::text) is the first of what counts.
    pub is_taken_back: bool,
}

impl<'f> TextStream<'f> {
    /// Nothing has arrived yet.
    pub fn new(formats: &'f Formats, offered: Offered<'f>) -> Self {
        let (text, scan) = (String::new(), Scan::new());
        Self { formats, offered, text, scan, taken_back: 0, shown: 0, thought: 0, called: 0 }
    }

    /// How many calls were found so far.
    pub(super) fn called(&self) -> usize {
        self.called
    }

    /// Takes the next piece, and gives what is neither markup nor may become any. Blanks are kept back
    /// until something follows them.
    pub fn push(&mut self, piece: &str) -> Shown<'_> {
        self.text.push_str(piece);
        self.scan.read(self.formats, &self.offered, &self.text, false);
        let (text, reasoning) = (&self.scan.shown.text, &self.scan.reasoning.text);
        // Its length doesn't tell: it may have grown again.
        let is_new =
            std::mem::replace(&mut self.taken_back, self.scan.taken_back) != self.scan.taken_back;
        let before = std::mem::replace(&mut self.shown, text.len());
        let shown = if is_new { 0 } else { before };
        let thought = std::mem::replace(&mut self.thought, reasoning.len());
        let calls = self.scan.calls();
        let before_calls = std::mem::replace(&mut self.called, calls.len());
        let called = if is_new { 0 } else { before_calls };
        Shown {
            text: text.get(shown..).unwrap_or_default(),
            reasoning: reasoning.get(thought..).unwrap_or_default(),
            calls: calls.get(called..).unwrap_or_default(),
            is_taken_back: is_new && (before > 0 || before_calls > 0),
        }
    }

    /// All of it, now that the text has ended: the same as [`Formats::extract`] gives of the whole. Its
    /// text begins with what was shown and not taken back, unless the model is found only now to have
    /// thought aloud.
    pub fn finish(mut self) -> Reading {
        self.scan.read(self.formats, &self.offered, &self.text, true);
        self.scan.finish()
    }
}
