//! Coercion: changes a value that does not fit its schema into the one value that does.
//!
//! # Flow
//!
//! ```text
//! coerce ─▶ envelope     removes the call around the arguments
//!            └▶ coercer     walks the value with its schema (flat_schema)
//!                ├▶ rename      corrects the case and separators of keys
//!                ├▶ branches    chooses a branch of anyOf or oneOf (fit)
//!                └▶ conversion  changes the type or spelling of a value (type_set)
//! ```
//!
//! # Invariants
//!
//! - A value that fits is never changed.
//! - If several changes would make a value fit, or none, the value stays as it was written. The
//!   validator reports it.
//! - Nothing is filled in: every key and value of the result was in the text.
//! - The work is counted ([`fuel`]) and linear in the length of the text, whatever the schema.

mod branches;
mod coercer;
mod conversion;
mod envelope;
mod fit;
mod flat_schema;
mod fuel;
mod rename;
mod type_set;

use serde_json::Value;

pub(super) use self::type_set::TypeSet;
use self::{
    coercer::Coercer,
    envelope::is_shut_envelope,
    fit::{UnknownMembers, fits},
    flat_schema::FlatSchema,
    fuel::Fuel,
};
use super::{Fix, FixKind, tree::Node};

/// The value parsed from a string.
pub(super) struct InnerValue {
    pub(super) node: Node,
    /// The kinds of the repairs.
    pub(super) kinds: Vec<FixKind>,
    pub(super) truncated: bool,
}

/// The place of a string whose text is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InnerText {
    /// A member, which may be plain text.
    Member,
    /// All arguments of the call, in its envelope.
    Arguments,
}

/// Parses the text of a string: returns the one value of these types in it.
pub(super) type ParseInner<'r> = dyn FnMut(&str, TypeSet, InnerText) -> Option<InnerValue> + 'r;

/// Returns whether `value` fits `schema`, so that [`coerce`] would change nothing.
pub(super) fn fits_schema(value: &Value, schema: &Value, len: usize) -> bool {
    let mut fuel = Fuel::for_bytes(len);
    fits(&mut fuel, value, &FlatSchema::of(schema, [schema]), UnknownMembers::Rejected)
}

/// Returns whether `schema` accepts an object without members.
pub(super) fn accepts_empty_object(schema: &Value) -> bool {
    let empty_object = Value::Object(serde_json::Map::new());
    let flat = FlatSchema::of(schema, [schema]);
    fits(&mut Fuel::for_bytes(0), &empty_object, &flat, UnknownMembers::Allowed)
}

/// The result of a coercion.
pub(super) struct Coerced {
    pub(super) node: Node,
    /// The coercions, in the order of the text.
    pub(super) fixes: Vec<Fix>,
    /// The tool names in the removed envelopes, outermost first.
    pub(super) callees: Vec<String>,
    /// Whether the text of the arguments in an envelope was cut off.
    pub(super) truncated: bool,
    /// Whether the schema accepts the value, which seems to be an envelope that was not removed.
    pub(super) is_shut: bool,
}

/// Coerces `node`, parsed from a text of `len` bytes, to `schema`.
pub(super) fn coerce(
    node: Node,
    schema: &Value,
    len: usize,
    parse_inner: &mut ParseInner<'_>,
) -> Coerced {
    let flat = FlatSchema::of(schema, [schema]);
    let mut coercer = Coercer::new(Fuel::for_bytes(len), parse_inner);
    let node = coercer.coerce_arguments(node, &flat);
    // Otherwise the mismatches say what is missing or unknown.
    let is_accepted = coercer.fits(&node, &flat, UnknownMembers::Allowed);
    let is_shut = is_accepted && is_shut_envelope(&node, &flat);
    let Coercer { mut fixes, callees, truncated, .. } = coercer;
    fixes.sort_by_key(|fix| (fix.span.start, std::cmp::Reverse(fix.span.end)));
    Coerced { node, fixes, callees, truncated, is_shut }
}

#[cfg(test)]
mod tests;
