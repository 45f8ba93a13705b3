//! Fences, and code within a line: examples, or calls where nothing else follows.

use std::ops::Range;

use memchr::{memchr, memrchr};

use super::format::found;
use super::grammar::{Cursor, Strictness, calls_of, closed, may_be_call, python_calls};
use super::openers::Hit;
use super::{Formats, Found, Miss, Offered, Rest};
use crate::message::ToolCall;

/// The longest word behind a fence.
const LONGEST_INFO: usize = 40;
/// Words behind a fence that say that there is Python in it, to be run as a call.
const PYTHON: [&str; 3] = ["tool_code", "tool_call", "tool_calls"];

/// What a text is fenced with: the character, and how many of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    mark: u8,
    pub(super) len: usize,
}

impl Fence {
    /// The fence that `text` begins with.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mark = text.bytes().next().filter(|byte| b"`~".contains(byte))?;
        Some(Self { mark, len: run(mark, text.as_bytes()) })
    }

    /// Whether it stands around lines, not within one.
    pub(super) fn is_block(self) -> bool {
        self.len >= 3
    }

    /// Whether the line that `text` begins with opens it: code within a line has its marks there too.
    pub(super) fn is_opened_by(self, text: &str) -> bool {
        let bytes = text.as_bytes().get(self.len..).unwrap_or_default();
        let line = bytes.get(..memchr(b'\n', bytes).unwrap_or(bytes.len()));
        line.is_some_and(|line| memchr(b'`', line).is_none())
    }

    /// The line that ends what was fenced, if it does: the first one behind `from` with nothing on it but
    /// as many marks as began it, or more.
    pub(super) fn closing(self, text: &str, from: usize) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let mut at = from;
        loop {
            at += memchr(self.mark, bytes.get(at..)?)?;
            let marks = run(self.mark, bytes.get(at..)?);
            let before = bytes.get(from..at)?;
            let last = before.iter().rposition(|byte| !b" \t".contains(byte));
            if marks >= self.len
                && let Some(line) = last.filter(|last| before.get(*last) == Some(&b'\n'))
            {
                let behind = bytes.get(at + marks..)?;
                let behind = behind.get(..memchr(b'\n', behind).unwrap_or(behind.len()))?;
                if behind.trim_ascii().is_empty() {
                    return Some(from + line + 1..at + marks + behind.len());
                }
            }
            at += marks;
        }
    }

    /// Of what is behind the fence, that which it holds: what it doesn't is not to be taken for the rest of a string.
    fn inner(self, body: Rest<'_>) -> Rest<'_> {
        let end = match self.is_block() {
            true => self
                .closing(body.text, 0)
                .filter(|line| line.end < body.text.len() || body.is_end)
                .map(|line| line.start),
            false => body.text.find(char::from(self.mark)),
        };
        match end {
            Some(end) => Rest::new(body.text.get(..end).unwrap_or_default(), true),
            None => body,
        }
    }

    /// Up to where what stands behind `from` is fenced for sure, and whether it ends there.
    pub(super) fn part(self, text: &str, from: usize, is_end: bool) -> (usize, bool) {
        match self.closing(text, from) {
            Some(line) if is_end || line.end < text.len() => (line.end, true),
            _ if is_end => (text.len(), false),
            _ => {
                let rest = text.as_bytes().get(from..).unwrap_or_default();
                let line = memrchr(b'\n', rest).map(|at| from + at);
                let may_close = |at: &usize| {
                    let line = text.get(*at..).unwrap_or_default();
                    line.trim().bytes().all(|byte| byte == self.mark)
                };
                (line.filter(may_close).unwrap_or(text.len()), false)
            }
        }
    }
}

/// How many of `mark` come first.
fn run(mark: u8, bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == mark).count()
}

/// Where the lines end that are fenced here, if what follows them says that they hold no calls: most of them, told
/// without a look at what they hold.
pub(super) fn example(formats: &Formats, text: &str, hit: Hit) -> Option<usize> {
    let rest = text.get(hit.at..)?;
    let fence = Fence::of(rest).filter(|fence| fence.is_block() && fence.is_opened_by(rest))?;
    let end = fence.closing(text, hit.at + fence.len)?.end;
    let behind = text.get(end..)?.trim_start();
    let may_go_on = behind.is_empty() || formats.openers.may_open(behind);
    let is_opener = || formats.openers.formats(text, hit).next().is_some();
    if may_go_on || is_opener() { None } else { Some(end) }
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
    may_hold_calls(formats, offered, fence, info, Rest::new(body, rest.is_end))?;
    let (body, end) = match fence.is_block() {
        true => block(fence, body, rest.is_end)?,
        false => within_line(fence, body, rest.is_end)?,
    };
    let calls = body_calls(formats, offered, info, body.trim()).ok_or(Miss::Text)?;
    Ok(Found::Calls { calls, end: start + end })
}

/// The word behind a fence, and what is fenced.
fn info(inner: &str, is_end: bool) -> Result<(&str, &str), Miss> {
    let is_of_info =
        |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_-+. \t\r".contains(&byte);
    let end = inner.bytes().take(LONGEST_INFO).position(|byte| !is_of_info(byte));
    match end.and_then(|end| inner.split_at_checked(end)) {
        Some((info, body)) if body.starts_with(['\n', '{', '[', '<']) => Ok((info.trim(), body)),
        None if !is_end && inner.len() < LONGEST_INFO => Err(Miss::More),
        _ => Err(Miss::Text),
    }
}

/// Whether it is worth waiting for the end.
fn may_hold_calls(
    formats: &Formats,
    offered: &Offered<'_>,
    fence: Fence,
    info: &str,
    body: Rest<'_>,
) -> Result<(), Miss> {
    let text = body.text.trim_start();
    if text.is_empty() {
        return Err(if body.is_end { Miss::Text } else { Miss::More });
    }
    let is_marked = |begins_line: bool| {
        formats.openers.formats(text, Hit { at: 0, begins_line }).next().is_some()
            || !body.is_end && formats.openers.may_begin(text, begins_line)
    };
    let may = match text.starts_with(['{', '[']) {
        true => {
            may_be_call(fence.inner(Rest::new(text, body.is_end)), offered, Strictness::Bare)
                || is_marked(false)
                || may_be_python(text, offered, body.is_end)
        }
        false => is_marked(true) || PYTHON.contains(&info),
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

/// What stands before the line that ends the fence, and where that line ends.
fn block(fence: Fence, body: &str, is_end: bool) -> Result<(&str, usize), Miss> {
    match fence.closing(body, 0) {
        Some(line) if line.end < body.len() || is_end => {
            Ok((body.get(..line.start).unwrap_or_default(), line.end))
        }
        _ if !is_end => Err(Miss::More),
        // No line ends it, but the last one may end with it.
        _ => Ok((body.trim_end().trim_end_matches(char::from(fence.mark)), body.len())),
    }
}

fn within_line(fence: Fence, body: &str, is_end: bool) -> Result<(&str, usize), Miss> {
    let mark = char::from(fence.mark).to_string().repeat(fence.len);
    match body.find(&mark) {
        Some(at) if at + mark.len() < body.len() || is_end => {
            let inner = body.get(..at).unwrap_or_default();
            let behind = body.get(at + mark.len()..).unwrap_or_default();
            let line = behind.split('\n').next().unwrap_or_default();
            match line.trim().is_empty() {
                // More may follow on it.
                true if line.len() == behind.len() && !is_end => Err(Miss::More),
                true => Ok((inner, at + mark.len())),
                false => Err(Miss::Text),
            }
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
        let read = formats
            .openers
            .formats(body, hit)
            .find_map(|format| found(formats.get(format)?, Rest::new(rest, true), offered).ok());
        at += match read {
            Some(Found::Calls { calls: more, end }) => {
                calls.extend(more);
                end
            }
            _ if rest.starts_with(['{', '[']) => {
                let end = closed(rest, 0, true).unwrap_or(rest.len());
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
