//! `<tool_call>NAME`, then `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>` for each argument, and
//! `</tool_call>`; line breaks between all of these in GLM-4.5 and 4.6, none from 4.7 on. A call without
//! arguments is the bare name.
//!
//! Source: vllm `glm4_moe_tool_parser.py`, `glm47_moe_tool_parser.py`, ollama `model/parsers/glm46_test.go`.

use super::super::grammar::{Cursor, Nesting, Typed, cut_off};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};

const END: &str = "</tool_call>";
const TAGS: Nesting = Nesting {
    around: &[],
    around_ends: &[],
    call: &["<tool_call>"],
    call_ends: &[END],
    argument: &["<arg_value>"],
    argument_ends: &["</arg_value>"],
};

#[derive(Debug)]
pub(super) struct Glm;

impl Format for Glm {
    fn name(&self) -> &str {
        "glm"
    }

    fn openers(&self) -> &[Opener] {
        &[Opener::Marker("<tool_call>")]
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        cursor.take(&["<tool_call>"])?;
        cursor.skip_blanks();
        let tool = offered.find(cursor.name()?).ok_or(Miss::Text)?;
        let mut typed = Typed::new(tool);
        let mut is_nested = true;
        let is_whole = loop {
            cursor.skip_blanks();
            if cursor.is_done()? {
                break false;
            }
            if cursor.take(&[END])? {
                break true;
            }
            if !cursor.take(&["<arg_key>"])? {
                return Err(Miss::Broken);
            }
            let Some(key) = up_to(&mut cursor, "</arg_key>", &["<arg_value>"])? else {
                break false;
            };
            cursor.skip_blanks();
            cursor.take(&["<arg_value>"])?;
            let Some(value) = value(&mut cursor, &mut is_nested)? else {
                typed.cut(key.trim(), cursor.rest());
                cursor.skip(cursor.rest().len());
                break false;
            };
            typed.raw(key.trim(), value);
        };
        let mut arguments = typed.finish(is_whole);
        if TAGS.skip_left_over(&mut cursor)? {
            arguments = cut_off(arguments);
        }
        let call = offered.call(&tool.name, arguments).ok_or(Miss::Broken)?;
        Ok(Found::Calls { calls: vec![call], end: cursor.at })
    }
}

/// What stands before `end`, and past it: the first one with one of `next` behind it. None where the text
/// was cut before.
/// A value up to its end tag, with all calls in it; where one of these has no end, up to the next end tag.
fn value<'t>(cursor: &mut Cursor<'t>, is_nested: &mut bool) -> Result<Option<&'t str>, Miss> {
    const BEHIND: &[&str] = &["<arg_key>", END];
    let start = cursor.at;
    let is_end = |mut after: Cursor<'_>| {
        after.skip_blanks();
        Ok(after.is_done()? || after.take(BEHIND)?)
    };
    if *is_nested {
        if let Some(end) = TAGS.end(cursor, is_end, |_| Ok(false))? {
            cursor.at = end.end;
            return Ok(cursor.text.get(start..end.start));
        }
        *is_nested = false;
    }
    up_to(cursor, "</arg_value>", BEHIND)
}

fn up_to<'t>(cursor: &mut Cursor<'t>, end: &str, next: &[&str]) -> Result<Option<&'t str>, Miss> {
    let rest = cursor.rest();
    let mut from = 0;
    while let Some(at) = rest.get(from..).and_then(|rest| rest.find(end)) {
        let behind = from + at + end.len();
        let mut after = Cursor { at: cursor.at + behind, ..*cursor };
        after.skip_blanks();
        if after.is_done()? || after.take(next)? {
            cursor.skip(behind);
            return Ok(rest.get(..from + at));
        }
        from = behind;
    }
    if cursor.is_end { Ok(None) } else { Err(Miss::More) }
}
