//! The calls that a JSON text spells: `{"name": …, "arguments": …}` and its kin, and lists of them.

use serde::de::IgnoredAny;

use super::super::{Offered, Rest};
use super::closed;
use super::members::{Members, Walk};
use crate::json::parse_as;
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

const NAMES: [&str; 6] = ["name", "tool", "tool_name", "function", "function_name", "action"];
const ARGUMENTS: [&str; 8] =
    ["arguments", "parameters", "args", "params", "input", "action_input", "tool_input", "kwargs"];
const LISTS: [&str; 3] = ["tool_calls", "function_calls", "calls"];
/// What else a call may have.
const BESIDE: [&str; 9] =
    ["type", "id", "call_id", "tool_call_id", "index", "thought", "content", "role", "reasoning"];
/// `{"tool_calls": [{"function": {…}}]}` takes four.
const LAYERS: usize = 4;

/// How much like a call it has to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drivers::text) enum Strictness {
    /// A marker says that it is one.
    Marked,
    /// Nothing else does.
    Bare,
}

/// The calls in `text`, an object or a list of them; none where something in it is no call.
pub(in crate::drivers::text) fn calls_of(
    text: &str,
    offered: &Offered<'_>,
    strictness: Strictness,
) -> Option<Vec<ToolCall>> {
    let mut calls = Vec::new();
    read(text.trim(), offered, strictness, LAYERS, &mut calls)?;
    (!calls.is_empty()).then_some(calls)
}

/// Whether the object or list that `rest` begins with may still be a call: told by its first members.
pub(in crate::drivers::text) fn may_be_call(
    rest: Rest<'_>,
    offered: &Offered<'_>,
    strictness: Strictness,
) -> bool {
    let text = rest.text.trim_start_matches(['[', ' ', '\n', '\r', '\t']);
    if !text.starts_with('{') {
        return text.is_empty();
    }
    let mut walk = Walk::new(Rest::new(text, rest.is_end));
    while let Some(key) = walk.key() {
        if NAMES.contains(&key) {
            let value = text.get(walk.value()).unwrap_or_default();
            // A function may be an object.
            return !is_text(value) || may_be_name(Rest::new(value, rest.is_end), offered);
        }
        if strictness == Strictness::Marked || LISTS.contains(&key) || ARGUMENTS.contains(&key) {
            return true;
        }
        if !BESIDE.contains(&key) {
            return false;
        }
        walk.value();
    }
    true
}

fn is_text(value: &str) -> bool {
    value.starts_with(['"', '\''])
}

fn may_be_name(name: Rest<'_>, offered: &Offered<'_>) -> bool {
    closed(name.text, 0, name.is_end).is_none()
        || offered.find(name.text.trim_matches(['"', '\''])).is_some()
}

fn read(
    text: &str,
    offered: &Offered<'_>,
    strictness: Strictness,
    layers: usize,
    calls: &mut Vec<ToolCall>,
) -> Option<()> {
    let layers = layers.checked_sub(1)?;
    if let Some(list) = text.strip_prefix('[') {
        let mut at = 0;
        loop {
            at =
                list.len() - list.get(at..)?.trim_start_matches([' ', '\n', '\r', '\t', ',']).len();
            if matches!(list.as_bytes().get(at), None | Some(b']')) {
                return Some(());
            }
            let (end, before) = (closed(list, at, true), calls.len());
            let item = list.get(at..end.unwrap_or(list.len()))?;
            if read(item, offered, strictness, layers, calls).is_none() {
                // Cut off before it said what is called: those before it stand.
                let is_cut = end.is_none() && strictness == Strictness::Marked && before > 0;
                calls.truncate(before);
                return is_cut.then_some(());
            }
            at = end.unwrap_or(list.len());
        }
    }
    if !text.starts_with('{') {
        return None;
    }
    let members = Members::of(text);
    if let Some(list) = members.get(&LISTS).filter(|list| list.starts_with('[')) {
        return read(list, offered, strictness, layers, calls);
    }
    if let Some(inner) = members.get(&["function"]).filter(|inner| inner.starts_with('{')) {
        return read(inner, offered, strictness, layers, calls);
    }
    calls.push(call_of(&members, offered, strictness)?);
    Some(())
}

fn call_of(
    members: &Members<'_>,
    offered: &Offered<'_>,
    strictness: Strictness,
) -> Option<ToolCall> {
    let name = members.get(&NAMES)?.trim_matches(['"', '\'']);
    let tool = offered.find(name)?;
    let is_known =
        |key: &str| NAMES.contains(&key) || ARGUMENTS.contains(&key) || BESIDE.contains(&key);
    if strictness == Strictness::Bare && !members.keys().all(is_known) {
        return None;
    }
    let place = members.place(&ARGUMENTS);
    // That is how a tool is defined.
    if members.keys().any(|key| key == "description") {
        return None;
    }
    let arguments = match place {
        Some(place) => arguments(members, place.start, place.end, tool)?,
        // Cut before they began; what is not there can't be taken for whole.
        None if closed(members.text, 0, true).is_none() => "{".to_owned(),
        None if strictness == Strictness::Marked && members.is_whole => beside(members, tool),
        None => return None,
    };
    match strictness {
        Strictness::Marked => offered.call(&tool.name, arguments),
        Strictness::Bare => offered.bare_call(&tool.name, arguments),
    }
}

/// The arguments of a call that has them beside the tool's name.
fn beside(members: &Members<'_>, tool: &ToolDefinition) -> String {
    let takes = tool.parameters.as_value().get("properties");
    let takes = |key: &str| takes.is_some_and(|own| own.get(key).is_some());
    let name = members.keys().find(|key| NAMES.contains(key));
    let is_other = |key: &str| NAMES.contains(&key) || BESIDE.contains(&key);
    members.object(|key| Some(key) != name && (takes(key) || !is_other(key)))
}

/// The text of the arguments, which stand from `start` to `end` if what is before `end` is sound.
fn arguments(
    members: &Members<'_>,
    start: usize,
    end: usize,
    tool: &ToolDefinition,
) -> Option<String> {
    let exact = members.text.get(start..end)?;
    if exact.starts_with('"') {
        // As OpenAI writes it.
        return Some(serde_json::from_str(exact).unwrap_or_else(|_| exact.to_owned()));
    }
    if exact == "null" {
        return Some("{}".to_owned());
    }
    if serde_json::from_str::<IgnoredAny>(exact).is_ok() {
        return Some(exact.to_owned());
    }
    let rest = members.text.get(start..)?.trim_end();
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    if inner == exact {
        return Some(exact.to_owned());
    }
    let schema = &tool.parameters;
    // Where quotes don't match it may end too early: what is whole is more like it, and what the tool takes. Of
    // what was cut off the longest is.
    let faults = |text: &&str| {
        let Ok(read) = parse_as(text, schema.as_value()) else { return (2, 0, 0) };
        let mismatches = schema.check(&read.value).len();
        match read.truncated {
            true => (1, mismatches, usize::MAX - text.len()),
            false => (0, mismatches, 0),
        }
    };
    Some([exact, inner, rest].into_iter().min_by_key(faults).unwrap_or(exact).to_owned())
}
