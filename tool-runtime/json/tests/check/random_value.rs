//! Random values that a schema probably takes, and near misses.

use serde_json::{Map, Value, json};

use crate::draw::{Draws, KEYS, TEXTS, number};
use crate::mutate::{any, mutate};

/// Generates a value for `root` and changes it in up to three places.
pub(crate) fn near(draws: &mut Draws<'_>, root: &Value) -> Value {
    let mut value = for_schema(draws, root, root, 7);
    for _ in 0..draws.from(&[0, 0, 0, 1, 1, 2, 3]) {
        mutate(draws, &mut value);
    }
    value
}

fn for_schema(draws: &mut Draws<'_>, root: &Value, schema: &Value, depth: usize) -> Value {
    let Value::Object(rules) = schema else {
        return any(draws, depth.min(2));
    };
    if depth == 0 {
        return any(draws, 0);
    }
    if let Some(only) = rules.get("const") {
        return only.clone();
    }
    if let Some(Value::Array(choices)) = rules.get("enum") {
        return draws.from(choices);
    }
    let mut members = Map::new();
    let mut whole = None;
    for inner in in_place(draws, root, rules) {
        match for_schema(draws, root, inner, depth - 1) {
            Value::Object(more) => members.extend(more),
            other => whole = Some(other),
        }
    }
    let kind = match rules.get("type") {
        Some(Value::Array(kinds)) => draws.from(kinds).as_str().map(str::to_owned),
        Some(Value::String(kind)) => Some(kind.clone()),
        _ if !members.is_empty() || rules.contains_key("properties") => Some("object".to_owned()),
        _ => None,
    };
    match (kind.as_deref(), whole) {
        (Some("object"), _) => {
            for (key, inner) in object_at(rules, "properties") {
                let required = rules.get("required").and_then(Value::as_array);
                let must = required.is_some_and(|names| names.contains(&json!(key)));
                if must || draws.one_in(2) {
                    members.insert(key.clone(), for_schema(draws, root, inner, depth - 1));
                }
            }
            for (_, inner) in object_at(rules, "patternProperties") {
                if draws.one_in(2) {
                    let key = draws.from(&KEYS).to_owned();
                    members.insert(key, for_schema(draws, root, inner, depth - 1));
                }
            }
            if let Some(inner) = rules.get("additionalProperties").filter(|_| draws.one_in(2)) {
                let key = draws.from(&KEYS).to_owned();
                let value = for_schema(draws, root, inner, depth - 1);
                members.entry(key).or_insert(value);
            }
            members.into()
        }
        (Some("array"), _) => array(draws, root, rules, depth),
        (Some("integer" | "number"), _) => near_bound(draws, rules),
        (Some("string"), _) => json!(draws.from(&TEXTS)),
        (Some("boolean"), _) => json!(draws.one_in(2)),
        (Some("null"), _) => Value::Null,
        (_, Some(whole)) => whole,
        _ => any(draws, 2),
    }
}

/// The nested schemas that the value should match as well.
fn in_place<'s>(
    draws: &mut Draws<'_>,
    root: &'s Value,
    rules: &'s Map<String, Value>,
) -> Vec<&'s Value> {
    let mut inner = Vec::new();
    if let Some(reference) = rules.get("$ref").and_then(Value::as_str) {
        let pointer = reference[1..].replace("%20", " ");
        inner.push(root.pointer(&pointer).expect("generated references resolve"));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = rules.get(key) {
            inner.push(&branches[draws.below(branches.len())]);
        }
    }
    if let Some(Value::Array(branches)) = rules.get("allOf") {
        inner.extend(branches);
    }
    if draws.one_in(2) {
        inner.extend(rules.get("if"));
        inner.extend(rules.get("then"));
    } else {
        inner.extend(rules.get("else"));
    }
    inner
}

fn array(draws: &mut Draws<'_>, root: &Value, rules: &Map<String, Value>, depth: usize) -> Value {
    let empty = Vec::new();
    let first = rules.get("prefixItems").and_then(Value::as_array).unwrap_or(&empty);
    let least = rules.get("minItems").and_then(Value::as_u64).unwrap_or(0) as usize;
    let length = match draws.below(3) {
        0 => first.len().max(least),
        1 => least,
        _ => draws.below(4),
    };
    let others = [rules.get("contains"), rules.get("items")];
    let others: Vec<_> = others.into_iter().flatten().collect();
    let items = (0..length).map(|at| match first.get(at) {
        Some(schema) => for_schema(draws, root, schema, depth - 1),
        None if others.is_empty() => any(draws, 1),
        None => {
            let schema = draws.from(&others);
            for_schema(draws, root, schema, depth - 1)
        }
    });
    items.collect()
}

fn near_bound(draws: &mut Draws<'_>, rules: &Map<String, Value>) -> Value {
    let keys = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    let bounds: Vec<_> = keys.iter().filter_map(|key| rules.get(*key)).collect();
    if bounds.is_empty() || draws.one_in(4) {
        return number(draws);
    }
    let bound = draws.from(&bounds).clone();
    let step = draws.from(&[0, 1, -1, 2]);
    match bound.as_i64().and_then(|bound| bound.checked_add(step)) {
        Some(near) if draws.one_in(4) => json!(near as f64),
        Some(near) => json!(near),
        None => draws.from(&[bound.clone(), json!(bound.as_f64().unwrap() * 3.0), json!(step)]),
    }
}

fn object_at<'s>(
    rules: &'s Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = (&'s String, &'s Value)> {
    rules.get(key).and_then(Value::as_object).into_iter().flatten()
}
