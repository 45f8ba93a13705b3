//! `Schema::check` agrees with another validator on the schemas of argument types.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::draw::Draws;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};
use tool_runtime::schema::Schema;

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is wanted; so below")]
struct Plain {
    a: i32,
    b: Option<String>,
    c: Vec<f64>,
}

#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "as above")]
struct Closed {
    a: u8,
    inner: Option<Plain>,
    pair: (i16, bool),
}

#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "as above")]
struct FlatStruct {
    x: u16,
    #[serde(flatten)]
    inner: Plain,
}

#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "as above")]
struct FlatEnum {
    x: u16,
    #[serde(flatten)]
    inner: Internal,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "as above")]
struct FlatMap {
    x: i8,
    #[serde(flatten)]
    others: HashMap<String, i64>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "as above")]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "as above")]
enum Noted {
    /// Warm
    Celsius,
    /// Warmer
    Fahrenheit,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "as above")]
enum External {
    Nothing,
    Number(i32),
    Pair(i32, String),
    Point { x: f32, y: Option<f32> },
}

#[derive(JsonSchema)]
#[serde(tag = "kind")]
#[expect(dead_code, reason = "as above")]
enum Internal {
    Nothing,
    Point { x: u8 },
    Plain(Plain),
}

#[derive(JsonSchema)]
#[serde(tag = "kind", content = "with", deny_unknown_fields)]
#[expect(dead_code, reason = "as above")]
enum Adjacent {
    Nothing,
    Point { x: u8 },
    Plain(Plain),
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "as above")]
enum Untagged {
    Number(i32),
    Point { x: u8 },
    Plain(Plain),
    Nothing,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "as above")]
struct Tree {
    value: i64,
    kids: Vec<Tree>,
    next: Option<Box<Tree>>,
    unit: Option<Unit>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "as above")]
struct Ruled {
    #[schemars(range(min = 1, max = 7))]
    days: Option<u8>,
    #[schemars(length(min = 1, max = 3), regex(pattern = "^[a-z]+$"))]
    name: String,
    #[schemars(length(min = 1))]
    tags: Vec<String>,
}

struct Shape {
    name: &'static str,
    /// The schema as schemars writes it.
    document: Value,
    /// The schema as a model receives it.
    schema: Schema,
    is_constrained: bool,
}

macro_rules! shapes {
    ($is_constrained:literal: $($shape:ty),* $(,)?) => {
        [$(Shape {
            name: stringify!($shape),
            document: schema_for!($shape).to_value(),
            schema: Schema::of::<$shape>(),
            is_constrained: $is_constrained,
        }),*]
    };
}

fn shapes() -> Vec<Shape> {
    let free = shapes![false:
        Plain, Closed, FlatStruct, FlatEnum, FlatMap, Unit, Noted, Internal, Adjacent,
        Untagged, Tree, (i8, u64), HashMap<u8, f64>, BTreeMap<i32, Option<Unit>>, Option<u32>,
        HashMap<String, Vec<Adjacent>>, (), Value, u128, std::time::Duration,
    ];
    let ruled =
        shapes![true: Ruled, External, f32, [i32; 3], BTreeSet<usize>, char, std::num::NonZeroU8];
    free.into_iter().chain(ruled).collect()
}

#[test]
fn types_enforce_the_rules_of_their_schemas() {
    for shape in shapes() {
        let is_constrained = shape.schema.is_constrained();
        assert_eq!(is_constrained, shape.is_constrained, "{} {}", shape.name, shape.document);
    }
}

#[test]
fn verdicts_agree_on_schemas_of_schemars() {
    for shape in shapes() {
        let schema = Schema::from(shape.document.clone());
        let oracle = jsonschema::draft202012::new(&shape.document).unwrap();
        let mut valid = 0;
        for round in 0..100_u32 {
            // Spread over all bytes.
            let seed = round.wrapping_mul(2_654_435_761).to_le_bytes();
            let mut draws = Draws::new(&seed);
            let value = crate::random_value::near(&mut draws, &shape.document);
            let mismatches = schema.check(&value);
            let is_valid = oracle.is_valid(&value);
            assert_eq!(mismatches.is_empty(), is_valid, "{}: {value} {mismatches:#?}", shape.name);
            valid += u32::from(is_valid);
        }
        let any_value = json!({"$schema": shape.document["$schema"], "title": "AnyValue"});
        assert!(valid > 0, "{}", shape.name);
        assert!(valid < 100 || shape.document == any_value, "{}", shape.name);
    }
}
