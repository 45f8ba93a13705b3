//! String formats of JSON Schema and of Rust types.
//!
//! Validation ignores `format`, as the specification has it: the type of the argument checks it,
//! but its error doesn't describe the expected format.

use serde_json::Value;

use super::describe::Describer;
use super::display::{literal, path};
use super::fault::{Fault, PathSegment, ViolatedRule};
use super::format_examples::example;
use super::report::mismatch;
use super::validator::Validator;
use super::{Mismatch, MismatchKind};

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
