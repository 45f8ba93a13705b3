//! Checks whether a value fits its schema: types, enum values, required and known members,
//! branches.
//!
//! Ranges, lengths, patterns and the like are ignored: they decide what is valid, not what is
//! intended. Unsupported keywords are ignored as well.

use std::cell::LazyCell;
use std::collections::HashSet;

use serde_json::{Number, Value};

use super::{flat_schema::FlatSchema, fuel::Fuel, type_set::TypeSet};
use crate::integers::is_integer;
use crate::tree::{Node, Tree};

/// The treatment of members that the schema does not declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownMembers {
    /// They are rejected unless the schema explicitly allows them.
    Rejected,
    /// They are allowed unless the schema forbids them, as in JSON Schema.
    Allowed,
}

/// Returns whether `data` fits; nothing fits once the fuel is exhausted.
pub(super) fn fits<D: JsonView>(
    fuel: &mut Fuel,
    data: &D,
    schema: &FlatSchema<'_>,
    unknown: UnknownMembers,
) -> bool {
    if !fuel.enter() {
        return false;
    }
    let fit = schema.is_unconstrained()
        || fuel.consume(schema.cost()) && fits_constraints(fuel, data, schema, unknown);
    fuel.leave();
    fit
}

fn fits_constraints<D: JsonView>(
    fuel: &mut Fuel,
    data: &D,
    schema: &FlatSchema<'_>,
    unknown: UnknownMembers,
) -> bool {
    if !schema.types().intersects(data.json_type()) {
        return false;
    }
    if let Some((choice, rest)) = schema.split_branches() {
        return choice.iter().any(|branch| fits(fuel, data, &rest.with_branch(branch), unknown));
    }
    if !schema.enum_lists().all(|list| list.iter().any(|value| data.equals(value))) {
        return false;
    }
    if !data.json_type().intersects(TypeSet::OBJECT) {
        return items_fit(fuel, data.items(), schema, unknown);
    }
    if !has_required(data, schema) {
        return false;
    }
    let allows_unknown = LazyCell::new(|| match unknown {
        UnknownMembers::Rejected => {
            schema.expects_other_properties() && !schema.forbids_other_properties()
        }
        UnknownMembers::Allowed => !schema.forbids_other_properties(),
    });
    data.members().all(|(key, value)| {
        (schema.has_property(key) || *allows_unknown)
            && fits(fuel, value, &schema.property(key), unknown)
    })
}

/// Returns whether the object has all required members. The search ends at the first missing one,
/// so it takes no longer than reading the members.
fn has_required<D: JsonView>(data: &D, schema: &FlatSchema<'_>) -> bool {
    const MAX_SEARCHED: usize = 16;
    if data.members().nth(MAX_SEARCHED).is_none() {
        return schema.required().all(|name| data.has_key(name));
    }
    let keys: HashSet<&str> = data.members().map(|(key, _)| key).collect();
    schema.required().all(|name| keys.contains(name))
}

fn items_fit<D: JsonView>(
    fuel: &mut Fuel,
    items: &[D],
    schema: &FlatSchema<'_>,
    unknown: UnknownMembers,
) -> bool {
    let mut cached = None;
    items.iter().enumerate().all(|(index, item)| {
        let (item_schema, is_shared) = cached.take().unwrap_or_else(|| schema.item(index));
        let fit = fits(fuel, item, &item_schema, unknown);
        cached = is_shared.then_some((item_schema, is_shared));
        fit
    })
}

/// A JSON value that can be compared with a schema.
pub(super) trait JsonView: Sized {
    /// The single type of the value.
    fn json_type(&self) -> TypeSet;
    /// Compares the value with `value`; numbers, also nested ones, are compared by their numeric
    /// value.
    fn equals(&self, value: &Value) -> bool;
    /// The items; empty unless the value is an array.
    fn items(&self) -> &[Self];
    /// The members; empty unless the value is an object.
    fn members(&self) -> impl Iterator<Item = (&str, &Self)>;
    fn has_key(&self, key: &str) -> bool;
}

impl JsonView for Value {
    fn json_type(&self) -> TypeSet {
        match self {
            Self::Number(number) if number.is_f64() => TypeSet::FRACTION,
            Self::Number(_) => TypeSet::INTEGER,
            Self::Null => TypeSet::NULL,
            Self::Bool(_) => TypeSet::BOOL,
            Self::String(_) => TypeSet::STRING,
            Self::Array(_) => TypeSet::ARRAY,
            Self::Object(_) => TypeSet::OBJECT,
        }
    }

    fn equals(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Number(left), Self::Number(right)) => numbers_equal(left, right),
            (Self::Array(left), Self::Array(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.equals(right))
            }
            (Self::Object(left), Self::Object(right)) => {
                let has_equal = |(key, value): (&String, &Self)| {
                    right.get(key).is_some_and(|other| value.equals(other))
                };
                left.len() == right.len() && left.iter().all(has_equal)
            }
            _ => self == value,
        }
    }

    fn items(&self) -> &[Self] {
        self.as_array().map_or(&[], Vec::as_slice)
    }

    fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
    }

    fn has_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

impl JsonView for Node {
    fn json_type(&self) -> TypeSet {
        match &self.tree {
            Tree::Null => TypeSet::NULL,
            Tree::Bool(_) => TypeSet::BOOL,
            Tree::Number { json, .. } if is_integer(json) => TypeSet::INTEGER,
            Tree::Number { .. } => TypeSet::FRACTION,
            Tree::String { .. } => TypeSet::STRING,
            Tree::Array(_) => TypeSet::ARRAY,
            Tree::Object(_) => TypeSet::OBJECT,
        }
    }

    fn equals(&self, value: &Value) -> bool {
        match (&self.tree, value) {
            (Tree::String { text, .. }, Value::String(other)) => text == other,
            (Tree::Array(_), Value::Array(_))
            | (Tree::Object(_), Value::Object(_))
            | (Tree::Number { .. }, Value::Number(_)) => self.to_value().equals(value),
            (Tree::Bool(left), Value::Bool(right)) => left == right,
            (Tree::Null, Value::Null) => true,
            _ => false,
        }
    }

    fn items(&self) -> &[Self] {
        match &self.tree {
            Tree::Array(items) => items,
            _ => &[],
        }
    }

    fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        let members = match &self.tree {
            Tree::Object(members) => members.as_slice(),
            _ => &[],
        };
        members.iter().map(|member| (member.key.as_str(), &member.value))
    }

    fn has_key(&self, key: &str) -> bool {
        self.members().any(|(name, _)| name == key)
    }
}

/// Compares 30.0 and 30 as equal, but never two integers as floats, which would lose digits.
fn numbers_equal(left: &Number, right: &Number) -> bool {
    left == right || ((left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64())
}
