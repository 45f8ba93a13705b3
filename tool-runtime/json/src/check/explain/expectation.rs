//! Finds the expectation of a schema for a value that its Rust type refused.
//!
//! Validation ignores `format`, as the specification has it: the type of the argument checks it,
//! but its error doesn't describe the expected format.

use std::{mem, ptr};

use serde_json::Value;

use super::describe::Describer;
use super::display::{literal, path};
use super::format_examples::example;
use super::report::mismatch;
use super::sample::{Sampler, similar};
use crate::check::Mismatch;
use crate::check::MismatchKind;
use crate::check::validate::fault::{Fault, PathSegment, ViolatedRule};
use crate::check::validate::validator::Validator;

/// The expectation of a schema at a path.
#[doc(hidden)]
#[derive(Debug)]
pub struct Expectation {
    /// Describes a string that does not have the expected format, with an example of it.
    pub format: Option<Mismatch>,
    /// True if the schema lists the allowed values.
    pub is_choice: bool,
    /// Values to put in place of the refused one, the likeliest first.
    pub samples: Vec<Value>,
}

/// Returns what the schema expects at this path in `value`.
#[doc(hidden)]
pub fn expectation(schema: &Value, value: &Value, segments: &[PathSegment<'_>]) -> Expectation {
    let mut probe = value.clone();
    let Some(found) = replace_with_other_type(&mut probe, segments) else {
        return Expectation { format: None, is_choice: false, samples: Vec::new() };
    };
    let fault = fault_at(schema, &probe, segments);
    let Some((fault, expected)) = fault.as_ref().and_then(|fault| Some((fault, none_of(fault)?)))
    else {
        return Expectation { format: None, is_choice: false, samples: similar(&found) };
    };
    let describe = Describer::new(schema);
    let example = expected.iter().find_map(|schema| example(describe.format(schema)?));
    let format = example.filter(|_| found.is_string()).map(|_| {
        let kind = MismatchKind::Format;
        Mismatch { kind, found: literal(&found), ..mismatch(fault, &describe) }
    });
    let is_choice = describe.choices(expected).is_some();
    Expectation { format, is_choice, samples: Sampler::new(schema).samples(expected) }
}

/// Returns true if the same schema applies to all items of the list at this path, so that an item
/// can be left out.
#[doc(hidden)]
pub fn has_uniform_items(schema: &Value, value: &Value, list: &[PathSegment<'_>]) -> bool {
    let expected = |at| {
        let item: Vec<_> = list.iter().copied().chain([PathSegment::Index(at)]).collect();
        let mut probe = value.clone();
        replace_with_other_type(&mut probe, &item)?;
        fault_at(schema, &probe, &item).as_ref().and_then(none_of).map(<[_]>::to_vec)
    };
    let length = value_at(value, list).and_then(Value::as_array).map_or(0, Vec::len);
    match (expected(0), expected(length.saturating_sub(1))) {
        _ if length < 2 => true,
        (Some(first), Some(last)) => {
            first.len() == last.len() && first.iter().zip(last).all(|(a, b)| ptr::eq(*a, b))
        }
        _ => false,
    }
}

/// Replaces the value at a path by one that mismatches its schema, so that the fault has the
/// expected schemas. Returns the original value.
fn replace_with_other_type(value: &mut Value, segments: &[PathSegment<'_>]) -> Option<Value> {
    let target = segments.iter().try_fold(value, |value, segment| match segment {
        PathSegment::Key(key) => value.get_mut(*key),
        PathSegment::Index(index) => value.get_mut(*index),
    })?;
    let other = if target.is_boolean() { Value::from(0) } else { Value::from(true) };
    Some(mem::replace(target, other))
}

fn value_at<'v>(value: &'v Value, segments: &[PathSegment<'_>]) -> Option<&'v Value> {
    segments.iter().try_fold(value, |value, segment| match segment {
        PathSegment::Key(key) => value.get(*key),
        PathSegment::Index(index) => value.get(*index),
    })
}

fn fault_at<'s, 'v>(
    schema: &'s Value,
    value: &'v Value,
    segments: &[PathSegment<'_>],
) -> Option<Fault<'s, 'v>> {
    let at = path(segments);
    Validator::run(schema, value).into_iter().find(|fault| path(&fault.path) == at)
}

fn none_of<'f, 's>(fault: &'f Fault<'s, '_>) -> Option<&'f [&'s Value]> {
    match &fault.rule {
        ViolatedRule::NoneOf(expected) | ViolatedRule::Tag(expected) => Some(expected),
        _ => None,
    }
}
