//! Calls in the syntax of Python: `name(key=value, …)`.

use serde_json::Value;

use super::super::{Format, Found, Miss, Offered, Opener, Rest};
use super::json::markers;
use super::{Cursor, Typed, closed};
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

/// A format whose calls are Python's, in brackets or not.
#[derive(Debug)]
pub(in crate::drivers::text) struct Python {
    pub(in crate::drivers::text) name: &'static str,
    pub(in crate::drivers::text) openers: &'static [Opener],
    pub(in crate::drivers::text) ends: &'static [&'static str],
    pub(in crate::drivers::text) is_last: bool,
}

impl Format for Python {
    fn name(&self) -> &str {
        self.name
    }

    fn openers(&self) -> &[Opener] {
        self.openers
    }

    fn is_last(&self) -> bool {
        self.is_last
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        if !self.is_last {
            cursor.take(&markers(self.openers))?;
        }
        let calls = python_calls(&mut cursor, offered)?;
        let end = cursor.at;
        cursor.skip_blanks();
        let has_end = !self.ends.is_empty() && !cursor.is_done()? && cursor.take(self.ends)?;
        Ok(Found::Calls { calls, end: if has_end { cursor.at } else { end } })
    }
}

/// One call, or several: in brackets, in a row, or one a line.
pub(in crate::drivers::text) fn python_calls(
    cursor: &mut Cursor<'_>,
    offered: &Offered<'_>,
) -> Result<Vec<ToolCall>, Miss> {
    cursor.skip_blanks();
    cursor.is_done()?;
    let in_list = cursor.take(&["["])?;
    let mut calls = Vec::new();
    loop {
        cursor.skip_blanks();
        if in_list && !calls.is_empty() && (cursor.is_done()? || cursor.take(&["]"])?) {
            return Ok(calls);
        }
        let start = cursor.at;
        match call(cursor, offered) {
            Ok(call) => calls.push(call),
            Err(Miss::Text | Miss::Broken) if !calls.is_empty() && !in_list => {
                cursor.at = start - cursor.text.get(..start).map_or(0, blanks_at_end);
                return Ok(calls);
            }
            Err(Miss::More) if cursor.is_end && !calls.is_empty() => {
                cursor.skip_all();
                return Ok(calls);
            }
            Err(miss) => return Err(miss),
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

fn blanks_at_end(text: &str) -> usize {
    text.len() - text.trim_end().len()
}

fn call(cursor: &mut Cursor<'_>, offered: &Offered<'_>) -> Result<ToolCall, Miss> {
    let mut name = cursor.name()?;
    let mut in_print = false;
    if name == "print" && offered.find(name).is_none() && cursor.take(&["("])? {
        in_print = true;
        name = cursor.name()?;
    }
    let tool = offered.find(name).or_else(|| offered.find(name.strip_suffix(".call")?));
    let tool = tool.ok_or(Miss::Text)?;
    if cursor.is_done()? || !cursor.take(&["("])? {
        return Err(Miss::Text);
    }
    let arguments = arguments(cursor, tool)?;
    if in_print {
        cursor.skip_blanks();
        cursor.take(&[")"])?;
    }
    offered.call(&tool.name, arguments).ok_or(Miss::Broken)
}

/// What stands between the parentheses, as the text of an object; and behind them.
fn arguments(cursor: &mut Cursor<'_>, tool: &ToolDefinition) -> Result<String, Miss> {
    let mut typed = Typed::new(tool);
    let mut is_first = true;
    loop {
        cursor.take_all(&[","])?;
        // What stands around the call may end without it.
        if cursor.is_done()? || !is_first && cursor.rest().starts_with([']', '<']) {
            return Ok(typed.finish(false));
        }
        if cursor.take(&[")"])? {
            return Ok(typed.finish(true));
        }
        // A name, and no more.
        if cursor.is_end && (Cursor { ..*cursor }).name() == Err(Miss::More) {
            cursor.skip_all();
            return Ok(typed.finish(false));
        }
        let key = key(cursor, tool, is_first)?;
        let (value, is_whole) = value(cursor)?;
        if !is_whole {
            typed.cut_json(&key, &value);
            return Ok(typed.finish(false));
        }
        typed.json(&key, &value);
        is_first = false;
    }
}

/// The value that is next, and whether it has an end. Strings in a row are one, with a plus sign between or none.
fn value(cursor: &mut Cursor<'_>) -> Result<(String, bool), Miss> {
    let mut value = String::new();
    loop {
        let rest = cursor.rest();
        let is_text = rest.starts_with(['"', '\'']);
        if is_text && cursor.is_end && is_endless(rest) {
            let text = Value::from(rest.get(3..).unwrap_or_default()).to_string();
            value.push_str(text.strip_suffix('"').unwrap_or(&text));
            cursor.skip_all();
            return Ok((value, false));
        }
        let end = match is_text || rest.starts_with(['[', '{', '(']) {
            true => closed(rest, 0, cursor.is_end),
            false => rest.find([',', ')']),
        };
        if end.is_none() && !cursor.is_end {
            return Err(Miss::More);
        }
        value.push_str(rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().trim());
        cursor.skip(end.unwrap_or(rest.len()));
        if end.is_none() || !is_text {
            return Ok((value, end.is_some()));
        }
        cursor.take_all(&["+"])?;
        if cursor.is_done()? || !cursor.rest().starts_with(['"', '\'']) {
            return Ok((value, true));
        }
        value.push_str(" + ");
    }
}

/// Whether three quotes begin what none end.
fn is_endless(text: &str) -> bool {
    let open =
        ["\"\"\"", "'''"].into_iter().find_map(|quotes| Some((text.strip_prefix(quotes)?, quotes)));
    open.is_some_and(|(inner, quotes)| !inner.contains(quotes))
}

/// The name of the argument that is next. The only one there can be needs none.
fn key(cursor: &mut Cursor<'_>, tool: &ToolDefinition, is_first: bool) -> Result<String, Miss> {
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
        Err(Miss::More) => return Err(Miss::More),
        Err(_) => {}
    }
    *cursor = start;
    let members =
        tool.parameters.as_value().get("properties").and_then(|members| members.as_object());
    let only = members.filter(|members| is_first && members.len() == 1);
    match only.and_then(|members| members.keys().next()) {
        Some(only) => Ok(only.clone()),
        None => Err(Miss::Broken),
    }
}
