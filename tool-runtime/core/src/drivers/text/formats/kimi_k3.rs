//! The format of Kimi K3: the channels `think`, `response` and `tools`, each from
//! `<|open|>NAME<|sep|>` to `<|close|>NAME<|sep|>`.
//!
//! A call is `<|open|>call tool="NAME" index="N"<|sep|>`, with `<|open|>argument key="KEY"
//! type="T"<|sep|>VALUE<|close|>argument<|sep|>` for each argument. Values of type `string` are raw
//! text; other types are JSON.
//!
//! Models: Kimi K3.
//!
//! Source: sglang `kimik3_format.py`, `kimik3_detector.py`.

use super::super::grammar::{
    ArgumentBuilder, ArgumentStart, Cursor, TagSet, TagState, TaggedCall, ends_with_stray_tag,
    is_of_markup, may_hold_tag, text_before, without_last_line_break, without_partial_marker,
};
use super::super::leftover::other_attributes;
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use crate::tool::ToolDefinition;

const OPEN: &str = "<|open|>";
const SEP: &str = "<|sep|>";
const CALL_END: &str = "<|close|>call<|sep|>";
const TOOLS_END: &str = "<|close|>tools<|sep|>";
const TAGS: TagSet = TagSet {
    wrappers: &["<|open|>tools<|sep|>"],
    wrapper_ends: &[TOOLS_END],
    call: &["<|open|>call "],
    call_ends: &[CALL_END],
    argument: &["<|open|>argument "],
    argument_ends: &["<|close|>argument<|sep|>"],
};
/// The longest name of a channel with its attributes, in bytes.
const MAX_LEN: usize = 256;

#[derive(Debug)]
pub(crate) struct KimiK3;

impl Format for KimiK3 {
    fn name(&self) -> &str {
        "kimi_k3"
    }

    fn start_markers(&self) -> &[StartMarker] {
        &[StartMarker::Anywhere(OPEN)]
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let (mut cursor, mut state) = (Cursor::new(input), TagState::default());
        let head = open(&mut cursor)?.ok_or(NoMatch::Text)?;
        let channel = |is_visible, end_markers| {
            Ok(Match::Channel { end: cursor.at, is_visible, end_markers, next_markers: &[] })
        };
        match head.split(' ').next() {
            Some("think") => channel(false, &["<|close|>think<|sep|>"]),
            Some("response") => channel(true, &["<|close|>response<|sep|>"]),
            Some("call") => {
                let calls = vec![call(&mut cursor, &mut state, head, tools)?];
                TAGS.finish(cursor, calls, &state)
            }
            Some("tools") => {
                let mut calls = Vec::new();
                loop {
                    let end = cursor.at;
                    cursor.skip_blanks();
                    if cursor.is_done()? || cursor.take(&[TOOLS_END])? {
                        break;
                    }
                    let head = match open(&mut cursor) {
                        Err(NoMatch::Incomplete) if cursor.is_complete => {
                            cursor.skip_all();
                            break;
                        }
                        head => head?,
                    };
                    match head.filter(|head| head.starts_with("call ")) {
                        Some(head) => calls.push(call(&mut cursor, &mut state, head, tools)?),
                        None => {
                            cursor.at = end;
                            break;
                        }
                    }
                }
                TAGS.finish(cursor, calls, &state)
            }
            _ => Err(NoMatch::Text),
        }
    }
}

/// Parses the head of the next opening tag, if there is one.
fn open<'t>(cursor: &mut Cursor<'t>) -> Result<Option<&'t str>, NoMatch> {
    if cursor.is_truncated_token(&[OPEN, CALL_END, TOOLS_END]) {
        return Err(NoMatch::Incomplete);
    }
    if !cursor.take(&[OPEN])? {
        return Ok(None);
    }
    let rest = cursor.rest();
    match text_before(rest, SEP, MAX_LEN) {
        Some(head) => {
            cursor.skip(head.len() + SEP.len());
            Ok(Some(head))
        }
        // Also if the text is complete: the head is truncated.
        None if rest.len() < MAX_LEN + SEP.len() => Err(NoMatch::Incomplete),
        None => Ok(None),
    }
}

fn attribute(head: &str, name: &str) -> Option<String> {
    let (_, value) = head.split_once(&format!("{name}=\""))?;
    let (value, _) = value.split_once('"')?;
    Some(value.replace("&quot;", "\"").replace("&amp;", "&"))
}

fn call<'d>(
    cursor: &mut Cursor<'_>,
    state: &mut TagState,
    head: &str,
    tools: &ToolLookup<'d>,
) -> Result<TaggedCall<'d>, NoMatch> {
    let name = attribute(head, "tool").ok_or(NoMatch::Text)?;
    let callee = tools.callee(&name).ok_or(NoMatch::Text)?;
    state.add_leftover(&other_attributes(head, |key| ["tool", "index"].contains(&key)));
    let mut builder = ArgumentBuilder::new(callee.tool);
    let is_complete = loop {
        cursor.skip_blanks();
        if cursor.is_done()? {
            break false;
        }
        if cursor.take(&[CALL_END])? {
            break true;
        }
        let head = match open(cursor) {
            Err(NoMatch::Incomplete) if cursor.is_complete => {
                cursor.skip_all();
                break false;
            }
            head => head?.ok_or(NoMatch::Malformed)?,
        };
        let key = attribute(head, "key").ok_or(NoMatch::Malformed)?;
        state.add_leftover(&other_attributes(head, |key| ["key", "type"].contains(&key)));
        let rest = cursor.rest();
        let begins = |after: Cursor<'_>| argument_start(after, callee.tool);
        let end = TAGS.argument_end(cursor, state, is_value_end, begins)?;
        let Some(end) = end else {
            builder.truncated(&key, without_partial_marker(rest, TAGS.argument_ends));
            cursor.skip_all();
            break false;
        };
        let value = cursor.text.get(cursor.at..end.start).unwrap_or_default();
        let value =
            if end.is_empty() { without_other_end(without_last_line_break(value)) } else { value };
        state.is_ambiguous |= head.contains('<') || end.is_empty() && may_hold_tag(value);
        state.add_argument_in(value, &TAGS, callee.tool);
        let has_end = other_end(value).is_some_and(|name| is_of_markup(name, &key, callee.tool));
        state.is_ambiguous |= has_end || ends_with_stray_tag(value, &key, callee.tool);
        match attribute(head, "type").as_deref() {
            Some("string") => builder.text(&key, value),
            _ => builder.raw(&key, value),
        }
        cursor.at = end.end;
    };
    Ok(state.call(callee, builder.finish(is_complete)))
}

/// Returns true if more markup, or nothing, follows the end tag of an argument.
fn is_value_end(mut after: Cursor<'_>) -> Result<bool, NoMatch> {
    after.skip_blanks();
    let next = [OPEN, CALL_END, TOOLS_END];
    Ok(after.is_done()? || after.is_truncated_token(&next) || after.take(&next)?)
}

/// Returns what a tag of an argument begins, judged by the key in it.
fn argument_start(after: Cursor<'_>, tool: &ToolDefinition) -> Result<ArgumentStart, NoMatch> {
    let rest = after.rest();
    match text_before(rest, SEP, MAX_LEN) {
        Some(head) => {
            Ok(attribute(head, "key")
                .map_or(ArgumentStart::None, |key| ArgumentStart::of(tool, &key)))
        }
        None if rest.len() >= MAX_LEN + SEP.len() => Ok(ArgumentStart::None),
        // The head is truncated.
        None if after.is_complete => Ok(ArgumentStart::Known),
        None => Err(NoMatch::Incomplete),
    }
}

/// Returns the name of the end tag at the end of `value` if it was not opened there. It stands for
/// the end tag of the argument.
fn other_end(value: &str) -> Option<&str> {
    let (before, name) = value.trim_end().strip_suffix(SEP)?.rsplit_once("<|close|>")?;
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let is_opened = before.contains(&format!("{OPEN}{name}"));
    (!name.is_empty() && name.chars().all(is_name) && !is_opened).then_some(name)
}

/// Returns the value without an end tag of another name, which stands for the one that is missing.
fn without_other_end(value: &str) -> &str {
    let end = other_end(value).and_then(|_| value.rfind("<|close|>"));
    end.and_then(|end| value.get(..end)).unwrap_or(value)
}
