//! The token `]<]minimax[>[` before every tag: `<tool_call>`, in it `<invoke name="NAME">`, and in that
//! `<KEY>VALUE</KEY>`; tags within tags are objects, and those that are called `item` lists: MiniMax M3.
//!
//! Source: sglang `minimax_m3.py`, ml-explore/mlx-lm#1416.

use serde_json::{Map, Value};

use super::super::grammar::{Cursor, Typed, without_begun};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};
use crate::message::ToolCall;

const TOKEN: &str = "]<]minimax[>[";
const OPENER: &str = "]<]minimax[>[<tool_call>";
/// Tags within tags.
const DEEPEST: usize = 32;

#[derive(Debug)]
pub(super) struct MinimaxM3;

impl Format for MinimaxM3 {
    fn name(&self) -> &str {
        "minimax_m3"
    }

    fn openers(&self) -> &[Opener] {
        &[Opener::Marker(OPENER)]
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        cursor.take(&[OPENER])?;
        let mut calls = Vec::new();
        loop {
            let end = cursor.at;
            match tag(&mut cursor)? {
                Some(head) if head.starts_with("invoke ") => {
                    calls.push(call(&mut cursor, head, offered)?);
                }
                Some("/tool_call") => break,
                _ => {
                    cursor.at = end;
                    break;
                }
            }
        }
        if calls.is_empty() { Err(Miss::Text) } else { Ok(Found::Calls { calls, end: cursor.at }) }
    }
}

/// What is between `<` and `>` of the tag that is next, if one is.
fn tag<'t>(cursor: &mut Cursor<'t>) -> Result<Option<&'t str>, Miss> {
    cursor.skip_blanks();
    if cursor.is_cut(&[TOKEN]) {
        cursor.skip_all();
    }
    if cursor.is_done()? || !cursor.take(&[TOKEN])? {
        return Ok(None);
    }
    if cursor.is_done()? || !cursor.take(&["<"])? {
        return Ok(None);
    }
    match cursor.head('>') {
        Err(Miss::Text) => Ok(None),
        // It was cut off.
        Err(_) if cursor.is_end => {
            cursor.skip_all();
            Ok(None)
        }
        head => head.map(Some),
    }
}

fn call(cursor: &mut Cursor<'_>, head: &str, offered: &Offered<'_>) -> Result<ToolCall, Miss> {
    let name = head.split('"').nth(1).ok_or(Miss::Text)?;
    let tool = offered.find(name).ok_or(Miss::Text)?;
    let mut typed = Typed::new(tool);
    let is_whole = loop {
        match tag(cursor)? {
            Some("/invoke") => break true,
            Some(key) => match element(cursor, key, DEEPEST)? {
                (Element::Text(text), true) => typed.raw(key, text),
                (Element::Text(text), false) => {
                    typed.cut(key, text);
                    break false;
                }
                (Element::Value(value), is_whole) => {
                    typed.json(key, &value.to_string());
                    if !is_whole {
                        break false;
                    }
                }
            },
            None if cursor.rest().trim().is_empty() => break false,
            None => return Err(Miss::Broken),
        }
    };
    offered.call(&tool.name, typed.finish(is_whole)).ok_or(Miss::Broken)
}

enum Element<'t> {
    Text(&'t str),
    Value(Value),
}

/// What stands in a tag up to its end, and whether that is there.
fn element<'t>(
    cursor: &mut Cursor<'t>,
    key: &str,
    depth: usize,
) -> Result<(Element<'t>, bool), Miss> {
    let depth = depth.checked_sub(1).ok_or(Miss::Broken)?;
    let rest = cursor.rest();
    let Some(at) = rest.find(TOKEN) else {
        if !cursor.is_end {
            return Err(Miss::More);
        }
        cursor.skip_all();
        return Ok((Element::Text(without_begun(rest, &[TOKEN])), false));
    };
    let text = rest.get(..at).unwrap_or_default();
    cursor.skip(at);
    let closer = format!("/{key}");
    let (mut members, mut items) = (Map::new(), Vec::new());
    let (mut is_leaf, mut is_whole) = (true, true);
    loop {
        match tag(cursor)? {
            Some(head) if head == closer => break,
            Some(head) if !head.starts_with('/') => {
                is_leaf = false;
                let inner;
                (inner, is_whole) = element(cursor, head, depth)?;
                let value = match inner {
                    Element::Value(value) => value,
                    Element::Text(text) => leaf(text),
                };
                match head {
                    "item" => items.push(value),
                    head => _ = members.insert(head.to_owned(), value),
                }
                if !is_whole {
                    break;
                }
            }
            Some(_) => return Err(Miss::Broken),
            None if cursor.rest().is_empty() => {
                is_whole = false;
                break;
            }
            None => return Err(Miss::Broken),
        }
    }
    let element = match is_leaf {
        true => Element::Text(text),
        false => Element::Value(nested(members, items)),
    };
    Ok((element, is_whole))
}

fn nested(members: Map<String, Value>, items: Vec<Value>) -> Value {
    if members.is_empty() { items.into() } else { members.into() }
}

/// Of a tag within tags the schema isn't looked up: the repair goes by it.
fn leaf(text: &str) -> Value {
    match serde_json::from_str(text.trim()) {
        Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => value,
        _ => text.into(),
    }
}
