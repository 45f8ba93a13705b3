//! Formats of texts. No text is held to one here, as the specification has it: its type does that, and has
//! words of its own for it, which don't say what is wanted.

use serde_json::Value;

use super::describe::Describe;
use super::fault::{Fault, Rule, Step};
use super::found::{literal, path};
use super::report::mismatch;
use super::walk::Walk;
use super::{Mismatch, MismatchKind};

/// The formats of types that tools take, each with a text in it. Those without an offset are chrono's.
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

/// A text in this format, where one is known.
pub(super) fn example(format: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(known, _)| *known == format).map(|(_, text)| *text)
}

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
