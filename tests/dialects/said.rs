//! Whether a bent schema loses nothing: what a tool takes can be said, and what can be said is taken.

use serde_json::{Map, Value, json};
use tool_runtime::json::{Fix, FixKind, parse_as};
use tool_runtime::schema::{Dialect, Schema};

use crate::draw::Draws;
use crate::fitting::Fitting;
use crate::providers::violations;
use proptest::test_runner::TestRunner;

/// How many values of each schema are tried, each way.
const VALUES: u32 = 8;

/// What came of one schema in one dialect.
pub(crate) enum Outcome {
    /// It can't be said, and why.
    Refused(String),
    /// These values are said by it; of them so many break a rule that the provider doesn't know.
    Bent { said: Vec<Value>, broken: usize },
}

pub(crate) fn try_schema(own: &Value, dialect: Dialect) -> Outcome {
    let bent = match Schema::from(own.clone()).bent(dialect) {
        Ok(bent) => bent,
        Err(error) => {
            assert_eq!(error.dialect, dialect);
            assert!(error.to_string().starts_with(&format!("{dialect} can't be told of ")));
            return Outcome::Refused(error.reason);
        }
    };
    let bent = bent.as_value();
    let found = violations(dialect, bent);
    assert!(found.is_empty(), "{dialect}: {found:#?}\n{own:#}\n{bent:#}");
    let again = Schema::from(own.clone()).bent(dialect).map(Value::from);
    assert_eq!(again.as_ref(), Ok(bent), "the same each time");

    // Gemini's word for null, in those of JSON Schema.
    let readable = without_nullable(bent);
    let (takes, says) = (validator(own), validator(&readable));
    for value in values(&without_strangers(own)) {
        if takes.is_valid(&value) {
            let told = told(&value, &readable, &readable);
            let is_said = told.as_ref().is_some_and(|told| says.is_valid(told));
            assert!(is_said, "{dialect} can't be told {value}\n{own:#}\n{bent:#}");
        }
    }
    let (mut said, mut broken) = (Vec::new(), 0);
    for value in values(&readable).into_iter().filter(|value| says.is_valid(value)) {
        let parsed = parse_as(&value.to_string(), own).expect("JSON");
        let read = parsed.value;
        let is_sound = |fix: &Fix| matches!(fix.kind, FixKind::Absent | FixKind::Whole);
        if parsed.fixes.iter().all(is_sound) {
            assert!(is_same_but_absent(&value, &read), "{value} was read as {read}\n{own:#}");
        } else {
            // What breaks a rule may be repaired as ever.
            let sound = [value.clone(), without_nulls(&value)];
            assert!(!sound.iter().any(|it| takes.is_valid(it)), "{value}: {:?}", parsed.fixes);
            broken += 1;
            continue;
        }
        if takes.is_valid(&value) {
            assert!(is_same_but_absent(&read, &value), "{value} was read as {read}\n{own:#}");
        }
        if takes.is_valid(&read) {
            said.push(value);
        } else {
            broken += 1;
            // Items in another order than their places may be nothing that is known there.
            let is_tuple = own.to_string().contains("prefixItems");
            let loose = validator(&loosened(own, dialect));
            assert!(
                is_tuple || loose.is_valid(&read),
                "{dialect} lets {value} through\n{own:#}\n{bent:#}"
            );
        }
    }
    Outcome::Bent { said, broken }
}

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::draft202012::new(schema).expect("a schema")
}

fn values(schema: &Value) -> Vec<Value> {
    let mut texts = TestRunner::deterministic();
    let mut found = Vec::new();
    for seed in 1..=VALUES {
        let bytes = seed.wrapping_mul(2_654_435_761).to_le_bytes();
        let mut fitting = Fitting { draws: Draws::new(&bytes), texts, root: schema };
        found.push(fitting.value());
        texts = fitting.texts;
    }
    found
}

/// Whether one is the other without some members that are null.
fn is_same_but_absent(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            let mut both = one.iter().zip(other);
            one.len() == other.len() && both.all(|(one, other)| is_same_but_absent(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            other.keys().all(|key| one.contains_key(key))
                && one.iter().all(|(key, value)| match other.get(key) {
                    Some(other) => is_same_but_absent(value, other),
                    None => value.is_null(),
                })
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        Value::Object(members) => {
            let there = members.iter().filter(|(_, member)| !member.is_null());
            Value::Object(there.map(|(name, it)| (name.clone(), without_nulls(it))).collect())
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

/// A value as a schema wants it said: what is absent is null where it has to be there.
fn told(value: &Value, schema: &Value, root: &Value) -> Option<Value> {
    let schema = target(schema, root);
    if schema.get("anyOf").is_some() {
        let definitions = root.get("$defs").cloned().unwrap_or_else(|| json!({}));
        return branches(schema).find_map(|branch| {
            let told = told(value, branch, root)?;
            let alone = json!({"anyOf": [branch], "$defs": definitions});
            Schema::from(alone).check(&told).is_empty().then_some(told)
        });
    }
    Some(match value {
        Value::Object(members) => {
            let mut said = Map::new();
            for (name, member) in members {
                let known = schema.pointer("/properties").and_then(|known| known.get(name));
                let others = schema.get("additionalProperties").filter(|it| it.is_object());
                let schema = known.or(others);
                said.insert(
                    name.clone(),
                    match schema {
                        Some(schema) => told(member, schema, root)?,
                        None => member.clone(),
                    },
                );
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                said.entry(name.as_str()?).or_insert(Value::Null);
            }
            said.into()
        }
        Value::Array(items) => {
            let first = schema["prefixItems"].as_array().map_or(&[][..], Vec::as_slice);
            let anything = json!({});
            let items = items.iter().enumerate().map(|(at, item)| {
                let schema = first.get(at).or_else(|| schema.get("items")).unwrap_or(&anything);
                told(item, schema, root)
            });
            items.collect::<Option<Vec<_>>>()?.into()
        }
        value => value.clone(),
    })
}

/// A schema for making values: without members that nobody named.
fn without_strangers(schema: &Value) -> Value {
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

/// A schema without the rules that a provider need not know.
fn loosened(schema: &Value, dialect: Dialect) -> Value {
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
        // How a key is spelled is a rule as well.
        if let Some(Value::Object(patterns)) = rules.remove("patternProperties") {
            let all: Vec<_> = patterns.values().collect();
            rules.insert("additionalProperties".into(), json!({"anyOf": all}));
        }
        // These say in words alone which other members there may be.
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

/// A schema with each in it changed, from the inside out.
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
