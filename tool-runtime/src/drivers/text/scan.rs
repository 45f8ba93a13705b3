//! The one pass over a text.

use memchr::memchr;

use super::channel::Channel;
use super::fence::{self, Fence};
use super::format::found;
use super::last::{self, Last, Row};
use super::openers::Hit;
use super::quotes::Quotes;
use super::shown::Shown;
use super::{Formats, Found, Miss, Offered, Reading, Rest};
use crate::message::ToolCall;

/// How often a look at much of the text may come to nothing.
const MOST_MISSES: usize = 32;
/// How many bytes may be looked at to the end of the text, each time they are, for less than all of them.
const MOST_VAIN: usize = 1 << 20;
/// A place that was looked at in vain is looked at again when the text behind it has grown by this part.
const GROWTH: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
enum Mode {
    #[default]
    Text,
    /// What is fenced holds no calls.
    Fence(Fence),
    Channel(Channel),
}

/// How far a text was read.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    at: usize,
    /// What is before that and behind this is text, to be shown.
    kept: usize,
    /// Whether nothing but blanks is before that on its line.
    begins_line: bool,
    mode: Mode,
    quotes: Quotes,
    misses: usize,
    vain: usize,
    /// The calls that begin at `at`, which are some if the text ends with them.
    row: Option<Row>,
    /// How long the text has to be for `at` to be looked at again.
    look_at: usize,
    has_thought: bool,
    pub(super) shown: Shown,
    /// How often all that was shown turned out to be thought.
    pub(super) taken_back: usize,
    pub(super) reasoning: Shown,
    calls: Vec<ToolCall>,
}

impl Scan {
    pub(super) fn new() -> Self {
        // Nothing is before what is thought, and it begins with no blanks.
        let mut reasoning = Shown::default();
        reasoning.cut();
        Self {
            at: 0,
            kept: 0,
            begins_line: true,
            mode: Mode::Text,
            quotes: Quotes::default(),
            misses: 0,
            vain: 0,
            row: None,
            look_at: 0,
            has_thought: false,
            shown: Shown::default(),
            taken_back: 0,
            reasoning,
            calls: Vec::new(),
        }
    }

    /// Reads on, in the same text or in one that has grown.
    pub(super) fn read(
        &mut self,
        formats: &Formats,
        offered: &Offered<'_>,
        text: &str,
        is_end: bool,
    ) {
        while self.at < text.len() {
            let goes_on = match self.mode {
                Mode::Text => self.text(formats, offered, text, is_end),
                Mode::Fence(fence) => self.fence(fence, text, is_end),
                Mode::Channel(channel) => self.channel(channel, text, is_end),
            };
            if !goes_on {
                break;
            }
        }
        self.show(text);
    }

    pub(super) fn finish(mut self) -> Reading {
        self.reasoning.cut();
        Reading { text: self.shown.finish(), reasoning: self.reasoning.finish(), calls: self.calls }
    }

    /// The calls found so far.
    pub(super) fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Shows all that was kept.
    fn show(&mut self, text: &str) {
        self.shown.push(text.get(self.kept..self.at).unwrap_or_default());
        self.kept = self.at;
    }

    /// Up to `end` it is text.
    fn keep(&mut self, end: usize) {
        self.go(end, self.begins_line && self.at == end);
    }

    /// Up to `end` it is markup.
    fn hide(&mut self, text: &str, end: usize, begins_line: bool) {
        self.show(text);
        self.shown.cut();
        self.go(end, begins_line);
        self.quotes.skip(end);
        self.kept = end;
    }

    fn go(&mut self, at: usize, begins_line: bool) {
        (self.at, self.begins_line, self.look_at, self.row) = (at, begins_line, 0, None);
    }

    /// Whether to go on.
    fn text(&mut self, formats: &Formats, offered: &Offered<'_>, text: &str, is_end: bool) -> bool {
        if !is_end && text.len() < self.look_at {
            return false;
        }
        let may_begin = self.misses < MOST_MISSES && self.vain < MOST_VAIN;
        let next = || formats.openers.next(text, self.at, self.begins_line);
        let hit = may_begin.then(next).flatten();
        let Some(hit) = hit else {
            self.keep(match !is_end && may_begin {
                true => formats.openers.held(text, self.at, self.begins_line),
                false => text.len(),
            });
            return false;
        };
        if hit.at > self.at {
            self.keep(hit.at);
        }
        self.begins_line = hit.begins_line;
        let mut found = self.found(formats, offered, text, hit, false);
        if found == Err(Miss::More) {
            if !is_end {
                self.look_at = text.len() + ((text.len() - hit.at) / GROWTH).max(1);
                return false;
            }
            found = self.found(formats, offered, text, hit, true);
            if self.at < text.len() {
                self.vain += text.len() - hit.at;
            }
        }
        self.misses += usize::from(found == Err(Miss::Broken));
        found.is_ok() || self.pass(text, hit)
    }

    /// What begins here is text.
    fn pass(&mut self, text: &str, hit: Hit) -> bool {
        let rest = text.get(hit.at..).unwrap_or_default();
        let fence = Fence::of(rest).filter(|fence| hit.begins_line && fence.is_block());
        let length = match fence {
            Some(fence) => {
                if fence.is_opened_by(rest) {
                    self.mode = Mode::Fence(fence);
                }
                fence.len
            }
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        self.keep(hit.at + length);
        true
    }

    /// Reads what begins here.
    fn found(
        &mut self,
        formats: &Formats,
        offered: &Offered<'_>,
        text: &str,
        hit: Hit,
        is_end: bool,
    ) -> Result<(), Miss> {
        if hit.begins_line
            && let Some(end) = fence::example(formats, text, hit)
        {
            self.keep(end);
            return Ok(());
        }
        let rest = Rest::new(text.get(hit.at..).unwrap_or_default(), is_end);
        let rest = rest.on_line(hit.begins_line);
        let is_quoted = !hit.begins_line && self.quotes.hold(text, hit.at);
        let mut miss = Miss::Text;
        if !is_quoted {
            for format in formats.openers.formats(text, hit) {
                let Some(format) = formats.get(format).filter(|format| !format.is_last()) else {
                    continue;
                };
                match found(format, rest, offered) {
                    Ok(found) => return self.take(found, text, is_end),
                    Err(Miss::More) if !is_end => return Err(Miss::More),
                    Err(Miss::Broken) => miss = Miss::Broken,
                    Err(_) => {}
                }
            }
        }
        if hit.begins_line && !is_quoted {
            let row = self.row.get_or_insert_with(|| Row::new(hit.at));
            match row.read(formats, offered, text, is_end) {
                Ok(Last::Calls { calls, end }) => {
                    self.calls.extend(calls);
                    self.hide(text, end, false);
                    return Ok(());
                }
                Ok(Last::Text { end }) => {
                    self.keep(end);
                    return Ok(());
                }
                Err(Miss::More) if !is_end => return Err(Miss::More),
                Err(Miss::Broken) => miss = Miss::Broken,
                Err(_) => {}
            }
            // Whether it is a fence shows at the end of the line.
            if Fence::of(rest.text).is_some()
                && !is_end
                && memchr(b'\n', rest.text.as_bytes()).is_none()
            {
                return Err(Miss::More);
            }
        }
        Err(miss)
    }

    fn take(&mut self, found: Found, text: &str, is_end: bool) -> Result<(), Miss> {
        let begin = self.at;
        match found {
            Found::Calls { calls, end } => {
                let end = begin + end;
                let end = match last::skip_stops(text, end, is_end)? {
                    at if text.get(end..at).is_some_and(|passed| passed.trim().is_empty()) => end,
                    at => at,
                };
                self.calls.extend(calls);
                self.hide(text, end, false);
            }
            Found::Text { end } => self.keep(begin + end),
            Found::Channel { end, is_shown, closers, stops } => {
                self.has_thought |= !is_shown;
                if !is_shown && !self.reasoning.text.is_empty() {
                    self.reasoning.push("\n");
                }
                self.hide(text, begin + end, true);
                self.mode = Mode::Channel(Channel { is_shown, closers, stops });
            }
            Found::Thought { end, opener } => {
                let before = text.get(..begin).unwrap_or_default();
                // Looked for once: what ended nothing the first time doesn't the next.
                if self.has_thought || before.contains(opener) {
                    self.has_thought = true;
                    return Err(Miss::Text);
                }
                self.has_thought = true;
                self.reasoning.push(before);
                (self.shown, self.kept) = (Shown::default(), begin);
                self.taken_back += 1;
                self.calls.clear();
                self.hide(text, begin + end, true);
            }
        }
        Ok(())
    }

    fn fence(&mut self, fence: Fence, text: &str, is_end: bool) -> bool {
        let (end, is_closed) = fence.part(text, self.at, is_end);
        if is_closed {
            self.mode = Mode::Text;
        }
        self.keep(end);
        is_closed
    }

    fn channel(&mut self, channel: Channel, text: &str, is_end: bool) -> bool {
        let rest = text.get(self.at..).unwrap_or_default();
        let (length, closer) = channel.part(rest, is_end);
        self.go(self.at + length, false);
        if !channel.is_shown {
            self.reasoning.push(rest.get(..length).unwrap_or_default());
            self.kept = self.at;
        }
        if let Some(closer) = closer {
            self.mode = Mode::Text;
            self.hide(text, self.at + closer, true);
        }
        closer.is_some()
    }
}
