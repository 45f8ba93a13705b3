//! Secret values: those whose schema is marked `writeOnly`.
//!
//! A value that may be secret counts as secret: a member that the schema doesn't name, and a value
//! of another shape than the schema describes.

use serde_json::{Map, Value};

use super::constraints::any;
use crate::json::__private::resolve;

/// The number of subschemas that are applied to one value; a schema may refer to itself.
const MAX_SCHEMAS: usize = 64;

/// Returns true if a part of the schema is marked as secret.
pub(super) fn has_secrets(schema: &Value) -> bool {
    any(schema, |rules, _| is_write_only(rules))
}

fn is_write_only(rules: &Map<String, Value>) -> bool {
    rules.get("writeOnly") == Some(&Value::Bool(true))
}

/// Calls `visit_secret` with every secret value, the outermost only.
pub(super) fn for_each_secret(
    schema: &Value,
    value: &mut Value,
    visit_secret: &mut dyn FnMut(&mut Value),
) {
    SecretWalk { root: schema, visit_secret }.visit(value, vec![schema]);
}

struct SecretWalk<'s, 't> {
    root: &'s Value,
    visit_secret: &'t mut dyn FnMut(&mut Value),
}

impl<'s> SecretWalk<'s, '_> {
    /// Visits a value to which these schemas apply.
    fn visit(&mut self, value: &mut Value, schemas: Vec<&'s Value>) {
        let all = self.with_branches(schemas);
        if value.is_null() || all.is_empty() {
            return;
        }
        let fits = all.iter().any(|rules| describes(rules, value));
        if !fits || all.iter().any(|rules| is_write_only(rules)) {
            return (self.visit_secret)(value);
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let child_schemas: Vec<_> =
                        all.iter().flat_map(|rules| member_of(rules, name)).collect();
                    if child_schemas.is_empty() && !all.iter().any(|rules| is_open(rules)) {
                        (self.visit_secret)(member);
                    } else {
                        self.visit(member, child_schemas);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let child_schemas = all.iter().filter_map(|rules| part(rules, index)).collect();
                    self.visit(item, child_schemas);
                }
            }
            _ => {}
        }
    }

    /// Returns these schemas, the targets of their references, and all their branches.
    fn with_branches(&self, mut pending: Vec<&'s Value>) -> Vec<&'s Map<String, Value>> {
        let mut found = Vec::new();
        while let Some(next) = pending.pop() {
            let Value::Object(rules) = next else { continue };
            if found.len() >= MAX_SCHEMAS {
                break;
            }
            found.push(rules);
            let reference = rules.get("$ref").and_then(Value::as_str);
            pending.extend(reference.and_then(|reference| resolve(self.root, reference)));
            for key in ["allOf", "anyOf", "oneOf"] {
                pending.extend(rules.get(key).and_then(Value::as_array).into_iter().flatten());
            }
            pending.extend(["if", "then", "else"].iter().filter_map(|&key| rules.get(key)));
            let dependent = rules.get("dependentSchemas").and_then(Value::as_object);
            pending.extend(dependent.into_iter().flat_map(Map::values));
        }
        found
    }
}

/// Returns true if the rules describe values of this shape: an object, a list, or a scalar.
fn describes(rules: &Map<String, Value>, value: &Value) -> bool {
    let has = |keys: &[&str]| keys.iter().any(|&key| rules.contains_key(key));
    let is_of_shape = |name: &Value| match value {
        Value::Object(_) => name == "object",
        Value::Array(_) => name == "array",
        _ => name != "object" && name != "array",
    };
    let of_object = has(&["properties", "patternProperties", "additionalProperties"]);
    let of_list = has(&["items", "prefixItems"]);
    match rules.get("type") {
        Some(Value::Array(names)) => names.iter().any(is_of_shape),
        Some(name) => is_of_shape(name),
        None if of_object || of_list => match value {
            Value::Object(_) => of_object,
            Value::Array(_) => of_list,
            _ => false,
        },
        // A schema that only refers to others describes no shape itself.
        None => !has(&["$ref", "allOf", "anyOf", "oneOf"]),
    }
}

/// Returns true if the schema allows members that it doesn't name.
fn is_open(rules: &Map<String, Value>) -> bool {
    match rules.get("additionalProperties") {
        Some(more) => *more != Value::Bool(false),
        None => !rules.contains_key("properties") && describes(rules, &Value::Object(Map::new())),
    }
}

fn member_of<'s>(rules: &'s Map<String, Value>, name: &str) -> Vec<&'s Value> {
    let named = rules.get("properties").and_then(|members| members.get(name));
    let patterns = rules.get("patternProperties").and_then(Value::as_object);
    let mut child_schemas: Vec<_> =
        named.into_iter().chain(patterns.into_iter().flat_map(Map::values)).collect();
    if child_schemas.is_empty() {
        child_schemas.extend(rules.get("additionalProperties").filter(|more| more.is_object()));
    }
    child_schemas
}

fn part(rules: &Map<String, Value>, index: usize) -> Option<&Value> {
    let listed = rules.get("prefixItems").and_then(|parts| parts.get(index));
    listed.or_else(|| rules.get("items"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{for_each_secret, has_secrets};

    fn hidden(schema: &Value, mut value: Value) -> Value {
        for_each_secret(schema, &mut value, &mut |secret| *secret = json!("-"));
        value
    }

    #[test]
    fn secret_values_are_found_at_any_depth() {
        let text = json!({"type": "string"});
        let secret = json!({"type": "string", "writeOnly": true});
        let login = json!({
            "type": "object", "properties": {"user": text, "key": secret},
        });
        let open =
            json!({"type": "object", "properties": {"key": secret}, "additionalProperties": true});
        let map = json!({"type": "object", "additionalProperties": secret});
        let list = json!({"type": "array", "items": login});
        let pair = json!({"type": "array", "prefixItems": [text, secret]});
        let choice = json!({"anyOf": [login, {"type": "string"}, {"type": "null"}]});
        let named = json!({"$ref": "#/$defs/l", "$defs": {"l": login}});
        let member =
            json!({"type": "object", "properties": {"in": choice, "n": {"type": "integer"}}});
        for (schema, value, expected) in [
            (&login, json!({"user": "u", "key": "k"}), json!({"user": "u", "key": "-"})),
            (&login, json!({"user": "u", "key": null}), json!({"user": "u", "key": null})),
            (&login, json!({"user": "u", "key": {"a": [1]}}), json!({"user": "u", "key": "-"})),
            // An unknown member, and values of another shape.
            (&login, json!({"user": "u", "Key": "k"}), json!({"user": "u", "Key": "-"})),
            (&login, json!({"user": ["k"]}), json!({"user": "-"})),
            (&login, json!(["u", "k"]), json!("-")),
            (&login, json!("k"), json!("-")),
            (&open, json!({"key": "k", "more": 1}), json!({"key": "-", "more": 1})),
            (&map, json!({"a": "k", "b": "l"}), json!({"a": "-", "b": "-"})),
            (&list, json!([{"key": "k"}, {"user": "u"}]), json!([{"key": "-"}, {"user": "u"}])),
            (&pair, json!(["u", "k"]), json!(["u", "-"])),
            (&choice, json!({"key": "k"}), json!({"key": "-"})),
            (&choice, json!("plain"), json!("plain")),
            (&named, json!({"key": "k"}), json!({"key": "-"})),
            (&member, json!({"in": {"key": "k"}, "n": "5"}), json!({"in": {"key": "-"}, "n": "5"})),
        ] {
            assert!(has_secrets(schema), "{schema}");
            assert_eq!(hidden(schema, value.clone()), expected, "{value} by {schema}");
        }
        assert!(!has_secrets(&json!({"type": "object", "properties": {"writeOnly": text}})));
    }
}
