//! Decisions of a model: their schema, and how they are parsed.

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::super::text::grammar::{Members, is_call_key};
use super::super::text::{CallMarkup, Formats, ToolLookup, add_leftover, leftover_members};
use crate::json::{self, parse_as};
use crate::message::ToolCall;
use crate::models::{ChatOptions, ToolChoice};
use crate::schema::{Schema, rebase};
use crate::tool::ToolDefinition;

pub(super) const CALL: &str = "call_tool";
pub(super) const ANSWER: &str = "final_answer";

/// The names that models give to the members of a decision. The first of each is the name in the
/// instructions.
pub(super) const THOUGHT: [&str; 4] = ["thought", "thoughts", "reasoning", "rationale"];
const TYPE: [&str; 3] = ["type", "decision", "step"];
const TOOL: [&str; 6] = ["tool", "action", "tool_name", "name", "function", "call"];
pub(super) const ARGS: [&str; 8] =
    ["args", "arguments", "parameters", "action_input", "tool_input", "input", "params", "kwargs"];
pub(super) const ANSWERS: [&str; 3] = ["answer", "final_answer", "response"];
/// Labels in front of an answer.
const LABELS: [&str; 3] = ["Final Answer:", "**Final Answer:**", "**Final Answer**:"];
/// The number of objects of a reply that are tried.
const MAX_OBJECTS: usize = 32;

/// The decision of a model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReactDecision {
    Call {
        thought: String,
        tool: String,
        /// The text of the arguments, as the model wrote it.
        args: String,
        /// Members of the decision, and an argument after it, that would be lost.
        leftover: String,
    },
    Answer {
        thought: String,
        answer: String,
        /// True if the text of the answer is truncated.
        is_truncated: bool,
    },
}

/// Returns the schema of a decision on `tools`. `output` is the schema of the answer; without one,
/// the answer is a string.
pub(super) fn schema(
    tools: &[&ToolDefinition],
    options: &ChatOptions,
    output: Option<&Schema>,
) -> Schema {
    let mut definitions = Map::new();
    let mut forms = Vec::new();
    for tool in tools {
        let pointer = format!("/$defs/{}", tool.name.replace('~', "~0").replace('/', "~1"));
        definitions.insert(tool.name.clone(), rebase(tool.parameters.as_value(), &pointer));
        forms.push(form(&[
            ("type", only_value(CALL)),
            ("tool", only_value(&tool.name)),
            ("args", json!({ "$ref": format!("#{pointer}") })),
        ]));
    }
    if may_answer(tools, options) {
        let answer = match output {
            None => json!({ "type": "string" }),
            Some(output) => {
                // No tool has this name, and a reference needs no escaping for it.
                let pointer = "/$defs/$answer";
                definitions.insert("$answer".into(), rebase(output.as_value(), pointer));
                json!({ "$ref": format!("#{pointer}") })
            }
        };
        forms.push(form(&[("type", only_value(ANSWER)), ("answer", answer)]));
    }
    let mut document = match (forms.len(), forms.pop()) {
        (1, Some(form)) => form,
        (_, last) => json!({ "anyOf": forms.into_iter().chain(last).collect::<Vec<_>>() }),
    };
    if let (false, Some(document)) = (definitions.is_empty(), document.as_object_mut()) {
        document.insert("$defs".into(), definitions.into());
    }
    document.into()
}

/// Returns true if the model may answer, and false if it has to call a tool.
pub(super) fn may_answer(tools: &[&ToolDefinition], options: &ChatOptions) -> bool {
    tools.is_empty() || !matches!(options.tool_choice, ToolChoice::Required | ToolChoice::Tool(_))
}

fn only_value(name: &str) -> Value {
    json!({ "type": "string", "enum": [name] })
}

/// Builds an object schema. The thought is its first member, so that the model concludes from it.
fn form(members: &[(&str, Value)]) -> Value {
    let thought = ("thought", json!({ "type": "string" }));
    let members = || std::iter::once(&thought).chain(members);
    let names: Vec<_> = members().map(|(name, _)| *name).collect();
    let properties: Map<_, _> =
        members().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

/// Parses the first decision in `text`. The answer is text, or JSON if `is_json` is set.
pub(super) fn parse(text: &str, is_json: bool, tools: &ToolLookup<'_>) -> Option<ReactDecision> {
    let starts = text.match_indices('{').map(|(at, _)| at).take(MAX_OBJECTS);
    let mut decisions = starts.filter_map(|at| {
        let decision = parse_members(&Members::of(text.get(at..)?), is_json, tools)?;
        Some((at, decision))
    });
    let (at, mut decision) = decisions.next()?;
    if let ReactDecision::Call { leftover, .. } = &mut decision {
        // The value of a member: what is beside it may be an argument.
        let outer = text.get(text.find('{')?..at).unwrap_or_default();
        let is_member = outer.trim_end().strip_suffix(':').is_some_and(|it| it.ends_with('"'));
        if is_member {
            leftover.push_str(outer);
        }
    }
    Some(decision)
}

fn parse_members(
    members: &Members<'_>,
    is_json: bool,
    tools: &ToolLookup<'_>,
) -> Option<ReactDecision> {
    let thought = members.get(&THOUGHT).map(string_content).unwrap_or_default();
    let kind = members.get(&TYPE).filter(|kind| !kind.starts_with('{')).map(string_content);
    // The call may be a nested object.
    let inner = members.get(&TOOL).filter(|tool| tool.starts_with('{')).map(Members::of);
    let named = inner.as_ref().unwrap_or(members);
    let tool =
        named.get(&TOOL).map(string_content).filter(|tool| !tool.is_empty() && tool != "null");
    let answer = members.get(&ANSWERS).filter(|answer| *answer != "null");
    let is_named = |word: &Option<String>, names: &[&str]| {
        let word = word.as_deref().unwrap_or_default().replace([' ', '-'], "_").to_lowercase();
        names.contains(&word.as_str())
    };
    let ends = [ANSWER, "answer", "final", "finish"];
    let calls = [CALL, "tool", "action", "call", "tool_call", "use_tool", "function"];
    let is_end = is_named(&kind, &ends) || is_named(&tool, &ends[..2]);
    // Some models write the name of the tool as the type.
    let tool = tool.or_else(|| kind.clone().filter(|_| !is_named(&kind, &calls)));
    match (tool, answer) {
        (_, Some(answer)) if is_end => Some(answer_decision(thought, answer, members, is_json)),
        (Some(_), None) if is_end => {
            let answer = members.get(&ARGS)?;
            let inner = answer.starts_with('{').then(|| Members::of(answer));
            let answer = inner.as_ref().and_then(|inner| inner.get(&ANSWERS)).unwrap_or(answer);
            Some(answer_decision(thought, answer, members, is_json))
        }
        (Some(tool), _)
            if !is_end && (members.get(&TOOL).is_some() || members.get(&ARGS).is_some()) =>
        {
            let holder = if members.get(&ARGS).is_some() { members } else { named };
            let args = args(holder)?;
            let mut call = ToolCall::new("", &*tool, args.as_str());
            add_leftovers(&mut call, &[Some(members), inner.as_ref()], tools);
            Some(ReactDecision::Call { thought, tool, args, leftover: call.leftover })
        }
        (None, Some(answer)) if kind.is_none() || !is_named(&kind, &calls) => {
            Some(answer_decision(thought, answer, members, is_json))
        }
        _ => None,
    }
}

/// Adds the members of a call that would be lost, and an argument after the decision.
fn add_leftovers(
    call: &mut ToolCall,
    [outer, inner]: &[Option<&Members<'_>>; 2],
    tools: &ToolLookup<'_>,
) {
    let has_arguments = [outer, inner].into_iter().flatten().any(|it| it.get(&ARGS).is_some());
    let tool = tools.find(&call.name);
    let arguments = call.arguments.to_text().into_owned();
    for members in [outer, inner].into_iter().flatten() {
        // Without a member for the arguments, they stand beside the name.
        let has_siblings =
            !has_arguments && inner.is_none_or(|inner| std::ptr::eq(inner, *members));
        let used: Vec<_> = if has_siblings {
            std::iter::once(0..members.text.len()).collect()
        } else {
            [&TOOL[..], &ARGS].iter().filter_map(|it| members.range_of(it)).collect()
        };
        let is_key = |key: &str| {
            is_call_key(key) || [&THOUGHT[..], &TYPE, &TOOL, &ANSWERS].concat().contains(&key)
        };
        add_leftover(call, &leftover_members(members, &used, &arguments, tool, is_key));
    }
    let after = outer.and_then(|outer| outer.text_after()).unwrap_or_default();
    let markup = CallMarkup { formats: Formats::all(), tools, ends: &[] };
    // The text is complete, so nothing is left to wait for.
    let _ = markup.add_leftover_after("", after, true, std::slice::from_mut(call));
}

/// Returns the text of the arguments, or `None` if damage hides them. The repair settings of the
/// tool decide what is done about damage inside them.
fn args(members: &Members<'_>) -> Option<String> {
    match members.get(&ARGS) {
        Some("null") => Some("{}".to_owned()),
        // The arguments are JSON in a string.
        Some(text) if text.starts_with('"') => Some(string_content(text)),
        Some(text) => Some(text.to_owned()),
        None if members.is_complete => Some(sibling_arguments(members)),
        // The decision was truncated before the arguments began.
        None => (!members.has_end()).then(|| "{".to_owned()),
    }
}

/// Returns the members beside the tool's name, for a call that has its arguments there.
fn sibling_arguments(members: &Members<'_>) -> String {
    let known = [&THOUGHT[..], &TYPE, &TOOL, &ANSWERS].concat();
    members.object(|key| !known.contains(&key))
}

fn answer_decision(
    thought: String,
    answer: &str,
    members: &Members<'_>,
    is_json: bool,
) -> ReactDecision {
    let quote = answer.chars().next().filter(|c| "\"'".contains(*c));
    let is_truncated = quote.is_some_and(|quote| answer.len() == 1 || !answer.ends_with(quote));
    let answer = match quote {
        Some(_) if !is_json => string_content(answer),
        _ => answer.trim().to_owned(),
    };
    match repaired_answer(members) {
        Some((more, is_truncated)) if more.len() > answer.len() && more.starts_with(&answer) => {
            ReactDecision::Answer { thought, answer: more, is_truncated }
        }
        _ => ReactDecision::Answer { thought, answer, is_truncated },
    }
}

/// Returns the answer of a damaged object, in which unescaped quotes may occur, and whether the
/// answer is truncated.
fn repaired_answer(members: &Members<'_>) -> Option<(String, bool)> {
    if members.is_complete {
        return None;
    }
    let parsed = parse_as(members.text, &json!({ "type": "object" })).ok()?;
    let answer = ANSWERS.iter().find_map(|name| parsed.value.get(name)?.as_str())?;
    Some((answer.to_owned(), parsed.truncated))
}

/// Returns the content of a string literal, or the text itself if it has no quotes.
fn string_content(text: &str) -> String {
    if !text.starts_with(['"', '\'']) {
        return text.trim().to_owned();
    }
    let parsed = parse_as(text, &json!({ "type": "string" })).map(|parsed| parsed.value);
    match parsed {
        Ok(Value::String(text)) => text,
        _ => text.trim_matches(['"', '\'']).to_owned(),
    }
}

/// Returns the answer after a label such as `Final Answer:`.
pub(super) fn labeled_answer(text: &str) -> Option<String> {
    let after_label = |label: &&str| text.split_once(*label).map(|(_, answer)| answer);
    let answer = LABELS.iter().find_map(after_label)?.trim();
    (!answer.is_empty()).then(|| answer.to_owned())
}

/// Writes a call as a decision.
pub(super) fn call_text(thought: &str, tool: &str, args: &str) -> String {
    let args = if serde_json::from_str::<IgnoredAny>(args).is_ok() {
        args.to_owned()
    } else {
        json::parse(args)
            .map_or_else(|_| Value::from(args).to_string(), |parsed| parsed.json().to_owned())
    };
    let (thought, tool) = (Value::from(thought), Value::from(tool));
    format!(r#"{{"thought": {thought}, "type": "{CALL}", "tool": {tool}, "args": {args}}}"#)
}

/// Writes an answer as a decision.
pub(super) fn answer_text(thought: &str, answer: &str) -> String {
    let (thought, answer) = (Value::from(thought), Value::from(answer));
    format!(r#"{{"thought": {thought}, "type": "{ANSWER}", "answer": {answer}}}"#)
}
