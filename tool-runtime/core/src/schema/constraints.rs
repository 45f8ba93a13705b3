//! Detection of rules that the Rust type of a schema doesn't enforce.

use std::cell::Cell;

use serde_json::{Map, Value};

use crate::json::__private::{is_supported, resolve};

/// Keywords whose value is one schema.
pub(super) const SCHEMA_KEYWORDS: [&str; 11] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas (`items` was one before 2020-12).
pub(super) const SCHEMA_LIST_KEYWORDS: [&str; 5] =
    ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords whose value maps names to schemas.
pub(super) const SCHEMA_MAP_KEYWORDS: [&str; 5] =
    ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
/// Rules that no derived decoder enforces, whatever their value.
const UNENFORCED_KEYWORDS: [&str; 12] = [
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "maxLength",
    "maxProperties",
    "multipleOf",
    "not",
    "pattern",
];

/// Returns true if `schema` has a rule that decoding into its Rust type doesn't enforce.
///
/// serde enforces types, required and unknown members, choices, and the bounds of integer types. A
/// schema with these rules alone needs no separate validation.
#[must_use]
pub(super) fn is_constrained(schema: &Value) -> bool {
    any(schema, |rules, is_branch| constrains(rules) || lists_values(rules, is_branch))
}

/// Returns true if the values of a part are listed although its type has more. The schema of an
/// enum lists its choices in a definition, at the root or in a branch, and its tag as the only
/// value of a member of a branch. Any other list was written by hand, and no decoder enforces it.
fn lists_values(rules: &Map<String, Value>, is_branch: bool) -> bool {
    let members =
        SCHEMA_MAP_KEYWORDS.iter().filter(|key| !key.starts_with('$') && **key != "definitions");
    let members = members.filter_map(|&key| rules.get(key)?.as_object()).flat_map(Map::values);
    let items = rules.get("prefixItems").and_then(Value::as_array).into_iter().flatten();
    let parts = SCHEMA_KEYWORDS.iter().filter_map(|&key| rules.get(key));
    members
        .chain(items)
        .chain(parts)
        .any(|part| part.get("enum").is_some() || part.get("const").is_some() && !is_branch)
}

/// Returns the first pattern that can't be compiled.
pub(super) fn unsupported_pattern(schema: &Value) -> Option<&str> {
    let found = Cell::new(None);
    let is_unreadable = |pattern: &&str| !is_supported(pattern);
    any(schema, |rules, _| {
        let pattern = rules.get("pattern").and_then(Value::as_str);
        let keys = rules.get("patternProperties").and_then(Value::as_object);
        let keys = keys.into_iter().flat_map(Map::keys).map(String::as_str);
        found.set(pattern.into_iter().chain(keys).find(is_unreadable));
        found.get().is_some()
    });
    found.get()
}

/// Returns the first reference to a part of the schema that doesn't exist.
pub(super) fn dangling_reference(schema: &Value) -> Option<&str> {
    let found = Cell::new(None);
    any(schema, |rules, _| {
        let reference = rules.get("$ref").and_then(Value::as_str);
        let is_dangling = |path: &&str| path.starts_with("#/") && resolve(schema, path).is_none();
        found.set(reference.filter(is_dangling));
        found.get().is_some()
    });
    found.get()
}

/// Returns true if `schema` names the members of an object anywhere but at its root.
pub(super) fn has_nested_objects(schema: &Value) -> bool {
    let root = schema.as_object();
    any(schema, |rules, _| is_struct(rules) && root.is_none_or(|root| !std::ptr::eq(root, rules)))
}

/// Returns true for an object with named members or none, and false for a map.
fn is_struct(rules: &Map<String, Value>) -> bool {
    let is_object = || match rules.get("type") {
        Some(Value::Array(types)) => types.iter().any(|name| name == "object"),
        Some(name) => name == "object",
        None => false,
    };
    let is_map = || match rules.get("additionalProperties") {
        None | Some(Value::Bool(false)) => rules.contains_key("patternProperties"),
        Some(_) => true,
    };
    rules.contains_key("properties") || is_object() && !is_map()
}

/// Returns true if `predicate` holds for the schema or a part of it. `predicate` also receives
/// whether the part is one of several branches.
pub(super) fn any<'s>(
    schema: &'s Value,
    predicate: impl Fn(&'s Map<String, Value>, bool) -> bool,
) -> bool {
    let mut pending = vec![(schema, false)];
    // Targets that the walk doesn't reach by itself; each is followed once.
    let mut followed: Vec<&str> = Vec::new();
    while let Some((next, is_branch)) = pending.pop() {
        let Value::Object(rules) = next else { continue };
        if predicate(rules, is_branch) {
            return true;
        }
        pending.extend(
            SCHEMA_KEYWORDS.iter().filter_map(|&key| rules.get(key)).map(|part| (part, false)),
        );
        for key in SCHEMA_LIST_KEYWORDS {
            let parts = rules.get(key).and_then(Value::as_array).into_iter().flatten();
            pending.extend(parts.map(|part| (part, key == "anyOf" || key == "oneOf")));
        }
        let named = SCHEMA_MAP_KEYWORDS.iter().filter_map(|&key| rules.get(key)?.as_object());
        pending.extend(named.flat_map(Map::values).map(|part| (part, false)));
        if let Some(Value::String(reference)) = rules.get("$ref")
            && !is_reachable(reference)
            && !followed.contains(&reference.as_str())
        {
            followed.push(reference);
            pending.extend(resolve(schema, reference).map(|part| (part, false)));
        }
    }
    false
}

/// Returns true if the walk reaches the target from the root in any case.
pub(super) fn is_reachable(reference: &str) -> bool {
    let definition =
        reference.strip_prefix("#/$defs/").or_else(|| reference.strip_prefix("#/definitions/"));
    reference == "#" || definition.is_some_and(|name| !name.contains('/'))
}

fn constrains(rules: &Map<String, Value>) -> bool {
    let above_zero = |key| rules.get(key).is_some_and(|min| min.as_u64() != Some(0));
    UNENFORCED_KEYWORDS.iter().any(|&key| rules.contains_key(key))
        || above_zero("minLength")
        || above_zero("minProperties")
        || rules.get("uniqueItems") == Some(&Value::Bool(true))
        // schemars generates this rule for no type, so it was written by hand.
        || rules.contains_key("propertyNames")
        || bounds_narrow_the_type(rules)
        || counts_differ_from_the_tuple(rules)
}

/// Bounds that only restate the integer type in `format` (`u8`: 0 to 255) are enforced by serde.
fn bounds_narrow_the_type(rules: &Map<String, Value>) -> bool {
    let format = rules.get("format").and_then(Value::as_str).unwrap_or("");
    let (min, max): (i128, i128) = match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" | "int" => (i64::MIN.into(), i64::MAX.into()),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" | "uint" => (0, u64::MAX.into()),
        "uint128" => (0, i128::MAX),
        _ => (i128::MIN, i128::MAX),
    };
    let bound = |key| Some(rules.get(key)?.as_number()?.as_i128());
    // A fractional bound narrows the type.
    bound("minimum").is_some_and(|bound| bound.is_none_or(|bound| bound > min))
        || bound("maximum").is_some_and(|bound| bound.is_none_or(|bound| bound < max))
}

/// The schema of a tuple states its length twice: with `prefixItems`, and with both counts.
fn counts_differ_from_the_tuple(rules: &Map<String, Value>) -> bool {
    let tuple = rules.get("prefixItems").and_then(Value::as_array);
    let differs = |key| {
        rules.get(key).is_some_and(|count| {
            let count = count.as_u64();
            (key, count) != ("minItems", Some(0))
                && tuple.is_none_or(|tuple| count != u64::try_from(tuple.len()).ok())
        })
    };
    differs("minItems") || differs("maxItems")
}

#[cfg(test)]
mod tests {
    use super::is_constrained;
    use serde_json::json;

    #[test]
    fn rules_beyond_the_type_are_constraints() {
        for schema in [
            json!({"type": "integer", "minimum": 1}),
            json!({"type": "integer", "format": "uint8", "minimum": 1, "maximum": 255}),
            json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": 7}),
            json!({"type": "integer", "format": "uint64", "minimum": 0.5}),
            json!({"properties": {"a": {"type": "string", "pattern": "^a"}}}),
            json!({"$defs": {"A": {"anyOf": [{"type": "null"}, {"items": {"maxLength": 3}}]}}}),
            json!({"$ref": "#/parts/a", "parts": {"a": {"multipleOf": 2}}}),
            json!({"items": {"type": "integer"}, "minItems": 3, "maxItems": 3}),
            json!({"prefixItems": [{}, {}], "minItems": 1, "maxItems": 2}),
            json!({"additionalProperties": {"not": {"type": "null"}}}),
            json!({"uniqueItems": true}),
            json!({"minProperties": 1}),
            json!({"propertyNames": {"enum": ["a"]}}),
            json!({"if": {}, "then": {}}),
        ] {
            assert!(is_constrained(&schema), "{schema}");
        }
    }

    #[test]
    fn rules_of_the_type_are_no_constraints() {
        for schema in [
            json!(true),
            json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255}),
            json!({"type": "integer", "format": "int16", "minimum": -32768, "maximum": 32767}),
            json!({"type": ["integer", "null"], "format": "uint", "minimum": 0}),
            json!({"type": "integer", "format": "uint128", "minimum": 0}),
            json!({"properties": {"minimum": {"type": "string"}, "not": {}, "if": {}}}),
            json!({"const": {"pattern": "x"}, "default": {"minimum": 1}, "examples": [{"not": 1}]}),
            json!({"enum": [{"maxItems": 1}], "required": ["pattern"]}),
            json!({"type": "array", "prefixItems": [{}, {}], "minItems": 2, "maxItems": 2}),
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}),
            json!({"oneOf": [{"const": "A"}, {"const": "B"}], "unevaluatedProperties": false}),
            json!({"patternProperties": {"^\\d+$": {}}, "additionalProperties": false}),
            json!({"minItems": 0, "minLength": 0, "uniqueItems": false}),
            json!({"$ref": "#"}),
        ] {
            assert!(!is_constrained(&schema), "{schema}");
        }
    }

    #[test]
    fn constraint_search_ends_on_loops_and_deep_schemas() {
        let round = json!({"$ref": "#/a", "a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}});
        assert!(!is_constrained(&round));
        let mut deep = json!({"minimum": 1});
        for _ in 0..5_000 {
            let inner = std::mem::take(&mut deep);
            deep = serde_json::Map::from_iter([("items".to_owned(), inner)]).into();
        }
        assert!(is_constrained(&deep));
        // Dropping it would overflow the stack.
        std::mem::forget(deep);
    }
}
