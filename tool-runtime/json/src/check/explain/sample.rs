//! Samples of a schema: values that a type of this schema probably accepts.
//!
//! A decoder stops at its first error. To find the next one, the wrong value is replaced by a
//! sample.

use std::cell::Cell;

use serde_json::{Map, Value, json};

use super::format_examples::{STRINGS, example};
use crate::check::validate::array::by_position;
use crate::check::validate::keywords::{bounds, count, list, names, object_at};
use crate::check::validate::pointer::resolve;

/// The nesting depth of samples.
const MAX_DEPTH: usize = 12;
/// The number of samples of one schema.
const MAX_SAMPLES: usize = 24;
/// The number of schemas that are read for all samples of one check.
const MAX_SCHEMAS: usize = 2_000;
/// The maximum length of a list or string that is made up to reach a minimum length.
const MAX_LENGTH: usize = 256;

#[derive(Debug)]
pub(in crate::check) struct Sampler<'s> {
    root: &'s Value,
    budget: Cell<usize>,
}

impl<'s> Sampler<'s> {
    pub(in crate::check) fn new(root: &'s Value) -> Self {
        Self { root, budget: Cell::new(MAX_SCHEMAS) }
    }

    /// Returns samples of these schemas, the most specific ones first.
    pub(in crate::check) fn samples(&self, schemas: &[&'s Value]) -> Vec<Value> {
        let mut samples: Vec<Value> = Vec::new();
        for sample in schemas.iter().flat_map(|schema| self.of_schema(schema, MAX_DEPTH)) {
            if samples.len() < MAX_SAMPLES && !samples.contains(&sample) {
                samples.push(sample);
            }
        }
        samples
    }

    fn of_schema(&self, schema: &'s Value, depth: usize) -> Vec<Value> {
        let left = self.budget.get().checked_sub(1);
        let (Some(left), Some(depth)) = (left, depth.checked_sub(1)) else { return Vec::new() };
        self.budget.set(left);
        match schema {
            Value::Object(rules) => self.of_rules(rules, depth),
            Value::Bool(false) => Vec::new(),
            _ => any_value(),
        }
    }

    fn of_rules(&self, rules: &'s Map<String, Value>, depth: usize) -> Vec<Value> {
        if let Some(only) = rules.get("const") {
            return vec![only.clone()];
        }
        if rules.contains_key("enum") {
            return list(rules, "enum").iter().take(MAX_SAMPLES).cloned().collect();
        }
        let mut samples = list(rules, "examples").to_vec();
        samples.extend(rules.get("default").cloned());
        let types = match rules.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(several) => names(Some(several)).collect(),
            None if rules.contains_key("properties") => vec!["object"],
            None if rules.contains_key("format") => vec!["string"],
            None => Vec::new(),
        };
        for name in &types {
            match *name {
                "string" => samples.extend(strings(rules)),
                "integer" | "number" => samples.extend(numbers(rules)),
                "boolean" => samples.extend([false.into(), true.into()]),
                "array" => samples.extend(self.array(rules, depth)),
                "object" => samples.extend(self.object(rules, depth)),
                _ => {}
            }
        }
        if types.is_empty() {
            let mut referenced = self.referenced(rules).peekable();
            if referenced.peek().is_none() {
                samples.extend(any_value());
            }
            samples.extend(referenced.flat_map(|schema| self.of_schema(schema, depth)));
        }
        // Null says least about what the type accepts.
        samples.sort_by_key(Value::is_null);
        samples.extend(types.contains(&"null").then_some(Value::Null));
        samples
    }

    /// Returns the schemas of which the same value must match one or all.
    fn referenced(&self, rules: &'s Map<String, Value>) -> impl Iterator<Item = &'s Value> {
        let reference = rules.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|reference| resolve(self.root, reference));
        let branches = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|key| list(rules, key));
        target.into_iter().chain(branches)
    }

    fn array(&self, rules: &'s Map<String, Value>, depth: usize) -> Option<Value> {
        let (first, rest) = by_position(rules);
        let length = count(rules, "minItems").unwrap_or(0).max(first.len());
        let schemas = (0..length.min(MAX_LENGTH)).map(|at| first.get(at).or(rest));
        let items = schemas.map(|schema| match schema {
            Some(schema) => self.of_schema(schema, depth).into_iter().next(),
            None => Some(Value::Null),
        });
        items.collect::<Option<Vec<_>>>().map(Value::from)
    }

    /// Returns an object with the required members.
    fn object(&self, rules: &'s Map<String, Value>, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        let known = rules.get("properties");
        for name in names(rules.get("required")) {
            let schema = known.and_then(|known| known.get(name));
            let sample = match schema {
                Some(schema) => self.of_schema(schema, depth).into_iter().next()?,
                None => Value::Null,
            };
            members.insert(name.to_owned(), sample);
        }
        let all = list(rules, "allOf").iter();
        let branch = |key| list(rules, key).first();
        for schema in all.chain(branch("anyOf")).chain(branch("oneOf")) {
            if let Some(Value::Object(more)) = self.of_schema(schema, depth).into_iter().next() {
                more.into_iter().for_each(|(name, value)| _ = members.entry(name).or_insert(value));
            }
        }
        // The tag of a tagged enum is not always required by its schema.
        for (name, schema) in object_at(rules, "properties") {
            if let Some(only) = schema.get("const") {
                members.insert(name.to_owned(), only.clone());
            }
        }
        Some(members.into())
    }
}

/// Returns samples of a value of which only its kind is known.
pub(in crate::check) fn similar(value: &Value) -> Vec<Value> {
    match value {
        Value::String(_) => strings(&Map::new()),
        Value::Number(_) => numbers(&Map::new()),
        _ => Vec::new(),
    }
}

fn any_value() -> Vec<Value> {
    vec![json!("a"), json!(1), Value::Null]
}

fn strings(rules: &Map<String, Value>) -> Vec<Value> {
    let format = rules.get("format").and_then(Value::as_str).and_then(example);
    let min = count(rules, "minLength").unwrap_or(0).min(MAX_LENGTH);
    let long = (min > 1).then(|| "a".repeat(min));
    let known = format.into_iter().map(str::to_owned).chain(long);
    known.chain(STRINGS.iter().map(|&text| text.to_owned())).map(Value::from).collect()
}

fn numbers(rules: &Map<String, Value>) -> Vec<Value> {
    let [min, above] = bounds(rules, "minimum", "exclusiveMinimum");
    let [max, below] = bounds(rules, "maximum", "exclusiveMaximum");
    let inclusive = [min, max, rules.get("multipleOf")];
    let mut samples: Vec<_> = inclusive.into_iter().flatten().cloned().collect();
    for (bound, step) in [(above, 1), (below, -1)] {
        let bound = bound.and_then(Value::as_i64);
        samples.extend(bound.and_then(|bound| bound.checked_add(step)).map(Value::from));
    }
    let common = [1.0, 2.0, 10.0, 100.0, 0.0].into_iter().zip([1, 2, 10, 100, 0]);
    let is_on = |bound: Option<&Value>, fits: fn(&f64, &f64) -> bool, float: &f64| {
        bound.and_then(Value::as_f64).is_none_or(|bound| fits(float, &bound))
    };
    let common = common.filter(|(float, _)| {
        is_on(min, f64::ge, float)
            && is_on(max, f64::le, float)
            && is_on(above, f64::gt, float)
            && is_on(below, f64::lt, float)
    });
    common.map(|(_, number)| Value::from(number)).chain(samples).collect()
}

#[cfg(test)]
mod tests {
    use super::Sampler;
    use crate::check::check;
    use serde_json::json;

    #[test]
    fn first_sample_matches_the_schema() {
        for schema in [
            json!({ "type": "string", "minLength": 3 }),
            json!({ "type": ["null", "integer"], "minimum": 7 }),
            json!({ "type": "integer", "exclusiveMaximum": 1, "maximum": 0 }),
            json!({ "type": "integer", "minimum": 100, "exclusiveMinimum": true }),
            json!({ "type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2.5 }),
            json!({ "enum": ["a", "b"] }),
            json!({ "type": "array", "items": { "type": "boolean" }, "minItems": 3 }),
            json!({ "type": "array", "prefixItems": [{ "const": 1 }, { "type": "string" }] }),
            json!({ "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }], "$defs": {
                "A": {
                    "type": "object",
                    "properties": { "b": { "type": "number" }, "c": { "type": "string" } },
                    "required": ["b"],
                    "oneOf": [{
                        "type": "object",
                        "properties": { "tag": { "const": "x" } },
                        "required": ["tag"],
                    }],
                },
            } }),
            json!(true),
        ] {
            let samples = Sampler::new(&schema).samples(&[&schema]);
            assert!(check(&samples[0], &schema).is_empty(), "{schema} {samples:?}");
        }
    }

    #[test]
    fn recursive_schema_has_no_sample() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "$ref": "#" }, "b": { "$ref": "#" } },
            "required": ["a", "b"],
        });
        assert_eq!(Sampler::new(&schema).samples(&[&schema]), Vec::<serde_json::Value>::new());
    }
}
