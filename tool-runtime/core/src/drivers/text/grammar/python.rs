//! The grammar of formats with calls in Python syntax: `name(key=value, …)`.

use serde_json::Value;

use super::super::callee::Callee;
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use super::json::marker_strs;
use super::{ArgumentBuilder, Cursor, Strictness, value_end};
use crate::message::ToolCall;

/// A format whose calls are in Python syntax, in brackets or not.
#[derive(Debug)]
pub(crate) struct PythonFormat {
    pub(crate) name: &'static str,
    pub(crate) start_markers: &'static [StartMarker],
    pub(crate) ends: &'static [&'static str],
    pub(crate) only_at_end: bool,
}

impl Format for PythonFormat {
    fn name(&self) -> &str {
        self.name
    }

    fn start_markers(&self) -> &[StartMarker] {
        self.start_markers
    }

    fn end_markers(&self) -> &[&str] {
        self.ends
    }

    fn only_at_end(&self) -> bool {
        self.only_at_end
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let mut cursor = Cursor::new(input);
        if !self.only_at_end {
            cursor.take(&marker_strs(self.start_markers))?;
        }
        let strictness = if self.only_at_end { Strictness::Bare } else { Strictness::Marked };
        let calls = parse_python_calls(&mut cursor, tools, strictness)?;
        let end = cursor.at;
        cursor.skip_blanks();
        let has_end = !self.ends.is_empty() && !cursor.is_done()? && cursor.take(self.ends)?;
        Ok(Match::Calls { calls, end: if has_end { cursor.at } else { end } })
    }
}

/// Parses one call or several: in brackets, in a row, or one on each line. If no marker announces
/// them, at least one has to be of an offered tool.
pub(crate) fn parse_python_calls(
    cursor: &mut Cursor<'_>,
    tools: &ToolLookup<'_>,
    strictness: Strictness,
) -> Result<Vec<ToolCall>, NoMatch> {
    let calls = parse_rows(cursor, tools, strictness)?;
    let is_offered = |call: &ToolCall| tools.find(&call.name).is_some();
    if strictness == Strictness::Marked || calls.iter().any(is_offered) {
        Ok(calls)
    } else {
        Err(NoMatch::Text)
    }
}

fn parse_rows(
    cursor: &mut Cursor<'_>,
    tools: &ToolLookup<'_>,
    strictness: Strictness,
) -> Result<Vec<ToolCall>, NoMatch> {
    cursor.skip_blanks();
    cursor.is_done()?;
    let in_list = cursor.take(&["["])?;
    let offered_only = strictness == Strictness::Bare && !in_list;
    let mut calls = Vec::new();
    loop {
        cursor.skip_blanks();
        if in_list && !calls.is_empty() && (cursor.is_done()? || cursor.take(&["]"])?) {
            return Ok(calls);
        }
        let start = cursor.at;
        match call(cursor, tools, offered_only) {
            Ok(call) => calls.push(call),
            Err(NoMatch::Text | NoMatch::Malformed) if !calls.is_empty() && !in_list => {
                cursor.at = start - cursor.text.get(..start).map_or(0, trailing_blanks);
                return Ok(calls);
            }
            Err(NoMatch::Incomplete) if cursor.is_complete && !calls.is_empty() => {
                cursor.skip_all();
                return Ok(calls);
            }
            Err(no_match) => return Err(no_match),
        }
        let end = cursor.at;
        cursor.skip_blanks();
        if cursor.is_done()? {
            cursor.at = end;
            return Ok(calls);
        }
        if !cursor.take(&[",", ";"])? && !in_list && !cursor.since(end).contains('\n') {
            cursor.at = end;
            return Ok(calls);
        }
    }
}

fn trailing_blanks(text: &str) -> usize {
    text.len() - text.trim_end().len()
}

/// Parses one call of an offered tool.
pub(crate) fn parse_python_call(
    cursor: &mut Cursor<'_>,
    tools: &ToolLookup<'_>,
) -> Result<ToolCall, NoMatch> {
    call(cursor, tools, true)
}

fn call(
    cursor: &mut Cursor<'_>,
    tools: &ToolLookup<'_>,
    offered_only: bool,
) -> Result<ToolCall, NoMatch> {
    let mut name = cursor.name()?;
    let mut in_print = false;
    if name == "print" && tools.find(name).is_none() && cursor.take(&["("])? {
        in_print = true;
        name = cursor.name()?;
    }
    let offered = tools.find(name).map(Callee::offered);
    let callee = offered.or_else(|| tools.callee(name.strip_suffix(".call").unwrap_or(name)));
    let callee = callee.filter(|callee| callee.is_offered || !offered_only);
    let callee = callee.ok_or(NoMatch::Text)?;
    if cursor.is_done()? || !cursor.take(&["("])? {
        return Err(NoMatch::Text);
    }
    let arguments = parse_python_arguments(cursor, &callee)?;
    if in_print {
        cursor.skip_blanks();
        cursor.take(&[")"])?;
    }
    callee.call(arguments).ok_or(NoMatch::Malformed)
}

/// Parses the arguments up to and including the closing parenthesis, and returns them as the text
/// of an object.
pub(crate) fn parse_python_arguments(
    cursor: &mut Cursor<'_>,
    callee: &Callee<'_>,
) -> Result<String, NoMatch> {
    if let Some(object) = object(cursor)? {
        return Ok(object);
    }
    let mut builder = ArgumentBuilder::new(callee.tool);
    let mut is_first = true;
    loop {
        cursor.take_all(&[","])?;
        // The markup around the call may end before the call does.
        if cursor.is_done()? || !is_first && cursor.rest().starts_with([']', '<']) {
            return Ok(builder.finish(false));
        }
        if cursor.take(&[")"])? {
            return Ok(builder.finish(true));
        }
        // A truncated name of an argument.
        if cursor.is_complete && (Cursor { ..*cursor }).name() == Err(NoMatch::Incomplete) {
            cursor.skip_all();
            return Ok(builder.finish(false));
        }
        let key = key(cursor, callee, is_first)?;
        let (value, is_value_complete) = value(cursor)?;
        if !is_value_complete {
            builder.truncated_json(&key, &value);
            return Ok(builder.finish(false));
        }
        builder.json(&key, &value);
        is_first = false;
    }
}

/// Parses an object that holds all arguments, and the closing parenthesis.
fn object(cursor: &mut Cursor<'_>) -> Result<Option<String>, NoMatch> {
    let mut after = *cursor;
    after.skip_blanks();
    if after.is_done()? || !after.rest().starts_with('{') {
        return Ok(None);
    }
    let Some(end) = value_end(after.rest(), 0, after.is_complete) else {
        let is_complete = after.is_complete;
        return if is_complete { Ok(None) } else { Err(NoMatch::Incomplete) };
    };
    let object = after.rest().get(..end).unwrap_or_default();
    after.skip(end);
    after.skip_blanks();
    if after.is_done()? || !after.take(&[")"])? {
        return Ok(None);
    }
    *cursor = after;
    Ok(Some(object.to_owned()))
}

/// Parses the next value and returns whether it has an end. Adjacent strings are one string, with a
/// plus sign between them or not.
fn value(cursor: &mut Cursor<'_>) -> Result<(String, bool), NoMatch> {
    let mut value = String::new();
    loop {
        let rest = cursor.rest();
        let prefix_len = string_prefix_len(rest);
        if prefix_len > 0 && prefix_len == rest.len() && !cursor.is_complete {
            return Err(NoMatch::Incomplete);
        }
        let is_text = rest.get(prefix_len..).is_some_and(|rest| rest.starts_with(['"', '\'']));
        if is_text && cursor.is_complete && is_unclosed(rest) {
            let text = Value::from(rest.get(3..).unwrap_or_default()).to_string();
            value.push_str(text.strip_suffix('"').unwrap_or(&text));
            cursor.skip_all();
            return Ok((value, false));
        }
        let end = if is_text || rest.starts_with(['[', '{', '(']) {
            let at = if is_text { prefix_len } else { 0 };
            value_end(rest, at, cursor.is_complete)
        } else {
            rest.find([',', ')'])
        };
        if end.is_none() && !cursor.is_complete {
            return Err(NoMatch::Incomplete);
        }
        value.push_str(rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().trim());
        cursor.skip(end.unwrap_or(rest.len()));
        if end.is_none() || !is_text {
            return Ok((value, end.is_some()));
        }
        cursor.take_all(&["+"])?;
        let rest = if cursor.is_done()? { "" } else { cursor.rest() };
        let prefix_len = string_prefix_len(rest);
        if prefix_len == rest.len() && !cursor.is_complete {
            return Err(NoMatch::Incomplete);
        }
        if !rest.get(prefix_len..).is_some_and(|rest| rest.starts_with(['"', '\''])) {
            return Ok((value, true));
        }
        value.push_str(" + ");
    }
}

/// Returns the length of the letters before a string, such as `r` in `r"a, b"`. Whether a string
/// may have them is decided by the repair.
fn string_prefix_len(text: &str) -> usize {
    let is_prefix = |byte: &u8| b"rRbBuUfF".contains(byte);
    let length = text.bytes().take(3).take_while(|byte| is_prefix(byte)).count();
    if length > 2 { 0 } else { length }
}

/// Returns true if the text begins with three quotes that are never closed.
fn is_unclosed(text: &str) -> bool {
    let open =
        ["\"\"\"", "'''"].into_iter().find_map(|quotes| Some((text.strip_prefix(quotes)?, quotes)));
    open.is_some_and(|(inner, quotes)| !inner.contains(quotes))
}

/// Parses the name of the next argument. The only argument of a tool needs no name.
fn key(cursor: &mut Cursor<'_>, callee: &Callee<'_>, is_first: bool) -> Result<String, NoMatch> {
    let start = *cursor;
    match cursor.name() {
        Ok(name) => {
            cursor.skip_blanks();
            if !cursor.is_done()? && cursor.take(&["="])? {
                cursor.skip_blanks();
                cursor.is_done()?;
                return Ok(name.to_owned());
            }
        }
        Err(NoMatch::Incomplete) => return Err(NoMatch::Incomplete),
        Err(_) => {}
    }
    *cursor = start;
    let members =
        callee.tool.parameters.as_value().get("properties").and_then(|members| members.as_object());
    let only = members.filter(|members| is_first && members.len() == 1);
    match only.and_then(|members| members.keys().next()) {
        Some(only) => Ok(only.clone()),
        None => Err(NoMatch::Malformed),
    }
}
