//! The format of Inkling: `<|message_model|>NAME<|content_invoke_tool_json|>{"name": NAME, "args":
//! OBJECT}`, or `<|message_model|>NAME<|content_invoke_tool_text|>TEXT` for a tool that takes one
//! string.
//!
//! `<|content_thinking|>` begins reasoning and `<|content_text|>` visible text. Each part ends with
//! `<|end_message|>`. The name before the content and the marker of the message may be missing.
//!
//! Models: Inkling.
//!
//! Source: sglang `inkling_detector.py` and `inkling_tokenizer.py`, vllm `parser/inkling.py`.

use super::super::grammar::{ArgumentBuilder, Cursor, find_first, parse_json_calls, text_before};
use super::super::leftover::add_leftover;
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use crate::tool::ToolDefinition;

const MESSAGE: &str = "<|message_model|>";
const CALL: &str = "<|content_invoke_tool_json|>";
const TEXT_CALL: &str = "<|content_invoke_tool_text|>";
const THINKING: &str = "<|content_thinking|>";
const TEXT: &str = "<|content_text|>";
/// The beginning of a content marker.
const CONTENT: &str = "<|content_";
const ENDS: &[&str] = &["<|end_message|>"];
/// The longest name before the content, in bytes.
const MAX_LEN: usize = 256;

#[derive(Debug)]
pub(crate) struct Inkling;

impl Format for Inkling {
    fn name(&self) -> &str {
        "inkling"
    }

    fn start_markers(&self) -> &[StartMarker] {
        &[
            StartMarker::Anywhere(MESSAGE),
            StartMarker::Anywhere(CALL),
            StartMarker::Anywhere(THINKING),
            StartMarker::Anywhere(TEXT),
        ]
    }

    fn end_markers(&self) -> &[&str] {
        ENDS
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let mut cursor = Cursor::new(input);
        let mut name = "";
        if cursor.take(&[MESSAGE])? {
            match text_before(cursor.rest(), CONTENT, MAX_LEN) {
                Some(before) => {
                    name = before;
                    cursor.skip(name.len());
                }
                None if !input.is_complete && cursor.rest().len() < MAX_LEN + CONTENT.len() => {
                    return Err(NoMatch::Incomplete);
                }
                None => return Err(NoMatch::Text),
            }
        }
        if cursor.take(&[CALL])? {
            let mut found = parse_json_calls(&mut cursor, tools, ENDS)?;
            if let Match::Calls { calls, .. } = &mut found
                && let Some(first) = calls.first_mut()
            {
                let is_of_name = |c: char| c.is_alphanumeric() || "_-.:/".contains(c);
                add_leftover(first, name.trim().trim_start_matches(is_of_name));
            }
            return Ok(found);
        }
        if cursor.take(&[TEXT_CALL])? {
            return text_call(&mut cursor, tools, name);
        }
        let is_visible = cursor.take(&[TEXT])?;
        if !is_visible && !cursor.take(&[THINKING])? {
            return Err(NoMatch::Text);
        }
        Ok(Match::Channel {
            end: cursor.at,
            is_visible,
            end_markers: ENDS,
            next_markers: &[MESSAGE, CALL],
        })
    }
}

/// Parses a call whose only argument is the text that follows.
fn text_call(
    cursor: &mut Cursor<'_>,
    tools: &ToolLookup<'_>,
    name: &str,
) -> Result<Match, NoMatch> {
    let callee = tools.callee(name).ok_or(NoMatch::Text)?;
    let tool = callee.tool;
    let parameter = if callee.is_offered { single_parameter(tool) } else { Some("text") };
    let parameter = parameter.ok_or(NoMatch::Text)?;
    let end = find_first(cursor.rest(), ENDS.iter().copied());
    if end.is_none() && !cursor.is_complete {
        return Err(NoMatch::Incomplete);
    }
    let mut arguments = ArgumentBuilder::new(tool);
    let length = match &end {
        Some(end) => {
            arguments.raw(parameter, cursor.rest().get(..end.start).unwrap_or_default());
            end.end
        }
        None => {
            arguments.truncated(parameter, cursor.rest());
            cursor.rest().len()
        }
    };
    cursor.skip(length);
    let call = callee.call(arguments.finish(end.is_some())).ok_or(NoMatch::Malformed)?;
    Ok(Match::Calls { calls: vec![call], end: cursor.at })
}

/// Returns the only required parameter, or else the only parameter.
fn single_parameter(tool: &ToolDefinition) -> Option<&str> {
    let schema = tool.parameters.as_value();
    let required = schema.get("required").and_then(|names| names.as_array());
    if let Some([name]) = required.map(Vec::as_slice) {
        return name.as_str();
    }
    let mut names = schema.get("properties")?.as_object()?.keys();
    names.next().filter(|_| names.next().is_none()).map(String::as_str)
}
