//! The keys that a schema knows at each place of the value.
//!
//! They decide where two readings are open, and only there: whether a quote ends a string that
//! holds quotes, and whether what follows a comma is a member.

use serde_json::Value;

/// A schema may refer to itself, so following it ends after this many steps at each place.
const VISITS: usize = 64;

/// The subschemas that may apply at one place.
pub(super) type Parts<'s> = Vec<&'s Value>;

/// A schema as far as keys go.
#[derive(Clone, Copy, Debug)]
pub(in crate::json) struct Keys<'s> {
    root: Option<&'s Value>,
}

impl<'s> Keys<'s> {
    pub(in crate::json) const NONE: Self = Self { root: None };

    pub(in crate::json) const fn of_schema(schema: &'s Value) -> Self {
        Self { root: Some(schema) }
    }

    pub(super) const fn has_schema(&self) -> bool {
        self.root.is_some()
    }

    /// What applies to the value itself.
    pub(super) fn root(&self) -> Parts<'s> {
        self.root.map(|root| self.follow([root])).unwrap_or_default()
    }

    /// What applies to the member `key` of an object to which `parts` apply.
    pub(super) fn member(&self, parts: &Parts<'s>, key: &str) -> Parts<'s> {
        if parts.is_empty() {
            return Vec::new();
        }
        let of_key = |part: &&'s Value| part.get("properties")?.get(key);
        let named: Vec<_> = parts.iter().filter_map(of_key).collect();
        if named.is_empty() {
            self.follow(parts.iter().filter_map(|part| part.get("additionalProperties")))
        } else {
            self.follow(named)
        }
    }

    /// What applies to the items of a list to which `parts` apply.
    pub(super) fn item(&self, parts: &Parts<'s>) -> Parts<'s> {
        if parts.is_empty() {
            return Vec::new();
        }
        self.follow(parts.iter().filter_map(|part| part.get("items")))
    }

    /// Whether `key` is one of an object to which `parts` apply; `None` if they name no keys.
    pub(super) fn knows(parts: &Parts<'s>, key: &str) -> Option<bool> {
        let mut named = false;
        for part in parts {
            if let Some(Value::Object(properties)) = part.get("properties") {
                named |= !properties.is_empty();
                if properties.contains_key(key)
                    || properties.keys().any(|known| is_alike(known, key))
                {
                    return Some(true);
                }
            }
        }
        named.then_some(false)
    }

    /// Whether the value itself may have a member `key`.
    pub(in crate::json) fn knows_at_root(&self, key: &str) -> bool {
        Self::knows(&self.root(), key) == Some(true)
    }

    /// The one literal that `word` may be the beginning of where `parts` apply; `None` if it may be
    /// several, or text. Null is the literal `None`.
    pub(super) fn sole_literal(parts: &Parts<'s>, word: &str) -> Option<Option<bool>> {
        let mut found = Vec::new();
        for (literal, value) in super::bare::LITERALS {
            if literal.starts_with(word) && !found.contains(&value) && allows(parts, value) {
                found.push(value);
            }
        }
        let may_be_text = parts.iter().any(|part| types(part).any(|name| name == "string"));
        match found.as_slice() {
            &[literal] if !may_be_text => Some(literal),
            _ => None,
        }
    }

    fn follow(&self, parts: impl IntoIterator<Item = &'s Value>) -> Parts<'s> {
        let mut found: Parts<'s> = parts.into_iter().collect();
        let mut next = 0;
        while let Some(&part) = found.get(next)
            && next < VISITS
        {
            next += 1;
            let target = part.get("$ref").and_then(Value::as_str);
            if let Some(target) = target.and_then(|path| path.strip_prefix('#')) {
                found.extend(self.root.and_then(|root| root.pointer(target)));
            }
            for word in ["anyOf", "oneOf", "allOf"] {
                found.extend(part.get(word).and_then(Value::as_array).into_iter().flatten());
            }
        }
        found
    }
}

/// Whether one of `parts` says that `literal` may stand there.
fn allows(parts: &Parts<'_>, literal: Option<bool>) -> bool {
    let (name, value) = match literal {
        Some(bool) => ("boolean", Value::Bool(bool)),
        None => ("null", Value::Null),
    };
    parts.iter().any(|part| match (part.get("enum"), part.get("const")) {
        (Some(Value::Array(values)), _) => values.contains(&value),
        (_, Some(only)) => *only == value,
        _ => types(part).any(|of_part| of_part == name),
    })
}

/// The types that a schema names.
fn types(part: &Value) -> impl Iterator<Item = &str> {
    let said = part.get("type");
    let several = said.and_then(Value::as_array).into_iter().flatten();
    said.into_iter().chain(several).filter_map(Value::as_str)
}

/// The same but for case and separators.
fn is_alike(one: &str, other: &str) -> bool {
    let plain = |key: &str| {
        key.chars()
            .filter(|c| !matches!(c, '_' | '-' | ' '))
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    one.len().abs_diff(other.len()) < 16 && plain(one) == plain(other)
}
