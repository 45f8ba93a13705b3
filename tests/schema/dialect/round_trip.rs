//! Checks that a converted schema loses nothing: the values of a tool can be expressed, and the
//! expressed values are accepted.

use std::cell::LazyCell;

use serde_json::{Map, Value, json};
use tool_runtime::json::{Fix, FixKind, parse_as};
use tool_runtime::schema::{Dialect, Schema};

use super::providers::violations;
use crate::draw::Draws;
use crate::schema::agreement::valid_values::ValueGenerator;
use proptest::test_runner::TestRunner;

/// The number of values that are tried for each schema and direction.
const VALUES: u32 = 8;

/// The outcome of one schema in one dialect.
pub(crate) enum Outcome {
    /// The dialect can't express the schema, for this reason.
    Refused(String),
    /// Values of the converted schema, and how many of them violate a rule that the dialect lacks.
    Converted { expressed_values: Vec<Value>, violating: usize },
}

pub(crate) fn try_schema(original: &Value, dialect: Dialect) -> Outcome {
    let converted = match Schema::from(original.clone()).for_dialect(dialect) {
        Ok(converted) => converted,
        Err(error) => {
            assert_eq!(error.dialect, dialect);
            assert!(error.to_string().starts_with(&format!("{dialect} can't express ")));
            return Outcome::Refused(error.reason);
        }
    };
    let converted = converted.as_value();
    let found = violations(dialect, converted);
    assert!(found.is_empty(), "{dialect}: {found:#?}\n{original:#}\n{converted:#}");
    let converted_twice = Schema::from(original.clone()).for_dialect(dialect).map(Value::from);
    assert_eq!(converted_twice.as_ref(), Ok(converted), "the same each time");

    // Writes Gemini's `nullable` in standard JSON Schema.
    let readable = without_nullable(converted);
    let (tool_accepts, dialect_accepts) = (validator(original), validator(&readable));
    for value in values(&without_additional(original)) {
        if tool_accepts.is_valid(&value) {
            let expressed = expressed(&value, &readable, &readable);
            let is_expressed =
                expressed.as_ref().is_some_and(|expressed| dialect_accepts.is_valid(expressed));
            assert!(is_expressed, "{dialect} can't express {value}\n{original:#}\n{converted:#}");
        }
    }
    let loose = LazyCell::new(|| validator(&without_rules(original, dialect)));
    let (mut expressed_values, mut violating) = (Vec::new(), 0);
    for value in values(&readable).into_iter().filter(|value| dialect_accepts.is_valid(value)) {
        let parsed = parse_as(&value.to_string(), original).expect("JSON");
        let decoded = parsed.value;
        let is_sound =
            |fix: &Fix| matches!(fix.kind, FixKind::NullMember | FixKind::IntegralNumber);
        if parsed.fixes.iter().all(is_sound) {
            assert!(
                is_same_but_absent(&value, &decoded),
                "{value} was decoded as {decoded}\n{original:#}"
            );
        } else {
            // A value that violates a rule may be repaired.
            let variants = [value.clone(), without_nulls(&value)];
            assert!(
                !variants.iter().any(|it| tool_accepts.is_valid(it)),
                "{value}: {:?}",
                parsed.fixes
            );
            violating += 1;
            continue;
        }
        if tool_accepts.is_valid(&value) {
            assert!(
                is_same_but_absent(&decoded, &value),
                "{value} was decoded as {decoded}\n{original:#}"
            );
        }
        if tool_accepts.is_valid(&decoded) {
            expressed_values.push(value);
        } else {
            violating += 1;
            // Items in another order than the tuple's may be invalid there.
            let is_tuple = original.to_string().contains("prefixItems");
            assert!(
                is_tuple || loose.is_valid(&decoded),
                "{dialect} accepts {value}\n{original:#}\n{converted:#}"
            );
        }
    }
    Outcome::Converted { expressed_values, violating }
}

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::draft202012::new(schema).expect("a schema")
}

fn values(schema: &Value) -> Vec<Value> {
    let mut texts = TestRunner::deterministic();
    let mut found = Vec::new();
    for seed in 1..=VALUES {
        let bytes = seed.wrapping_mul(2_654_435_761).to_le_bytes();
        let mut generator = ValueGenerator { draws: Draws::new(&bytes), texts, root: schema };
        found.push(generator.value());
        texts = generator.texts;
    }
    found
}

/// Returns true if the values are equal except for missing members that are null.
fn is_same_but_absent(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            let mut pairs = left.iter().zip(right);
            left.len() == right.len() && pairs.all(|(left, right)| is_same_but_absent(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            right.keys().all(|key| left.contains_key(key))
                && left.iter().all(|(key, value)| match right.get(key) {
                    Some(right) => is_same_but_absent(value, right),
                    None => value.is_null(),
                })
        }
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (left, right) => left == right,
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Object(members) => {
            let present = members.iter().filter(|(_, member)| !member.is_null());
            Value::Object(present.map(|(name, it)| (name.clone(), without_nulls(it))).collect())
        }
        value => value.clone(),
    }
}

fn target<'d>(schema: &'d Value, root: &'d Value) -> &'d Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => target(root.pointer(&reference[1..]).expect("a definition"), root),
        None => schema,
    }
}

fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    schema.get("anyOf").and_then(Value::as_array).into_iter().flatten()
}

/// Writes a value as the converted schema requires it: an absent required member is null.
fn expressed(value: &Value, schema: &Value, root: &Value) -> Option<Value> {
    let schema = target(schema, root);
    if schema.get("anyOf").is_some() {
        let definitions = root.get("$defs").cloned().unwrap_or_else(|| json!({}));
        return branches(schema).find_map(|branch| {
            let expressed = expressed(value, branch, root)?;
            let single_branch = json!({"anyOf": [branch], "$defs": definitions});
            Schema::from(single_branch).check(&expressed).is_empty().then_some(expressed)
        });
    }
    Some(match value {
        Value::Object(members) => {
            let mut expressed_values = Map::new();
            for (name, member) in members {
                let known = schema.pointer("/properties").and_then(|known| known.get(name));
                let others = schema.get("additionalProperties").filter(|it| it.is_object());
                let schema = known.or(others);
                expressed_values.insert(
                    name.clone(),
                    match schema {
                        Some(schema) => expressed(member, schema, root)?,
                        None => member.clone(),
                    },
                );
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                expressed_values.entry(name.as_str()?).or_insert(Value::Null);
            }
            expressed_values.into()
        }
        Value::Array(items) => {
            let first = schema["prefixItems"].as_array().map_or(&[][..], Vec::as_slice);
            let any_value = json!({});
            let items = items.iter().enumerate().map(|(at, item)| {
                let schema = first.get(at).or_else(|| schema.get("items")).unwrap_or(&any_value);
                expressed(item, schema, root)
            });
            items.collect::<Option<Vec<_>>>()?.into()
        }
        value => value.clone(),
    })
}

/// Returns the schema without additional members, for generating values.
fn without_additional(schema: &Value) -> Value {
    changed(schema, &|rules| {
        rules.entry("unevaluatedProperties").or_insert(json!(false));
        rules.clone().into()
    })
}

fn without_nullable(schema: &Value) -> Value {
    changed(schema, &|rules| match rules.remove("nullable") {
        Some(_) => json!({"anyOf": [rules, {"type": "null"}]}),
        None => rules.clone().into(),
    })
}

/// Returns the schema without the rules that the dialect may lack.
fn without_rules(schema: &Value, dialect: Dialect) -> Value {
    const RULES: [&str; 17] = [
        "contains",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "pattern",
        "propertyNames",
        "uniqueItems",
    ];
    changed(schema, &|rules| {
        for rule in RULES {
            rules.remove(rule);
        }
        if let Some(branches) = rules.remove("oneOf") {
            let all = json!({"anyOf": branches});
            let more = rules.remove("allOf").unwrap_or(json!([]));
            let more = more.as_array().cloned().unwrap_or_default();
            rules.insert("allOf".into(), more.into_iter().chain([all]).collect());
        }
        // Patterns of keys are rules as well.
        if let Some(Value::Object(patterns)) = rules.remove("patternProperties") {
            let all: Vec<_> = patterns.values().collect();
            rules.insert("additionalProperties".into(), json!({"anyOf": all}));
        }
        // These dialects describe additional members in words only.
        if matches!(dialect, Dialect::GeminiOpenApi | Dialect::Ollama) {
            rules.remove("additionalProperties");
            rules.remove("unevaluatedProperties");
        }
        if rules.get("enum").is_some_and(|it| it[0].is_number() || it.to_string().contains("true"))
        {
            rules.remove("enum");
        }
        rules.clone().into()
    })
}

/// Applies a change to every nested schema, from the inside out.
fn changed(schema: &Value, change: &impl Fn(&mut Map<String, Value>) -> Value) -> Value {
    let Value::Object(rules) = schema else { return schema.clone() };
    let inside = |(key, value): (&String, &Value)| {
        let value = match (key.as_str(), value) {
            ("properties" | "$defs" | "patternProperties", Value::Object(named)) => {
                let named = named.iter().map(|(name, part)| (name.clone(), changed(part, change)));
                Value::Object(named.collect())
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(parts)) => {
                parts.iter().map(|part| changed(part, change)).collect()
            }
            ("items" | "additionalProperties", part) => changed(part, change),
            (_, value) => value.clone(),
        };
        (key.clone(), value)
    };
    change(&mut rules.iter().map(inside).collect())
}
