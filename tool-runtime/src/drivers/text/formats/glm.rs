//! `<tool_call>NAME`, then `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>` for each argument, and
//! `</tool_call>`; line breaks between all of these in GLM-4.5 and 4.6, none from 4.7 on. A call without
//! arguments is the bare name.
//!
//! Source: vllm `glm4_moe_tool_parser.py`, `glm47_moe_tool_parser.py`, ollama `model/parsers/glm46_test.go`.

use super::super::grammar::{Cursor, Nesting, Seen, Typed, without_begun};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};

const END: &str = "</tool_call>";
/// A line break between tags, at times in two letters.
const LINE: &str = "\\n";
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
        let mut seen = Seen::default();
        let is_whole = loop {
            cursor.take_all(&[LINE])?;
            if cursor.is_done()? {
                break false;
            }
            if cursor.take(&[END])? {
                break true;
            }
            if cursor.is_cut(&[END, "<arg_key>"]) {
                cursor.skip_all();
                break false;
            }
            if !cursor.take(&["<arg_key>"])? {
                return Err(Miss::Broken);
            }
            let Some(key) = key(&mut cursor)? else {
                cursor.skip_all();
                break false;
            };
            cursor.take_all(&[LINE])?;
            if cursor.is_cut(&["<arg_value>"]) {
                cursor.skip_all();
                break false;
            }
            cursor.take(&["<arg_value>"])?;
            let Some(value) = value(&mut cursor, &mut seen)? else {
                typed.cut(key.trim(), without_begun(cursor.rest(), TAGS.argument_ends));
                cursor.skip_all();
                break false;
            };
            typed.raw(key.trim(), value);
        };
        TAGS.finish(cursor, vec![(tool, typed.finish(is_whole))], &seen, offered)
    }
}

/// A key up to its end tag.
fn key<'t>(cursor: &mut Cursor<'t>) -> Result<Option<&'t str>, Miss> {
    const END: &str = "</arg_key>";
    let key = cursor.rest().split_once(END).map(|(key, _)| key);
    match key {
        Some(key) => cursor.skip(key.len() + END.len()),
        None if !cursor.is_end => return Err(Miss::More),
        None => {}
    }
    Ok(key)
}

/// A value up to its end tag, with all calls in it.
fn value<'t>(cursor: &mut Cursor<'t>, seen: &mut Seen) -> Result<Option<&'t str>, Miss> {
    let is_end = |mut after: Cursor<'_>| {
        after.take_all(&[LINE])?;
        let next = ["<arg_key>", END];
        Ok(after.is_done()? || after.is_cut(&next) || after.take(&next)?)
    };
    let Some(end) = TAGS.end(cursor, seen, is_end, |_| Ok(false))? else { return Ok(None) };
    let value = cursor.text.get(cursor.at..end.start);
    cursor.at = end.end;
    Ok(value)
}
