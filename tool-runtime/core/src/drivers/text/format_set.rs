//! The set of formats that are searched.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use super::scanner::Scanner;
use super::search::marker_index::{MarkerCandidate, MarkerIndex};
use super::{Format, ParsedText, StartMarker, ToolLookup, formats};

/// The set of formats that are searched.
#[doc(hidden)]
pub struct Formats {
    list: Vec<Arc<dyn Format>>,
    pub(super) markers: MarkerIndex,
    /// The number of formats at the end of the list whose markers begin no call.
    parts: usize,
}

impl Formats {
    /// Returns all formats that are known.
    pub fn all() -> &'static Self {
        static ALL: LazyLock<Formats> =
            LazyLock::new(|| Formats::of(formats::calls(), formats::parts()));
        &ALL
    }

    /// Returns the formats of reasoning alone.
    pub(crate) fn reasoning_only() -> &'static Self {
        static REASONING_ONLY: LazyLock<Formats> =
            LazyLock::new(|| Formats::of(Vec::new(), formats::reasoning_only()));
        &REASONING_ONLY
    }

    fn of(mut list: Vec<Arc<dyn Format>>, parts: Vec<Arc<dyn Format>>) -> Self {
        let count = parts.len();
        list.extend(parts);
        let markers = MarkerIndex::new(list.iter().map(AsRef::as_ref));
        Self { list, markers, parts: count }
    }

    /// Returns the names of the formats, in the order in which they are tried.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|format| format.name())
    }

    /// Returns true if a call may begin at `candidate`, wherever the text ends.
    pub(super) fn begins_call(&self, text: &str, candidate: MarkerCandidate) -> bool {
        let mut found = self.markers.formats_at(text, candidate).filter_map(|it| self.get(it));
        found.any(|format| !format.only_at_end())
    }

    /// Returns the formats whose markers begin calls.
    pub(super) fn calls(&self) -> &[Arc<dyn Format>] {
        self.list.get(..self.list.len() - self.parts).unwrap_or_default()
    }

    /// Returns the last marker of a call in `text`, other than at the start of a line.
    pub(super) fn last_marker(&self, text: &str) -> Option<Range<usize>> {
        let markers = self.calls().iter().filter(|format| !format.only_at_end());
        let markers = markers.flat_map(|format| format.start_markers());
        let found = markers.filter_map(|marker| match marker {
            StartMarker::Anywhere(word) => text.rfind(word).map(|at| at..at + word.len()),
            StartMarker::LineStart(_) => None,
        });
        if text.contains(['<', '[']) { found.max_by_key(|marker| marker.end) } else { None }
    }

    /// Returns true if a marker of a format is in `text`.
    pub(super) fn has_marker_in(&self, text: &str) -> bool {
        let markers = self.list.iter().filter(|format| !format.only_at_end());
        let mut markers = markers.flat_map(|format| format.start_markers());
        markers.any(|it| matches!(it, StartMarker::Anywhere(word) if text.contains(word)))
    }

    /// Extracts the calls, the reasoning and the remaining text from `text`.
    pub fn extract(&self, text: &str, tools: &ToolLookup<'_>) -> ParsedText {
        let mut scanner = Scanner::new();
        scanner.advance(self, tools, text, true);
        scanner.finish()
    }

    pub(super) fn get(&self, index: usize) -> Option<&dyn Format> {
        self.list.get(index).map(AsRef::as_ref)
    }
}

impl fmt::Debug for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
