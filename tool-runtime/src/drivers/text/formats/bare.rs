//! A call object, several, or a list of them, and nothing else: `{"name": NAME, "arguments": OBJECT}`,
//! `{"tool_calls": [{"function": …}]}`, and what Llama 3 writes, `{"name": NAME, "parameters": OBJECT}`, with
//! `; ` or a line break between. Any model.
//!
//! Source: webbrain-one/webbrain#2682, mistralai/mistral-common#73, vllm `test_llama3_json_tool_parser.py`.

use super::super::grammar::{Cursor, Strictness, calls_of, closed, may_be_call};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};

#[derive(Debug)]
pub(super) struct Bare;

impl Format for Bare {
    fn name(&self) -> &str {
        "bare_json"
    }

    fn openers(&self) -> &[Opener] {
        &[Opener::Line("{"), Opener::Line("[")]
    }

    fn is_last(&self) -> bool {
        true
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        if !may_be_call(rest, offered, Strictness::Bare) {
            return Err(Miss::Text);
        }
        let length = match closed(rest.text, 0, rest.is_end) {
            Some(length) => length,
            None if rest.is_end => rest.text.len(),
            None => return Err(Miss::More),
        };
        let body = rest.text.get(..length).unwrap_or_default();
        let calls = calls_of(body, offered, Strictness::Bare).ok_or(Miss::Broken)?;
        cursor.skip(length);
        // More closers than openers: what they close is whole all the same.
        cursor.take_behind(&["}"])?;
        let end = cursor.at;
        // What joins it to the next one.
        cursor.take_all(&[",", ";"])?;
        let is_joined = !cursor.is_done()? && cursor.rest().starts_with(['{', '[']);
        Ok(Found::Calls { calls, end: if is_joined { cursor.at } else { end } })
    }
}
