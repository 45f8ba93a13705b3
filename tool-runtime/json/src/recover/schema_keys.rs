//! The keys that a schema declares at each location of the value.
//!
//! They are used only to decide between two readings: whether a quote ends a string that contains
//! quotes, and whether a member follows a comma.

use serde_json::Value;

/// The maximum number of subschemas followed at each location: a schema may be recursive.
const MAX_VISITS: usize = 64;

/// The maximum number of subschemas that may apply at one location. With more, none is used,
/// because each key of the text is looked up in all of them.
const MAX_SUBSCHEMAS: usize = 256;

/// The maximum number of properties of one subschema that a key is compared with if none of them is
/// equal: the others may differ in case and separators.
const MAX_COMPARED: usize = 512;

/// The subschemas that may apply at one location.
pub(super) type Subschemas<'s> = Vec<&'s Value>;

/// The keys of a schema, or of none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaKeys<'s> {
    root: Option<&'s Value>,
}

impl<'s> SchemaKeys<'s> {
    pub(crate) const NONE: Self = Self { root: None };

    pub(crate) const fn of_schema(schema: &'s Value) -> Self {
        Self { root: Some(schema) }
    }

    pub(super) const fn has_schema(&self) -> bool {
        self.root.is_some()
    }

    /// The subschemas of the root value.
    pub(super) fn root(&self) -> Subschemas<'s> {
        self.root.map(|root| self.resolve([root])).unwrap_or_default()
    }

    /// The subschemas of the member `key` of an object with these subschemas.
    pub(super) fn member(&self, subschemas: &Subschemas<'s>, key: &str) -> Subschemas<'s> {
        if subschemas.is_empty() {
            return Vec::new();
        }
        let of_key = |subschema: &&'s Value| subschema.get("properties")?.get(key);
        let named: Vec<_> = subschemas.iter().filter_map(of_key).collect();
        if named.is_empty() {
            self.resolve(
                subschemas.iter().filter_map(|subschema| subschema.get("additionalProperties")),
            )
        } else {
            self.resolve(named)
        }
    }

    /// The subschemas of the items of an array with these subschemas.
    pub(super) fn item(&self, subschemas: &Subschemas<'s>) -> Subschemas<'s> {
        if subschemas.is_empty() {
            return Vec::new();
        }
        self.resolve(subschemas.iter().filter_map(|subschema| subschema.get("items")))
    }

    /// Returns whether these subschemas declare `key`; `None` if they declare no keys.
    pub(super) fn has_key(subschemas: &Subschemas<'s>, key: &str) -> Option<bool> {
        let mut named = false;
        for subschema in subschemas {
            if let Some(Value::Object(properties)) = subschema.get("properties") {
                named |= !properties.is_empty();
                if properties.contains_key(key)
                    || properties.len() <= MAX_COMPARED
                        && properties.keys().any(|known| is_same_key(known, key))
                {
                    return Some(true);
                }
            }
        }
        named.then_some(false)
    }

    /// Returns whether the schema declares a root member `key`.
    pub(crate) fn has_root_key(&self, key: &str) -> bool {
        Self::has_key(&self.root(), key) == Some(true)
    }

    /// Returns the only literal that `word` may be the beginning of; `None` if there are several,
    /// or if a string is allowed. The inner `None` is null.
    pub(super) fn sole_literal(subschemas: &Subschemas<'s>, word: &str) -> Option<Option<bool>> {
        let mut found = Vec::new();
        for (literal, value) in super::tokens::literals::LITERALS {
            if literal.starts_with(word) && !found.contains(&value) && allows(subschemas, value) {
                found.push(value);
            }
        }
        let may_be_text =
            subschemas.iter().any(|subschema| types(subschema).any(|name| name == "string"));
        match found.as_slice() {
            &[literal] if !may_be_text => Some(literal),
            _ => None,
        }
    }

    /// Returns whether these subschemas allow strings and no numbers.
    pub(super) fn expects_text(subschemas: &Subschemas<'s>) -> bool {
        let has_type =
            |name| subschemas.iter().any(|subschema| types(subschema).any(|of| of == name));
        has_type("string") && !has_type("integer") && !has_type("number")
    }

    /// Returns whether these subschemas declare types, and no strings.
    pub(super) fn forbids_text(subschemas: &Subschemas<'s>) -> bool {
        let mut types = subschemas.iter().flat_map(|subschema| types(subschema)).peekable();
        types.peek().is_some() && types.all(|name| name != "string")
    }

    fn resolve(&self, subschemas: impl IntoIterator<Item = &'s Value>) -> Subschemas<'s> {
        // One more than the maximum shows that there are too many.
        let mut found: Subschemas<'s> = subschemas.into_iter().take(MAX_SUBSCHEMAS + 1).collect();
        let mut next = 0;
        while let Some(&subschema) = found.get(next)
            && next < MAX_VISITS
            && found.len() <= MAX_SUBSCHEMAS
        {
            next += 1;
            let target = subschema.get("$ref").and_then(Value::as_str);
            if let Some(target) = target.and_then(|path| path.strip_prefix('#')) {
                found.extend(self.root.and_then(|root| root.pointer(target)));
            }
            for keyword in ["anyOf", "oneOf", "allOf"] {
                let parts = subschema.get(keyword).and_then(Value::as_array);
                found.extend(parts.into_iter().flatten().take(MAX_SUBSCHEMAS));
            }
        }
        if found.len() <= MAX_SUBSCHEMAS { found } else { Vec::new() }
    }
}

/// Returns whether one of the subschemas allows `literal`.
fn allows(subschemas: &Subschemas<'_>, literal: Option<bool>) -> bool {
    let (name, value) = match literal {
        Some(bool) => ("boolean", Value::Bool(bool)),
        None => ("null", Value::Null),
    };
    subschemas.iter().any(|subschema| match (subschema.get("enum"), subschema.get("const")) {
        (Some(Value::Array(values)), _) => values.contains(&value),
        (_, Some(only)) => *only == value,
        _ => types(subschema).any(|of_part| of_part == name),
    })
}

/// The types that a subschema declares.
fn types(subschema: &Value) -> impl Iterator<Item = &str> {
    let declared = subschema.get("type");
    let several = declared.and_then(Value::as_array).into_iter().flatten();
    declared.into_iter().chain(several).filter_map(Value::as_str)
}

/// Compares two keys, ignoring case and separators.
fn is_same_key(left: &str, right: &str) -> bool {
    let plain = |key: &str| {
        key.chars()
            .filter(|c| !matches!(c, '_' | '-' | ' '))
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    left.len().abs_diff(right.len()) < 16 && plain(left) == plain(right)
}
