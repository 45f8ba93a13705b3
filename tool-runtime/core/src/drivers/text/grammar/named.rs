//! The grammar of formats with a tool's name and a JSON object after a marker.

use super::super::callee::Callee;
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use super::json::marker_strs;
use super::{Cursor, text_before_any, value_end};
use crate::message::ToolCall;

/// A format whose calls are a name and an object.
#[derive(Debug)]
pub(in crate::drivers::text) struct NamedFormat {
    pub(in crate::drivers::text) name: &'static str,
    pub(in crate::drivers::text) start_markers: &'static [StartMarker],
    /// Markers that may precede the name, also after the start marker. Each call has its own start
    /// marker.
    pub(in crate::drivers::text) begins: &'static [&'static str],
    /// Markers between the name and the object. An empty one means that none is required.
    pub(in crate::drivers::text) between: &'static [&'static str],
    /// Markers that may follow the object.
    pub(in crate::drivers::text) ends: &'static [&'static str],
}

impl Format for NamedFormat {
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
        cursor.take(&marker_strs(self.start_markers))?;
        cursor.take_all(self.begins)?;
        let call = self.call(&mut cursor, tools)?;
        let end = cursor.at;
        cursor.take_all(self.ends)?;
        let end = end + cursor.since(end).trim_end().len();
        Ok(Match::Calls { calls: vec![call], end })
    }
}

impl NamedFormat {
    fn call(&self, cursor: &mut Cursor<'_>, tools: &ToolLookup<'_>) -> Result<ToolCall, NoMatch> {
        let name = cursor.name()?;
        // Kimi numbers its calls after the name.
        let tool = match (tools.find(name), name.rsplit_once(':')) {
            (Some(tool), _) => Some(Callee::offered(tool)),
            (None, Some((name, _))) => tools.callee(name),
            (None, None) => tools.callee(name),
        };
        let tool = tool.ok_or(NoMatch::Text)?;
        cursor.skip_blanks();
        cursor.is_done()?;
        // Some of Mistral's templates write the id of the call.
        if cursor.take(&["[CALL_ID]"])? {
            cursor.name()?;
        }
        let name_end = cursor.at;
        skip_truncated_token(cursor, self.between);
        if !cursor.is_done()? && !cursor.take(self.between)? {
            return Err(NoMatch::Text);
        }
        if cursor.at == name_end && !tool.is_offered && cursor.is_done()? {
            // The name of an unknown tool, truncated or not, or prose.
            return Err(NoMatch::Text);
        }
        cursor.skip_blanks();
        skip_truncated_token(cursor, &["```json"]);
        cursor.take_all(&["```json", "```"])?;
        skip_truncated_token(cursor, self.ends);
        if cursor.is_done()? {
            // Truncated before the arguments began.
            return tool.call("{".to_owned()).ok_or(NoMatch::Malformed);
        }
        if (Cursor { ..*cursor }).take(self.ends)? {
            return tool.call("{}".to_owned()).ok_or(NoMatch::Malformed);
        }
        let rest = cursor.rest();
        if !rest.starts_with('{') {
            return Err(NoMatch::Text);
        }
        let body = match value_end(rest, 0, cursor.is_complete) {
            Some(end) => rest.get(..end).unwrap_or_default(),
            None if !cursor.is_complete => return Err(NoMatch::Incomplete),
            None => text_before_any(rest, self.ends).trim_end(),
        };
        cursor.skip(body.len());
        cursor.take_all(&["```"])?;
        tool.call(body.to_owned()).ok_or(NoMatch::Malformed)
    }
}

/// Skips one of `tokens` in which the text ends.
fn skip_truncated_token(cursor: &mut Cursor<'_>, tokens: &[&str]) {
    if cursor.is_truncated_token(tokens) {
        cursor.skip_all();
    }
}
