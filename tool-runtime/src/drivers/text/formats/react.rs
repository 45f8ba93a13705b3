//! Lines `Action: NAME` and `Action Input: OBJECT`, or `Action:` and a fence with
//! `{"action": NAME, "action_input": OBJECT}`: any model under a ReAct prompt of LangChain, LlamaIndex, Dify or
//! DB-GPT. What the model goes on with, an `Observation:` and all that it concludes from it, is made up, and
//! goes with the markup. A tool with one argument takes what is no JSON for that.
//!
//! Source: run-llama/llama_index#12865, dynamiq-ai/dynamiq#506, langchain-ai/langchain#9535.

use super::super::grammar::{Cursor, Strictness, Typed, calls_of, closed, first_of};
use super::super::{Format, Found, Miss, Offered, Opener, Rest};
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

const ACTION: &[&str] = &["Action:", "### Action:", "**Action:**", "**Action**:"];
const INPUT: &[&str] =
    &["Action Input:", "**Action Input:**", "**Action Input**:", "### Action Input:", "Input:"];
/// What follows when the model plays both sides.
const MADE_UP: &[&str] =
    &["Observation:", "**Observation", "### Observation", "Thought:", "Final Answer:", "Answer:"];

#[derive(Debug)]
pub(super) struct React;

impl Format for React {
    fn name(&self) -> &str {
        "react"
    }

    fn openers(&self) -> &[Opener] {
        &[
            Opener::Line("Action:"),
            Opener::Line("### Action:"),
            Opener::Line("**Action:**"),
            Opener::Line("**Action**:"),
        ]
    }

    fn is_last(&self) -> bool {
        true
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        cursor.take(ACTION)?;
        cursor.skip_blanks();
        cursor.is_done()?;
        let calls = match cursor.rest().starts_with(['{', '`']) {
            true => structured(&mut cursor, offered)?,
            false => vec![lines(&mut cursor, offered)?],
        };
        let end = cursor.at;
        cursor.skip_blanks();
        if !cursor.is_done()? && (cursor.is_cut(MADE_UP) || cursor.take(MADE_UP)?) {
            if !cursor.is_end {
                return Err(Miss::More);
            }
            return Ok(Found::Calls { calls, end: rest.text.len() });
        }
        Ok(Found::Calls { calls, end })
    }
}

/// A call object, in a fence or not.
fn structured(cursor: &mut Cursor<'_>, offered: &Offered<'_>) -> Result<Vec<ToolCall>, Miss> {
    cursor.take_all(&["```json", "```"])?;
    let rest = cursor.rest();
    if !rest.starts_with('{') {
        return if cursor.is_done()? { Err(Miss::Text) } else { Err(Miss::Broken) };
    }
    let length = match closed(rest, 0, cursor.is_end) {
        Some(length) => length,
        None if cursor.is_end => rest.len(),
        None => return Err(Miss::More),
    };
    let body = rest.get(..length).unwrap_or_default();
    let calls = calls_of(body, offered, Strictness::Marked).ok_or(Miss::Broken)?;
    cursor.skip(length);
    let end = cursor.at;
    if cursor.take_all(&["```"])? {
        cursor.at = end + cursor.since(end).trim_end().len();
    } else {
        cursor.at = end;
    }
    Ok(calls)
}

fn lines(cursor: &mut Cursor<'_>, offered: &Offered<'_>) -> Result<ToolCall, Miss> {
    let name = match cursor.head('\n') {
        // The call was cut off, if it was one.
        Err(_) if cursor.is_end => return Err(Miss::Text),
        name => name?,
    };
    let tool = offered.find(name.trim_matches([' ', '`', '*', '"', '\r'])).ok_or(Miss::Text)?;
    cursor.skip_blanks();
    if cursor.is_done()? {
        // Without a line for its input, only what takes none can be meant.
        return Err(Miss::Text);
    }
    if !cursor.take(INPUT)? {
        return Err(Miss::Text);
    }
    let start = cursor.at;
    cursor.skip_blanks();
    if cursor.is_done()? {
        return offered.call(&tool.name, "{").ok_or(Miss::Text);
    }
    // On the next line at times, which may not be there yet.
    cursor.take_all(&["```json", "```"])?;
    if cursor.is_done()? {
        return offered.call(&tool.name, "{").ok_or(Miss::Text);
    }
    let rest = cursor.rest();
    if rest.starts_with('{') {
        let length = match closed(rest, 0, cursor.is_end) {
            Some(length) => length,
            None if cursor.is_end => up_to_label(rest).trim_end().len(),
            None => return Err(Miss::More),
        };
        let arguments = rest.get(..length).unwrap_or_default();
        cursor.skip(length);
        let end = cursor.at;
        cursor.at = if cursor.take_all(&["```"])? { cursor.at } else { end };
        return offered.call(&tool.name, arguments).ok_or(Miss::Broken);
    }
    cursor.at = start;
    let rest = cursor.rest();
    let line = match rest.find('\n') {
        Some(at) => rest.get(..at).unwrap_or_default(),
        None if cursor.is_end => rest,
        None => return Err(Miss::More),
    };
    cursor.skip(line.len());
    let words = line.trim();
    let quoted =
        ["'", "\"", "`"].iter().find_map(|quote| words.strip_prefix(quote)?.strip_suffix(quote));
    let words = quoted.unwrap_or(words);
    let arguments = match only_argument(tool) {
        _ if words.starts_with(['{', '[']) => words.to_owned(),
        Some(only) if !words.is_empty() => {
            let mut typed = Typed::new(tool);
            typed.raw(only, words);
            typed.finish(true)
        }
        _ if words.is_empty() || words == "None" => "{}".to_owned(),
        // The prompt says so of what belongs here.
        _ if ["argument", "input", "JSON"].iter().any(|word| words.contains(word)) => {
            return Err(Miss::Text);
        }
        // The tool's refusal tells what it takes.
        _ => words.to_owned(),
    };
    offered.call(&tool.name, arguments).ok_or(Miss::Broken)
}

fn only_argument(tool: &ToolDefinition) -> Option<&str> {
    let members = tool.parameters.as_value().get("properties")?.as_object()?;
    members.keys().next().filter(|_| members.len() == 1).map(String::as_str)
}

fn up_to_label(text: &str) -> &str {
    let labels: Vec<_> = MADE_UP.iter().map(|label| format!("\n{label}")).collect();
    let first = first_of(text, labels.iter().map(String::as_str));
    first.and_then(|first| text.get(..first.start)).unwrap_or(text)
}
