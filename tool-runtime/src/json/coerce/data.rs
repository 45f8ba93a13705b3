//! What [`fits`](super::fit) looks at: a value of serde_json's, or the tree of a text.

use serde_json::{Number, Value};

use super::{digits::is_integer, roots::Roots};
use crate::json::tree::{Node, Tree};

pub(super) trait Data: Sized {
    /// The one type that it has.
    fn root(&self) -> Roots;
    /// Whether it is this value; numbers by what they amount to.
    fn is(&self, value: &Value) -> bool;
    /// None but of a list.
    fn items(&self) -> &[Self];
    /// None but of an object.
    fn members(&self) -> impl Iterator<Item = (&str, &Self)>;
    fn has(&self, key: &str) -> bool;
}

impl Data for Value {
    fn root(&self) -> Roots {
        match self {
            Self::Number(number) if number.is_f64() => Roots::FRACTION,
            Self::Number(_) => Roots::INTEGER,
            Self::Null => Roots::NULL,
            Self::Bool(_) => Roots::BOOL,
            Self::String(_) => Roots::TEXT,
            Self::Array(_) => Roots::LIST,
            Self::Object(_) => Roots::OBJECT,
        }
    }

    fn is(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Number(one), Self::Number(other)) => is_same(one, other),
            _ => self == value,
        }
    }

    fn items(&self) -> &[Self] {
        self.as_array().map_or(&[], Vec::as_slice)
    }

    fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

impl Data for Node {
    fn root(&self) -> Roots {
        match &self.tree {
            Tree::Null => Roots::NULL,
            Tree::Bool(_) => Roots::BOOL,
            Tree::Number { json, .. } if is_integer(json) => Roots::INTEGER,
            Tree::Number { .. } => Roots::FRACTION,
            Tree::Text { .. } => Roots::TEXT,
            Tree::List(_) => Roots::LIST,
            Tree::Object(_) => Roots::OBJECT,
        }
    }

    fn is(&self, value: &Value) -> bool {
        match (&self.tree, value) {
            (Tree::Text { text, .. }, Value::String(other)) => text == other,
            (Tree::List(_), Value::Array(_)) | (Tree::Object(_), Value::Object(_)) => {
                self.to_value() == *value
            }
            (Tree::Number { .. }, Value::Number(_)) => self.to_value().is(value),
            (Tree::Bool(one), Value::Bool(other)) => one == other,
            (Tree::Null, Value::Null) => true,
            _ => false,
        }
    }

    fn items(&self) -> &[Self] {
        match &self.tree {
            Tree::List(items) => items,
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

    fn has(&self, key: &str) -> bool {
        self.members().any(|(name, _)| name == key)
    }
}

/// 30.0 is 30; but two integers are never compared as floats, which would lose digits.
fn is_same(one: &Number, other: &Number) -> bool {
    one == other || ((one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64())
}
