//! What a tool takes of what it was sent: the arguments as sound JSON, with the repairs that it allows.

use serde_json::{Map, Value};

use super::{holds_secrets, mismatched, refuse};
use crate::json::{self, FixKind, ParseErrorKind, Parsed, Risk};
use crate::tool::context::Decoded;
use crate::tool::full_name::parts;
use crate::tool::{ToolContext, ToolDefinition, ToolError};

/// The most repairs that a refusal tells of.
const MOST_REPAIRS: usize = 3;
/// How much of a name is repeated, in characters.
const MOST_OF_NAME: usize = 80;
const CUT_OFF: &str =
    "the text of its arguments was cut off: it ends before they do. Send it whole";

/// What is wrong with secret arguments can't be shown without showing them.
const UNSHOWN: &str = "they can't be read: send one JSON object";

/// The arguments as a value and as sound JSON, with all repairs that the tool allows.
#[cold]
pub(super) fn settle(
    definition: &ToolDefinition,
    text: &str,
    ctx: &ToolContext,
) -> Result<(Value, String), ToolError> {
    let schema = definition.parameters.as_value();
    let parsed = json::parse_as(text, schema).map_err(|unreadable| {
        if holds_secrets(definition, text, ctx) && unreadable.kind() != ParseErrorKind::Empty {
            return refuse(definition, &[UNSHOWN.to_owned()]);
        }
        // Nothing at all lacks what an empty object lacks.
        let missing = match unreadable.kind() {
            ParseErrorKind::Empty => definition.parameters.check(&Map::new().into()),
            _ => Vec::new(),
        };
        let refused = match missing.as_slice() {
            [] => refuse(definition, &[unreadable.to_string()]),
            missing => mismatched(definition, missing, false),
        };
        refused.with_source(unreadable)
    })?;
    if parsed.value.is_null() {
        return settle(definition, "", ctx);
    }
    let problems = problems(definition, text, &parsed, ctx);
    let json = problems.is_empty().then(|| parsed.json().to_owned());
    if !parsed.fixes.is_empty() {
        ctx.record_decoded(|| Decoded { fixes: parsed.fixes.clone(), json: json.clone() });
    }
    let json = json.ok_or_else(|| refuse(definition, &problems))?;
    Ok((parsed.value, json))
}

/// Why the tool doesn't take what was read of `text`.
fn problems(
    definition: &ToolDefinition,
    text: &str,
    parsed: &Parsed,
    ctx: &ToolContext,
) -> Vec<String> {
    let is_other = |name: &&String| !is_name_of(definition, ctx.tool_name(), name);
    if let Some(other) = parsed.callees().iter().find(is_other) {
        let other: String = other.chars().take(MOST_OF_NAME).flat_map(char::escape_debug).collect();
        let own = &definition.name;
        return vec![format!(
            "they are those of a call of `{other}`: call that, or send the arguments of `{own}` alone"
        )];
    }
    let repair = definition.repair;
    if parsed.truncated && !repair.allows(Risk::Lossy) {
        return vec![CUT_OFF.to_owned()];
    }
    // To JSON Schema 30.0 is an integer, and null is how some providers have it said that a member
    // isn't there: no repairs of what was sent.
    let is_sound = |kind: FixKind| matches!(kind, FixKind::Whole | FixKind::Absent);
    let is_refused = |kind: FixKind| !is_sound(kind) && !repair.allows(kind.risk());
    if holds_secrets(definition, text, ctx) && parsed.fixes.iter().any(|fix| is_refused(fix.kind)) {
        return vec![UNSHOWN.to_owned()];
    }
    let refused: Vec<_> = parsed.fixes.iter().filter(|fix| is_refused(fix.kind)).collect();
    // Of several at one place the last goes furthest.
    let places = refused.chunk_by(|fix, next| fix.span.start == next.span.start);
    let mut told = places.filter_map(|fixes| fixes.last());
    let advise = |fix: &&json::Fix| format!("this tool takes no such repair: {}", fix.advice(text));
    let mut problems: Vec<_> = told.by_ref().take(MOST_REPAIRS).map(advise).collect();
    let more = told.count();
    problems.extend((more > 0).then(|| format!("and {more} more of the kind")));
    problems
}

/// Whether an envelope means this tool, which was called as `called`, by `name`. Models write the name
/// in another case, or behind that of a space of names.
fn is_name_of(definition: &ToolDefinition, called: &str, name: &str) -> bool {
    let plain = |name: &str| name.replace(['-', ' '], "_").to_lowercase();
    let own = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let is = |name: &str, own: &str| plain(name) == plain(own);
    // A full name, where the call was by the tool's own and so by one that no other has.
    let of_full = parts(own).filter(|_| called == definition.name).map(|(_, own)| own);
    [name, own]
        .into_iter()
        .chain(of_full)
        .any(|name| is(name, &definition.name) || is(name, called))
}
