//! Calls that are calls only where the text ends with them.

use super::grammar::STOPS;
use super::openers::Hit;
use super::{Formats, Found, Miss, Offered, Rest, fence};
use crate::message::ToolCall;

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

/// What stands at `at`, and all that follows.
pub(super) fn read(
    formats: &Formats,
    offered: &Offered<'_>,
    text: &str,
    at: usize,
    is_end: bool,
) -> Result<Last, Miss> {
    let mut calls = Vec::new();
    let mut at = at;
    let mut end = at;
    loop {
        match one(formats, offered, text, at, is_end) {
            Ok(Found::Calls { calls: more, end: length }) => {
                calls.extend(more);
                end = at + length;
            }
            Err(Miss::More) if !is_end => return Err(Miss::More),
            Err(miss) if calls.is_empty() => return Err(miss),
            // More of the kind may be on its way.
            Err(_) if !is_end && formats.openers.held(text, at, true) == at => {
                return Err(Miss::More);
            }
            _ => return Ok(Last::Text { end }),
        }
        at = skip_stops(text, end, is_end)?;
        if at == text.len() {
            return Ok(Last::Calls { calls, end: at });
        }
    }
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
        match format.read(rest, offered) {
            Err(Miss::More) if !is_end => return Err(Miss::More),
            Err(Miss::Broken) => miss = Miss::Broken,
            Err(_) => {}
            found => return found,
        }
    }
    Err(miss)
}
