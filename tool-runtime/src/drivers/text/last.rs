//! Calls that are calls only where the text ends with them.

use super::format::found;
use super::grammar::STOPS;
use super::openers::Hit;
use super::{Formats, Found, Miss, Offered, Rest, fence};
use crate::message::ToolCall;

/// Such calls in a row, as far as they are read: while the text grows, no further than the last of them
/// has to be read again.
#[derive(Clone, Debug)]
pub(super) struct Row {
    calls: Vec<ToolCall>,
    /// Behind the last call.
    end: usize,
    /// Where the next one may be.
    at: usize,
}

#[derive(Debug)]
pub(super) enum Last {
    Calls {
        calls: Vec<ToolCall>,
        end: usize,
    },
    /// The text goes on: up to here it is text.
    Text {
        end: usize,
    },
}

impl Row {
    /// From `at` on.
    pub(super) fn new(at: usize) -> Self {
        Self { calls: Vec::new(), end: at, at }
    }

    /// Reads on, to the end of the text.
    pub(super) fn read(
        &mut self,
        formats: &Formats,
        offered: &Offered<'_>,
        text: &str,
        is_end: bool,
    ) -> Result<Last, Miss> {
        loop {
            if !self.calls.is_empty() {
                self.at = skip_stops(text, self.at, is_end)?;
                if self.at == text.len() {
                    return Ok(Last::Calls {
                        calls: std::mem::take(&mut self.calls),
                        end: self.at,
                    });
                }
            }
            match one(formats, offered, text, self.at, is_end) {
                Ok(Found::Calls { calls: more, end: length }) => {
                    self.calls.extend(more);
                    self.end = self.at + length;
                    self.at = self.end;
                }
                Ok(Found::Text { end }) if self.calls.is_empty() => {
                    return Ok(Last::Text { end: self.at + end });
                }
                // What is thought is found wherever it stands.
                Ok(_) if self.calls.is_empty() => return Err(Miss::Text),
                Err(Miss::More) if !is_end => return Err(Miss::More),
                Err(miss) if self.calls.is_empty() => return Err(miss),
                // More of the kind may be on its way.
                Err(_) if !is_end && may_begin(formats, text, self.at) => return Err(Miss::More),
                _ => return Ok(Last::Text { end: self.end }),
            }
        }
    }
}

fn may_begin(formats: &Formats, text: &str, at: usize) -> bool {
    formats.openers.may_begin(text.get(at..).unwrap_or_default(), true)
}

/// Behind blanks, and what says that nothing follows.
pub(super) fn skip_stops(text: &str, at: usize, is_end: bool) -> Result<usize, Miss> {
    let mut at = at;
    loop {
        let rest = text.get(at..).unwrap_or_default().trim_start();
        at = text.len() - rest.len();
        if let Some(stop) = STOPS.iter().find(|stop| rest.starts_with(**stop)) {
            at += stop.len();
        } else if !is_end && STOPS.iter().any(|stop| stop.starts_with(rest)) {
            return Err(Miss::More);
        } else {
            return Ok(at);
        }
    }
}

fn one(
    formats: &Formats,
    offered: &Offered<'_>,
    text: &str,
    at: usize,
    is_end: bool,
) -> Result<Found, Miss> {
    let rest = Rest::new(text.get(at..).unwrap_or_default(), is_end);
    if rest.text.starts_with(['`', '~']) {
        return fence::read(formats, offered, rest);
    }
    let mut miss = Miss::Text;
    for format in formats.openers.formats(text, Hit { at, begins_line: true }) {
        let Some(format) = formats.get(format).filter(|format| format.is_last()) else { continue };
        match found(format, rest, offered) {
            Err(Miss::More) if !is_end => return Err(Miss::More),
            Err(Miss::Broken) => miss = Miss::Broken,
            Err(_) => {}
            found => return found,
        }
    }
    Err(miss)
}
