//! Sets of JSON types, and the set that a schema allows at its root.

use serde_json::{Map, Value};

/// A set of JSON types, one bit each; a number with a fraction or exponent is a separate type from
/// an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeSet(u8);

/// The maximum number of visited subschemas of a recursive schema; beyond it all types are allowed.
const MAX_VISITS: usize = 256;

impl TypeSet {
    pub(crate) const ANY: Self = Self(0b111_1111);
    pub(super) const NONE: Self = Self(0);
    pub(super) const OBJECT: Self = Self(1);
    pub(super) const ARRAY: Self = Self(2);
    pub(super) const STRING: Self = Self(4);
    pub(super) const FRACTION: Self = Self(8);
    pub(super) const INTEGER: Self = Self(16);
    pub(super) const BOOL: Self = Self(32);
    pub(super) const NULL: Self = Self(64);
    pub(super) const NUMBER: Self = Self(Self::FRACTION.0 | Self::INTEGER.0);

    const fn from_name(name: &str) -> Self {
        match name.as_bytes() {
            b"object" => Self::OBJECT,
            b"array" => Self::ARRAY,
            b"string" => Self::STRING,
            b"number" => Self::NUMBER,
            b"integer" => Self::INTEGER,
            b"boolean" => Self::BOOL,
            b"null" => Self::NULL,
            _ => Self::ANY,
        }
    }

    const fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOL,
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// The types that the keywords `type`, `enum` and `const` of this schema allow.
    pub(super) fn declared_by(part: &Map<String, Value>) -> Self {
        let mut types = Self::ANY;
        for (keyword, value) in part {
            types = types.and(match (keyword.as_str(), value) {
                ("type", Value::String(name)) => Self::from_name(name),
                ("type", Value::Array(names)) => {
                    Self::union(names.iter().filter_map(Value::as_str).map(Self::from_name))
                }
                ("enum", Value::Array(values)) => Self::union(values.iter().map(Self::of_value)),
                ("const", value) => Self::of_value(value),
                _ => continue,
            });
        }
        types
    }

    pub(crate) fn is_object_only(self) -> bool {
        self == Self::OBJECT
    }

    pub(crate) fn is_string_only(self) -> bool {
        self == Self::STRING
    }

    /// The types that `schema` allows at its root; unsupported keywords allow all types.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        Self::of_branch(schema, schema)
    }

    /// The types that a subschema of `root` allows.
    pub(super) fn of_branch(part: &Value, root: &Value) -> Self {
        let mut visits = MAX_VISITS;
        Self::of_part(part, root, &mut visits)
    }

    fn of_part(part: &Value, root: &Value, visits: &mut usize) -> Self {
        let Some(left) = visits.checked_sub(1) else {
            return Self::ANY;
        };
        *visits = left;
        let part = match part {
            Value::Object(part) => part,
            Value::Bool(false) => return Self::NONE,
            _ => return Self::ANY,
        };

        let mut types = Self::declared_by(part);
        if let Some(target) =
            part.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'))
            && let Some(target) = root.pointer(target)
        {
            types = types.and(Self::of_part(target, root, visits));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = part.get(keyword) {
                let any =
                    Self::union(branches.iter().map(|branch| Self::of_part(branch, root, visits)));
                types = types.and(any);
            }
        }
        if let Some(Value::Array(branches)) = part.get("allOf") {
            for branch in branches {
                types = types.and(Self::of_part(branch, root, visits));
            }
        }
        types
    }

    fn union(parts: impl Iterator<Item = Self>) -> Self {
        parts.fold(Self::NONE, |all, part| Self(all.0 | part.0))
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn is(self, other: Self) -> bool {
        self.0 == other.0
    }

    /// Returns whether the two sets have a type in common.
    pub(super) const fn intersects(self, other: Self) -> bool {
        self.and(other).0 != 0
    }

    pub(crate) const fn allows(self, value: &Value) -> bool {
        self.intersects(Self::of_value(value))
    }

    pub(crate) const fn allows_string(self) -> bool {
        self.intersects(Self::STRING)
    }

    /// The noun for the expected value in messages to the model.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::OBJECT => "object",
            Self::ARRAY => "array",
            Self::STRING => "string",
            Self::NUMBER | Self::INTEGER | Self::FRACTION => "number",
            _ => "value",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn noun(schema: &Value) -> &'static str {
        TypeSet::of_schema(schema).noun()
    }

    #[test]
    fn root_types_follow_references_and_branches() {
        assert_eq!(noun(&json!({"type": "object"})), "object");
        assert_eq!(noun(&json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "array"}}})), "array");
        assert_eq!(
            noun(
                &json!({"anyOf": [{"type": "object"}, {"$ref": "#/$defs/A"}], "$defs": {"A": {"type": "object"}}})
            ),
            "object"
        );
        assert_eq!(
            noun(&json!({"allOf": [{"type": ["object", "string"]}, {"type": ["object", "null"]}]})),
            "object"
        );
        assert_eq!(noun(&json!({"enum": ["a", "b"]})), "string");
        assert_eq!(noun(&json!({"const": 3})), "number");
        assert_eq!(noun(&json!({"type": ["integer", "number"]})), "number");
        assert_eq!(noun(&json!({"description": "anything"})), "value");
    }

    #[test]
    fn unresolved_schema_allows_all_types() {
        assert_eq!(TypeSet::of_schema(&json!({"$ref": "https://example.com/a"})), TypeSet::ANY);
        assert_eq!(TypeSet::of_schema(&json!({"$ref": "#"})), TypeSet::ANY);
        assert_eq!(
            TypeSet::of_schema(&json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]})),
            TypeSet::ANY
        );
        assert_eq!(TypeSet::of_schema(&json!(true)), TypeSet::ANY);
        assert_eq!(TypeSet::of_schema(&json!({"type": "unheard-of"})), TypeSet::ANY);
        assert_eq!(TypeSet::of_schema(&json!(false)), TypeSet::NONE);
    }
}
