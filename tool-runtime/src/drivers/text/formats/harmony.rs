//! The Harmony format: `<|start|>assistant<|channel|>CHANNEL to=functions.NAME
//! <|constrain|>json<|message|>OBJECT<|call|>`.
//!
//! The recipient precedes or follows the channel. A message with a recipient is a call, on every
//! channel. Without a recipient, `analysis` is reasoning, and `commentary` and `final` are visible
//! text.
//!
//! Models: gpt-oss 20B and 120B.
//!
//! Source: ollama `harmony/harmonyparser_test.go`, ggml-org/llama.cpp#15181, sglang
//! `gpt_oss_detector.py`.

use super::super::grammar::{Cursor, text_before, text_before_any, value_end};
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};

/// The longest header, in bytes.
const MAX_LEN: usize = 256;
const MESSAGE: &str = "<|message|>";
const ENDS: &[&str] = &["<|end|>", "<|call|>", "<|return|>"];
const BEGINS: &[&str] = &["<|start|>", "<|channel|>"];

#[derive(Debug)]
pub(super) struct Harmony;

impl Format for Harmony {
    fn name(&self) -> &str {
        "harmony"
    }

    fn start_markers(&self) -> &[StartMarker] {
        &[
            StartMarker::Anywhere("<|start|>assistant"),
            StartMarker::Anywhere("<|channel|>"),
            StartMarker::LineStart("to=functions."),
        ]
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let Some(header) = text_before(input.text, MESSAGE, MAX_LEN) else {
            let may_come = !input.is_complete && input.text.len() < MAX_LEN + MESSAGE.len();
            return Err(if may_come { NoMatch::Incomplete } else { NoMatch::Text });
        };
        if header.contains('\n') {
            return Err(NoMatch::Text);
        }
        let end = header.len() + MESSAGE.len();
        if let Some((_, to)) = header.split_once("to=") {
            let name = to.split([' ', '<']).next().unwrap_or_default();
            let tool = tools.callee(name).ok_or(NoMatch::Text)?;
            let mut cursor = Cursor { at: end, ..Cursor::new(input) };
            cursor.skip_blanks();
            let body = cursor.rest();
            let closed = value_end(body, 0, input.is_complete);
            let length = match closed.filter(|_| body.starts_with(['{', '['])) {
                Some(length) => length,
                None if input.is_complete => text_before_any(body, ENDS).len(),
                None => return Err(NoMatch::Incomplete),
            };
            let arguments = match body.get(..length).unwrap_or_default() {
                "" if length == body.len() => "{",
                "" => "{}",
                arguments => arguments,
            };
            cursor.skip(length);
            let call = tool.call(arguments.to_owned()).ok_or(NoMatch::Malformed)?;
            let end = cursor.at;
            cursor.skip_blanks();
            if cursor.is_done()? || !cursor.take(ENDS)? {
                cursor.at = end;
            }
            return Ok(Match::Calls { calls: vec![call], end: cursor.at });
        }
        let is_visible = !header.contains("analysis");
        Ok(Match::Channel { end, is_visible, end_markers: ENDS, next_markers: BEGINS })
    }
}
