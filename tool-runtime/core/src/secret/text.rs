//! Finds the secrets in a text, in every spelling.
//!
//! 1. The text itself is searched.
//! 2. If it has escapes, its normal forms are searched (`escapes.rs`).
//! 3. What may be base64 or hexadecimal digits is decoded (`encodings.rs`), and what comes out is
//!    searched in the same way, down to [`MAX_DEPTH`].

use std::ops::Range;

use super::REDACTED;
use super::encodings::decode;
use super::escapes::normal_views;
use super::fragments::Fragments;
use super::patterns::{Patterns, Secrets, Spellings};
use super::view::View;

/// The number of encodings within each other that are decoded.
const MAX_DEPTH: u8 = 2;

/// The secrets and fragments to search for.
#[derive(Clone, Copy)]
pub(super) struct Targets<'s> {
    pub(super) secrets: [&'s Secrets; 2],
    pub(super) fragments: &'s Fragments,
}

/// The places of secrets in a text.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The byte ranges of secrets, in order, without overlaps, at boundaries of characters.
    pub(super) ranges: Vec<Range<usize>>,
    /// The offset from which on the text may be the start of a secret.
    pub(super) open: usize,
    /// The offset from which on digits at the end of the text are a part of a byte, so that they
    /// may be the start of an encoded secret. Many texts end with such characters.
    pub(super) undecoded: usize,
}

impl Targets<'_> {
    /// Returns the text with its secrets replaced; `None` if it contains none.
    pub(super) fn redacted(&self, text: &str) -> Option<String> {
        let ranges = self.find(text, false).ranges;
        (!ranges.is_empty()).then(|| replace(text, &ranges))
    }

    /// Finds the secrets in a text. If the text is `partial`, more of it follows.
    pub(super) fn find(&self, text: &str, is_partial: bool) -> Found {
        let found = Found { ranges: Vec::new(), open: text.len(), undecoded: text.len() };
        let lengths = self.secrets.iter().filter_map(|it| it.long.verbatim.min_len());
        let mut search = Search { targets: *self, text, is_partial, min_len: lengths.min(), found };
        search.view(&View::original(text), 0);
        let Found { mut ranges, open, undecoded } = search.found;
        let (fragments, last) = self.fragments.find(text, is_partial);
        ranges.extend(fragments);
        let open = floor(text, open.min(last));
        Found { ranges: united(text, ranges), open, undecoded: floor(text, undecoded) }
    }
}

struct Search<'s> {
    targets: Targets<'s>,
    text: &'s str,
    is_partial: bool,
    /// The length of the shortest secret that may be encoded.
    min_len: Option<usize>,
    found: Found,
}

impl Search<'_> {
    fn view(&mut self, view: &View<'_>, depth: u8) {
        self.patterns(view, depth, |spellings| &spellings.verbatim);
        let (normal, open) = normal_views(view, self.is_partial);
        self.found.open = self.found.open.min(open);
        for view in &normal {
            self.patterns(view, depth, |spellings| &spellings.normal);
        }
        if depth < MAX_DEPTH
            && let Some(min_len) = self.min_len
        {
            let is_partial = self.is_partial;
            for view in std::iter::once(view).chain(&normal) {
                decode(view, min_len, is_partial, |decoded, undecoded| {
                    if let Some(start) = undecoded {
                        self.found.undecoded = self.found.undecoded.min(start);
                    }
                    self.view(decoded, depth + 1);
                });
            }
        }
    }

    fn patterns(&mut self, view: &View<'_>, depth: u8, of: fn(&Spellings) -> &Patterns) {
        for secrets in self.targets.secrets {
            let short = (depth == 0).then_some(&secrets.short);
            for spellings in [Some(&secrets.long), short].into_iter().flatten() {
                let ranges = &mut self.found.ranges;
                let open = of(spellings).search(view.bytes(), |range| {
                    push(ranges, view.source_of_match(range));
                });
                if self.is_partial {
                    let start = view.tail_start(open, self.text.len());
                    self.found.open = self.found.open.min(start);
                }
            }
        }
    }
}

/// Adds a range, which is often the continuation of the last one.
fn push(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if range.start <= last.end && last.start <= range.end => {
            *last = last.start.min(range.start)..last.end.max(range.end);
        }
        _ => ranges.push(range),
    }
}

/// Returns ranges in order and without overlaps, extended to whole characters.
fn united(text: &str, mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut united = Vec::with_capacity(ranges.len());
    for Range { start, end } in ranges {
        let mut end = end.min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        if start < end {
            push(&mut united, floor(text, start)..end);
        }
    }
    united
}

/// Returns the boundary of a character at or before an offset.
pub(crate) fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Replaces these ranges of a text.
pub(super) fn replace(text: &str, ranges: &[Range<usize>]) -> String {
    let (mut redacted, mut at) = (String::with_capacity(text.len()), 0);
    for Range { start, end } in ranges {
        redacted.push_str(text.get(at..*start).unwrap_or_default());
        redacted.push_str(REDACTED);
        at = *end;
    }
    redacted.push_str(text.get(at..).unwrap_or_default());
    redacted
}
