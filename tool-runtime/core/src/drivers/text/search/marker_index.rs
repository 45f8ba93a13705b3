//! An index of the start markers of all formats, which finds all of them in one pass.
//!
//! For each marker the index searches one rare byte. All built-in markers contain `<` or `[`, or
//! begin a line, so that three bytes are searched at once. The bytes next to a hit reject nearly
//! every position without comparing a whole marker.

use memchr::memrchr;

use crate::drivers::text::search::byte_search::ByteSearch;
use crate::drivers::text::search::prefix_filter::{ByteSet, PrefixFilter};
use crate::drivers::text::{Format, StartMarker};

/// Rare bytes in markers, the rarest first.
const RARE: [u8; 2] = [b'<', b'['];
/// The largest indentation of a marker at the start of a line.
const MAX_INDENT: usize = 64;
/// Marks of fences, and of inline code, which may be alone on its line.
const FENCES: [&str; 3] = ["```", "~~~", "`"];

#[derive(Clone, Debug)]
pub(crate) struct MarkerIndex {
    markers: Vec<Marker>,
    /// All markers by their first byte, for each the longest first.
    words: Vec<Vec<MarkerWord>>,
    /// The bytes that are searched.
    triggers: Vec<u8>,
    /// Prefixes of all markers, and of the rest of a marker from its searched byte on.
    prefixes: PrefixFilter,
    tails: PrefixFilter,
    /// Bytes that precede the searched byte of a marker that ends with it.
    preceding_bytes: ByteSet,
    /// The length of the longest marker.
    longest: usize,
}

/// Returns true if `bytes` begin with `word`. The byte at `offset` is known to match, and the next
/// one tells most markers apart, so it is compared first.
fn begins(bytes: &[u8], word: &str, offset: usize) -> bool {
    let word = word.as_bytes();
    let next = word.get(offset + 1);
    (next.is_none() || next == bytes.get(offset + 1)) && bytes.starts_with(word)
}

#[derive(Clone, Debug)]
struct Marker {
    word: &'static str,
    trigger: u8,
    /// The offset of the searched byte.
    offset: usize,
}

#[derive(Clone, Debug)]
struct MarkerWord {
    word: &'static str,
    /// The index of the format that the marker starts; `None` for a fence.
    format: Option<usize>,
    /// True if the marker counts only at the start of a line.
    is_line_start: bool,
}

/// A position at which a call or other markup may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkerCandidate {
    pub(crate) at: usize,
    /// True if only blanks precede it on its line.
    pub(crate) at_line_start: bool,
}

impl MarkerIndex {
    pub(crate) fn new<'f>(formats: impl Iterator<Item = &'f dyn Format>) -> Self {
        let mut index = Self {
            markers: Vec::new(),
            words: vec![Vec::new(); 256],
            triggers: vec![b'\n'],
            prefixes: PrefixFilter::new(),
            tails: PrefixFilter::new(),
            preceding_bytes: ByteSet::new(),
            longest: 0,
        };
        for word in FENCES {
            index.add(MarkerWord { word, format: None, is_line_start: true });
        }
        for (format, each_format) in formats.enumerate() {
            for marker in each_format.start_markers() {
                let (word, is_line_start) =
                    (marker.as_str(), matches!(marker, StartMarker::LineStart(_)));
                index.add(MarkerWord { word, format: Some(format), is_line_start });
                if !is_line_start {
                    index.add_marker(word);
                }
            }
        }
        index
    }

    fn add(&mut self, word: MarkerWord) {
        let Some(first) = word.word.bytes().next() else { return };
        self.longest = self.longest.max(word.word.len());
        self.prefixes.add(word.word.as_bytes());
        if let Some(words) = self.words.get_mut(usize::from(first)) {
            words.push(word);
            // The sort is stable: of markers of one length the first one added stays first.
            words.sort_by_key(|word| usize::MAX - word.word.len());
        }
    }

    fn add_marker(&mut self, word: &'static str) {
        let bytes = word.as_bytes();
        let rare = RARE.into_iter().find(|rare| bytes.contains(rare));
        let Some(trigger) = rare.or_else(|| bytes.first().copied()) else { return };
        let offset = bytes.iter().position(|byte| *byte == trigger).unwrap_or(0);
        if !self.triggers.contains(&trigger) {
            self.triggers.push(trigger);
        }
        match offset.checked_sub(1).and_then(|before| bytes.get(before)) {
            // Nearly any byte may follow the last byte of a marker.
            Some(before) if offset + 1 == bytes.len() => self.preceding_bytes.add(*before),
            _ => self.tails.add(bytes.get(offset..).unwrap_or_default()),
        }
        self.markers.push(Marker { word, trigger, offset });
    }

    /// Returns the first candidate from `from` on. `is_line_start` is true if only blanks precede
    /// `from` on its line.
    pub(crate) fn next_candidate(
        &self,
        text: &str,
        from: usize,
        is_line_start: bool,
    ) -> Option<MarkerCandidate> {
        let bytes = text.as_bytes();
        let first = if is_line_start { self.line_candidate(bytes, from) } else { None };
        first.or_else(|| {
            ByteSearch::new(&self.triggers, bytes, from).find_map(|at| match bytes.get(at)? {
                b'\n' => self.line_candidate(bytes, at + 1),
                byte => self.marker_candidate(bytes, at, *byte, from),
            })
        })
    }

    /// Returns the marker whose searched byte is at `at`.
    #[inline]
    fn marker_candidate(
        &self,
        bytes: &[u8],
        at: usize,
        byte: u8,
        from: usize,
    ) -> Option<MarkerCandidate> {
        let before = || at.checked_sub(1).and_then(|before| bytes.get(before));
        let may_be = self.tails.may_match(bytes.get(at..)?)
            || before().is_some_and(|before| self.preceding_bytes.has(*before));
        if may_be { self.find_marker(bytes, at, byte, from) } else { None }
    }

    #[inline(never)]
    fn find_marker(
        &self,
        bytes: &[u8],
        at: usize,
        byte: u8,
        from: usize,
    ) -> Option<MarkerCandidate> {
        let of_byte = self.markers.iter().filter(|marker| marker.trigger == byte);
        let starts = of_byte.filter_map(|marker| {
            let start = at.checked_sub(marker.offset).filter(|start| *start >= from)?;
            begins(bytes.get(start..)?, marker.word, marker.offset).then_some(start)
        });
        Some(MarkerCandidate { at: starts.min()?, at_line_start: false })
    }

    /// Returns the marker at the start of the line at `start`.
    #[inline]
    fn line_candidate(&self, bytes: &[u8], start: usize) -> Option<MarkerCandidate> {
        let mut at = start;
        while matches!(bytes.get(at)?, b' ' | b'\t') && at < start + MAX_INDENT {
            at += 1;
        }
        let rest = bytes.get(at..)?;
        let is_partial = self.prefixes.may_match(rest) && self.starts_with_marker(rest);
        is_partial.then_some(MarkerCandidate { at, at_line_start: true })
    }

    /// Returns true if a marker begins here. Few lines reach this check; it is not inlined so that
    /// the others stay fast.
    #[inline(never)]
    fn starts_with_marker(&self, bytes: &[u8]) -> bool {
        self.words_for(bytes).iter().any(|word| begins(bytes, word.word, 0))
    }

    /// Returns true if a marker or the end of the text may be here, judged by the first bytes.
    pub(crate) fn may_open(&self, rest: &str) -> bool {
        rest.starts_with(['<', '[']) || self.prefixes.may_match(rest.as_bytes())
    }

    /// Returns the markers with the same first byte as `bytes`.
    fn words_for(&self, bytes: &[u8]) -> &[MarkerWord] {
        let first = bytes.first().and_then(|first| self.words.get(usize::from(*first)));
        first.map_or(&[], Vec::as_slice)
    }

    /// Returns the formats with a marker at `candidate`, the longest marker first.
    pub(crate) fn formats_at(
        &self,
        text: &str,
        candidate: MarkerCandidate,
    ) -> impl Iterator<Item = usize> {
        let rest = text.as_bytes().get(candidate.at..).unwrap_or_default();
        let words = if self.prefixes.may_match(rest) { self.words_for(rest) } else { &[] };
        let words = words.iter().filter(move |word| candidate.at_line_start || !word.is_line_start);
        words.filter(|word| begins(rest, word.word, 0)).filter_map(|word| word.format)
    }

    /// Returns true if more text may turn `rest` into a marker that it isn't yet.
    pub(crate) fn is_partial_marker(&self, rest: &str, is_line_start: bool) -> bool {
        rest.is_empty() || self.is_partial(rest.as_bytes(), is_line_start)
    }

    fn is_partial(&self, rest: &[u8], is_line_start: bool) -> bool {
        let words = self.words_for(rest).iter().filter(|word| is_line_start || !word.is_line_start);
        let mut words = words.map(|word| word.word.as_bytes());
        // The second byte tells most markers apart, so it is compared first.
        let second = rest.get(1);
        words.any(|word| {
            word.len() > rest.len()
                && (second.is_none() || second == word.get(1))
                && word.starts_with(rest)
        })
    }

    /// Returns the position from which on later text may complete a marker; the length of the text
    /// if there is none.
    pub(crate) fn confirmed_end(&self, text: &str, from: usize, is_line_start: bool) -> usize {
        let bytes = text.as_bytes();
        let window = |length: usize| from.max(bytes.len().saturating_sub(length));
        let is_partial = |at: &usize| {
            let rest = bytes.get(*at..).unwrap_or_default();
            self.prefixes.may_match(rest) && self.is_partial(rest, false)
        };
        let marker = (window(self.longest)..bytes.len()).find(is_partial).unwrap_or(bytes.len());
        let tail = window(self.longest + MAX_INDENT);
        let line = match bytes.get(tail..).and_then(|tail| memrchr(b'\n', tail)) {
            Some(at) => Some(tail + at),
            None => (is_line_start && tail == from).then_some(from),
        };
        let begins = |at: &usize| {
            let rest = bytes.get(*at..).unwrap_or_default().trim_ascii_start();
            rest.is_empty() || self.is_partial(rest, true)
        };
        line.filter(begins).unwrap_or(bytes.len()).min(marker)
    }
}
