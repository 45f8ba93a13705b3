//! Tags around the calls of another format, such as `<tool_calls><tool_call>…`, and end tags
//! that are left over after a call.

use super::format::checked_parse;
use super::grammar::{Cursor, WRAPPERS, parse_json_calls};
use super::{Formats, Input, Match, NoMatch, ToolLookup};
use crate::drivers::text::search::marker_index::MarkerCandidate;

/// The nesting limit of tags around a call.
const MAX_WRAPPERS: usize = 3;
/// The end tags of calls, without which a call may be complete.
const END_TAGS: [&str; 5] =
    ["</invoke>", "</function>", "</parameter>", "<tool_call|>", "<|tool_call_end|>"];

/// Parses the calls that stand in one tag or several, which are no part of their format.
pub(crate) fn parse(
    formats: &Formats,
    tools: &ToolLookup<'_>,
    input: Input<'_>,
) -> Result<Match, NoMatch> {
    let mut cursor = Cursor::new(input);
    let mut starts = Vec::new();
    while starts.len() < MAX_WRAPPERS {
        let Some((start, _)) = WRAPPERS.iter().find(|(tag, _)| cursor.rest().starts_with(tag))
        else {
            break;
        };
        cursor.skip(start.len());
        cursor.skip_blanks();
        starts.push(cursor.at);
    }
    // A tag of the format itself may be taken for one around it.
    for start in starts {
        let input = Input::new(input.text.get(start..).unwrap_or_default(), input.is_complete)
            .with_line_start(true);
        if input.text.is_empty() && !input.is_complete {
            return Err(NoMatch::Incomplete);
        }
        if input.text.starts_with(['{', '[']) {
            let found = parse_json_calls(&mut Cursor::new(input), tools, &end_tags());
            match found {
                Ok(Match::Calls { calls, end }) => {
                    return Ok(Match::Calls { calls, end: start + end });
                }
                Err(NoMatch::Incomplete) if !input.is_complete => return Err(NoMatch::Incomplete),
                _ => {}
            }
        }
        let candidate = MarkerCandidate { at: 0, at_line_start: true };
        for format in formats.markers.formats_at(input.text, candidate) {
            let Some(format) = formats.get(format).filter(|format| !format.only_at_end()) else {
                continue;
            };
            match checked_parse(format, input, tools) {
                Ok(Match::Calls { calls, end }) if !calls.is_empty() => {
                    return Ok(Match::Calls { calls, end: start + end });
                }
                Err(NoMatch::Incomplete) if !input.is_complete => return Err(NoMatch::Incomplete),
                _ => {}
            }
        }
        if !input.is_complete && formats.markers.is_partial_marker(input.text, true) {
            return Err(NoMatch::Incomplete);
        }
    }
    Err(NoMatch::Text)
}

/// Skips end tags after a call, which belong to no other call. The end does not move if there is
/// none.
pub(crate) fn skip_end_tags(text: &str, end: usize, is_complete: bool) -> Result<usize, NoMatch> {
    let mut cursor = Cursor { text, at: end, is_complete };
    cursor.take_all_or_stay(&end_tags())?;
    Ok(cursor.at)
}

pub(crate) fn end_tags() -> Vec<&'static str> {
    WRAPPERS.iter().map(|(_, tag)| *tag).chain(END_TAGS).collect()
}
