//! Fences, and code within a line: examples, or calls where nothing else follows.

use super::grammar::{Cursor, Strictness, calls_of, closed, may_be_call, python_calls};
use super::openers::{Hit, line_starts};
use super::{Formats, Found, Miss, Offered, Rest};
use crate::message::ToolCall;

/// The longest word behind a fence.
const LONGEST_INFO: usize = 40;
/// Words behind a fence that say that there is Python in it, to be run as a call.
const PYTHON: [&str; 3] = ["tool_code", "tool_call", "tool_calls"];

/// What a text is fenced with: the character, and how many of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    pub(super) len: usize,
}

impl Fence {
    /// The fence that `text` begins with.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mark = text.chars().next().filter(|c| "`~".contains(*c))?;
        Some(Self { mark, len: text.len() - text.trim_start_matches(mark).len() })
    }

    /// Whether it stands around lines, not within one.
    pub(super) fn is_block(self) -> bool {
        self.len >= 3
    }

    /// Whether this line ends what was fenced.
    pub(super) fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.len && line.chars().all(|c| c == self.mark)
    }

    /// Whether it may do so when there is more of it.
    pub(super) fn may_be_closed_by(self, line: &str) -> bool {
        line.trim().chars().all(|c| c == self.mark)
    }
}

/// The calls in the fence that `rest` begins with, which holds nothing else.
pub(super) fn read(
    formats: &Formats,
    offered: &Offered<'_>,
    rest: Rest<'_>,
) -> Result<Found, Miss> {
    let fence = Fence::of(rest.text).ok_or(Miss::Text)?;
    if fence.len == rest.text.len() {
        return Err(if rest.is_end { Miss::Text } else { Miss::More });
    }
    let inner = rest.text.get(fence.len..).unwrap_or_default();
    let (info, body) = if fence.is_block() { info(inner, rest.is_end)? } else { ("", inner) };
    let start = rest.text.len() - body.len();
    may_hold_calls(formats, offered, info, Rest::new(body, rest.is_end))?;
    let (body, end) = match fence.is_block() {
        true => block(fence, body, rest.is_end)?,
        false => within_line(fence, body, rest.is_end)?,
    };
    let calls = body_calls(formats, offered, info, body.trim()).ok_or(Miss::Text)?;
    Ok(Found::Calls { calls, end: start + end })
}

/// The word behind a fence, and what is fenced.
fn info(inner: &str, is_end: bool) -> Result<(&str, &str), Miss> {
    let word = inner.trim_start_matches(|c: char| c.is_alphanumeric() || "_-+. \t\r".contains(c));
    let info = inner.get(..inner.len() - word.len()).unwrap_or_default();
    match word.chars().next() {
        None if !is_end && info.len() < LONGEST_INFO => Err(Miss::More),
        Some('\n' | '{' | '[' | '<') if info.len() < LONGEST_INFO => Ok((info.trim(), word)),
        _ => Err(Miss::Text),
    }
}

/// Whether it is worth waiting for the end.
fn may_hold_calls(
    formats: &Formats,
    offered: &Offered<'_>,
    info: &str,
    body: Rest<'_>,
) -> Result<(), Miss> {
    let text = body.text.trim_start();
    if text.is_empty() {
        return Err(if body.is_end { Miss::Text } else { Miss::More });
    }
    let hit = Hit { at: 0, begins_line: true };
    let is_opened = || formats.openers.formats(text, hit).next().is_some();
    let is_begun = || !body.is_end && formats.openers.held(text, 0, true) == 0;
    let may = match text.starts_with(['{', '[']) {
        true => {
            may_be_call(text, offered, Strictness::Bare)
                || is_marked(formats, text)
                || may_be_python(text, offered, body.is_end)
        }
        false => PYTHON.contains(&info) || is_opened() || is_begun(),
    };
    if may { Ok(()) } else { Err(Miss::Text) }
}

/// Whether a list begins with the call of a tool that is offered.
fn may_be_python(text: &str, offered: &Offered<'_>, is_end: bool) -> bool {
    let Some(inner) = text.strip_prefix('[').map(str::trim_start) else { return false };
    let rest = inner.trim_start_matches(|c: char| c.is_alphanumeric() || "_-./".contains(c));
    let name = inner.get(..inner.len() - rest.len()).unwrap_or_default();
    match rest.is_empty() {
        true => !is_end,
        false => rest.starts_with('(') && offered.find(name).is_some(),
    }
}

fn is_marked(formats: &Formats, text: &str) -> bool {
    let hit = Hit { at: 0, begins_line: false };
    formats.openers.formats(text, hit).next().is_some() || formats.openers.held(text, 0, false) == 0
}

/// What stands before the line that ends the fence, and where that line ends.
fn block(fence: Fence, body: &str, is_end: bool) -> Result<(&str, usize), Miss> {
    for start in line_starts(body, 0).skip(1) {
        let rest = body.get(start..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        if fence.is_closed_by(line) {
            if line.len() == rest.len() && !is_end {
                return Err(Miss::More);
            }
            return Ok((body.get(..start).unwrap_or_default(), start + line.len()));
        }
    }
    if !is_end {
        return Err(Miss::More);
    }
    // No line ends it, but the last one may end with it.
    let words = body.trim_end();
    let inner = words.trim_end_matches(fence.mark);
    Ok((inner, body.len()))
}

fn within_line(fence: Fence, body: &str, is_end: bool) -> Result<(&str, usize), Miss> {
    let mark: String = std::iter::repeat_n(fence.mark, fence.len).collect();
    match body.find(&mark) {
        Some(at) if at + mark.len() < body.len() || is_end => {
            let behind = body.get(at + mark.len()..).unwrap_or_default();
            let is_alone = behind.split('\n').next().unwrap_or_default().trim().is_empty();
            let inner = body.get(..at).unwrap_or_default();
            if is_alone { Ok((inner, at + mark.len())) } else { Err(Miss::Text) }
        }
        _ if is_end => Err(Miss::Text),
        _ => Err(Miss::More),
    }
}

/// The calls that `body` is, and nothing else.
fn body_calls(
    formats: &Formats,
    offered: &Offered<'_>,
    info: &str,
    body: &str,
) -> Option<Vec<ToolCall>> {
    let mut calls = Vec::new();
    let mut at = 0;
    if PYTHON.contains(&info) {
        let mut cursor = Cursor::new(Rest::new(body, true));
        if let Ok(calls) = python_calls(&mut cursor, offered)
            && cursor.rest().trim().is_empty()
        {
            return Some(calls);
        }
    }
    while at < body.len() {
        let rest = body.get(at..)?;
        let hit = Hit { at, begins_line: true };
        let found = formats
            .openers
            .formats(body, hit)
            .find_map(|format| formats.get(format)?.read(Rest::new(rest, true), offered).ok());
        at += match found {
            Some(Found::Calls { calls: more, end }) if end > 0 => {
                calls.extend(more);
                end
            }
            _ if rest.starts_with(['{', '[']) => {
                let end = closed(rest, 0).unwrap_or(rest.len());
                calls.extend(calls_of(rest.get(..end)?, offered, Strictness::Bare)?);
                end
            }
            _ => return None,
        };
        let rest = body.get(at..)?;
        at = body.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', ',', ';']).len();
    }
    (!calls.is_empty()).then_some(calls)
}
