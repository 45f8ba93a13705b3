//! Which places of a value are secret: those whose schema is marked `writeOnly`.
//!
//! Whatever might be one is taken for one: a member that the schema doesn't know, and a value of
//! another shape than the one that the schema describes.

use serde_json::{Map, Value};

use super::constraints::any;
use super::pointer::resolve;

type Rules = Map<String, Value>;

/// The most subschemas that are held to one value; one may refer to itself.
const MOST: usize = 64;

/// Whether something in the schema is marked.
pub(super) fn is_marked(schema: &Value) -> bool {
    any(schema, |rules, _| marks(rules))
}

fn marks(rules: &Rules) -> bool {
    rules.get("writeOnly") == Some(&Value::Bool(true))
}

/// Hands every secret place of the value to `take`, the outermost only.
pub(super) fn each(schema: &Value, value: &mut Value, take: &mut dyn FnMut(&mut Value)) {
    Walk { root: schema, take }.visit(value, vec![schema]);
}

struct Walk<'s, 't> {
    root: &'s Value,
    take: &'t mut dyn FnMut(&mut Value),
}

impl<'s> Walk<'s, '_> {
    /// A value, and the schemas that say something of it.
    fn visit(&mut self, value: &mut Value, schemas: Vec<&'s Value>) {
        let all = self.with_branches(schemas);
        if value.is_null() || all.is_empty() {
            return;
        }
        let fits = all.iter().any(|rules| describes(rules, value));
        if !fits || all.iter().any(|rules| marks(rules)) {
            return (self.take)(value);
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let below: Vec<_> =
                        all.iter().flat_map(|rules| member_of(rules, name)).collect();
                    if below.is_empty() && !all.iter().any(|rules| is_open(rules)) {
                        (self.take)(member);
                    } else {
                        self.visit(member, below);
                    }
                }
            }
            Value::Array(items) => {
                for (place, item) in items.iter_mut().enumerate() {
                    let below = all.iter().filter_map(|rules| part(rules, place)).collect();
                    self.visit(item, below);
                }
            }
            _ => {}
        }
    }

    /// These, what they refer to and all their branches.
    fn with_branches(&self, mut waiting: Vec<&'s Value>) -> Vec<&'s Rules> {
        let mut found = Vec::new();
        while let Some(next) = waiting.pop() {
            let Value::Object(rules) = next else { continue };
            if found.len() >= MOST {
                break;
            }
            found.push(rules);
            let reference = rules.get("$ref").and_then(Value::as_str);
            waiting.extend(reference.and_then(|reference| resolve(self.root, reference)));
            for key in ["allOf", "anyOf", "oneOf"] {
                waiting.extend(rules.get(key).and_then(Value::as_array).into_iter().flatten());
            }
            waiting.extend(["if", "then", "else"].iter().filter_map(|&key| rules.get(key)));
            let dependent = rules.get("dependentSchemas").and_then(Value::as_object);
            waiting.extend(dependent.into_iter().flat_map(Map::values));
        }
        found
    }
}

/// Whether the rules are of values of this shape: an object, a list or a single one.
fn describes(rules: &Rules, value: &Value) -> bool {
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
        // What only leads to other rules says nothing itself.
        None => !has(&["$ref", "allOf", "anyOf", "oneOf"]),
    }
}

/// Whether members may stand there that the rules don't name.
fn is_open(rules: &Rules) -> bool {
    match rules.get("additionalProperties") {
        Some(more) => *more != Value::Bool(false),
        None => !rules.contains_key("properties") && describes(rules, &Value::Object(Map::new())),
    }
}

fn member_of<'s>(rules: &'s Rules, name: &str) -> Vec<&'s Value> {
    let named = rules.get("properties").and_then(|members| members.get(name));
    let patterns = rules.get("patternProperties").and_then(Value::as_object);
    let mut below: Vec<_> =
        named.into_iter().chain(patterns.into_iter().flat_map(Map::values)).collect();
    if below.is_empty() {
        below.extend(rules.get("additionalProperties").filter(|more| more.is_object()));
    }
    below
}

fn part(rules: &Rules, place: usize) -> Option<&Value> {
    let listed = rules.get("prefixItems").and_then(|parts| parts.get(place));
    listed.or_else(|| rules.get("items"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{each, is_marked};

    fn hidden(schema: &Value, mut value: Value) -> Value {
        each(schema, &mut value, &mut |place| *place = json!("-"));
        value
    }

    #[test]
    fn what_is_marked_is_found_wherever_it_is() {
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
            // Not known, and of another shape.
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
            assert!(is_marked(schema), "{schema}");
            assert_eq!(hidden(schema, value.clone()), expected, "{value} by {schema}");
        }
        assert!(!is_marked(&json!({"type": "object", "properties": {"writeOnly": text}})));
    }
}
