//! Trailing calls: formats that count as calls only at the end of the text.

use crate::drivers::text::format::checked_parse;
use crate::drivers::text::grammar::END_TOKENS;
use crate::drivers::text::quotation::fence;
use crate::drivers::text::search::marker_index::MarkerCandidate;
use crate::drivers::text::{Formats, Input, Match, NoMatch, ToolLookup};
use crate::message::ToolCall;

/// Trailing calls in a row, as far as they are parsed. When the text grows, only the last of them
/// is parsed again.
#[derive(Clone, Debug)]
pub(crate) struct TrailingCalls {
    calls: Vec<ToolCall>,
    /// The end of the last call.
    end: usize,
    /// The position where the next call may begin.
    at: usize,
}

#[derive(Debug)]
pub(crate) enum Trailing {
    Calls {
        calls: Vec<ToolCall>,
        end: usize,
    },
    /// Other text follows: everything before `end` is text.
    Text {
        end: usize,
    },
}

impl TrailingCalls {
    /// Starts at the position `at`.
    pub(crate) fn new(at: usize) -> Self {
        Self { calls: Vec::new(), end: at, at }
    }

    /// Parses the rest of the text.
    pub(crate) fn parse(
        &mut self,
        formats: &Formats,
        tools: &ToolLookup<'_>,
        text: &str,
        is_complete: bool,
    ) -> Result<Trailing, NoMatch> {
        loop {
            if !self.calls.is_empty() {
                self.at = skip_end_tokens(text, self.at, is_complete)?;
                if self.at == text.len() {
                    return Ok(Trailing::Calls {
                        calls: std::mem::take(&mut self.calls),
                        end: self.at,
                    });
                }
            }
            match parse_at(formats, tools, text, self.at, is_complete) {
                Ok(Match::Calls { calls: more, end: length }) => {
                    self.calls.extend(more);
                    self.end = self.at + length;
                    self.at = self.end;
                }
                Ok(Match::Text { end }) if self.calls.is_empty() => {
                    return Ok(Trailing::Text { end: self.at + end });
                }
                // Channels and reasoning are found by the scanner wherever they are.
                Ok(_) if self.calls.is_empty() => return Err(NoMatch::Text),
                Err(NoMatch::Incomplete) if !is_complete => return Err(NoMatch::Incomplete),
                Err(no_match) if self.calls.is_empty() => return Err(no_match),
                // More calls may follow.
                Err(_) if !is_complete && may_continue(formats, text, self.at) => {
                    return Err(NoMatch::Incomplete);
                }
                _ => return Ok(Trailing::Text { end: self.end }),
            }
        }
    }
}

fn may_continue(formats: &Formats, text: &str, at: usize) -> bool {
    formats.markers.is_partial_marker(text.get(at..).unwrap_or_default(), true)
}

/// Skips whitespace and end-of-turn tokens.
fn skip_end_tokens(text: &str, at: usize, is_complete: bool) -> Result<usize, NoMatch> {
    skip_tokens(text, at, is_complete, &END_TOKENS)
}

/// Skips whitespace and some of the end-of-turn tokens.
pub(crate) fn skip_tokens(
    text: &str,
    at: usize,
    is_complete: bool,
    tokens: &[&str],
) -> Result<usize, NoMatch> {
    let mut at = at;
    loop {
        let rest = text.get(at..).unwrap_or_default().trim_start();
        at = text.len() - rest.len();
        if let Some(token) = tokens.iter().find(|token| rest.starts_with(**token)) {
            at += token.len();
        } else if !is_complete && tokens.iter().any(|token| token.starts_with(rest)) {
            return Err(NoMatch::Incomplete);
        } else {
            return Ok(at);
        }
    }
}

fn parse_at(
    formats: &Formats,
    tools: &ToolLookup<'_>,
    text: &str,
    at: usize,
    is_complete: bool,
) -> Result<Match, NoMatch> {
    let input = Input::new(text.get(at..).unwrap_or_default(), is_complete);
    if input.text.starts_with(['`', '~']) {
        return fence::parse(formats, tools, input);
    }
    let mut no_match = NoMatch::Text;
    for format in formats.markers.formats_at(text, MarkerCandidate { at, at_line_start: true }) {
        let Some(format) = formats.get(format).filter(|format| format.only_at_end()) else {
            continue;
        };
        match checked_parse(format, input, tools) {
            Err(NoMatch::Incomplete) if !is_complete => return Err(NoMatch::Incomplete),
            Err(NoMatch::Malformed) => no_match = NoMatch::Malformed,
            Err(_) => {}
            found => return found,
        }
    }
    Err(no_match)
}
