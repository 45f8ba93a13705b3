//! The grammar of formats with a tool's name and a JSON object after a marker.

use super::super::callee::Callee;
use super::super::leftover::add_leftover;
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use super::json::marker_strs;
use super::{Cursor, text_before_any, value_end};
use crate::message::ToolCall;

/// A format whose calls are a name and an object.
#[derive(Debug)]
pub(crate) struct NamedFormat {
    pub(crate) name: &'static str,
    pub(crate) start_markers: &'static [StartMarker],
    /// Markers that may precede the name, also after the start marker. Each call has its own start
    /// marker.
    pub(crate) begins: &'static [&'static str],
    /// Markers between the name and the object. An empty one means that none is required.
    pub(crate) between: &'static [&'static str],
    /// Markers that may follow the object.
    pub(crate) ends: &'static [&'static str],
    /// The markers around all calls of a reply, if the format has some. They are among `begins` and
    /// `ends`.
    pub(crate) section: Option<Section>,
}

/// The markers around the calls of a reply. Between them stand calls alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(crate) begins: &'static [&'static str],
    pub(crate) ends: &'static [&'static str],
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
        let start = cursor;
        let mut call = match self.call(&mut cursor, tools) {
            Err(NoMatch::Text) => {
                cursor = start;
                let before = self.text_before_call(&mut cursor)?;
                cursor.take_all(self.begins)?;
                let mut call = self.call(&mut cursor, tools)?;
                add_leftover(&mut call, before);
                call
            }
            found => found?,
        };
        let end = cursor.at;
        cursor.take_all(self.ends)?;
        let ends = cursor.since(end).trim_end();
        let end = match self.text_after_call(ends, &mut cursor)? {
            None => end + ends.len(),
            Some(after) => {
                add_leftover(&mut call, after);
                cursor.at
            }
        };
        Ok(Match::Calls { calls: vec![call], end })
    }
}

impl NamedFormat {
    /// Skips the text between the marker that begins a section and the marker of its first call.
    fn text_before_call<'t>(&self, cursor: &mut Cursor<'t>) -> Result<&'t str, NoMatch> {
        let section = self.section.ok_or(NoMatch::Text)?;
        let is_begun = section.begins.iter().any(|begin| cursor.text.starts_with(begin));
        let text = if is_begun { cursor.skip_to(self.begins)? } else { None };
        text.ok_or(NoMatch::Text)
    }

    /// Skips the text between the end of a call and the next marker of its section. `ends` are the
    /// markers after the call.
    fn text_after_call<'t>(
        &self,
        ends: &str,
        cursor: &mut Cursor<'t>,
    ) -> Result<Option<&'t str>, NoMatch> {
        let Some(section) = self.section else { return Ok(None) };
        if ends.is_empty() || section.ends.iter().any(|end| ends.contains(end)) {
            return Ok(None);
        }
        let markers: Vec<_> = self.begins.iter().chain(section.ends).copied().collect();
        let mut next = *cursor;
        let Some(text) = next.skip_to(&markers)? else { return Ok(None) };
        // A section that begins here is another one: the last one was not closed.
        let is_next = section.begins.iter().any(|begin| next.rest().starts_with(begin));
        if is_next || text.trim().is_empty() {
            return Ok(None);
        }
        *cursor = next;
        cursor.take_all_or_stay(self.ends)?;
        Ok(Some(text))
    }

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
