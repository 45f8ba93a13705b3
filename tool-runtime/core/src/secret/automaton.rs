//! Finds many patterns in a text in one pass (Aho–Corasick).
//!
//! This is our own, because redaction needs less than a search: of the patterns that end at a byte,
//! the longest one covers the others. The crate `aho-corasick` keeps all of them for each state. A
//! model can send secret arguments that end with each other: of 1 MB of them, that crate builds 1.5
//! GB in 7 s, this module a state per byte in 0.1 s. Nor does the crate return how many bytes at
//! the end of a text begin a pattern, which a stream needs.

use std::ops::Range;
use std::sync::Arc;

/// The maximum number of bytes of a pattern that are compared. The bytes behind them count as a
/// part of the match, whatever they are.
const MAX_COMPARED: usize = 256;

/// A pattern: its first bytes, and its length.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern {
    start: Arc<[u8]>,
    length: usize,
}

impl Pattern {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let start = bytes.get(..MAX_COMPARED).unwrap_or(bytes).into();
        Self { start, length: bytes.len() }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }
}

/// A trie of patterns. Its states are numbered level by level, so the children of a state follow
/// each other.
pub(super) struct Automaton {
    /// The first child of each state, which ends the children of the state before.
    children: Vec<usize>,
    /// The byte that leads to each state.
    labels: Vec<u8>,
    /// The state of the longest suffix that begins another pattern.
    fallbacks: Vec<usize>,
    depths: Vec<usize>,
    /// For each state, the bytes before and behind it that its matches cover.
    matches: Vec<(usize, usize)>,
    /// The bytes that begin a pattern.
    first_bytes: Vec<u8>,
}

impl Automaton {
    pub(super) fn new(patterns: &mut Vec<Pattern>) -> Self {
        patterns.sort_unstable();
        patterns.dedup();
        let mut automaton = Self {
            children: vec![1],
            labels: vec![0],
            fallbacks: vec![0],
            depths: vec![0],
            matches: vec![(0, 0)],
            first_bytes: Vec::new(),
        };
        // The patterns that each state begins, in the order of the states.
        let mut groups = Vec::new();
        groups.push(0..patterns.len());
        let mut state = 0;
        while let Some(group) = groups.get(state).cloned() {
            let depth = automaton.depths.get(state).copied().unwrap_or_default();
            let next = |pattern: &Pattern| pattern.start.get(depth).copied();
            let mut at = group.start;
            while at < group.end {
                let rest = patterns.get(at..group.end).unwrap_or_default();
                let byte = rest.first().and_then(next);
                let count = rest.iter().take_while(|pattern| next(pattern) == byte).count();
                match byte {
                    Some(byte) => {
                        groups.push(at..at + count);
                        automaton.labels.push(byte);
                        automaton.depths.push(depth + 1);
                        automaton.fallbacks.push(0);
                        automaton.matches.push((0, 0));
                    }
                    None => {
                        let ahead = rest.iter().take(count).map(|it| it.length - depth).max();
                        if let Some(found) = automaton.matches.get_mut(state) {
                            *found = (depth, ahead.unwrap_or_default());
                        }
                    }
                }
                at += count;
            }
            automaton.children.push(groups.len());
            state += 1;
        }
        automaton.first_bytes =
            automaton.labels.get(1..automaton.child_range(0).end).unwrap_or_default().to_vec();
        automaton.link();
        automaton
    }

    /// Sets the fallbacks, level by level.
    fn link(&mut self) {
        for state in 0..self.labels.len() {
            for child in self.child_range(state) {
                let byte = self.labels.get(child).copied().unwrap_or_default();
                let parent = self.fallback(state);
                let fallback = if state == 0 { 0 } else { self.step(parent, byte) };
                let (back, ahead) = self.matches.get(fallback).copied().unwrap_or_default();
                if let Some(target) = self.fallbacks.get_mut(child) {
                    *target = fallback;
                }
                if let Some(found) = self.matches.get_mut(child) {
                    *found = (found.0.max(back), found.1.max(ahead));
                }
            }
        }
    }

    /// Whether a pattern is one of this automaton, or begins like one that is longer.
    pub(super) fn contains(&self, pattern: &Pattern) -> bool {
        let end = pattern.start.iter().try_fold(0, |state, byte| self.child(state, *byte));
        let found = end.and_then(|end| self.matches.get(end)).copied();
        found.is_some_and(|(back, ahead)| {
            back == pattern.start.len() && back + ahead >= pattern.length
        })
    }

    /// Calls `on_match` with the range of each match, in the order of their ends. A range may
    /// exceed the text. Returns the number of bytes at the end of the text that begin a pattern.
    pub(super) fn search(&self, text: &[u8], mut on_match: impl FnMut(Range<usize>)) -> usize {
        let (mut state, mut at) = (0, 0);
        while let Some(&byte) = text.get(at) {
            if state == 0 {
                let rest = text.get(at..).unwrap_or_default();
                let skipped = match *self.first_bytes {
                    [] => None,
                    [a] => memchr::memchr(a, rest),
                    [a, b] => memchr::memchr2(a, b, rest),
                    [a, b, c] => memchr::memchr3(a, b, c, rest),
                    _ => Some(0),
                };
                match skipped {
                    None => return 0,
                    Some(0) => {}
                    Some(skipped) => {
                        at += skipped;
                        continue;
                    }
                }
            }
            state = self.step(state, byte);
            at += 1;
            if let Some(&(back @ 1.., ahead)) = self.matches.get(state) {
                on_match(at - back..at + ahead);
            }
        }
        self.depths.get(state).copied().unwrap_or_default()
    }

    fn step(&self, mut state: usize, byte: u8) -> usize {
        loop {
            match self.child(state, byte) {
                Some(child) => return child,
                None if state == 0 => return 0,
                None => state = self.fallback(state),
            }
        }
    }

    fn fallback(&self, state: usize) -> usize {
        self.fallbacks.get(state).copied().unwrap_or_default()
    }

    fn child(&self, state: usize, byte: u8) -> Option<usize> {
        let range = self.child_range(state);
        let labels = self.labels.get(range.clone())?;
        labels.binary_search(&byte).ok().map(|index| range.start + index)
    }

    fn child_range(&self, state: usize) -> Range<usize> {
        let bound = |state: usize| self.children.get(state).copied().unwrap_or_default();
        bound(state)..bound(state + 1)
    }
}
