//! Messages of Inkling: `<|message_model|>NAME<|content_invoke_tool_json|>{"name": NAME, "args": OBJECT}` is a
//! call, `<|content_thinking|>` begins what the model thinks and `<|content_text|>` what it says; each ends with
//! `<|end_message|>`. The name before the content and the marker of the message may be missing.
//!
//! Source: sglang `inkling_detector.py` and `inkling_tokenizer.py`, vllm `parser/inkling.py`.

use super::super::grammar::{Cursor, before, read_json};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};

const MESSAGE: &str = "<|message_model|>";
const CALL: &str = "<|content_invoke_tool_json|>";
const THINKING: &str = "<|content_thinking|>";
const TEXT: &str = "<|content_text|>";
/// What begins the content.
const CONTENT: &str = "<|content_";
const ENDS: &[&str] = &["<|end_message|>"];
/// The longest name before the content, in bytes.
const LONGEST: usize = 256;

#[derive(Debug)]
pub(super) struct Inkling;

impl Format for Inkling {
    fn name(&self) -> &str {
        "inkling"
    }

    fn openers(&self) -> &[Opener] {
        &[
            Opener::Marker(MESSAGE),
            Opener::Marker(CALL),
            Opener::Marker(THINKING),
            Opener::Marker(TEXT),
        ]
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        if cursor.take(&[MESSAGE])? {
            match before(cursor.rest(), CONTENT, LONGEST) {
                Some(name) => cursor.skip(name.len()),
                None if !rest.is_end && cursor.rest().len() < LONGEST + CONTENT.len() => {
                    return Err(Miss::More);
                }
                None => return Err(Miss::Text),
            }
        }
        if cursor.take(&[CALL])? {
            return read_json(&mut cursor, offered, ENDS);
        }
        let is_shown = cursor.take(&[TEXT])?;
        if !is_shown && !cursor.take(&[THINKING])? {
            return Err(Miss::Text);
        }
        Ok(Found::Channel { end: cursor.at, is_shown, closers: ENDS, stops: &[MESSAGE, CALL] })
    }
}
