//! What the schema says about the root of the value: which types it may have.

use serde_json::Value;

/// A set of JSON types, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Roots(u8);

/// A schema may refer to itself; past this many subschemas every type is taken to be allowed.
const VISITS: usize = 256;

impl Roots {
    pub(super) const ANY: Self = Self(0b11_1111);
    const NONE: Self = Self(0);
    const STRING: Self = Self::named("string");

    const fn named(name: &str) -> Self {
        match name.as_bytes() {
            b"object" => Self(1),
            b"array" => Self(2),
            b"string" => Self(4),
            b"number" | b"integer" => Self(8),
            b"boolean" => Self(16),
            b"null" => Self(32),
            _ => Self::ANY,
        }
    }

    const fn of_value(value: &Value) -> Self {
        Self::named(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        })
    }

    pub(super) fn is_object_only(self) -> bool {
        self == Self::named("object")
    }

    /// The types that `schema` allows at its root. What it does not understand, it allows.
    pub(super) fn of_schema(schema: &Value) -> Self {
        let mut visits = VISITS;
        Self::of_part(schema, schema, &mut visits)
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

        let mut roots = Self::ANY;
        match part.get("type") {
            Some(Value::String(name)) => roots = roots.and(Self::named(name)),
            Some(Value::Array(names)) => {
                roots = roots
                    .and(Self::any_of(names.iter().filter_map(Value::as_str).map(Self::named)));
            }
            _ => {}
        }
        if let Some(Value::Array(values)) = part.get("enum") {
            roots = roots.and(Self::any_of(values.iter().map(Self::of_value)));
        }
        if let Some(value) = part.get("const") {
            roots = roots.and(Self::of_value(value));
        }
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

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn allows(self, value: &Value) -> bool {
        self.and(Self::of_value(value)).0 != 0
    }

    pub(super) const fn allows_text(self) -> bool {
        self.and(Self::STRING).0 != 0
    }

    /// What to ask for, as a noun.
    pub(super) const fn noun(self) -> &'static str {
        match self.0 {
            1 => "object",
            2 => "array",
            4 => "string",
            8 => "number",
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
