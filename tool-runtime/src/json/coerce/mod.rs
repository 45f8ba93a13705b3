//! Reading by the schema: a value that doesn't fit its place, as the one that it can only mean.
//!
//! ```text
//! coerce ─▶ envelope    what stands around the arguments of a call
//!            └▶ settle     each value in its place: place is what the schema says there
//!                ├▶ rename    keys, in another case
//!                ├▶ choice    which branch is meant: fit tells whether a value fits one
//!                └▶ reading   a value of another type or spelling, read anew
//! ```
//!
//! Three rules hold everywhere. What fits is never touched. Of several readings none is taken, and
//! none that doesn't fit: what can't be settled stays as it came, for a validator to report. And
//! nothing is filled in: every key and value that comes out was there.
//!
//! **Bounds.** The work is counted (`fuel`): linear in the text, whatever the schema.

mod choice;
mod data;
mod digits;
mod envelope;
mod fit;
mod fuel;
mod place;
mod reading;
mod rename;
mod roots;
mod settle;

use serde_json::Value;

pub(super) use self::roots::Roots;
use self::{
    fit::{Strangers, fits},
    fuel::Fuel,
    place::Place,
    settle::Settle,
};
use super::{Fix, FixKind, tree::Node};

/// The value that a text within the text holds, and the repairs that it took.
pub(super) type Inner = (Node, Vec<FixKind>);

/// How a text within the text is read: the one value of these types in it.
pub(super) type ReadInner<'r> = dyn FnMut(&str, Roots) -> Option<Inner> + 'r;

/// Whether there is nothing in `value` that [`coerce`] could have to change.
pub(super) fn is_settled(value: &Value, schema: &Value, len: usize) -> bool {
    let mut fuel = Fuel::for_bytes(len);
    fits(&mut fuel, value, &Place::of(schema, [schema]), Strangers::Refused)
}

/// Whether `schema` takes an object without members.
pub(super) fn takes_nothing(schema: &Value) -> bool {
    let nothing = Value::Object(serde_json::Map::new());
    let place = Place::of(schema, [schema]);
    fits(&mut Fuel::for_bytes(0), &nothing, &place, Strangers::Taken)
}

/// What came of a value by a schema.
pub(super) struct Coerced {
    pub(super) node: Node,
    /// In the order of the text.
    pub(super) fixes: Vec<Fix>,
    /// What the envelopes that were around it say is called, from the outermost on.
    pub(super) called: Vec<String>,
}

/// Changes `node`, read from a text of `len` bytes, into what `schema` wants, as far as that is the
/// single reading.
pub(super) fn coerce(node: Node, schema: &Value, len: usize, read: &mut ReadInner<'_>) -> Coerced {
    let place = Place::of(schema, [schema]);
    let mut walk = Settle::new(Fuel::for_bytes(len), read);
    let node = walk.arguments(node, &place);
    let (mut fixes, called) = (walk.fixes, walk.called);
    fixes.sort_by_key(|fix| (fix.span.start, std::cmp::Reverse(fix.span.end)));
    Coerced { node, fixes, called }
}

#[cfg(test)]
mod tests;
