//! A common view of [`Value`] and [`Node`], which [`fits`](super::fit) inspects.

use serde_json::{Number, Value};

use super::{number::is_integer, type_set::TypeSet};
use crate::tree::{Node, Tree};

/// A JSON value that can be compared with a schema.
pub(super) trait JsonView: Sized {
    /// The single type of the value.
    fn json_type(&self) -> TypeSet;
    /// Compares the value with `value`; numbers are compared by their numeric value.
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
            (Self::Number(one), Self::Number(other)) => numbers_equal(one, other),
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
            (Tree::Array(_), Value::Array(_)) | (Tree::Object(_), Value::Object(_)) => {
                self.to_value() == *value
            }
            (Tree::Number { .. }, Value::Number(_)) => self.to_value().equals(value),
            (Tree::Bool(one), Value::Bool(other)) => one == other,
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
