//! The format of GLM: `<tool_call>NAME`, then `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>`
//! for each argument, and `</tool_call>`.
//!
//! GLM-4.5 and 4.6 write line breaks between the tags; later models write none. A call without
//! arguments is the bare name. Strings are raw text; other types are JSON.
//!
//! Models: GLM-4.5, 4.6, 4.7, 5.x.
//!
//! Source: vllm `glm4_moe_tool_parser.py`, `glm47_moe_tool_parser.py`, ollama
//! `model/parsers/glm46_test.go`.

use super::super::grammar::{
    ArgumentBuilder, ArgumentStart, Cursor, TagSet, TagState, ends_with_stray_tag, find_first,
    may_hold_tag, without_last_line_break, without_other_end_tag, without_partial_marker,
};
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use crate::tool::ToolDefinition;

const END: &str = "</tool_call>";
/// A line break between tags, which some models write as two characters.
const LINE: &str = "\\n";
const TAGS: TagSet = TagSet {
    wrappers: &[],
    wrapper_ends: &[],
    call: &["<tool_call>"],
    call_ends: &[END],
    argument: &["<arg_value>", "<arg_key>"],
    argument_ends: &["</arg_value>"],
};

#[derive(Debug)]
pub(crate) struct Glm;

impl Format for Glm {
    fn name(&self) -> &str {
        "glm"
    }

    fn start_markers(&self) -> &[StartMarker] {
        &[StartMarker::Anywhere("<tool_call>")]
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let mut cursor = Cursor::new(input);
        cursor.take(&["<tool_call>"])?;
        cursor.skip_blanks();
        let callee = tools.callee(cursor.name()?).ok_or(NoMatch::Text)?;
        let mut builder = ArgumentBuilder::new(callee.tool);
        let mut state = TagState::default();
        let is_complete = loop {
            cursor.take_all(&[LINE])?;
            if cursor.is_done()? {
                break false;
            }
            if cursor.take(&[END])? {
                break true;
            }
            if cursor.is_truncated_token(&[END, "<arg_key>"]) {
                cursor.skip_all();
                break false;
            }
            if !cursor.take(&["<arg_key>"])? {
                return Err(NoMatch::Malformed);
            }
            let Some(key) = key(&mut cursor)? else {
                cursor.skip_all();
                break false;
            };
            cursor.take_all(&[LINE])?;
            if cursor.is_truncated_token(&["<arg_value>"]) {
                cursor.skip_all();
                break false;
            }
            let has_tag = cursor.take(&["<arg_value>"])?;
            let Some(value) = value(&mut cursor, &mut state, callee.tool)? else {
                builder.truncated(
                    key.trim(),
                    without_partial_marker(cursor.rest(), TAGS.argument_ends),
                );
                cursor.skip_all();
                break false;
            };
            state.is_ambiguous |= !has_tag && may_hold_tag(value);
            // Text between the key and its value.
            if let Some((before, _)) = value.split_once("<arg_value>").filter(|_| !has_tag) {
                state.add_leftover(before);
            }
            state.is_ambiguous |= ends_with_stray_tag(value, key.trim(), callee.tool);
            builder.raw(key.trim(), value);
        };
        let call = state.call(callee, builder.finish(is_complete));
        TAGS.finish(cursor, vec![call], &state)
    }
}

/// Parses a key up to and including its end tag, or up to the tag of its value.
fn key<'t>(cursor: &mut Cursor<'t>) -> Result<Option<&'t str>, NoMatch> {
    const END: &str = "</arg_key>";
    let end = find_first(cursor.rest(), [END, "<arg_value>"].into_iter());
    let key = end.as_ref().and_then(|end| cursor.rest().get(..end.start));
    match end {
        Some(end) if cursor.rest().get(end.clone()) == Some(END) => cursor.skip(end.end),
        Some(end) => cursor.skip(end.start),
        None if !cursor.is_complete => return Err(NoMatch::Incomplete),
        None => {}
    }
    Ok(key)
}

/// Parses a value up to and including its end tag, with all calls inside it.
fn value<'t>(
    cursor: &mut Cursor<'t>,
    state: &mut TagState,
    tool: &ToolDefinition,
) -> Result<Option<&'t str>, NoMatch> {
    let is_value_end = |mut after: Cursor<'_>| {
        after.take_all(&[LINE])?;
        let next = ["<arg_key>", END];
        Ok(after.is_done()? || after.is_truncated_token(&next) || after.take(&next)?)
    };
    let begins = |after: Cursor<'_>| argument_start(after, tool);
    let Some(end) = TAGS.argument_end(cursor, state, is_value_end, begins)? else {
        return Ok(None);
    };
    let value = cursor.text.get(cursor.at..end.start);
    cursor.at = end.end;
    let value = value.map(|value| {
        if end.is_empty() { without_other_end_tag(without_last_line_break(value)) } else { value }
    });
    if let Some(value) = value.filter(|_| end.is_empty()) {
        state.is_ambiguous |= may_hold_tag(value);
    }
    state.add_argument_in(value.unwrap_or_default(), &TAGS, tool);
    Ok(value)
}

/// Returns what the tag of a key begins, judged by the key after it.
fn argument_start(mut after: Cursor<'_>, tool: &ToolDefinition) -> Result<ArgumentStart, NoMatch> {
    let key = match after.head('<') {
        Err(NoMatch::Text) => return Ok(ArgumentStart::None),
        Err(NoMatch::Incomplete) if after.is_complete => return Ok(ArgumentStart::Known),
        key => key?,
    };
    let is_key = after.take(&["/arg_key>"])?;
    Ok(if is_key { ArgumentStart::of(tool, key.trim()) } else { ArgumentStart::None })
}
