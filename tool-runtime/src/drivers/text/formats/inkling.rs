//! Messages of Inkling: `<|message_model|>NAME<|content_invoke_tool_json|>{"name": NAME, "args": OBJECT}` is a
//! call, and so is `<|message_model|>NAME<|content_invoke_tool_text|>TEXT` of a tool that takes one text;
//! `<|content_thinking|>` begins what the model thinks and `<|content_text|>` what it says; each ends with
//! `<|end_message|>`. The name before the content and the marker of the message may be missing.
//!
//! Source: sglang `inkling_detector.py` and `inkling_tokenizer.py`, vllm `parser/inkling.py`.

use super::super::grammar::{Cursor, Typed, before, first_of, read_json};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};
use crate::tool::ToolDefinition;

const MESSAGE: &str = "<|message_model|>";
const CALL: &str = "<|content_invoke_tool_json|>";
const TEXT_CALL: &str = "<|content_invoke_tool_text|>";
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
        let mut name = "";
        if cursor.take(&[MESSAGE])? {
            match before(cursor.rest(), CONTENT, LONGEST) {
                Some(before) => {
                    name = before;
                    cursor.skip(name.len());
                }
                None if !rest.is_end && cursor.rest().len() < LONGEST + CONTENT.len() => {
                    return Err(Miss::More);
                }
                None => return Err(Miss::Text),
            }
        }
        if cursor.take(&[CALL])? {
            return read_json(&mut cursor, offered, ENDS);
        }
        if cursor.take(&[TEXT_CALL])? {
            return text_call(&mut cursor, offered, name);
        }
        let is_shown = cursor.take(&[TEXT])?;
        if !is_shown && !cursor.take(&[THINKING])? {
            return Err(Miss::Text);
        }
        Ok(Found::Channel { end: cursor.at, is_shown, closers: ENDS, stops: &[MESSAGE, CALL] })
    }
}

/// The call of a tool that takes one text, which is all of what follows.
fn text_call(cursor: &mut Cursor<'_>, offered: &Offered<'_>, name: &str) -> Result<Found, Miss> {
    let tool = offered.find(name).ok_or(Miss::Text)?;
    let parameter = only_parameter(tool).ok_or(Miss::Text)?;
    let end = first_of(cursor.rest(), ENDS.iter().copied());
    if end.is_none() && !cursor.is_end {
        return Err(Miss::More);
    }
    let mut arguments = Typed::new(tool);
    let length = match &end {
        Some(end) => {
            arguments.raw(parameter, cursor.rest().get(..end.start).unwrap_or_default());
            end.end
        }
        None => {
            arguments.cut(parameter, cursor.rest());
            cursor.rest().len()
        }
    };
    cursor.skip(length);
    let call = offered.call(&tool.name, arguments.finish(end.is_some())).ok_or(Miss::Broken)?;
    Ok(Found::Calls { calls: vec![call], end: cursor.at })
}

/// The one that has to be given, or else the only one there is.
fn only_parameter(tool: &ToolDefinition) -> Option<&str> {
    let schema = tool.parameters.as_value();
    let required = schema.get("required").and_then(|names| names.as_array());
    if let Some([name]) = required.map(Vec::as_slice) {
        return name.as_str();
    }
    let mut names = schema.get("properties")?.as_object()?.keys();
    names.next().filter(|_| names.next().is_none()).map(String::as_str)
}
