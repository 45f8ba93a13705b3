//! What a model decides: its schema, and how it is read.

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::super::text::grammar::Members;
use crate::json::{self, parse_as};
use crate::models::{ChatOptions, ToolChoice};
use crate::schema::{Schema, moved};
use crate::tool::ToolDefinition;

pub(super) const CALL: &str = "call_tool";
pub(super) const ANSWER: &str = "final_answer";

/// What models call these members, the name that they are told first.
pub(super) const THOUGHT: [&str; 4] = ["thought", "thoughts", "reasoning", "rationale"];
const TYPE: [&str; 3] = ["type", "decision", "step"];
const TOOL: [&str; 6] = ["tool", "action", "tool_name", "name", "function", "call"];
pub(super) const ARGS: [&str; 8] =
    ["args", "arguments", "parameters", "action_input", "tool_input", "input", "params", "kwargs"];
pub(super) const ANSWERS: [&str; 3] = ["answer", "final_answer", "response"];
/// Behind these words stands an answer.
const LABELS: [&str; 3] = ["Final Answer:", "**Final Answer:**", "**Final Answer**:"];
/// How many objects are looked at.
const MOST: usize = 32;

/// What a model decided.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Call {
        thought: String,
        tool: String,
        /// As the model wrote them.
        args: String,
    },
    Answer {
        thought: String,
        answer: String,
        /// Whether its text has no end.
        is_cut: bool,
    },
}

/// The schema of a decision on these tools. `output` is what the answer has to be.
pub(super) fn schema(
    tools: &[&ToolDefinition],
    options: &ChatOptions,
    output: Option<&Schema>,
) -> Schema {
    let mut definitions = Map::new();
    let mut forms = Vec::new();
    for tool in tools {
        let place = format!("/$defs/{}", tool.name.replace('~', "~0").replace('/', "~1"));
        definitions.insert(tool.name.clone(), moved(tool.parameters.as_value(), &place));
        forms.push(form(&[
            ("type", one_of(CALL)),
            ("tool", one_of(&tool.name)),
            ("args", json!({ "$ref": format!("#{place}") })),
        ]));
    }
    if may_answer(tools, options) {
        let answer = match output {
            None => json!({ "type": "string" }),
            Some(output) => {
                // A name that no tool has, and that a reference bears as it is.
                let place = "/$defs/$answer";
                definitions.insert("$answer".into(), moved(output.as_value(), place));
                json!({ "$ref": format!("#{place}") })
            }
        };
        forms.push(form(&[("type", one_of(ANSWER)), ("answer", answer)]));
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

/// Whether the model may answer now, rather than having to call a tool.
pub(super) fn may_answer(tools: &[&ToolDefinition], options: &ChatOptions) -> bool {
    tools.is_empty() || !matches!(options.tool_choice, ToolChoice::Required | ToolChoice::Tool(_))
}

fn one_of(name: &str) -> Value {
    json!({ "type": "string", "enum": [name] })
}

/// The thought comes first, for what a model concludes should follow from it.
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

/// The first decision in `text`. An answer is text, or JSON where that was asked for.
pub(super) fn read(text: &str, is_json: bool) -> Option<Decision> {
    let starts = text.match_indices('{').map(|(at, _)| at).take(MOST);
    let mut objects = starts.filter_map(|at| text.get(at..)).map(Members::of);
    objects.find_map(|members| decision(&members, is_json))
}

fn decision(members: &Members<'_>, is_json: bool) -> Option<Decision> {
    let thought = members.get(&THOUGHT).map(words).unwrap_or_default();
    let kind = members.get(&TYPE).filter(|kind| !kind.starts_with('{')).map(words);
    // The call may be an object of its own.
    let inner = members.get(&TOOL).filter(|tool| tool.starts_with('{')).map(Members::of);
    let named = inner.as_ref().unwrap_or(members);
    let tool = named.get(&TOOL).map(words).filter(|tool| !tool.is_empty() && tool != "null");
    let answer = members.get(&ANSWERS).filter(|answer| *answer != "null");
    let is = |word: &Option<String>, names: &[&str]| {
        let word = word.as_deref().unwrap_or_default().replace([' ', '-'], "_").to_lowercase();
        names.contains(&word.as_str())
    };
    let ends = [ANSWER, "answer", "final", "finish"];
    let calls = [CALL, "tool", "action", "call", "tool_call", "use_tool", "function"];
    let is_end = is(&kind, &ends) || is(&tool, &ends[..2]);
    // Some name the tool as the type.
    let tool = tool.or_else(|| kind.clone().filter(|_| !is(&kind, &calls)));
    match (tool, answer) {
        (_, Some(answer)) if is_end => Some(answered(thought, answer, members, is_json)),
        (Some(_), None) if is_end => {
            let answer = members.get(&ARGS)?;
            let inner = answer.starts_with('{').then(|| Members::of(answer));
            let answer = inner.as_ref().and_then(|inner| inner.get(&ANSWERS)).unwrap_or(answer);
            Some(answered(thought, answer, members, is_json))
        }
        (Some(tool), _)
            if !is_end && (members.get(&TOOL).is_some() || members.get(&ARGS).is_some()) =>
        {
            let holder = if members.get(&ARGS).is_some() { members } else { named };
            Some(Decision::Call { thought, tool, args: args(holder)? })
        }
        (None, Some(answer)) if kind.is_none() || !is(&kind, &calls) => {
            Some(answered(thought, answer, members, is_json))
        }
        _ => None,
    }
}

/// The text of the arguments: whatever is done about damage is for the tool to allow. None where damage hides them.
fn args(members: &Members<'_>) -> Option<String> {
    match members.get(&ARGS) {
        Some("null") => Some("{}".to_owned()),
        // As JSON within JSON.
        Some(text) if text.starts_with('"') => Some(words(text)),
        Some(text) => Some(text.to_owned()),
        None if members.is_whole => Some(beside(members)),
        // Cut off before they began.
        None => (!members.has_end()).then(|| "{".to_owned()),
    }
}

/// The arguments of a call that has them beside the tool's name.
fn beside(members: &Members<'_>) -> String {
    let known = [&THOUGHT[..], &TYPE, &TOOL, &ANSWERS].concat();
    members.object(|key| !known.contains(&key))
}

fn answered(thought: String, answer: &str, members: &Members<'_>, is_json: bool) -> Decision {
    let quote = answer.chars().next().filter(|c| "\"'".contains(*c));
    let is_cut = quote.is_some_and(|quote| answer.len() == 1 || !answer.ends_with(quote));
    let answer = match quote {
        Some(_) if !is_json => words(answer),
        _ => answer.trim().to_owned(),
    };
    match mended(members) {
        Some((more, is_cut)) if more.len() > answer.len() && more.starts_with(&answer) => {
            Decision::Answer { thought, answer: more, is_cut }
        }
        _ => Decision::Answer { thought, answer, is_cut },
    }
}

/// The answer of an object that is damaged, in which quotes may stand, and whether that has no end.
fn mended(members: &Members<'_>) -> Option<(String, bool)> {
    if members.is_whole {
        return None;
    }
    let read = parse_as(members.text, &json!({ "type": "object" })).ok()?;
    let answer = ANSWERS.iter().find_map(|name| read.value.get(name)?.as_str())?;
    Some((answer.to_owned(), read.truncated))
}

/// What a string says, or what stands there bare.
fn words(text: &str) -> String {
    if !text.starts_with(['"', '\'']) {
        return text.trim().to_owned();
    }
    let read = parse_as(text, &json!({ "type": "string" })).map(|parsed| parsed.value);
    match read {
        Ok(Value::String(text)) => text,
        _ => text.trim_matches(['"', '\'']).to_owned(),
    }
}

/// The answer behind `Final Answer:`.
pub(super) fn labelled(text: &str) -> Option<String> {
    let behind = |label: &&str| text.split_once(*label).map(|(_, answer)| answer);
    let answer = LABELS.iter().find_map(behind)?.trim();
    (!answer.is_empty()).then(|| answer.to_owned())
}

/// A call as the model would have decided on it.
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

/// An answer as the model would have decided on it.
pub(super) fn answer_text(thought: &str, answer: &str) -> String {
    let (thought, answer) = (Value::from(thought), Value::from(answer));
    format!(r#"{{"thought": {thought}, "type": "{ANSWER}", "answer": {answer}}}"#)
}
