//! Bare JSON: a call object, several of them, or a list, and nothing else.
//!
//! Forms: `{"name": NAME, "arguments": OBJECT}`, `{"tool_calls": [{"function": …}]}`, and `{"name":
//! NAME, "parameters": OBJECT}` of Llama 3. Objects are joined by `; ` or a line break.
//!
//! Models: any.
//!
//! Source: webbrain-one/webbrain#2682, mistralai/mistral-common#73, vllm
//! `test_llama3_json_tool_parser.py`.

use crate::drivers::text::grammar::{Cursor, Strictness, may_be_call, parse_calls, value_end};
use crate::drivers::text::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};

#[derive(Debug)]
pub(crate) struct BareJson;

impl Format for BareJson {
    fn name(&self) -> &str {
        "bare_json"
    }

    fn start_markers(&self) -> &[StartMarker] {
        &[StartMarker::LineStart("{"), StartMarker::LineStart("[")]
    }

    fn only_at_end(&self) -> bool {
        true
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let mut cursor = Cursor::new(input);
        if !may_be_call(input, tools, Strictness::Bare) {
            return Err(NoMatch::Text);
        }
        let length = match value_end(input.text, 0, input.is_complete) {
            Some(length) => length,
            None if input.is_complete => input.text.len(),
            None => return Err(NoMatch::Incomplete),
        };
        let body = input.text.get(..length).unwrap_or_default();
        let calls = parse_calls(body, tools, Strictness::Bare).ok_or(NoMatch::Malformed)?;
        cursor.skip(length);
        // Surplus closing brackets: the value that they close is complete.
        cursor.take_all_or_stay(&["}"])?;
        let end = cursor.at;
        // A separator before the next object.
        cursor.take_all(&[",", ";"])?;
        let is_joined = !cursor.is_done()? && cursor.rest().starts_with(['{', '[']);
        Ok(Match::Calls { calls, end: if is_joined { cursor.at } else { end } })
    }
}
