//! Where in a text something may begin: one pass for all openers of all formats.
//!
//! Of each opener one byte is looked for, a rare one. All of the formats here have `<` or `[` in theirs, or
//! begin a line, so that three bytes are looked for at once. Nearly all places are told from openers by
//! the bytes next to them, without a look at any word.

use memchr::{memchr3, memrchr};

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
    /// First bytes of words.
    firsts: Bytes,
    /// How words begin, and how markers go on from the byte that is looked for.
    heads: Heads,
    tails: Heads,
    /// Bytes before one that is looked for, and that a marker ends with.
    befores: Bytes,
    /// How long the longest word is.
    longest: usize,
}

/// The first three bytes that something may begin with.
#[derive(Clone, Debug)]
struct Heads {
    /// First bytes of what has fewer.
    short: Bytes,
    /// Of what else there is, the first and the second, and the next two.
    pairs: [Pairs; 2],
}

impl Heads {
    fn new() -> Self {
        Self { short: Bytes::new(), pairs: [Pairs::new(), Pairs::new()] }
    }

    fn add(&mut self, word: &[u8]) {
        match *word {
            [first, second, third, ..] => {
                let [firsts, seconds] = &mut self.pairs;
                firsts.add([first, second]);
                seconds.add([second, third]);
            }
            [first, ..] => self.short.add(first),
            [] => {}
        }
    }

    /// Whether something may begin here.
    fn allow(&self, bytes: &[u8]) -> bool {
        let &[first, second, third, ..] = bytes else { return true };
        let [firsts, seconds] = &self.pairs;
        firsts.has([first, second]) && seconds.has([second, third]) || self.short.has(first)
    }
}

/// A set of bytes.
#[derive(Clone, Debug)]
struct Bytes(Box<[bool; 256]>);

impl Bytes {
    fn new() -> Self {
        Self(Box::new([false; 256]))
    }

    fn add(&mut self, byte: u8) {
        if let Some(has) = self.0.get_mut(usize::from(byte)) {
            *has = true;
        }
    }

    fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)) == Some(&true)
    }
}

/// A set of pairs of bytes, a bit for each.
#[derive(Clone, Debug)]
struct Pairs(Box<[u64; 1024]>);

impl Pairs {
    fn new() -> Self {
        Self(Box::new([0; 1024]))
    }

    fn place(pair: [u8; 2]) -> (usize, u64) {
        let place = u16::from_be_bytes(pair);
        (usize::from(place / 64), 1 << (place % 64))
    }

    fn add(&mut self, pair: [u8; 2]) {
        let (place, bit) = Self::place(pair);
        if let Some(bits) = self.0.get_mut(place) {
            *bits |= bit;
        }
    }

    fn has(&self, pair: [u8; 2]) -> bool {
        let (place, bit) = Self::place(pair);
        self.0.get(place).is_some_and(|bits| bits & bit != 0)
    }
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
            firsts: Bytes::new(),
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
        self.firsts.add(first);
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
        let mut at = from;
        if is_line {
            at = match self.on_line(bytes, from) {
                Ok(hit) => return Some(hit),
                Err(at) => at,
            };
        }
        loop {
            at += self.trigger(bytes.get(at..)?)?;
            let byte = *bytes.get(at)?;
            if byte == b'\n' {
                at = match self.on_line(bytes, at + 1) {
                    Ok(hit) => return Some(hit),
                    Err(at) => at,
                };
                continue;
            }
            let hit = self.marker(bytes, at, byte, from);
            if hit.is_some() {
                return hit;
            }
            at += 1;
        }
    }

    #[inline]
    fn trigger(&self, bytes: &[u8]) -> Option<usize> {
        match *self.triggers.as_slice() {
            [a] => memchr3(a, a, a, bytes),
            [a, b] => memchr3(a, b, b, bytes),
            [a, b, c] => memchr3(a, b, c, bytes),
            _ => bytes.iter().position(|byte| self.triggers.contains(byte)),
        }
    }

    fn marker(&self, bytes: &[u8], at: usize, byte: u8, from: usize) -> Option<Hit> {
        if !self.tails.allow(bytes.get(at..)?) {
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            before.filter(|before| self.befores.has(**before))?;
        }
        let of_byte = self.markers.iter().filter(|marker| marker.trigger == byte);
        let starts = of_byte.filter_map(|marker| {
            let start = at.checked_sub(marker.offset).filter(|start| *start >= from)?;
            begins(bytes.get(start..)?, marker.word, marker.offset).then_some(start)
        });
        Some(Hit { at: starts.min()?, begins_line: false })
    }

    /// What begins the line at `start`, or the first below it that has something on it; or else where
    /// to look on.
    #[inline]
    fn on_line(&self, bytes: &[u8], start: usize) -> Result<Hit, usize> {
        let (mut line, mut at) = (start, start);
        loop {
            match bytes.get(at) {
                Some(b'\n') => line = at + 1,
                Some(b' ' | b'\t') if at < line + INDENT => {}
                _ => break,
            }
            at += 1;
        }
        let Some(&first) = bytes.get(at) else { return Err(at) };
        // Most lines begin with something else.
        if !self.firsts.has(first) {
            return Err(at);
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let is_begun =
            self.heads.allow(rest) && self.of(rest).iter().any(|word| begins(rest, word.word, 0));
        if is_begun { Ok(Hit { at, begins_line: true }) } else { Err(at) }
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
