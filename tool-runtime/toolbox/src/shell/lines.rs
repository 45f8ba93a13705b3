//! The output of a background process that no call has returned yet.

use std::sync::{Mutex, MutexGuard, PoisonError};

use regex_lite::Regex;
use tokio::sync::Notify;

/// The most bytes that are kept. Beyond that, the oldest are dropped.
const MAX_BYTES: usize = 1 << 20;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

/// New output, and whether the process has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct News {
    /// The lines since the last look.
    pub(super) lines: String,
    /// The start of a line that is not complete yet. The next look returns it again.
    pub(super) partial: String,
    /// The number of bytes that were dropped before the lines.
    pub(super) dropped: u64,
    pub(super) end: Option<End>,
}

#[derive(Debug, Default)]
struct State {
    unseen: Vec<u8>,
    dropped: u64,
    end: Option<End>,
    is_end_seen: bool,
}

/// The output of one process.
#[derive(Debug, Default)]
pub(super) struct Output {
    state: Mutex<State>,
    changed: Notify,
}

impl Output {
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut state = self.lock();
        state.unseen.extend_from_slice(bytes);
        let excess = state.unseen.len().saturating_sub(MAX_BYTES);
        state.unseen.drain(..excess);
        state.dropped += excess as u64;
        drop(state);
        self.changed.notify_waiters();
    }

    pub(super) fn finish(&self, end: End) {
        self.lock().end = Some(end);
        self.changed.notify_waiters();
    }

    pub(super) fn end(&self) -> Option<End> {
        self.lock().end
    }

    /// Waits until the unseen output matches, or the process ends.
    ///
    /// # Cancellation
    /// Dropping the future loses nothing.
    pub(super) async fn wait_for(&self, pattern: Option<&Regex>) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on, a change is not missed.
            changed.as_mut().enable();
            {
                let state = self.lock();
                let is_found =
                    pattern.is_some_and(|it| it.is_match(&String::from_utf8_lossy(&state.unseen)));
                if is_found || state.end.is_some() {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Waits until the process has ended.
    pub(super) async fn wait(&self) {
        self.wait_for(None).await;
    }

    /// Returns the output since the last look. The second value is the end, the first time that it
    /// is returned.
    pub(super) fn look(&self) -> (News, Option<End>) {
        let mut state = self.lock();
        let rest = match state.unseen.iter().rposition(|byte| *byte == b'\n') {
            _ if state.end.is_some() => Vec::new(),
            None => state.unseen.clone(),
            Some(at) => state.unseen.get(at + 1..).unwrap_or_default().to_vec(),
        };
        let mut lines = std::mem::replace(&mut state.unseen, rest);
        lines.truncate(lines.len() - state.unseen.len());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let news = News {
            lines: text(&lines),
            partial: text(&state.unseen),
            dropped: std::mem::take(&mut state.dropped),
            end: state.end,
        };
        let first_end = news.end.filter(|_| !state.is_end_seen);
        state.is_end_seen |= first_end.is_some();
        (news, first_end)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{End, MAX_BYTES, Output};

    #[test]
    fn each_line_is_returned_once() {
        let output = Output::default();
        for (written, lines, partial) in [
            ("one\ntw", "one\n", "tw"),
            ("", "", "tw"),
            ("o", "", "two"),
            ("\n", "two\n", ""),
            ("$ ", "", "$ "),
        ] {
            output.push(written.as_bytes());
            let (news, end) = output.look();
            assert_eq!((&*news.lines, &*news.partial, end), (lines, partial, None));
        }
        let end = End { code: Some(0), signal: None };
        output.finish(end);
        let (news, first) = output.look();
        assert_eq!((&*news.lines, &*news.partial), ("$ ", ""));
        assert_eq!((news.end, first), (Some(end), Some(end)));
        assert_eq!(output.look().1, None);
    }

    #[test]
    fn oldest_output_is_dropped() {
        let output = Output::default();
        output.push(&vec![b'x'; MAX_BYTES]);
        output.push(b"12345\n");
        let (news, _) = output.look();
        assert_eq!((news.dropped, news.lines.len()), (6, MAX_BYTES));
        assert!(news.lines.ends_with("x12345\n"));
    }
}
