//! String formats of JSON Schema and of Rust types.
//!
//! Validation ignores `format`, as the specification has it: the type of the argument checks it,
//! but its error doesn't describe the expected format.

use serde_json::Value;

use super::describe::Describer;
use super::display::{literal, path};
use super::fault::{Fault, PathSegment, ViolatedRule};
use super::report::mismatch;
use super::validator::Validator;
use super::{Mismatch, MismatchKind};

/// Formats of types that tools take, each with an example. Those without an offset belong to
/// chrono.
const EXAMPLES: [(&str, &str); 10] = [
    ("date", "2026-12-24"),
    ("date-time", "2026-12-24T18:30:00Z"),
    ("email", "ada@example.org"),
    ("ip", "192.0.2.1"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("partial-date-time", "2026-12-24T18:30:00"),
    ("partial-time", "18:30:00"),
    ("uri", "https://example.org/"),
    ("uuid", "67e55044-10b1-426f-9247-bb680e5f3b0a"),
];

/// Returns an example of the format, if it is known.
pub(super) fn example(format: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(known, _)| *known == format).map(|(_, text)| *text)
}

/// Describes the expected format of the string at this path, which has another format, with an
/// example.
#[doc(hidden)]
pub fn format_mismatch(
    schema: &Value,
    value: &Value,
    segments: &[PathSegment<'_>],
) -> Option<(Mismatch, &'static str)> {
    let mut other = value.clone();
    let target = value_at_mut(&mut other, segments)?;
    let text = target.as_str().map(|_| literal(target))?;
    // The description of a mismatched type names the format.
    *target = Value::Bool(true);
    let (describe, at) = (Describer::new(schema), path(segments));
    let is_at_path = |fault: &Fault<'_, '_>| path(&fault.path) == at;
    let fault = Validator::run(schema, &other).into_iter().find(is_at_path)?;
    let ViolatedRule::NoneOf(expected_schemas) = &fault.rule else { return None };
    let example = expected_schemas.iter().find_map(|schema| example(describe.format(schema)?))?;
    let kind = MismatchKind::Format;
    Some((Mismatch { kind, found: text, ..mismatch(&fault, &describe) }, example))
}

/// Returns the value at a path.
#[doc(hidden)]
pub fn value_at_mut<'v>(
    value: &'v mut Value,
    segments: &[PathSegment<'_>],
) -> Option<&'v mut Value> {
    segments.iter().try_fold(value, |value, segment| match segment {
        PathSegment::Key(key) => value.get_mut(*key),
        PathSegment::Index(index) => value.get_mut(*index),
    })
}
