//! The text format of ReAct prompts: lines `Action: NAME` and `Action Input: OBJECT`, or `Action:`
//! and a fence with `{"action": NAME, "action_input": OBJECT}`, or `Action: NAME({…})` in one line.
//!
//! Text after the call, such as an `Observation:` and its conclusions, is invented by the model and
//! removed with the markup. If the input is no JSON, it is the value of the tool's only argument. A
//! tool that isn't offered needs the label `Action Input:` and an object. Other lines that are
//! meant as an action are reported to the model as unreadable.
//!
//! Models: any model under a ReAct prompt of LangChain, LlamaIndex, Dify or DB-GPT.
//!
//! Source: run-llama/llama_index#12865, dynamiq-ai/dynamiq#506, langchain-ai/langchain#9535.

use super::super::callee::Callee;
use super::super::grammar::{
    ArgumentBuilder, Cursor, Strictness, beginning, find_first, parse_calls, parse_python_call,
    value_end,
};
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

const ACTION: &[&str] = &["Action:", "### Action:", "**Action:**", "**Action**:"];
const INPUT: &[&str] =
    &["Action Input:", "**Action Input:**", "**Action Input**:", "### Action Input:", "Input:"];
/// Labels of text that the model invents after a call.
const INVENTED_LABELS: &[&str] =
    &["Observation:", "**Observation", "### Observation", "Thought:", "Final Answer:", "Answer:"];

/// The name of the format.
pub(crate) const NAME: &str = "react";
/// Labels of text after an action that is the answer.
const ANSWER_LABELS: [&str; 2] = ["Final Answer:", "**Final Answer"];
/// The longest line of an action, and the longest beginning of its object, that are examined.
const MAX_ACTION_LEN: usize = 512;

#[derive(Debug)]
pub(crate) struct ReactLines;

impl Format for ReactLines {
    fn name(&self) -> &str {
        NAME
    }

    fn start_markers(&self) -> &[StartMarker] {
        &[
            StartMarker::LineStart("Action:"),
            StartMarker::LineStart("### Action:"),
            StartMarker::LineStart("**Action:**"),
            StartMarker::LineStart("**Action**:"),
        ]
    }

    fn only_at_end(&self) -> bool {
        true
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let mut cursor = Cursor::new(input);
        cursor.take(ACTION)?;
        cursor.skip_blanks();
        cursor.is_done()?;
        let is_structured = cursor.rest().starts_with('{') || cursor.rest().starts_with("```");
        let calls = if is_structured {
            parse_structured(&mut cursor, tools)?
        } else {
            vec![parse_lines(&mut cursor, tools)?]
        };
        let end = cursor.at;
        cursor.skip_blanks();
        if !cursor.is_done()?
            && (cursor.is_truncated_token(INVENTED_LABELS) || cursor.take(INVENTED_LABELS)?)
        {
            if !cursor.is_complete {
                return Err(NoMatch::Incomplete);
            }
            return Ok(Match::Calls { calls, end: input.text.len() });
        }
        Ok(Match::Calls { calls, end })
    }
}

/// Parses a call object, in a fence or not.
fn parse_structured(
    cursor: &mut Cursor<'_>,
    tools: &ToolLookup<'_>,
) -> Result<Vec<ToolCall>, NoMatch> {
    cursor.take_all(&["```json", "```"])?;
    let rest = cursor.rest();
    if !rest.starts_with('{') {
        return if cursor.is_done()? { Err(NoMatch::Text) } else { Err(NoMatch::Malformed) };
    }
    let length = match value_end(rest, 0, cursor.is_complete) {
        Some(length) => length,
        None if cursor.is_complete => rest.len(),
        None => return Err(NoMatch::Incomplete),
    };
    let body = rest.get(..length).unwrap_or_default();
    let calls = parse_calls(body, tools, Strictness::Labeled).ok_or(NoMatch::Malformed)?;
    cursor.skip(length);
    let end = cursor.at;
    if cursor.take_all(&["```"])? {
        cursor.at = end + cursor.since(end).trim_end().len();
    } else {
        cursor.at = end;
    }
    Ok(calls)
}

/// Parses a call in one line: `NAME({…})`, `NAME(KEY=VALUE)` or `NAME {…}`.
fn parse_inline(cursor: &mut Cursor<'_>, tools: &ToolLookup<'_>) -> Result<ToolCall, NoMatch> {
    let mut after = *cursor;
    let has_tick = after.take(&["`"])?;
    let start = after;
    let tool = tools.find(after.name()?).ok_or(NoMatch::Text)?;
    after.take(&[" "])?;
    let call = if after.is_done()? || !after.rest().starts_with('{') {
        after = start;
        parse_python_call(&mut after, tools)?
    } else {
        let rest = after.rest();
        let length = match value_end(rest, 0, after.is_complete) {
            Some(length) => length,
            None if after.is_complete => text_before_label(rest).trim_end().len(),
            None => return Err(NoMatch::Incomplete),
        };
        after.skip(length);
        let arguments = rest.get(..length).unwrap_or_default();
        tools.call(&tool.name, arguments).ok_or(NoMatch::Text)?
    };
    if has_tick {
        after.take(&["`"])?;
    }
    let line = after.rest().trim_start_matches([' ', '\r', '.']);
    if line.is_empty() && !after.is_complete {
        return Err(NoMatch::Incomplete);
    }
    if !line.is_empty() && !line.starts_with('\n') {
        return Err(NoMatch::Text);
    }
    after.skip(after.rest().len() - line.len());
    *cursor = after;
    Ok(call)
}

fn parse_lines(cursor: &mut Cursor<'_>, tools: &ToolLookup<'_>) -> Result<ToolCall, NoMatch> {
    match parse_inline(cursor, tools) {
        Err(NoMatch::Incomplete) if !cursor.is_complete => return Err(NoMatch::Incomplete),
        Err(_) => {}
        call => return call,
    }
    let name = match cursor.head("\n") {
        // The call, if it is one, is truncated.
        Err(_) if cursor.is_complete => return Err(NoMatch::Text),
        name => name?,
    };
    let callee =
        tools.callee(name.trim_matches([' ', '`', '*', '"', '\r'])).ok_or(NoMatch::Text)?;
    cursor.skip_blanks();
    if cursor.is_done()? {
        // A tool that takes arguments needs a line with its input.
        return Err(NoMatch::Text);
    }
    let label_start = cursor.at;
    if !cursor.take(INPUT)? {
        return Err(NoMatch::Text);
    }
    if !callee.is_offered {
        return parse_unknown(cursor, &callee, label_start);
    }
    let tool = callee.tool;
    let start = cursor.at;
    cursor.skip_blanks();
    if cursor.is_done()? {
        return tools.call(&tool.name, "{").ok_or(NoMatch::Text);
    }
    // The input may be on the next line, which may not have arrived yet.
    cursor.take_all(&["```json", "```"])?;
    if cursor.is_done()? {
        return tools.call(&tool.name, "{").ok_or(NoMatch::Text);
    }
    let rest = cursor.rest();
    if rest.starts_with('{') {
        let length = match value_end(rest, 0, cursor.is_complete) {
            Some(length) => length,
            None if cursor.is_complete => text_before_label(rest).trim_end().len(),
            None => return Err(NoMatch::Incomplete),
        };
        let arguments = rest.get(..length).unwrap_or_default();
        cursor.skip(length);
        let end = cursor.at;
        cursor.at = if cursor.take_all(&["```"])? { cursor.at } else { end };
        return tools.call(&tool.name, arguments).ok_or(NoMatch::Malformed);
    }
    cursor.at = start;
    let rest = cursor.rest();
    let line = match rest.find('\n') {
        Some(at) => rest.get(..at).unwrap_or_default(),
        None if cursor.is_complete => rest,
        None => return Err(NoMatch::Incomplete),
    };
    cursor.skip(line.len());
    let input = line.trim();
    let quoted =
        ["'", "\"", "`"].iter().find_map(|quote| input.strip_prefix(quote)?.strip_suffix(quote));
    let input = quoted.unwrap_or(input);
    let arguments = match single_argument(tool) {
        _ if input.starts_with(['{', '[']) => input.to_owned(),
        Some(only) if !input.is_empty() => {
            let mut builder = ArgumentBuilder::new(tool);
            builder.raw(only, input);
            builder.finish(true)
        }
        _ if input.is_empty() || input == "None" => "{}".to_owned(),
        // These are words of the prompt that describe the input.
        _ if ["argument", "input", "JSON"].iter().any(|word| input.contains(word)) => {
            return Err(NoMatch::Text);
        }
        // The error of the tool describes its arguments to the model.
        _ => input.to_owned(),
    };
    tools.call(&tool.name, arguments).ok_or(NoMatch::Malformed)
}

/// Parses the input of a tool that isn't offered: an object behind the label of the prompt.
fn parse_unknown(
    cursor: &mut Cursor<'_>,
    callee: &Callee<'_>,
    label_start: usize,
) -> Result<ToolCall, NoMatch> {
    let is_labeled = cursor.since(label_start).contains("Action Input");
    cursor.skip_blanks();
    if cursor.is_done()? || !is_labeled || !cursor.rest().starts_with('{') {
        return Err(NoMatch::Text);
    }
    let Some(length) = value_end(cursor.rest(), 0, cursor.is_complete) else {
        return Err(if cursor.is_complete { NoMatch::Text } else { NoMatch::Incomplete });
    };
    let arguments = cursor.rest().get(..length).unwrap_or_default().to_owned();
    cursor.skip(length);
    callee.call(arguments).ok_or(NoMatch::Text)
}

/// Returns true if the text after `Action:` is meant as a call: an object or a fence that names an
/// action, the name of a tool with a bracket, or a line with a name, followed by `Action Input:`,
/// or by nothing if a tool has this name.
pub(crate) fn is_action(after: &str, tools: &ToolLookup<'_>) -> bool {
    let is_whole = after.len() <= MAX_ACTION_LEN;
    let action = beginning(after, MAX_ACTION_LEN).trim_start();
    if action.starts_with(['{', '`']) && action.contains("\"action\"") {
        return true;
    }
    let (line, rest) = action.split_once('\n').unwrap_or((action, ""));
    let is_tool = |name: &str| tools.find(name.trim_matches([' ', '`', '*', '"', '\r'])).is_some();
    let rest = rest.trim_start();
    let is_labeled = INPUT.iter().any(|label| label.contains("Action") && rest.starts_with(label));
    let is_name = rest.is_empty() && is_whole && is_tool(line);
    is_labeled || is_name || line.split_once(['(', '{']).is_some_and(|(name, _)| is_tool(name))
}

/// Returns the start of the answer that follows the actions of a text.
pub(crate) fn answer_start(text: &str) -> Option<usize> {
    ANSWER_LABELS.iter().filter_map(|label| text.rfind(label)).max()
}

fn single_argument(tool: &ToolDefinition) -> Option<&str> {
    let members = tool.parameters.as_value().get("properties")?.as_object()?;
    members.keys().next().filter(|_| members.len() == 1).map(String::as_str)
}

fn text_before_label(text: &str) -> &str {
    let labels: Vec<_> = INVENTED_LABELS.iter().map(|label| format!("\n{label}")).collect();
    let first = find_first(text, labels.iter().map(String::as_str));
    first.and_then(|first| text.get(..first.start)).unwrap_or(text)
}
