//! Code fences and inline code, which hold an example, or calls if nothing else follows.

use std::ops::Range;

use memchr::{memchr, memrchr};

use crate::drivers::text::format::checked_parse;
use crate::drivers::text::grammar::{
    Cursor, Strictness, may_be_call, parse_calls, parse_python_calls, value_end,
};
use crate::drivers::text::search::marker_index::MarkerCandidate;
use crate::drivers::text::{Formats, Input, Match, NoMatch, ToolLookup};
use crate::message::ToolCall;

/// The longest info string of a fence, in bytes.
const MAX_INFO_LEN: usize = 40;
/// Info strings of fences that hold Python calls.
const PYTHON: [&str; 3] = ["tool_code", "tool_call", "tool_calls"];

/// A fence: its character, and how often it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    mark: u8,
    pub(crate) len: usize,
}

impl Fence {
    /// Returns the fence at the beginning of `text`.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let mark = text.bytes().next().filter(|byte| b"`~".contains(byte))?;
        Some(Self { mark, len: run_len(mark, text.as_bytes()) })
    }

    /// Returns true for a fence around lines, and false for inline code.
    pub(crate) fn is_block(self) -> bool {
        self.len >= 3
    }

    /// Returns true if the first line of `text` opens a block. A line with further backticks is
    /// inline code.
    pub(crate) fn is_opened_by(self, text: &str) -> bool {
        let bytes = text.as_bytes().get(self.len..).unwrap_or_default();
        let line = bytes.get(..memchr(b'\n', bytes).unwrap_or(bytes.len()));
        line.is_some_and(|line| memchr(b'`', line).is_none())
    }

    /// Returns the closing line: the first line after `from` that holds only whitespace and at
    /// least as many marks as the opening fence.
    pub(crate) fn closing_line(self, text: &str, from: usize) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let mut at = from;
        loop {
            at += memchr(self.mark, bytes.get(at..)?)?;
            let marks = run_len(self.mark, bytes.get(at..)?);
            let before = bytes.get(from..at)?;
            let last = before.iter().rposition(|byte| !b" \t".contains(byte));
            if marks >= self.len
                && let Some(line) = last.filter(|last| before.get(*last) == Some(&b'\n'))
            {
                let after = bytes.get(at + marks..)?;
                let after = after.get(..memchr(b'\n', after).unwrap_or(after.len()))?;
                if after.trim_ascii().is_empty() {
                    return Some(from + line + 1..at + marks + after.len());
                }
            }
            at += marks;
        }
    }

    /// Returns the fence that is open after `text`, which follows an open fence or none.
    pub(crate) fn open_after(open: Option<Self>, text: &str) -> Option<Self> {
        let mut open = open;
        for line in text.lines() {
            let line = line.trim_start();
            match open {
                Some(fence) => {
                    let marks = run_len(fence.mark, line.as_bytes());
                    let is_closing = marks >= fence.len
                        && line.get(marks..).is_some_and(|rest| rest.trim().is_empty());
                    open = open.filter(|_| !is_closing);
                }
                None => {
                    open =
                        Self::of(line).filter(|fence| fence.is_block() && fence.is_opened_by(line));
                }
            }
        }
        open
    }

    /// Returns the content of the fence in `body`, so that text after the fence is not parsed as
    /// the rest of a string.
    fn content(self, body: Input<'_>) -> Input<'_> {
        let end = if self.is_block() {
            self.closing_line(body.text, 0)
                .filter(|line| line.end < body.text.len() || body.is_complete)
                .map(|line| line.start)
        } else {
            body.text.find(char::from(self.mark))
        };
        match end {
            Some(end) => Input::new(body.text.get(..end).unwrap_or_default(), true),
            None => body,
        }
    }

    /// Returns the end of the text after `from` that certainly is inside the fence, and whether the
    /// fence is closed there.
    pub(crate) fn content_end(self, text: &str, from: usize, is_complete: bool) -> (usize, bool) {
        match self.closing_line(text, from) {
            Some(line) if is_complete || line.end < text.len() => (line.end, true),
            _ if is_complete => (text.len(), false),
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

/// Returns the number of leading `mark` bytes.
fn run_len(mark: u8, bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == mark).count()
}

/// Returns the end of a fenced block if the text after it shows that the block is an example. This
/// handles most fences without parsing their content.
pub(crate) fn example_end(
    formats: &Formats,
    text: &str,
    candidate: MarkerCandidate,
) -> Option<usize> {
    let rest = text.get(candidate.at..)?;
    let fence = Fence::of(rest).filter(|fence| fence.is_block() && fence.is_opened_by(rest))?;
    let end = fence.closing_line(text, candidate.at + fence.len)?.end;
    let after = text.get(end..)?.trim_start();
    let may_hold_calls = after.is_empty() || formats.markers.may_open(after);
    let has_format = || formats.markers.formats_at(text, candidate).next().is_some();
    if may_hold_calls || has_format() { None } else { Some(end) }
}

/// Parses the calls in the fence at the beginning of `input`. A fence with any other content has no
/// calls.
pub(crate) fn parse(
    formats: &Formats,
    tools: &ToolLookup<'_>,
    input: Input<'_>,
) -> Result<Match, NoMatch> {
    let fence = Fence::of(input.text).ok_or(NoMatch::Text)?;
    if fence.len == input.text.len() {
        return Err(if input.is_complete { NoMatch::Text } else { NoMatch::Incomplete });
    }
    let inner = input.text.get(fence.len..).unwrap_or_default();
    let (info, body) =
        if fence.is_block() { split_info(inner, input.is_complete)? } else { ("", inner) };
    let start = input.text.len() - body.len();
    may_hold_calls(formats, tools, fence, info, Input::new(body, input.is_complete))?;
    let (body, end) = if fence.is_block() {
        block_body(fence, body, input.is_complete)?
    } else {
        inline_body(fence, body, input.is_complete)?
    };
    let calls = parse_body(formats, tools, info, body.trim()).ok_or(NoMatch::Text)?;
    Ok(Match::Calls { calls, end: start + end })
}

/// Splits the info string from the content.
fn split_info(inner: &str, is_complete: bool) -> Result<(&str, &str), NoMatch> {
    let is_of_info =
        |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_-+. \t\r".contains(&byte);
    let end = inner.bytes().take(MAX_INFO_LEN).position(|byte| !is_of_info(byte));
    match end.and_then(|end| inner.split_at_checked(end)) {
        Some((info, body)) if body.starts_with(['\n', '{', '[', '<']) => Ok((info.trim(), body)),
        None if !is_complete && inner.len() < MAX_INFO_LEN => Err(NoMatch::Incomplete),
        _ => Err(NoMatch::Text),
    }
}

/// Checks whether the content may be calls, so that it is worth waiting for the end of the fence.
fn may_hold_calls(
    formats: &Formats,
    tools: &ToolLookup<'_>,
    fence: Fence,
    info: &str,
    body: Input<'_>,
) -> Result<(), NoMatch> {
    let text = body.text.trim_start();
    if text.is_empty() {
        return Err(if body.is_complete { NoMatch::Text } else { NoMatch::Incomplete });
    }
    let is_marked = |at_line_start: bool| {
        formats.markers.formats_at(text, MarkerCandidate { at: 0, at_line_start }).next().is_some()
            || !body.is_complete && formats.markers.is_partial_marker(text, at_line_start)
    };
    let is_likely_call = if text.starts_with(['{', '[']) {
        may_be_call(fence.content(Input::new(text, body.is_complete)), tools, Strictness::Bare)
            || is_marked(false)
            || may_be_python_list(text, tools, body.is_complete)
    } else {
        is_marked(true) || PYTHON.contains(&info)
    };
    if is_likely_call { Ok(()) } else { Err(NoMatch::Text) }
}

/// Returns true if a list begins with a Python call of an offered tool.
fn may_be_python_list(text: &str, tools: &ToolLookup<'_>, is_complete: bool) -> bool {
    let Some(inner) = text.strip_prefix('[').map(str::trim_start) else { return false };
    let rest = inner.trim_start_matches(|c: char| c.is_alphanumeric() || "_-./".contains(c));
    let name = inner.get(..inner.len() - rest.len()).unwrap_or_default();
    if rest.is_empty() {
        !is_complete
    } else {
        rest.starts_with('(') && tools.callee(name).is_some()
    }
}

/// Returns the content of a block, and the end of its closing line.
fn block_body(fence: Fence, body: &str, is_complete: bool) -> Result<(&str, usize), NoMatch> {
    match fence.closing_line(body, 0) {
        Some(line) if line.end < body.len() || is_complete => {
            Ok((body.get(..line.start).unwrap_or_default(), line.end))
        }
        _ if !is_complete => Err(NoMatch::Incomplete),
        // Without a closing line, the last line may end with the marks.
        _ => Ok((body.trim_end().trim_end_matches(char::from(fence.mark)), body.len())),
    }
}

fn inline_body(fence: Fence, body: &str, is_complete: bool) -> Result<(&str, usize), NoMatch> {
    let mark = char::from(fence.mark).to_string().repeat(fence.len);
    match body.find(&mark) {
        Some(at) if at + mark.len() < body.len() || is_complete => {
            let inner = body.get(..at).unwrap_or_default();
            let after = body.get(at + mark.len()..).unwrap_or_default();
            let line = after.split('\n').next().unwrap_or_default();
            if !line.trim().is_empty() {
                Err(NoMatch::Text)
            } else if line.len() == after.len() && !is_complete {
                // More text may follow on the line.
                Err(NoMatch::Incomplete)
            } else {
                Ok((inner, at + mark.len()))
            }
        }
        _ if is_complete => Err(NoMatch::Text),
        _ => Err(NoMatch::Incomplete),
    }
}

/// Parses the calls that `body` consists of.
fn parse_body(
    formats: &Formats,
    tools: &ToolLookup<'_>,
    info: &str,
    body: &str,
) -> Option<Vec<ToolCall>> {
    let mut calls = Vec::new();
    let mut at = 0;
    if PYTHON.contains(&info) {
        let mut cursor = Cursor::new(Input::new(body, true));
        if let Ok(calls) = parse_python_calls(&mut cursor, tools, Strictness::Marked)
            && cursor.rest().trim().is_empty()
        {
            return Some(calls);
        }
    }
    while at < body.len() {
        let rest = body.get(at..)?;
        let candidate = MarkerCandidate { at, at_line_start: true };
        let parsed = formats.markers.formats_at(body, candidate).find_map(|format| {
            checked_parse(formats.get(format)?, Input::new(rest, true), tools).ok()
        });
        at += match parsed {
            Some(Match::Calls { calls: more, end }) => {
                calls.extend(more);
                end
            }
            _ if rest.starts_with(['{', '[']) => {
                let end = value_end(rest, 0, true).unwrap_or(rest.len());
                calls.extend(parse_calls(rest.get(..end)?, tools, Strictness::Bare)?);
                end
            }
            _ => return None,
        };
        let rest = body.get(at..)?;
        at = body.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', ',', ';']).len();
    }
    (!calls.is_empty()).then_some(calls)
}
