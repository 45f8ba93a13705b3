//! The output of a background process that no call has returned yet.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use regex_lite::Regex;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use super::capture::{MARGIN, ceil, excerpt, floor};
use super::utf8::Decoder;

/// The most bytes that are kept. Beyond that, the oldest are dropped.
const MAX_BYTES: usize = 1 << 20;

/// The bytes before new output that are searched again, for a match that began in them.
const OVERLAP: usize = 16 << 10;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

/// Replaces secrets in a text.
pub(crate) trait Redact {
    /// Returns a part of a text without secrets, also of those that reach into the part.
    fn redact(&self, text: &str, part: Range<usize>) -> String;

    /// Returns where the start of a secret may begin, at the end of a text of which more follows.
    fn unfinished_secret(&self, text: &str) -> Option<usize>;
}

/// New output, without secrets, and whether the process has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// The lines since the last look, or their head and tail.
    pub(crate) lines: String,
    /// The start of a line that is not complete yet. The next look returns it again.
    pub(crate) partial: String,
    /// The number of bytes that were dropped before the lines.
    pub(crate) dropped: u64,
    pub(crate) end: Option<End>,
}

#[derive(Debug, Default)]
struct State {
    /// The unseen output, after the last bytes of what was seen or dropped.
    text: String,
    /// The offset at which the unseen output begins.
    unseen: usize,
    decoder: Decoder,
    /// The number of bytes that were removed from the start of the text.
    removed: u64,
    dropped: u64,
    end: Option<End>,
    is_end_seen: bool,
}

impl State {
    /// Adds bytes, and replaces those that are not UTF-8.
    fn add(&mut self, bytes: &[u8]) {
        self.decoder.decode(bytes, &mut self.text);
    }

    /// Drops the oldest unseen output beyond the limit.
    fn limit(&mut self) {
        let excess = (self.text.len() - self.unseen).saturating_sub(MAX_BYTES);
        if excess > 0 {
            let start = ceil(&self.text, self.unseen + excess);
            self.dropped += (start - self.unseen) as u64;
            self.unseen = start;
        }
        self.forget_seen();
    }

    /// Removes what was seen, except for the last bytes, in which a secret may begin.
    fn forget_seen(&mut self) {
        // Not each time: what follows is moved.
        if self.unseen > 4 * MARGIN {
            let forgotten = floor(&self.text, self.unseen - MARGIN);
            self.text.drain(..forgotten);
            self.unseen -= forgotten;
            self.removed += forgotten as u64;
        }
    }
}

/// The output of one process.
#[derive(Debug, Default)]
pub(crate) struct Output {
    state: Mutex<State>,
    changed: Notify,
}

impl Output {
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut state = self.lock();
        state.add(bytes);
        state.limit();
        drop(state);
        self.changed.notify_waiters();
    }

    pub(crate) fn finish(&self, end: End) {
        let mut state = self.lock();
        let State { decoder, text, .. } = &mut *state;
        decoder.finish(text);
        state.end = Some(end);
        drop(state);
        self.changed.notify_waiters();
    }

    pub(crate) fn end(&self) -> Option<End> {
        self.lock().end
    }

    /// Waits until the process has ended.
    pub(crate) async fn wait(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on, a change is not missed.
            changed.as_mut().enable();
            if self.lock().end.is_some() {
                return;
            }
            changed.await;
        }
    }

    /// Waits until the unseen output matches, or the process ends.
    ///
    /// The search takes a thread that may block, and each byte is searched a few times at most.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing.
    pub(crate) async fn wait_for(&self, pattern: Regex) {
        let pattern = Arc::new(pattern);
        // The number of bytes, of all output, before which no match ends.
        let mut searched = 0;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let (text, start, total, is_ended) = self.unsearched(searched);
            if is_ended {
                return;
            }
            let regex = Arc::clone(&pattern);
            let search = spawn_blocking(move || regex.is_match_at(&text, start));
            if search.await.unwrap_or_default() {
                return;
            }
            searched = total;
            changed.await;
        }
    }

    /// Returns the text to search, where to begin in it, the number of bytes up to its end, and
    /// whether the process has ended.
    fn unsearched(&self, searched: u64) -> (String, usize, u64, bool) {
        let state = self.lock();
        let before = usize::try_from(searched.saturating_sub(state.removed)).unwrap_or(usize::MAX);
        let start = floor(&state.text, before.saturating_sub(OVERLAP)).max(state.unseen);
        // One character before, by which the pattern recognizes the start of a line or a word.
        let first = floor(&state.text, start.saturating_sub(1)).max(state.unseen);
        let text = state.text.get(first..).unwrap_or_default().to_owned();
        let total = state.removed + state.text.len() as u64;
        (text, start - first, total, state.end.is_some())
    }

    /// Returns the output since the last look. The second value is the end, the first time that it
    /// is returned.
    pub(crate) fn look(&self, redactor: &impl Redact) -> (News, Option<End>) {
        let mut state = self.lock();
        let (text, unseen) = (&state.text, state.unseen);
        let complete = match text.get(unseen..).unwrap_or_default().rfind('\n') {
            _ if state.end.is_some() => text.len(),
            None => unseen,
            Some(at) => unseen + at + 1,
        };
        // What may be the start of a secret waits for its end.
        let first = floor(text, text.len().saturating_sub(MARGIN)).max(complete);
        let open = redactor.unfinished_secret(text.get(first..).unwrap_or_default());
        let partial_end = open.map_or(text.len(), |open| first + open);
        let redact = |text: &str, part| redactor.redact(text, part);
        let news = News {
            lines: excerpt(text, unseen..complete, redact),
            partial: excerpt(text, complete..partial_end, redact),
            dropped: state.dropped,
            end: state.end,
        };
        state.unseen = complete;
        state.dropped = 0;
        state.forget_seen();
        let first_end = news.end.filter(|_| !state.is_end_seen);
        state.is_end_seen |= first_end.is_some();
        (news, first_end)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
