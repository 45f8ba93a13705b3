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
        let mut calls = Vec::new();
        let mut end = 0;
        while cursor.rest().starts_with(['{', '[']) {
            let rest = cursor.rest();
            if !may_be_call(rest, offered, Strictness::Bare) {
                break;
            }
            let length = match closed(rest, 0) {
                Some(length) => length,
                None if cursor.is_end => rest.len(),
                None => return Err(Miss::More),
            };
            let body = rest.get(..length).unwrap_or_default();
            let Some(more) = calls_of(body, offered, Strictness::Bare) else {
                if calls.is_empty() {
                    return Err(Miss::Broken);
                }
                break;
            };
            calls.extend(more);
            cursor.skip(length);
            // More closers than openers: what they close is whole all the same.
            cursor.take_behind(&["}"])?;
            end = cursor.at;
            cursor.take_all(&[",", ";"])?;
            if cursor.is_done()? {
                break;
            }
        }
        if calls.is_empty() { Err(Miss::Text) } else { Ok(Found::Calls { calls, end }) }
    }
}
