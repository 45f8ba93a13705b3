//! Repairs the text of arguments and applies the tool's repair level.

use serde_json::{Map, Value};

use super::{holds_secrets, invalid_arguments, mismatch_error};
use crate::json::{self, FixKind, ParseErrorKind, Parsed, Risk};
use crate::tool::context::ArgumentRecord;
use crate::tool::definition::full_name::split_full_name;
use crate::tool::{ToolContext, ToolDefinition, ToolError};

/// The maximum number of rejected repairs that an error lists.
const MAX_REPAIRS: usize = 3;
/// The maximum number of characters of a name that an error repeats.
const MAX_NAME_CHARS: usize = 80;
const TRUNCATED: &str =
    "the text of its arguments was cut off: it ends before they do. Send it whole";

/// The description of an error in secret arguments, which can't be quoted.
const SECRET: &str = "the arguments can't be read: send one JSON object";

/// Returns the arguments as a value and as valid JSON, with all repairs that the tool allows.
#[cold]
pub(super) fn repair(
    definition: &ToolDefinition,
    text: &str,
    ctx: &ToolContext,
) -> Result<(Value, String), ToolError> {
    let schema = definition.parameters.as_value();
    let parsed = json::parse_as(text, schema).map_err(|error| {
        if holds_secrets(definition, text, ctx) && error.kind() != ParseErrorKind::Empty {
            return invalid_arguments(definition, &[SECRET.to_owned()]);
        }
        // An empty text lacks the same arguments as an empty object.
        let missing = match error.kind() {
            ParseErrorKind::Empty => definition.parameters.check(&Map::new().into()),
            _ => Vec::new(),
        };
        let refusal = match missing.as_slice() {
            [] => invalid_arguments(definition, &[error.to_string()]),
            missing => mismatch_error(definition, missing, false),
        };
        refusal.with_source(error)
    })?;
    if parsed.value.is_null() {
        return repair(definition, "", ctx);
    }
    let problems = problems(definition, text, &parsed, ctx);
    let json = problems.is_empty().then(|| parsed.json().to_owned());
    if !parsed.fixes.is_empty() {
        ctx.record_arguments(|| ArgumentRecord { fixes: parsed.fixes.clone(), json: json.clone() });
    }
    let json = json.ok_or_else(|| invalid_arguments(definition, &problems))?;
    Ok((parsed.value, json))
}

/// Returns why the tool rejects what was parsed from `text`.
fn problems(
    definition: &ToolDefinition,
    text: &str,
    parsed: &Parsed,
    ctx: &ToolContext,
) -> Vec<String> {
    let is_other = |name: &&String| !is_name_of(definition, ctx.tool_name(), name);
    if let Some(other) = parsed.tool_names().iter().find(is_other) {
        let other: String =
            other.chars().take(MAX_NAME_CHARS).flat_map(char::escape_debug).collect();
        let tool_name = &definition.name;
        return vec![format!(
            "the arguments are those of a call of `{other}`: call that tool, or send the arguments of `{tool_name}` alone"
        )];
    }
    let level = definition.repair;
    if parsed.truncated && !level.allows(Risk::Lossy) {
        return vec![TRUNCATED.to_owned()];
    }
    // These do not count as repairs: JSON Schema defines 30.0 as an integer, and some providers
    // represent a missing member as null.
    let is_equivalent =
        |kind: FixKind| matches!(kind, FixKind::IntegralNumber | FixKind::NullMember);
    let is_rejected = |kind: FixKind| !is_equivalent(kind) && !level.allows(kind.risk());
    if holds_secrets(definition, text, ctx) && parsed.fixes.iter().any(|fix| is_rejected(fix.kind))
    {
        return vec![SECRET.to_owned()];
    }
    let rejected: Vec<_> = parsed.fixes.iter().filter(|fix| is_rejected(fix.kind)).collect();
    // Of several fixes with the same start, the last one covers the others.
    let groups = rejected.chunk_by(|fix, next| fix.span.start == next.span.start);
    let mut reported = groups.filter_map(|fixes| fixes.last());
    let advise = |fix: &&json::Fix| format!("this tool takes no such repair: {}", fix.advice(text));
    let mut problems: Vec<_> = reported.by_ref().take(MAX_REPAIRS).map(advise).collect();
    let more = reported.count();
    problems.extend((more > 0).then(|| format!("and {more} more of the kind")));
    problems
}

/// Whether the name in an envelope refers to this tool, which was called as `called_name`. Models
/// change the case of a name or prepend a namespace.
fn is_name_of(definition: &ToolDefinition, called_name: &str, name: &str) -> bool {
    let normalize = |name: &str| name.replace(['-', ' '], "_").to_lowercase();
    let unqualified = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let is_equal = |name: &str, other: &str| normalize(name) == normalize(other);
    // If the tool was called by its own name, no other tool has that name, so the provider in a
    // full name can be ignored.
    let of_full = split_full_name(unqualified)
        .filter(|_| called_name == definition.name)
        .map(|(_, unqualified)| unqualified);
    [name, unqualified]
        .into_iter()
        .chain(of_full)
        .any(|name| is_equal(name, &definition.name) || is_equal(name, called_name))
}
