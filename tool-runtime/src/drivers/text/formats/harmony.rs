//! `<|start|>assistant<|channel|>CHANNEL to=functions.NAME <|constrain|>json<|message|>OBJECT<|call|>`: gpt-oss. The
//! recipient stands before or behind the channel. A message with one is a call, whatever its channel;
//! without one, `analysis` is what the model thinks, and `commentary` and `final` are for people to read.
//!
//! Source: ollama `harmony/harmonyparser_test.go`, ggml-org/llama.cpp#15181, sglang `gpt_oss_detector.py`.

use super::super::grammar::{Cursor, before, closed, up_to};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};

/// The longest header, in bytes.
const LONGEST: usize = 256;
const MESSAGE: &str = "<|message|>";
const ENDS: &[&str] = &["<|end|>", "<|call|>", "<|return|>"];
const BEGINS: &[&str] = &["<|start|>", "<|channel|>"];

#[derive(Debug)]
pub(super) struct Harmony;

impl Format for Harmony {
    fn name(&self) -> &str {
        "harmony"
    }

    fn openers(&self) -> &[Opener] {
        &[
            Opener::Marker("<|start|>assistant"),
            Opener::Marker("<|channel|>"),
            Opener::Line("to=functions."),
        ]
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let Some(header) = before(rest.text, MESSAGE, LONGEST) else {
            let may_come = !rest.is_end && rest.text.len() < LONGEST + MESSAGE.len();
            return Err(if may_come { Miss::More } else { Miss::Text });
        };
        if header.contains('\n') {
            return Err(Miss::Text);
        }
        let end = header.len() + MESSAGE.len();
        if let Some((_, to)) = header.split_once("to=") {
            let name = to.split([' ', '<']).next().unwrap_or_default();
            let tool = offered.find(name).ok_or(Miss::Text)?;
            let mut cursor = Cursor { at: end, ..Cursor::new(rest) };
            cursor.skip_blanks();
            let body = cursor.rest();
            let closed = closed(body, 0, rest.is_end);
            let length = match closed.filter(|_| body.starts_with(['{', '['])) {
                Some(length) => length,
                None if rest.is_end => up_to(body, ENDS).len(),
                None => return Err(Miss::More),
            };
            let arguments = match body.get(..length).unwrap_or_default() {
                "" if length == body.len() => "{",
                "" => "{}",
                arguments => arguments,
            };
            cursor.skip(length);
            let call = offered.call(&tool.name, arguments).ok_or(Miss::Broken)?;
            let end = cursor.at;
            cursor.skip_blanks();
            if cursor.is_done()? || !cursor.take(ENDS)? {
                cursor.at = end;
            }
            return Ok(Found::Calls { calls: vec![call], end: cursor.at });
        }
        let is_shown = !header.contains("analysis");
        Ok(Found::Channel { end, is_shown, closers: ENDS, stops: BEGINS })
    }
}
