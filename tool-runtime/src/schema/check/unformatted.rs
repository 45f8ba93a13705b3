//! Formats of texts. No text is held to one here, as the specification has it: its type does that, and has
//! words of its own for it, which don't say what is wanted.

use serde_json::Value;

use super::describe::Describe;
use super::fault::{Fault, Rule, Step};
use super::format::example;
use super::found::{literal, path};
use super::report::mismatch;
use super::walk::Walk;
use super::{Mismatch, MismatchKind};

/// What the schema wants of the text at this place in a value, which is in another format than the one that it
/// names; and a text in that.
pub(crate) fn unformatted(
    schema: &Value,
    value: &Value,
    steps: &[Step<'_>],
) -> Option<(Mismatch, &'static str)> {
    let mut other = value.clone();
    let place = reach(&mut other, steps)?;
    let text = place.as_str().map(|_| literal(place))?;
    // What no text is tells what is wanted in place of one.
    *place = Value::Bool(true);
    let (describe, at) = (Describe::new(schema), path(steps));
    let is_there = |fault: &Fault<'_, '_>| path(&fault.path) == at;
    let fault = Walk::run(schema, &other).into_iter().find(is_there)?;
    let Rule::Unlike(wanted) = &fault.rule else { return None };
    let example = wanted.iter().find_map(|schema| example(describe.format(schema)?))?;
    let kind = MismatchKind::Format;
    Some((Mismatch { kind, found: text, ..mismatch(&fault, &describe) }, example))
}

/// The place in a value.
pub(crate) fn reach<'v>(value: &'v mut Value, steps: &[Step<'_>]) -> Option<&'v mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(*key),
        Step::Index(index) => value.get_mut(*index),
    })
}
