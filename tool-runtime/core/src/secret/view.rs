//! A text as it reads when it is decoded, with the place of each byte in the original text.

use std::borrow::Cow;
use std::ops::Range;

/// A text, or a decoded form of it.
pub(super) struct View<'t> {
    bytes: Cow<'t, [u8]>,
    /// The range of each byte in the original text; `None` if this is the original text.
    spans: Option<Vec<Range<usize>>>,
    /// The range in the original text, if text between the spans belongs to the bytes beside it:
    /// backslashes.
    bounds: Option<Range<usize>>,
}

impl<'t> View<'t> {
    /// Returns the view of an original text.
    pub(super) fn original(text: &'t str) -> Self {
        Self { bytes: text.as_bytes().into(), spans: None, bounds: None }
    }

    /// Creates an empty view, to which the whole text of another view is decoded.
    pub(super) fn of_whole(view: &View<'_>) -> Self {
        let bounds = match (&view.bounds, view.bytes.len()) {
            (Some(bounds), _) => bounds.clone(),
            (None, 0) => 0..0,
            (None, length) => view.source(0..length),
        };
        Self { bounds: Some(bounds), ..Self::default() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a byte with its range in the original text.
    pub(super) fn push(&mut self, byte: u8, span: Range<usize>) {
        self.bytes.to_mut().push(byte);
        self.spans.get_or_insert_default().push(span);
    }

    /// Returns the range in the original text of a range of bytes, which is not empty.
    pub(super) fn source(&self, range: Range<usize>) -> Range<usize> {
        let Some(spans) = &self.spans else { return range };
        let (first, last) = (spans.get(range.start), spans.get(range.end.wrapping_sub(1)));
        match (first, last) {
            (Some(first), Some(last)) => first.start..last.end,
            // The match exceeds the view. No encoding of a byte is longer than this.
            (Some(first), None) => {
                let end = spans.last().map_or(first.end, |last| last.end);
                first.start..end + (range.end - spans.len()) * 2
            }
            (None, _) => 0..0,
        }
    }

    /// Returns the range in the original text that a match covers: with the text beside it that
    /// has no bytes in the view.
    pub(super) fn source_of_match(&self, range: Range<usize>) -> Range<usize> {
        let source = self.source(range.clone());
        let (Some(spans), Some(bounds)) = (&self.spans, &self.bounds) else { return source };
        let previous = range.start.checked_sub(1).and_then(|at| spans.get(at));
        let start = previous.map_or(bounds.start, |previous| previous.end);
        let end = spans.get(range.end).map_or(bounds.end, |next| next.start);
        start.min(source.start)..end.max(source.end)
    }

    /// Returns where the last `count` bytes begin in the original text, or `end` if there are none.
    pub(super) fn tail_start(&self, count: usize, end: usize) -> usize {
        let first = self.bytes.len().saturating_sub(count);
        if first < self.bytes.len() { self.source(first..first + 1).start } else { end }
    }
}

impl Default for View<'_> {
    fn default() -> Self {
        Self { bytes: Cow::Borrowed(&[]), spans: None, bounds: None }
    }
}
