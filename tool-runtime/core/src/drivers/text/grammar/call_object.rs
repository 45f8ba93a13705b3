//! Parses calls from JSON: `{"name": …, "arguments": …}` with alternative member names, and lists
//! of them.

use serde::de::IgnoredAny;

use super::super::callee::Callee;
use super::super::leftover::{add_leftover, is_empty, leftover_members};
use super::super::markup::{MemberWalker, Members};
use super::super::{Input, ToolLookup};
use super::value_end;
use crate::json::__private::{
    ARGUMENTS, LAYERS, LISTS, METHOD, NAMED_ARGUMENTS, NAMES, OTHERS, is_one_of,
};
use crate::json::parse_as;
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

/// Other members that a call may have, besides those of the JSON reader.
const OTHER_MEMBERS: [&str; 4] = ["thought", "content", "role", "reasoning"];
/// The nesting limit; `{"tool_calls": [{"function": {…}}]}` takes four layers.
const MAX_LAYERS: usize = 4;
/// The number of calls among which one with two meanings is searched.
const MAX_AMBIGUOUS: usize = 16;

/// How much an object has to look like a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// A marker announces the call.
    Marked,
    /// A word that occurs in prose, too, announces the call: without a member for the arguments, it
    /// is no call of an unknown tool.
    Labeled,
    /// Nothing but the object itself indicates a call.
    Bare,
}

impl Strictness {
    fn is_announced(self) -> bool {
        self != Self::Bare
    }
}

/// Parses the calls in `text`, an object or a list of objects. Returns `None` if any of them is no
/// call, or if no marker announces them and none is of an offered tool.
pub(crate) fn parse_calls(
    text: &str,
    tools: &ToolLookup<'_>,
    strictness: Strictness,
) -> Option<Vec<ToolCall>> {
    let mut calls = Vec::new();
    parse_value(text.trim(), tools, strictness, MAX_LAYERS, &mut calls)?;
    let is_call = |call: &ToolCall| strictness.is_announced() || tools.find(&call.name).is_some();
    calls.iter().any(is_call).then_some(calls)
}

/// Returns true if the object or list at the beginning of `input` may still be a call, judged by
/// its first members.
pub(crate) fn may_be_call(
    input: Input<'_>,
    tools: &ToolLookup<'_>,
    strictness: Strictness,
) -> bool {
    let text = input.text.trim_start_matches(['[', ' ', '\n', '\r', '\t']);
    let text = without_doubled_brace(text);
    // In a list, a later call may be of an offered tool.
    let mut may_be_unknown = strictness.is_announced() || input.text.starts_with('[');
    let mut is_unknown = false;
    if !text.starts_with('{') {
        return text.is_empty();
    }
    let mut walk = MemberWalker::new(Input::new(text, input.is_complete));
    while let Some(key) = walk.key() {
        if is_one_of(key, NAMES) && !is_unknown {
            let value = text.get(walk.value()).unwrap_or_default();
            // The value of `function` may be an object.
            if !is_string(value) || may_be_tool_name(Input::new(value, input.is_complete), tools) {
                return true;
            }
            may_be_unknown &= callee(value, tools).is_some();
            is_unknown = true;
            if !may_be_unknown || strictness.is_announced() {
                return may_be_unknown;
            }
            continue;
        }
        let may_hold_call = key == METHOD.0
            || [LISTS, LAYERS, ARGUMENTS, NAMED_ARGUMENTS].iter().any(|keys| is_one_of(key, keys));
        if strictness.is_announced() || may_hold_call {
            return true;
        }
        if !is_other(key) {
            return false;
        }
        walk.value();
    }
    true
}

/// Returns the object in doubled braces, which templates write for plain ones. The surplus closing
/// brace follows the object.
fn without_doubled_brace(text: &str) -> &str {
    let inner = text.strip_prefix('{').filter(|inner| inner.starts_with('{'));
    inner.unwrap_or(text)
}

/// Returns true for a member of a call that is neither the name nor the arguments.
fn is_other(key: &str) -> bool {
    is_one_of(key, OTHERS) || OTHER_MEMBERS.contains(&key)
}

/// Returns true for a key of calls whose value is no argument.
pub(crate) fn is_call_key(key: &str) -> bool {
    let is_layer = [NAMES, LISTS, LAYERS].iter().any(|keys| is_one_of(key, keys));
    is_layer || key == METHOD.0 || is_other(key)
}

fn is_string(value: &str) -> bool {
    value.starts_with(['"', '\''])
}

fn unquoted(value: &str) -> &str {
    value.trim_matches(['"', '\''])
}

fn is_closed_string(value: &str) -> bool {
    is_string(value) && value.len() > 1 && value.ends_with(['"', '\''])
}

fn may_be_tool_name(name: Input<'_>, tools: &ToolLookup<'_>) -> bool {
    value_end(name.text, 0, name.is_complete).is_none() || tools.find(unquoted(name.text)).is_some()
}

/// Returns the tool that a string names. An unknown name may have blanks, which become `_`.
fn callee<'d>(name: &str, tools: &ToolLookup<'d>) -> Option<Callee<'d>> {
    let name = unquoted(name);
    let joined = || name.split_whitespace().collect::<Vec<_>>().join("_");
    tools.callee(name).or_else(|| tools.callee(&joined()))
}

fn parse_value(
    text: &str,
    tools: &ToolLookup<'_>,
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
            let rest = list.get(at..)?;
            if !rest.starts_with(['{', '[']) && strictness.is_announced() {
                // Text between the calls, or a member that stands outside of them.
                add_leftover(calls.last_mut()?, rest);
                return Some(());
            }
            let (end, before) = (value_end(list, at, true), calls.len());
            let item = list.get(at..end.unwrap_or(list.len()))?;
            if parse_value(item, tools, strictness, layers, calls).is_none() {
                // Truncated before the name of the tool: the calls before it are kept.
                let is_truncated = end.is_none() && strictness.is_announced() && before > 0;
                calls.truncate(before);
                return is_truncated.then_some(());
            }
            at = end.unwrap_or(list.len());
        }
    }
    if !text.starts_with('{') {
        return None;
    }
    let text = without_doubled_brace(text);
    let members = Members::of(text);
    let before = calls.len();
    if let Some(list) = members.get(LISTS).filter(|list| list.starts_with('[')) {
        parse_value(list, tools, strictness, layers, calls)?;
        add_members_beside(&members, LISTS, calls.get_mut(before..)?, tools);
        return Some(());
    }
    if let Some(inner) = members.get(LAYERS).filter(|inner| inner.starts_with('{')) {
        parse_value(inner, tools, strictness, layers, calls)?;
        add_members_beside(&members, LAYERS, calls.get_mut(before..)?, tools);
        let [call] = calls.get(before..)? else { return Some(()) };
        let is_other = |(_, name): (&str, &str)| {
            tools.find(unquoted(name)).is_some_and(|it| it.name != call.name)
        };
        return (!members.all(NAMES).filter(|(_, name)| is_string(name)).any(is_other))
            .then_some(());
    }
    // A request of the Model Context Protocol.
    if members.get(&[METHOD.0]).is_some_and(|method| method.trim_matches('"') == METHOD.1) {
        parse_value(members.get(&["params"])?, tools, strictness, layers, calls)?;
        add_members_beside(&members, &["params"], calls.get_mut(before..)?, tools);
        return Some(());
    }
    calls.push(parse_call(&members, tools, strictness)?);
    Some(())
}

/// Adds the members beside a layer to the leftovers of the calls in it.
fn add_members_beside(
    members: &Members<'_>,
    layer: &[&str],
    calls: &mut [ToolCall],
    tools: &ToolLookup<'_>,
) {
    let used: Vec<_> = members.range_of(layer).into_iter().collect();
    for call in calls {
        let arguments = call.arguments.to_text().into_owned();
        let tool = tools.find(&call.name);
        add_leftover(call, &leftover_members(members, &used, &arguments, tool, is_call_key));
    }
}

fn parse_call(
    members: &Members<'_>,
    tools: &ToolLookup<'_>,
    strictness: Strictness,
) -> Option<ToolCall> {
    let name = members.get(NAMES)?;
    let callee = callee(name, tools)?;
    if !callee.is_offered && !is_closed_string(name) {
        return None;
    }
    let is_arguments = |key: &str| {
        is_one_of(key, ARGUMENTS) || callee.is_offered && is_one_of(key, NAMED_ARGUMENTS)
    };
    let is_known = |key: &str| is_one_of(key, NAMES) || is_arguments(key) || is_other(key);
    if strictness == Strictness::Bare && !members.keys().all(is_known) {
        return None;
    }
    let named = || members.range_of(NAMED_ARGUMENTS).filter(|_| takes_no_data(callee.tool));
    // Empty positional arguments may accompany the others: `"args": [], "kwargs": …`.
    let filled = members.range_where(ARGUMENTS, |value| !is_empty(value));
    let range = filled.or_else(|| members.range_of(ARGUMENTS)).or_else(named);
    if range.is_none() && !callee.is_offered && strictness == Strictness::Labeled {
        return None;
    }
    if has_two_meanings(members, tools) {
        return None;
    }
    // A member `description` belongs to the definition of a tool.
    if members.keys().any(|key| key == "description") {
        return None;
    }
    let mut used: Vec<_> = members.range_of(NAMES).into_iter().collect();
    let arguments = match range {
        Some(range) => {
            let (arguments, length) = arguments(members, range.start, range.end, callee.tool)?;
            used.push(range.start..range.start + length);
            arguments
        }
        // Truncated before the arguments began; missing arguments must not count as complete.
        None if value_end(members.text, 0, true).is_none() => "{".to_owned(),
        None if strictness.is_announced() && members.is_complete => {
            used.push(0..members.text.len());
            sibling_arguments(members, callee.tool)
        }
        None => return None,
    };
    let leftover = leftover_members(members, &used, &arguments, Some(callee.tool), is_call_key);
    let mut call = match strictness {
        Strictness::Marked | Strictness::Labeled => callee.call(arguments)?,
        Strictness::Bare => callee.unmarked_call(arguments)?,
    };
    add_leftover(&mut call, &leftover);
    Some(call)
}

/// Returns true if a call names two tools, or has two members with arguments: which of them the
/// model means is not known. Another member such as `name` may be an argument of the tool.
fn has_two_meanings(members: &Members<'_>, tools: &ToolLookup<'_>) -> bool {
    let mut names = members.all(NAMES);
    let exact = names.by_ref().find(|(key, _)| NAMES.contains(key));
    let Some((first_key, first)) = exact.or_else(|| members.all(NAMES).next()) else {
        return false;
    };
    let Some(callee) = callee(first, tools) else { return false };
    let properties = callee.tool.parameters.as_value().get("properties");
    let mut arguments = members.all(ARGUMENTS).filter(|(_, value)| !is_empty(value));
    let has_arguments = arguments.next().is_some();
    let is_argument =
        |key: &str| !has_arguments && properties.is_some_and(|it| it.get(key).is_some());
    let has_other_arguments = has_arguments && arguments.next().is_some();
    let is_other_tool = |(key, value): (&str, &str)| {
        let other = tools.find(unquoted(value));
        let is_same = value == first || other.is_some_and(|tool| tool.name == callee.tool.name);
        let is_same_key = is_one_of(key, &[first_key]);
        let is_other = is_same_key || other.is_some() && is_string(value) && !is_argument(key);
        is_other && !is_same
    };
    has_other_arguments || members.all(NAMES).any(is_other_tool)
}

/// Returns true if an object of calls begins `text`, or a list of them, and one of them has two
/// names of tools, or two members with arguments.
pub(crate) fn begins_ambiguous_call(text: &str, tools: &ToolLookup<'_>) -> bool {
    let mut rest = text.trim_start_matches(['[', ' ', '\n', '\r', '\t']);
    for _ in 0..MAX_AMBIGUOUS {
        if !rest.starts_with('{') {
            return false;
        }
        let members = Members::of(without_doubled_brace(rest));
        let is_known =
            |key: &str| is_one_of(key, NAMES) || is_one_of(key, ARGUMENTS) || is_other(key);
        let is_offered = |(_, name): (&str, &str)| tools.find(unquoted(name)).is_some();
        if members.keys().all(is_known)
            && members.all(NAMES).any(is_offered)
            && has_two_meanings(&members, tools)
        {
            return true;
        }
        let end = value_end(rest, 0, true).unwrap_or(rest.len());
        let next = rest.get(end..).unwrap_or_default();
        rest = next.trim_start_matches([',', ';', ' ', '\n', '\r', '\t']);
    }
    false
}

/// Returns true if no argument of the tool has a name such as `data`, which may hold all of them.
fn takes_no_data(tool: &ToolDefinition) -> bool {
    let properties = tool.parameters.as_value().get("properties").and_then(|it| it.as_object());
    !properties.into_iter().flatten().any(|(key, _)| is_one_of(key, NAMED_ARGUMENTS))
}

/// Returns the members beside the tool's name, for a call that has its arguments there.
fn sibling_arguments(members: &Members<'_>, tool: &ToolDefinition) -> String {
    let takes = tool.parameters.as_value().get("properties");
    let takes = |key: &str| takes.is_some_and(|properties| properties.get(key).is_some());
    let name = members.keys().find(|key| is_one_of(key, NAMES));
    let is_of_call = |key: &str| is_one_of(key, NAMES) || is_other(key);
    members.object(|key| Some(key) != name && (takes(key) || !is_of_call(key)))
}

/// Returns the text of the arguments, which is `start..end` if the text before `end` is valid, and
/// the length of what it was read from.
fn arguments(
    members: &Members<'_>,
    start: usize,
    end: usize,
    tool: &ToolDefinition,
) -> Option<(String, usize)> {
    let exact = members.text.get(start..end)?;
    let with_length = |text: String| Some((text, exact.len()));
    if exact.starts_with('"') {
        // The arguments are a JSON string, as in OpenAI's API.
        return with_length(serde_json::from_str(exact).unwrap_or_else(|_| exact.to_owned()));
    }
    if exact == "null" {
        return with_length("{}".to_owned());
    }
    if serde_json::from_str::<IgnoredAny>(exact).is_ok() {
        return with_length(exact.to_owned());
    }
    let rest = members.text.get(start..)?.trim_end();
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    if inner == exact {
        return with_length(exact.to_owned());
    }
    let schema = &tool.parameters;
    // If quotes don't match, `end` may be too early. Prefer a complete value, then the one that
    // fits the schema best, and among truncated values the longest.
    let faults = |text: &&str| {
        let Ok(read) = parse_as(text, schema.as_value()) else { return (2, 0, 0) };
        let mismatches = schema.check(&read.value).len();
        if read.truncated { (1, mismatches, usize::MAX - text.len()) } else { (0, mismatches, 0) }
    };
    let best = [exact, inner, rest].into_iter().min_by_key(faults).unwrap_or(exact);
    Some((best.to_owned(), best.len()))
}
