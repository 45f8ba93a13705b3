//! The format of MiniMax M3: the token `]<]minimax[>[` before every tag; `<tool_call>` with
//! `<invoke name="NAME">`, and in it `<KEY>VALUE</KEY>`.
//!
//! Tags inside a value are an object, and tags named `item` a list.
//!
//! Models: MiniMax M3.
//!
//! Source: sglang `minimax_m3.py`, ml-explore/mlx-lm#1416.

use serde_json::{Map, Value};

use crate::drivers::text::grammar::{
    ArgumentBuilder, ArgumentStart, Cursor, ends_with_stray_tag, may_hold_tag,
    without_last_line_break, without_partial_marker,
};
use crate::drivers::text::leftover::{add_leftover, other_attributes};
use crate::drivers::text::truncation::truncate;
use crate::drivers::text::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

const TOKEN: &str = "]<]minimax[>[";
const OPENER: &str = "]<]minimax[>[<tool_call>";
/// The nesting limit of tags.
const MAX_DEPTH: usize = 32;

#[derive(Debug)]
pub(crate) struct MinimaxM3;

impl Format for MinimaxM3 {
    fn name(&self) -> &str {
        "minimax_m3"
    }

    fn start_markers(&self) -> &[StartMarker] {
        &[StartMarker::Anywhere(OPENER)]
    }

    fn end_markers(&self) -> &[&str] {
        &["]<]minimax[>[</tool_call>"]
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let mut cursor = Cursor::new(input);
        cursor.take(&[OPENER])?;
        let mut calls = Vec::new();
        loop {
            let end = cursor.at;
            match tag(&mut cursor)? {
                Some(head) if head.starts_with("invoke ") => {
                    calls.push(call(&mut cursor, head, tools)?);
                }
                Some("/tool_call") => break,
                _ => {
                    cursor.at = end;
                    break;
                }
            }
        }
        if calls.is_empty() {
            Err(NoMatch::Text)
        } else {
            Ok(Match::Calls { calls, end: cursor.at })
        }
    }
}

/// Parses the next tag and returns what is between `<` and `>`.
fn tag<'t>(cursor: &mut Cursor<'t>) -> Result<Option<&'t str>, NoMatch> {
    cursor.skip_blanks();
    if cursor.is_truncated_token(&[TOKEN]) {
        cursor.skip_all();
    }
    if cursor.is_done()? || !cursor.take(&[TOKEN])? {
        return Ok(None);
    }
    if cursor.is_done()? || !cursor.take(&["<"])? {
        return Ok(None);
    }
    match cursor.head(">") {
        Err(NoMatch::Text) => Ok(None),
        // The tag is truncated.
        Err(_) if cursor.is_complete => {
            cursor.skip_all();
            Ok(None)
        }
        head => head.map(Some),
    }
}

fn call(cursor: &mut Cursor<'_>, head: &str, tools: &ToolLookup<'_>) -> Result<ToolCall, NoMatch> {
    let name = head.split('"').nth(1).ok_or(NoMatch::Text)?;
    let callee = tools.callee(name).ok_or(NoMatch::Text)?;
    let mut builder = ArgumentBuilder::new(callee.tool);
    let mut is_ambiguous = false;
    let is_complete = loop {
        let start = cursor.at;
        match tag(cursor)? {
            Some("/invoke") => break true,
            Some("/tool_call") => {
                cursor.at = start;
                break true;
            }
            // An end tag that was taken for a part of the value before, or is one.
            Some(end) if end.starts_with('/') => is_ambiguous = true,
            Some(key) => match argument(cursor, key, callee.tool, &mut is_ambiguous)? {
                (TagContent::Text(text), true) => {
                    is_ambiguous |= ends_with_stray_tag(text, key, callee.tool);
                    builder.raw(key, text);
                }
                (TagContent::Text(text), false) => {
                    builder.truncated(key, text);
                    break false;
                }
                (TagContent::Value(value), is_complete) => {
                    builder.json(key, &value.to_string());
                    if !is_complete {
                        break false;
                    }
                }
            },
            None if cursor.rest().trim().is_empty() => break false,
            None => return Err(NoMatch::Malformed),
        }
    };
    let arguments = builder.finish(is_complete);
    let arguments = if is_ambiguous { truncate(arguments, callee.tool) } else { arguments };
    let mut call = callee.call(arguments).ok_or(NoMatch::Malformed)?;
    add_leftover(&mut call, &other_attributes(head, |key| key == "name"));
    Ok(call)
}

/// Parses the value of an argument. Text ends at the end of the call, at the next argument, or at
/// an end tag of another name before them, if its own end tag is missing.
fn argument<'t>(
    cursor: &mut Cursor<'t>,
    key: &str,
    tool: &ToolDefinition,
    is_ambiguous: &mut bool,
) -> Result<(TagContent<'t>, bool), NoMatch> {
    let start = *cursor;
    let text = cursor.rest().find(TOKEN).and_then(|at| cursor.rest().get(..at));
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return element(cursor, key, MAX_DEPTH);
    };
    cursor.skip(text.len());
    let mut end = *cursor;
    let content = (TagContent::Text(text), true);
    let is_known = |head: &str| {
        let start = ArgumentStart::of(tool, head);
        !head.starts_with('/') && start == ArgumentStart::Known
    };
    match tag(&mut end)? {
        Some(head) if head.strip_prefix('/') == Some(key) => {
            *cursor = end;
            return Ok(content);
        }
        Some(head) if head == "/invoke" || is_known(head) => {
            *is_ambiguous |= may_hold_tag(text);
            return Ok((TagContent::Text(without_last_line_break(text)), true));
        }
        Some(head) if head.starts_with('/') => {
            let after = end;
            if tag(&mut end)?.is_some_and(|head| head == "/invoke" || is_known(head)) {
                *cursor = after;
                return Ok(content);
            }
        }
        Some(_) => {
            // A part of the value, or the next argument under a wrong name.
            *is_ambiguous = true;
            let mut whole = start;
            return match element(&mut whole, key, MAX_DEPTH) {
                Err(NoMatch::Text | NoMatch::Malformed) => Ok(content),
                Err(NoMatch::Incomplete) => Err(NoMatch::Incomplete),
                Ok(element) => {
                    *cursor = whole;
                    Ok(element)
                }
            };
        }
        None => {}
    }
    *cursor = start;
    element(cursor, key, MAX_DEPTH)
}

enum TagContent<'t> {
    Text(&'t str),
    Value(Value),
}

/// Parses the content of a tag up to and including its end tag, and returns whether the end tag is
/// there.
fn element<'t>(
    cursor: &mut Cursor<'t>,
    key: &str,
    depth: usize,
) -> Result<(TagContent<'t>, bool), NoMatch> {
    let depth = depth.checked_sub(1).ok_or(NoMatch::Malformed)?;
    let rest = cursor.rest();
    let Some(at) = rest.find(TOKEN) else {
        if !cursor.is_complete {
            return Err(NoMatch::Incomplete);
        }
        cursor.skip_all();
        return Ok((TagContent::Text(without_partial_marker(rest, &[TOKEN])), false));
    };
    let text = rest.get(..at).unwrap_or_default();
    cursor.skip(at);
    let end_marker = format!("/{key}");
    let (mut members, mut items) = (Map::new(), Vec::new());
    let (mut is_leaf, mut is_complete) = (true, true);
    loop {
        match tag(cursor)? {
            Some(head) if head == end_marker => break,
            Some(head) if !head.starts_with('/') => {
                is_leaf = false;
                let inner;
                (inner, is_complete) = element(cursor, head, depth)?;
                let value = match inner {
                    TagContent::Value(value) => value,
                    TagContent::Text(text) => leaf(text),
                };
                match head {
                    "item" => items.push(value),
                    head => _ = members.insert(head.to_owned(), value),
                }
                if !is_complete {
                    break;
                }
            }
            Some(_) => return Err(NoMatch::Malformed),
            None if cursor.rest().is_empty() => {
                is_complete = false;
                break;
            }
            None => return Err(NoMatch::Malformed),
        }
    }
    let element =
        if is_leaf { TagContent::Text(text) } else { TagContent::Value(nested(members, items)) };
    Ok((element, is_complete))
}

fn nested(members: Map<String, Value>, items: Vec<Value>) -> Value {
    if members.is_empty() { items.into() } else { members.into() }
}

/// Converts the content of a nested tag. The schema is not consulted here; the repair applies it.
fn leaf(text: &str) -> Value {
    match serde_json::from_str(text.trim()) {
        Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => value,
        _ => text.into(),
    }
}
