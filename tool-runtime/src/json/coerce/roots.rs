//! Sets of JSON types, and which of them a schema allows at its root.

use serde_json::{Map, Value};

/// A set of JSON types, one bit each: a number with a fraction or exponent is another type than an
/// integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::json) struct Roots(u8);

/// A schema may refer to itself; past this many subschemas every type is taken to be allowed.
const VISITS: usize = 256;

impl Roots {
    pub(in crate::json) const ANY: Self = Self(0b111_1111);
    pub(super) const NONE: Self = Self(0);
    pub(super) const OBJECT: Self = Self(1);
    pub(super) const LIST: Self = Self(2);
    pub(super) const TEXT: Self = Self(4);
    pub(super) const FRACTION: Self = Self(8);
    pub(super) const INTEGER: Self = Self(16);
    pub(super) const BOOL: Self = Self(32);
    pub(super) const NULL: Self = Self(64);
    pub(super) const NUMBER: Self = Self(Self::FRACTION.0 | Self::INTEGER.0);

    const fn named(name: &str) -> Self {
        match name.as_bytes() {
            b"object" => Self::OBJECT,
            b"array" => Self::LIST,
            b"string" => Self::TEXT,
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
            Value::String(_) => Self::TEXT,
            Value::Array(_) => Self::LIST,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// The types that the words `type`, `enum` and `const` of this one schema allow.
    pub(super) fn stated(part: &Map<String, Value>) -> Self {
        let mut roots = Self::ANY;
        for (word, said) in part {
            roots = roots.and(match (word.as_str(), said) {
                ("type", Value::String(name)) => Self::named(name),
                ("type", Value::Array(names)) => {
                    Self::any_of(names.iter().filter_map(Value::as_str).map(Self::named))
                }
                ("enum", Value::Array(values)) => Self::any_of(values.iter().map(Self::of_value)),
                ("const", value) => Self::of_value(value),
                _ => continue,
            });
        }
        roots
    }

    pub(in crate::json) fn is_object_only(self) -> bool {
        self == Self::OBJECT
    }

    pub(in crate::json) fn is_text_only(self) -> bool {
        self == Self::TEXT
    }

    /// The types that `schema` allows at its root. What it does not understand, it allows.
    pub(in crate::json) fn of_schema(schema: &Value) -> Self {
        Self::of_branch(schema, schema)
    }

    /// The same of a part of the schema `root`.
    pub(super) fn of_branch(part: &Value, root: &Value) -> Self {
        let mut visits = VISITS;
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

        let mut roots = Self::stated(part);
        if let Some(target) =
            part.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'))
            && let Some(target) = root.pointer(target)
        {
            roots = roots.and(Self::of_part(target, root, visits));
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = part.get(word) {
                let any =
                    Self::any_of(branches.iter().map(|branch| Self::of_part(branch, root, visits)));
                roots = roots.and(any);
            }
        }
        if let Some(Value::Array(branches)) = part.get("allOf") {
            for branch in branches {
                roots = roots.and(Self::of_part(branch, root, visits));
            }
        }
        roots
    }

    fn any_of(parts: impl Iterator<Item = Self>) -> Self {
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

    /// Whether the two have a type in common.
    pub(super) const fn meets(self, other: Self) -> bool {
        self.and(other).0 != 0
    }

    pub(in crate::json) const fn allows(self, value: &Value) -> bool {
        self.meets(Self::of_value(value))
    }

    pub(in crate::json) const fn allows_text(self) -> bool {
        self.meets(Self::TEXT)
    }

    /// What to ask for, as a noun.
    pub(in crate::json) const fn noun(self) -> &'static str {
        match self {
            Self::OBJECT => "object",
            Self::LIST => "array",
            Self::TEXT => "string",
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
        Roots::of_schema(schema).noun()
    }

    #[test]
    fn the_root_is_followed_through_references_and_branches() {
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
    fn what_it_cannot_follow_it_allows() {
        assert_eq!(Roots::of_schema(&json!({"$ref": "https://example.com/a"})), Roots::ANY);
        assert_eq!(Roots::of_schema(&json!({"$ref": "#"})), Roots::ANY);
        assert_eq!(Roots::of_schema(&json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]})), Roots::ANY);
        assert_eq!(Roots::of_schema(&json!(true)), Roots::ANY);
        assert_eq!(Roots::of_schema(&json!({"type": "unheard-of"})), Roots::ANY);
        assert_eq!(Roots::of_schema(&json!(false)), Roots::NONE);
    }
}
