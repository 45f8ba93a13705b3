//! Where in a text something may begin: one pass for all openers of all formats.
//!
//! Of each opener one byte is looked for, a rare one. All of the formats here have `<` or `[` in theirs, or
//! begin a line, so that three bytes are looked for at once.

use std::{iter, vec};

use memchr::{memchr_iter, memchr3, memrchr};

use super::{Format, Opener};

/// Rare bytes that openers have, the rarest first.
const RARE: [u8; 2] = [b'<', b'['];
/// How far a line may be indented for something to begin on it.
const INDENT: usize = 64;
/// More than openers have.
const LONGEST: usize = 64;
/// A fence, and code within a line that may be all there is on it.
pub(super) const FENCES: [&str; 3] = ["```", "~~~", "`"];

#[derive(Clone, Debug)]
pub(super) struct Openers {
    markers: Vec<Marker>,
    /// Those that begin a line, with the place of their format.
    lines: Vec<(&'static str, usize)>,
    /// The bytes that are looked for.
    triggers: Vec<u8>,
    /// Bytes that follow one of them in some marker.
    seconds: Bytes,
    /// Bytes before one that a marker ends with.
    befores: Bytes,
    /// Whether a marker is one byte and no more.
    is_single: bool,
    /// Bytes that something begins with, fences excepted.
    firsts: Bytes,
}

/// A set of bytes.
#[derive(Clone, Debug)]
struct Bytes([bool; 256]);

impl Bytes {
    const NONE: Self = Self([false; 256]);

    fn add(&mut self, byte: Option<u8>) {
        if let Some(held) = byte.and_then(|byte| self.0.get_mut(usize::from(byte))) {
            *held = true;
        }
    }

    fn has(&self, byte: Option<&u8>) -> bool {
        byte.and_then(|byte| self.0.get(usize::from(*byte))) == Some(&true)
    }
}

#[derive(Clone, Debug)]
struct Marker {
    word: &'static str,
    format: usize,
    trigger: u8,
    /// Where in the word that byte is.
    offset: usize,
}

/// Something may begin here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) at: usize,
    /// Whether nothing but blanks is before it on its line.
    pub(super) begins_line: bool,
}

impl Openers {
    pub(super) fn new<'f>(formats: impl Iterator<Item = &'f dyn Format>) -> Self {
        let mut openers = Self {
            markers: Vec::new(),
            lines: Vec::new(),
            triggers: vec![b'\n'],
            seconds: Bytes::NONE,
            befores: Bytes::NONE,
            is_single: false,
            firsts: Bytes::NONE,
        };
        for (format, found) in formats.enumerate() {
            for opener in found.openers() {
                openers.firsts.add(opener.word().bytes().next());
                match *opener {
                    Opener::Line(word) => openers.lines.push((word, format)),
                    Opener::Marker(word) => openers.mark(word, format),
                }
            }
        }
        openers
    }

    fn mark(&mut self, word: &'static str, format: usize) {
        let rare = RARE.into_iter().find(|rare| word.as_bytes().contains(rare));
        let Some(trigger) = rare.or_else(|| word.bytes().next()) else { return };
        let offset = word.bytes().position(|byte| byte == trigger).unwrap_or(0);
        if !self.triggers.contains(&trigger) {
            self.triggers.push(trigger);
        }
        let second = word.as_bytes().get(offset + 1).copied();
        if second.is_none() {
            self.befores.add(offset.checked_sub(1).and_then(|at| word.as_bytes().get(at).copied()));
            self.is_single |= offset == 0;
        }
        self.seconds.add(second);
        self.markers.push(Marker { word, format, trigger, offset });
    }

    /// The first place from `from` on; `is_line` if nothing but blanks is before that on its line.
    pub(super) fn next(&self, text: &str, from: usize, is_line: bool) -> Option<Hit> {
        if is_line && let Some(hit) = self.on_line(text, from) {
            return Some(hit);
        }
        let mut at = from;
        loop {
            at += self.trigger(text.as_bytes().get(at..)?)?;
            let byte = *text.as_bytes().get(at)?;
            let hit = match byte {
                b'\n' => self.on_line(text, at + 1),
                _ => self.marker(text, at, byte, from),
            };
            if hit.is_some() {
                return hit;
            }
            at += 1;
        }
    }

    fn trigger(&self, bytes: &[u8]) -> Option<usize> {
        match *self.triggers.as_slice() {
            [a] => memchr3(a, a, a, bytes),
            [a, b] => memchr3(a, b, b, bytes),
            [a, b, c] => memchr3(a, b, c, bytes),
            _ => bytes.iter().position(|byte| self.triggers.contains(byte)),
        }
    }

    fn marker(&self, text: &str, at: usize, byte: u8, from: usize) -> Option<Hit> {
        let byte_at = |at: Option<usize>| text.as_bytes().get(at?);
        let may_be = self.is_single
            || self.seconds.has(byte_at(at.checked_add(1)))
            || self.befores.has(byte_at(at.checked_sub(1)));
        if !may_be {
            return None;
        }
        let starts =
            self.markers.iter().filter(|marker| marker.trigger == byte).filter_map(|marker| {
                let start = at.checked_sub(marker.offset).filter(|start| *start >= from)?;
                text.get(start..)?.starts_with(marker.word).then_some(start)
            });
        Some(Hit { at: starts.min()?, begins_line: false })
    }

    fn on_line(&self, text: &str, start: usize) -> Option<Hit> {
        let line = text.get(start..)?;
        let blanks = line.bytes().take(INDENT).take_while(|byte| b" \t".contains(byte)).count();
        let line = line.get(blanks..)?;
        let first = line.as_bytes().first();
        if !self.firsts.has(first) && !matches!(first, Some(b'`' | b'~')) {
            return None;
        }
        let is = |word: &str| line.starts_with(word);
        let hit = Hit { at: start + blanks, begins_line: true };
        self.words().any(is).then_some(hit)
    }

    /// All that may begin a line.
    fn words(&self) -> impl Iterator<Item = &'static str> {
        let lines = self.lines.iter().map(|(word, _)| *word);
        lines.chain(FENCES).chain(self.markers.iter().map(|marker| marker.word))
    }

    /// The formats that may begin at a place, those with the longest opener first.
    pub(super) fn formats(&self, text: &str, hit: Hit) -> vec::IntoIter<usize> {
        let rest = text.get(hit.at..).unwrap_or_default();
        if !self.firsts.has(rest.as_bytes().first()) {
            return Vec::new().into_iter();
        }
        let markers = self.markers.iter().map(|marker| (marker.word, marker.format));
        let lines = self.lines.iter().copied().filter(|_| hit.begins_line);
        let first = rest.as_bytes().first();
        // The first byte tells nearly all of them apart.
        let all = markers
            .chain(lines)
            .filter(|(word, _)| word.as_bytes().first() == first && rest.starts_with(word));
        let mut found: Vec<_> =
            all.map(|(word, format)| (usize::MAX - word.len(), format)).collect();
        found.sort_unstable();
        found.dedup_by_key(|(_, format)| *format);
        found.into_iter().map(|(_, format)| format).collect::<Vec<_>>().into_iter()
    }

    /// From where on a text that goes on may turn out to hold an opener; its length if nowhere.
    pub(super) fn held(&self, text: &str, from: usize, is_line: bool) -> usize {
        let longest = from.max(text.len().saturating_sub(LONGEST));
        let tail =
            (longest..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        let starts = || (tail..text.len()).filter(|at| text.is_char_boundary(*at));
        let is_begun = |at: &usize| {
            let rest = text.get(*at..).unwrap_or_default();
            self.markers.iter().any(|marker| marker.word.starts_with(rest))
        };
        let marker = starts().find(is_begun).unwrap_or(text.len());
        let breaks = text.as_bytes().get(tail..).and_then(|bytes| memrchr(b'\n', bytes));
        let line = match breaks {
            Some(at) => Some(tail + at),
            None if is_line && tail == from => Some(from),
            None => None,
        };
        let begins = |at: &usize| {
            let rest = text.get(*at..).unwrap_or_default().trim_start();
            rest.is_empty() || self.words().any(|word| word.starts_with(rest))
        };
        line.filter(begins).unwrap_or(text.len()).min(marker)
    }
}

/// The lines of a text from `from` on, each with its line break.
pub(super) fn line_starts(text: &str, from: usize) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes().get(from..).unwrap_or_default();
    iter::once(from).chain(memchr_iter(b'\n', bytes).map(move |at| from + at + 1))
}
