//! Where in a text something may begin: one pass for all openers of all formats.
//!
//! Of each opener one byte is looked for, a rare one. All of the formats here have `<` or `[` in theirs, or
//! begin a line, so that three bytes are looked for at once. Nearly all places are told from openers by
//! the bytes next to them, without a look at any word.

use memchr::memrchr;

use super::heads::{Bytes, Heads};
use super::places::Places;
use super::{Format, Opener};

/// Rare bytes that openers have, the rarest first.
const RARE: [u8; 2] = [b'<', b'['];
/// How far a line may be indented for something to begin on it.
const INDENT: usize = 64;
/// A fence, and code within a line that may be all there is on it.
const FENCES: [&str; 3] = ["```", "~~~", "`"];

#[derive(Clone, Debug)]
pub(super) struct Openers {
    markers: Vec<Marker>,
    /// All words, by their first bytes; of each the longest first.
    words: Vec<Vec<Word>>,
    /// The bytes that are looked for.
    triggers: Vec<u8>,
    /// How words begin, and how markers go on from the byte that is looked for.
    heads: Heads,
    tails: Heads,
    /// Bytes before one that is looked for, and that a marker ends with.
    befores: Bytes,
    /// How long the longest word is.
    longest: usize,
}

/// Whether `bytes` begin with `word`, of which they have the byte at `offset`: it is the next one that tells
/// most words apart.
fn begins(bytes: &[u8], word: &str, offset: usize) -> bool {
    let word = word.as_bytes();
    let next = word.get(offset + 1);
    (next.is_none() || next == bytes.get(offset + 1)) && bytes.starts_with(word)
}

#[derive(Clone, Debug)]
struct Marker {
    word: &'static str,
    trigger: u8,
    /// Where in the word that byte is.
    offset: usize,
}

#[derive(Clone, Debug)]
struct Word {
    word: &'static str,
    /// The place of the format that it opens; a fence opens none.
    format: Option<usize>,
    /// Whether it has to begin a line.
    is_line: bool,
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
            words: vec![Vec::new(); 256],
            triggers: vec![b'\n'],
            heads: Heads::new(),
            tails: Heads::new(),
            befores: Bytes::new(),
            longest: 0,
        };
        for word in FENCES {
            openers.add(Word { word, format: None, is_line: true });
        }
        for (format, found) in formats.enumerate() {
            for opener in found.openers() {
                let (word, is_line) = (opener.word(), matches!(opener, Opener::Line(_)));
                openers.add(Word { word, format: Some(format), is_line });
                if !is_line {
                    openers.mark(word);
                }
            }
        }
        openers
    }

    fn add(&mut self, word: Word) {
        let Some(first) = word.word.bytes().next() else { return };
        self.longest = self.longest.max(word.word.len());
        self.heads.add(word.word.as_bytes());
        if let Some(words) = self.words.get_mut(usize::from(first)) {
            words.push(word);
            // What was added first stays first of those as long.
            words.sort_by_key(|word| usize::MAX - word.word.len());
        }
    }

    fn mark(&mut self, word: &'static str) {
        let bytes = word.as_bytes();
        let rare = RARE.into_iter().find(|rare| bytes.contains(rare));
        let Some(trigger) = rare.or_else(|| bytes.first().copied()) else { return };
        let offset = bytes.iter().position(|byte| *byte == trigger).unwrap_or(0);
        if !self.triggers.contains(&trigger) {
            self.triggers.push(trigger);
        }
        match offset.checked_sub(1).and_then(|before| bytes.get(before)) {
            // Nearly anything may follow a byte that a word ends with.
            Some(before) if offset + 1 == bytes.len() => self.befores.add(*before),
            _ => self.tails.add(bytes.get(offset..).unwrap_or_default()),
        }
        self.markers.push(Marker { word, trigger, offset });
    }

    /// The first place from `from` on; `is_line` if nothing but blanks is before that on its line.
    pub(super) fn next(&self, text: &str, from: usize, is_line: bool) -> Option<Hit> {
        let bytes = text.as_bytes();
        let first = if is_line { self.on_line(bytes, from) } else { None };
        first.or_else(|| {
            Places::new(&self.triggers, bytes, from).find_map(|at| match bytes.get(at)? {
                b'\n' => self.on_line(bytes, at + 1),
                byte => self.marker(bytes, at, *byte, from),
            })
        })
    }

    /// The marker that has its byte at `at`.
    #[inline]
    fn marker(&self, bytes: &[u8], at: usize, byte: u8, from: usize) -> Option<Hit> {
        let before = || at.checked_sub(1).and_then(|before| bytes.get(before));
        let may_be = self.tails.allow(bytes.get(at..)?)
            || before().is_some_and(|before| self.befores.has(*before));
        if may_be { self.begun(bytes, at, byte, from) } else { None }
    }

    #[inline(never)]
    fn begun(&self, bytes: &[u8], at: usize, byte: u8, from: usize) -> Option<Hit> {
        let of_byte = self.markers.iter().filter(|marker| marker.trigger == byte);
        let starts = of_byte.filter_map(|marker| {
            let start = at.checked_sub(marker.offset).filter(|start| *start >= from)?;
            begins(bytes.get(start..)?, marker.word, marker.offset).then_some(start)
        });
        Some(Hit { at: starts.min()?, begins_line: false })
    }

    /// What begins the line at `start`.
    #[inline]
    fn on_line(&self, bytes: &[u8], start: usize) -> Option<Hit> {
        let mut at = start;
        while matches!(bytes.get(at)?, b' ' | b'\t') && at < start + INDENT {
            at += 1;
        }
        let rest = bytes.get(at..)?;
        let is_begun = self.heads.allow(rest) && self.begins_word(rest);
        is_begun.then_some(Hit { at, begins_line: true })
    }

    /// Whether some word stands here. Not asked of most lines, and not to be a part of what they take.
    #[inline(never)]
    fn begins_word(&self, bytes: &[u8]) -> bool {
        self.of(bytes).iter().any(|word| begins(bytes, word.word, 0))
    }

    /// Whether something may begin here, or end the text, as far as its first bytes tell.
    pub(super) fn may_open(&self, rest: &str) -> bool {
        rest.starts_with(['<', '[']) || self.heads.allow(rest.as_bytes())
    }

    /// The words that begin as `bytes` do.
    fn of(&self, bytes: &[u8]) -> &[Word] {
        let first = bytes.first().and_then(|first| self.words.get(usize::from(*first)));
        first.map_or(&[], Vec::as_slice)
    }

    /// The formats that may begin at a place, those with the longest opener first.
    pub(super) fn formats(&self, text: &str, hit: Hit) -> impl Iterator<Item = usize> {
        let rest = text.as_bytes().get(hit.at..).unwrap_or_default();
        let words = if self.heads.allow(rest) { self.of(rest) } else { &[] };
        let words = words.iter().filter(move |word| hit.begins_line || !word.is_line);
        words.filter(|word| begins(rest, word.word, 0)).filter_map(|word| word.format)
    }

    /// Whether more of the text may turn `rest` into an opener, which it is none of yet.
    pub(super) fn may_begin(&self, rest: &str, is_line: bool) -> bool {
        rest.is_empty() || self.is_begun(rest.as_bytes(), is_line)
    }

    fn is_begun(&self, rest: &[u8], is_line: bool) -> bool {
        let words = self.of(rest).iter().filter(|word| is_line || !word.is_line);
        let mut words = words.map(|word| word.word.as_bytes());
        words.any(|word| word.len() > rest.len() && word.starts_with(rest))
    }

    /// From where on a text that goes on may turn out to hold an opener; its length if nowhere.
    pub(super) fn held(&self, text: &str, from: usize, is_line: bool) -> usize {
        let bytes = text.as_bytes();
        let window = |length: usize| from.max(bytes.len().saturating_sub(length));
        let is_begun = |at: &usize| {
            let rest = bytes.get(*at..).unwrap_or_default();
            self.heads.allow(rest) && self.is_begun(rest, false)
        };
        let marker = (window(self.longest)..bytes.len()).find(is_begun).unwrap_or(bytes.len());
        let tail = window(self.longest + INDENT);
        let line = match bytes.get(tail..).and_then(|tail| memrchr(b'\n', tail)) {
            Some(at) => Some(tail + at),
            None => (is_line && tail == from).then_some(from),
        };
        let begins = |at: &usize| {
            let rest = bytes.get(*at..).unwrap_or_default().trim_ascii_start();
            rest.is_empty() || self.is_begun(rest, true)
        };
        line.filter(begins).unwrap_or(bytes.len()).min(marker)
    }
}
