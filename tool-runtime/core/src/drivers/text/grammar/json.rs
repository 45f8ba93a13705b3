//! The grammar of formats with JSON after a marker.

use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use super::{Cursor, Strictness, may_be_call, parse_calls, text_before_any, value_end};

/// A format whose calls are objects, or lists of objects, after a start marker.
#[derive(Debug)]
pub(crate) struct JsonFormat {
    pub(crate) name: &'static str,
    pub(crate) start_markers: &'static [StartMarker],
    /// End markers, which may be missing.
    pub(crate) ends: &'static [&'static str],
}

impl Format for JsonFormat {
    fn name(&self) -> &str {
        self.name
    }

    fn start_markers(&self) -> &[StartMarker] {
        self.start_markers
    }

    fn end_markers(&self) -> &[&str] {
        self.ends
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let mut cursor = Cursor::new(input);
        let start_markers = marker_strs(self.start_markers);
        // A repeated tag, or an empty pair of tags.
        cursor.take_all(&[start_markers.as_slice(), self.ends].concat())?;
        let found = parse_json_calls(&mut cursor, tools, self.ends)?;
        let Match::Calls { calls, end } = found else { return Ok(found) };
        cursor.at = end;
        while let Some(end) = empty_pair(cursor, &start_markers, self.ends)? {
            cursor.at = end;
        }
        Ok(Match::Calls { calls, end: cursor.at })
    }
}

/// Returns the end of an empty pair of tags, if one comes next, or of a start marker that ends the
/// text.
fn empty_pair(
    mut cursor: Cursor<'_>,
    start_markers: &[&str],
    ends: &[&str],
) -> Result<Option<usize>, NoMatch> {
    cursor.skip_blanks();
    if cursor.is_done()? || !cursor.take(start_markers)? {
        return Ok(None);
    }
    cursor.skip_blanks();
    Ok((cursor.is_done()? || cursor.take(ends)?).then_some(cursor.at))
}

/// Returns the texts of start markers.
pub(crate) fn marker_strs(start_markers: &[StartMarker]) -> Vec<&'static str> {
    start_markers.iter().map(StartMarker::as_str).collect()
}

/// Parses objects or lists, with or without separators, up to one of `ends`.
pub(crate) fn parse_json_calls(
    cursor: &mut Cursor<'_>,
    tools: &ToolLookup<'_>,
    ends: &[&str],
) -> Result<Match, NoMatch> {
    let mut calls = Vec::new();
    // The end of the last call.
    let mut end = 0;
    loop {
        cursor.take_all(&[",", ";", "```json", "```"])?;
        if cursor.is_done()? {
            break;
        }
        if cursor.take(ends)? {
            cursor.take_all_or_stay(ends)?;
            end = cursor.at;
            break;
        }
        if !cursor.rest().starts_with(['{', '[']) {
            break;
        }
        let rest = cursor.rest();
        if !may_be_call(Input::new(rest, cursor.is_complete), tools, Strictness::Marked) {
            if calls.is_empty() {
                return Err(NoMatch::Text);
            }
            break;
        }
        let (body, is_value_complete) = match value_end(rest, 0, cursor.is_complete) {
            Some(end) => (rest.get(..end).unwrap_or_default(), true),
            None if !cursor.is_complete => return Err(NoMatch::Incomplete),
            None => (text_before_any(rest, ends), false),
        };
        match parse_calls(body, tools, Strictness::Marked) {
            Some(more) => calls.extend(more),
            None if calls.is_empty() => return Err(NoMatch::Malformed),
            None => break,
        }
        cursor.skip(body.len());
        if is_value_complete {
            // Surplus closing brackets: the value that they close is complete.
            cursor.take_all_or_stay(&["}"])?;
        }
        end = cursor.at;
        if !is_value_complete {
            cursor.take_all(ends)?;
            end = cursor.at;
            break;
        }
    }
    if calls.is_empty() {
        return Err(NoMatch::Text);
    }
    Ok(Match::Calls { calls, end })
}
