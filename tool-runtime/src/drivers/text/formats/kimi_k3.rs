//! Channels `think`, `response` and `tools`, each from `<|open|>NAME<|sep|>` to `<|close|>NAME<|sep|>`; a call is
//! `<|open|>call tool="NAME" index="N"<|sep|>` with an `<|open|>argument key="KEY" type="T"<|sep|>VALUE` for each
//! argument: Kimi K3. A text stands there as it is, other types as JSON.
//!
//! Source: sglang `kimik3_format.py`, `kimik3_detector.py`.

use super::super::grammar::{Cursor, Nesting, Seen, Typed, before, without_begun};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};
use crate::tool::ToolDefinition;

const OPEN: &str = "<|open|>";
const SEP: &str = "<|sep|>";
const CALL_END: &str = "<|close|>call<|sep|>";
const TOOLS_END: &str = "<|close|>tools<|sep|>";
const TAGS: Nesting = Nesting {
    around: &["<|open|>tools<|sep|>"],
    around_ends: &[TOOLS_END],
    call: &["<|open|>call "],
    call_ends: &[CALL_END],
    argument: &["<|open|>argument "],
    argument_ends: &["<|close|>argument<|sep|>"],
};
/// The longest name of a channel with its attributes, in bytes.
const LONGEST: usize = 256;

#[derive(Debug)]
pub(super) struct KimiK3;

impl Format for KimiK3 {
    fn name(&self) -> &str {
        "kimi_k3"
    }

    fn openers(&self) -> &[Opener] {
        &[Opener::Marker(OPEN)]
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let (mut cursor, mut seen) = (Cursor::new(rest), Seen::default());
        let head = open(&mut cursor)?.ok_or(Miss::Text)?;
        let channel = |is_shown, closers| {
            Ok(Found::Channel { end: cursor.at, is_shown, closers, stops: &[] })
        };
        match head.split(' ').next() {
            Some("think") => channel(false, &["<|close|>think<|sep|>"]),
            Some("response") => channel(true, &["<|close|>response<|sep|>"]),
            Some("call") => {
                let calls = vec![call(&mut cursor, &mut seen, head, offered)?];
                TAGS.finish(cursor, calls, &seen, offered)
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
                        Err(Miss::More) if cursor.is_end => {
                            cursor.skip_all();
                            break;
                        }
                        head => head?,
                    };
                    match head.filter(|head| head.starts_with("call ")) {
                        Some(head) => calls.push(call(&mut cursor, &mut seen, head, offered)?),
                        None => {
                            cursor.at = end;
                            break;
                        }
                    }
                }
                TAGS.finish(cursor, calls, &seen, offered)
            }
            _ => Err(Miss::Text),
        }
    }
}

/// The head of what is opened here, if anything is.
fn open<'t>(cursor: &mut Cursor<'t>) -> Result<Option<&'t str>, Miss> {
    if cursor.is_cut(&[OPEN, CALL_END, TOOLS_END]) {
        return Err(Miss::More);
    }
    if !cursor.take(&[OPEN])? {
        return Ok(None);
    }
    let rest = cursor.rest();
    match before(rest, SEP, LONGEST) {
        Some(head) => {
            cursor.skip(head.len() + SEP.len());
            Ok(Some(head))
        }
        // Also where no more will come: it was cut off.
        None if rest.len() < LONGEST + SEP.len() => Err(Miss::More),
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
    seen: &mut Seen,
    head: &str,
    offered: &Offered<'d>,
) -> Result<(&'d ToolDefinition, String), Miss> {
    let name = attribute(head, "tool").ok_or(Miss::Text)?;
    let tool = offered.find(&name).ok_or(Miss::Text)?;
    let mut typed = Typed::new(tool);
    let is_whole = loop {
        cursor.skip_blanks();
        if cursor.is_done()? {
            break false;
        }
        if cursor.take(&[CALL_END])? {
            break true;
        }
        let head = match open(cursor) {
            Err(Miss::More) if cursor.is_end => {
                cursor.skip_all();
                break false;
            }
            head => head?.ok_or(Miss::Broken)?,
        };
        let key = attribute(head, "key").ok_or(Miss::Broken)?;
        let rest = cursor.rest();
        let end = TAGS.end(cursor, seen, |_| Ok(true), |_| Ok(false))?;
        let Some(end) = end else {
            typed.cut(&key, without_begun(rest, TAGS.argument_ends));
            cursor.skip_all();
            break false;
        };
        let value = cursor.text.get(cursor.at..end.start).unwrap_or_default();
        match attribute(head, "type").as_deref() {
            Some("string") => typed.text(&key, value),
            _ => typed.raw(&key, value),
        }
        cursor.at = end.end;
    };
    Ok((tool, typed.finish(is_whole)))
}
