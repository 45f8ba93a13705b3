//! Coerces random values to random schemas: a value that fits is unchanged, and a value with a
//! fault that models make is restored.

use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Map, Value, json};
use tool_json::{FixKind, Level, ParseErrorKind, parse_as};

/// A schema like those generated from Rust types.
#[derive(Clone, Debug)]
enum Shape {
    Integer,
    Number,
    Boolean,
    Text,
    Choice,
    Nullable(Box<Shape>),
    List(Box<Shape>),
    Object(Vec<(&'static str, Shape)>),
    /// An object with the discriminator `kind`.
    Tagged(Vec<Shape>),
    /// An object with arbitrary keys.
    Map(Box<Shape>),
}

const CHOICES: [&str; 3] = ["celsius", "Fahrenheit", "kelvin scale"];
const KEYS: [&str; 5] = ["max_results", "query", "unitName", "is-ok", "page no"];
const KINDS: [&str; 3] = ["circle", "square", "line"];

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf =
        select(vec![Shape::Integer, Shape::Number, Shape::Boolean, Shape::Text, Shape::Choice]);
    let inner = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|shape| match shape {
                Shape::Nullable(_) => shape,
                shape => Shape::Nullable(Box::new(shape)),
            }),
            inner.clone().prop_map(|shape| Shape::List(Box::new(shape))),
            inner.clone().prop_map(|shape| Shape::Map(Box::new(shape))),
            members(inner.clone()),
            vec(members(inner), 2..=KINDS.len()).prop_map(Shape::Tagged),
        ]
    });
    members(inner)
}

fn members(inner: impl Strategy<Value = Shape>) -> impl Strategy<Value = Shape> {
    vec(inner, 1..=KEYS.len())
        .prop_map(|shapes| Shape::Object(KEYS.into_iter().zip(shapes).collect()))
}

impl Shape {
    fn schema(&self) -> Value {
        match self {
            Self::Integer => json!({"type": "integer"}),
            Self::Number => json!({"type": "number"}),
            Self::Boolean => json!({"type": "boolean"}),
            Self::Text => json!({"type": "string"}),
            Self::Choice => json!({"$ref": "#/$defs/Unit"}),
            Self::Nullable(shape) => json!({"anyOf": [shape.schema(), {"type": "null"}]}),
            Self::List(shape) => json!({"type": "array", "items": shape.schema()}),
            Self::Map(shape) => json!({"type": "object", "additionalProperties": shape.schema()}),
            Self::Object(members) => {
                let properties: Map<_, _> =
                    members.iter().map(|(key, shape)| ((*key).into(), shape.schema())).collect();
                let first = members.first().map(|(key, _)| key);
                json!({"type": "object", "properties": properties, "required": [first]})
            }
            Self::Tagged(shapes) => {
                let branch = |(kind, shape): (&str, &Self)| {
                    let mut schema = shape.schema();
                    schema["properties"]["kind"] = json!({"const": kind});
                    schema["required"].as_array_mut().unwrap().push(json!("kind"));
                    schema
                };
                json!({"oneOf": KINDS.into_iter().zip(shapes).map(branch).collect::<Vec<_>>()})
            }
        }
    }

    fn document(&self) -> Value {
        let mut schema = self.schema();
        schema["$defs"] = json!({"Unit": {"type": "string", "enum": CHOICES}});
        schema
    }

    fn values(&self) -> BoxedStrategy<Value> {
        match self {
            Self::Integer => any::<i64>().prop_map(Value::from).boxed(),
            Self::Number => (-1e9..1e9).prop_map(|number: f64| json!(number)).boxed(),
            Self::Boolean => any::<bool>().prop_map(Value::from).boxed(),
            Self::Text => prop_oneof![
                "[a-zåø€ ]{0,6}",
                select(vec![
                    "17",
                    "true",
                    "null",
                    "1.10",
                    "[1]",
                    "{\"a\": 1}",
                    "None",
                    "a, b",
                    "{"
                ])
                .prop_map(String::from),
            ]
            .prop_map(Value::from)
            .boxed(),
            Self::Choice => select(CHOICES.to_vec()).prop_map(Value::from).boxed(),
            Self::Nullable(shape) => {
                option::of(shape.values()).prop_map(Option::unwrap_or_default).boxed()
            }
            Self::List(shape) => vec(shape.values(), 0..4).prop_map(Value::from).boxed(),
            Self::Map(shape) => vec(("[a-zA-Z_]{1,4}", shape.values()), 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into())
                .boxed(),
            Self::Object(members) => {
                let values: Vec<_> = members
                    .iter()
                    .enumerate()
                    .map(|(index, (_, shape))| {
                        let is_required = index == 0;
                        let value = shape.values();
                        if is_required {
                            value.prop_map(Some).boxed()
                        } else {
                            option::of(value).boxed()
                        }
                    })
                    .collect();
                let keys: Vec<_> = members.iter().map(|(key, _)| *key).collect();
                values
                    .prop_map(move |values| {
                        let pairs = keys.iter().zip(values);
                        pairs
                            .filter_map(|(key, value)| Some(((*key).into(), value?)))
                            .collect::<Map<_, _>>()
                    })
                    .prop_map(Value::from)
                    .boxed()
            }
            Self::Tagged(shapes) => {
                let kinds = KINDS.into_iter().zip(shapes).map(|(kind, shape)| {
                    let tagged = move |mut value: Value| {
                        value["kind"] = kind.into();
                        value
                    };
                    shape.values().prop_map(tagged).boxed()
                });
                proptest::strategy::Union::new(kinds).boxed()
            }
        }
    }
}

fn cases() -> impl Strategy<Value = (Shape, Value)> {
    shapes().prop_flat_map(|shape| {
        let values = shape.values();
        (Just(shape), values)
    })
}

/// The value as a model may write it, with the fault wherever it applies; `is_single` is false for
/// the items of an array.
fn damaged(value: &Value, shape: &Shape, fault: FixKind, is_single: bool) -> Value {
    let quoted = |value: &Value| Value::from(value.to_string());
    match (shape, value) {
        (Shape::Nullable(_), Value::Null) => Value::Null,
        // A string stays a string, and has precedence wherever one is allowed.
        (Shape::Nullable(shape), value) => damaged(value, shape, fault, is_single),
        (Shape::List(item), Value::Array(items)) => {
            let items: Vec<_> =
                items.iter().map(|value| damaged(value, item, fault, false)).collect();
            match (fault, items.as_slice()) {
                (FixKind::IntoArray, [item]) if is_single && is_single_item(item) => item.clone(),
                (FixKind::EncodedTwice, _) => quoted(value),
                _ => items.into(),
            }
        }
        (Shape::Map(_) | Shape::Object(_) | Shape::Tagged(_), _)
            if fault == FixKind::EncodedTwice =>
        {
            quoted(value)
        }
        (Shape::Map(shape), Value::Object(members)) => {
            let member =
                |(key, value): (&String, &Value)| (key.clone(), damaged(value, shape, fault, true));
            members.iter().map(member).collect::<Map<_, _>>().into()
        }
        (Shape::Object(shapes), Value::Object(members)) => {
            let member = |(key, value): (&String, &Value)| {
                let shape = shapes.iter().find(|(known, _)| known == key);
                let value = shape
                    .map_or_else(|| value.clone(), |(_, shape)| damaged(value, shape, fault, true));
                let key = if fault == FixKind::KeyCase && key != "kind" {
                    respelled(key)
                } else {
                    key.clone()
                };
                (key, value)
            };
            members.iter().map(member).collect::<Map<_, _>>().into()
        }
        (Shape::Tagged(shapes), value) => {
            let kind = KINDS.into_iter().position(|kind| value["kind"] == kind).unwrap();
            damaged(value, &shapes[kind], fault, is_single)
        }
        (Shape::Integer | Shape::Number | Shape::Boolean, value) => match fault {
            FixKind::Unquoted => quoted(value),
            FixKind::OutOfArray => json!([value]),
            FixKind::IntegralNumber if matches!(shape, Shape::Integer) => {
                raw(&format!("{value}.0"))
            }
            _ => value.clone(),
        },
        (Shape::Text, Value::String(text)) => match fault {
            FixKind::Quoted if ["17", "true", "1.10"].contains(&text.as_str()) => raw(text),
            // If null is allowed too, this has two readings.
            FixKind::OutOfArray if !["null", "None"].contains(&text.as_str()) => json!([value]),
            _ => value.clone(),
        },
        (Shape::Choice, Value::String(text)) => match fault {
            FixKind::EnumCase => format!(" {}", text.to_uppercase()).into(),
            FixKind::OutOfArray => json!([value]),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

/// Returns whether a value is unmistakably a single item.
fn is_single_item(value: &Value) -> bool {
    match value {
        Value::Null | Value::Array(_) => false,
        Value::String(text) => !text.trim().is_empty() && !text.contains(['[', '{', ',']),
        _ => true,
    }
}

fn respelled(key: &str) -> String {
    match key {
        "max_results" => "MaxResults",
        "query" => "QUERY",
        "unitName" => "unit_name",
        "is-ok" => "isOk",
        key => return key.replace(' ', "_"),
    }
    .into()
}

/// Marks a text that must appear without quotes.
fn raw(text: &str) -> Value {
    format!("raw:{text}").into()
}

fn text_of(value: &Value) -> String {
    let text = value.to_string();
    let mut parts = text.split("\"raw:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + &part.replacen('"', "", 1))
}

/// Text in quotes would be the next refusal.
#[test]
fn advice_on_a_number_mentions_text_only_where_the_schema_allows_it() {
    for number in ["0755", "-0100", "12abc", "1.000,5", "3*4", "1+2", "NaN", "1e999", "5 km"] {
        for (types, is_offered) in [
            (json!(["integer"]), false),
            (json!(["number", "null"]), false),
            (json!(["integer", "string"]), true),
        ] {
            let any_of: Vec<_> =
                types.as_array().unwrap().iter().map(|name| json!({ "type": name })).collect();
            for value in [json!({ "type": types }), json!({ "anyOf": any_of })] {
                let schema = json!({"type": "object", "properties": {"n": value, "m": {}}});
                let text = format!("{{\"n\": {number}, \"m\": 1}}");
                let error = parse_as(&text, &schema).unwrap_err();
                let has_advice = error.reason().contains("put text into quotes");
                let is_number = error.kind() == ParseErrorKind::Number;
                let is_local = error.reason().contains("separators of thousands");
                assert!(is_number, "{number}: {error}");
                assert_eq!(has_advice, is_offered && !is_local, "{number}: {error}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn fitting_value_is_unchanged((shape, value) in cases(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let parsed = parse_as(&text, &shape.document()).unwrap();
        prop_assert!(parsed.fixes.is_empty(), "{:?} for {}", parsed.fixes, text);
        prop_assert_eq!(parsed.json(), &text);
        prop_assert_eq!(parsed.value, serde_json::from_str::<Value>(&text).unwrap());
    }

    #[test]
    fn damaged_value_is_restored((shape, value) in cases(), fault in select(vec![
        FixKind::Unquoted, FixKind::Quoted, FixKind::IntoArray, FixKind::OutOfArray, FixKind::IntegralNumber,
        FixKind::KeyCase, FixKind::EnumCase, FixKind::EncodedTwice,
    ])) {
        let text = text_of(&damaged(&value, &shape, fault, true));
        let parsed = parse_as(&text, &shape.document()).unwrap();
        prop_assert_eq!(&parsed.value, &value, "{} for {}", text, shape.document());
        let printed = value.to_string();
        prop_assert_eq!(parsed.fixes.is_empty(), text == printed, "{}", text);
        prop_assert!(parsed.fixes.iter().all(|fix| fix.level() == Level::Schema));
        prop_assert!(parsed.fixes.iter().all(|fix| text.get(fix.span.clone()).is_some()));
    }

    #[test]
    fn arguments_are_taken_out_of_any_envelope((shape, value) in cases(), envelope in 0..6) {
        let call = match envelope {
            0 => json!({"name": "f", "arguments": value}),
            1 => json!({"name": "f", "parameters": value, "type": "function"}),
            2 => json!({"input": value}),
            3 => json!({"function": {"name": "f", "arguments": value.to_string()}, "id": "c1"}),
            4 => json!({"properties": value, "type": "object"}),
            _ => json!([{"name": "f", "arguments": value.to_string()}]),
        };
        let parsed = parse_as(&call.to_string(), &shape.document()).unwrap();
        prop_assert_eq!(parsed.value, value);
        prop_assert!(parsed.fixes.iter().any(|fix| fix.kind == FixKind::Envelope));
    }

    /// Coercion invents nothing and is idempotent, for every value and schema.
    #[test]
    fn coercion_invents_nothing_and_is_idempotent((shape, _) in cases(), (_, value) in cases()) {
        let text = value.to_string();
        let parsed = parse_as(&text, &shape.document()).unwrap();
        let reparsed = parse_as(parsed.json(), &shape.document()).unwrap();
        prop_assert_eq!(&reparsed.value, &parsed.value);
        // Python's `None` is read as null.
        let bare = |text: &str| {
            let text = text.replace(['\\', '_', '-', ' ', '"'], "");
            text.to_lowercase().replace("none", "null")
        };
        let mut atoms = vec![&parsed.value];
        while let Some(atom) = atoms.pop() {
            match atom {
                Value::Array(items) => atoms.extend(items),
                Value::Object(members) => {
                    prop_assert!(members.keys().all(|key| bare(&text).contains(&bare(key))));
                    atoms.extend(members.values());
                }
                atom => prop_assert!(bare(&text).contains(&bare(&atom.to_string())), "{} in {}", atom, text),
            }
        }
    }
}
