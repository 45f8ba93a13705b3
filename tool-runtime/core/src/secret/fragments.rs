//! Fragments of arguments that can't be parsed, any of which may be a secret.
//!
//! There may be very many, so only their hashes are kept, and a text is searched for whole
//! fragments only.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::REDACTED;

/// The minimum length of a fragment in bytes.
const MIN_LEN: usize = 6;

/// Hashes of fragments.
#[derive(Clone, Default)]
pub(super) struct Fragments {
    hashes: HashSet<u64, RandomState>,
}

impl Fragments {
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Adds the fragments of a text.
    pub(super) fn insert_all(&mut self, text: &str) {
        for fragment in text.split(is_separator).filter(|it| it.len() >= MIN_LEN) {
            if REDACTED.contains(fragment) {
                continue;
            }
            let hash = self.hashes.hasher().hash_one(fragment);
            self.hashes.insert(hash);
        }
    }

    /// Returns the ranges of fragments in a text, and where one begins that may be incomplete: the
    /// last one of a partial text.
    pub(super) fn find(&self, text: &str, is_partial: bool) -> (Vec<Range<usize>>, usize) {
        let (mut ranges, mut open, mut start) = (Vec::new(), text.len(), 0);
        if self.hashes.is_empty() {
            return (ranges, open);
        }
        for fragment in text.split(is_separator) {
            let end = start + fragment.len();
            if is_partial && end == text.len() {
                open = start;
            } else if fragment.len() >= MIN_LEN
                && self.hashes.contains(&self.hashes.hasher().hash_one(fragment))
            {
                ranges.push(start..end);
            }
            start =
                end + text.get(end..).and_then(|it| it.chars().next()).map_or(0, char::len_utf8);
        }
        (ranges, open)
    }
}

/// Whether a fragment ends at a character: any part of an unparsable text may be a secret.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || "\"'`{}[](),:;=<>\\".contains(c)
}
