//! Tests that a tool's schema and its decoder agree.

pub mod shapes;
pub mod types;
pub mod valid_values;

use crate::draw::Draws;
use crate::mutate::mutate;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use shapes::Shape;
use tool_runtime::json::{Fix, FixKind};
use tool_runtime::{Arguments, ToolContext};
use valid_values::ValueGenerator;

/// The number of valid values of each shape; `AGREEMENT_VALUES=2000` tries more.
fn trial_count() -> usize {
    std::env::var("AGREEMENT_VALUES").map_or(100, |text| text.parse().expect("a number"))
}

/// Generates values for a shape, each with near misses, until `accepts` returns false.
fn values(schema: &Value, mut accepts: impl FnMut(Value, [Value; 3]) -> bool) {
    let mut texts = TestRunner::deterministic();
    for seed in 1_u32.. {
        // Spread over all bytes.
        let bytes = seed.wrapping_mul(2_654_435_761).to_le_bytes();
        let mut generator = ValueGenerator { draws: Draws::new(&bytes), texts, root: schema };
        let value = generator.value();
        let near = [(); 3].map(|()| {
            let mut near = value.clone();
            for _ in 0..=generator.draws.below(3) {
                mutate(&mut generator.draws, &mut near);
            }
            near
        });
        texts = generator.texts;
        if !accepts(value, near) {
            return;
        }
    }
}

/// Returns `None` if `value` decodes unchanged, sent as text and as a value; otherwise the error.
async fn refusal(shape: &Shape, value: &Value) -> Option<String> {
    for arguments in [Arguments::from(value.to_string()), Arguments::from(value.clone())] {
        let ctx = ToolContext::default();
        // 30.0 is an integer for the schema, and is written as one for the type.
        let is_change = |fix: &Fix| fix.kind != FixKind::IntegralNumber;
        match shape.tool.call(arguments, &ctx).await {
            Ok(_) if ctx.fixes().iter().any(is_change) => {
                return Some(format!("{:?}", ctx.fixes()));
            }
            Ok(_) => {}
            Err(error) => return Some(error.text().to_owned()),
        }
    }
    None
}

#[tokio::test]
async fn values_of_the_schema_decode_to_odd_numbered_shapes() {
    assert_values_decode(0).await;
}

#[tokio::test]
async fn values_of_the_schema_decode_to_even_numbered_shapes() {
    assert_values_decode(1).await;
}

async fn assert_values_decode(first: usize) {
    for shape in shapes::all().into_iter().skip(first).step_by(2) {
        shape.tool.definition().validate().expect(shape.name);
        let schema = &shape.tool.definition().parameters;
        let is_left = has_rules_of_types(schema.as_value());
        let (mut accepted, mut tried) = (Vec::new(), 0);
        values(schema.as_value(), |value, near| {
            tried += 1;
            assert!(tried < 20 * trial_count(), "{}: few fit {}", shape.name, schema.as_value());
            let fits = |value: &Value| schema.check(value).is_empty();
            let is_for_schema = |near: &Value| fits(near) && !is_left_to_types(is_left, near);
            accepted.extend(near.into_iter().filter(is_for_schema));
            accepted.extend(Some(value).filter(fits));
            accepted.len() < trial_count()
        });
        for value in accepted {
            let error = refusal(&shape, &value).await;
            assert_eq!(error, None, "{}: {value}\n{}", shape.name, schema.as_value());
        }
    }
}

/// Returns true if a type may refuse values although the schema takes them: a string with a format,
/// and a key that is a number.
fn has_rules_of_types(schema: &Value) -> bool {
    let schema = schema.to_string();
    ["\"format\":", "\"patternProperties\":"].iter().any(|rule| schema.contains(rule))
}

/// Returns true if a type may refuse the value although its schema takes it, also because of
/// numbers with more digits than 64 bits, or a float.
fn is_left_to_types(has_rules_of_types: bool, value: &Value) -> bool {
    const EXACT: f64 = (1_i64 << f64::MANTISSA_DIGITS) as f64;
    let is_large = |number: &Value| {
        number.as_f64().is_some_and(|float| float.abs() > EXACT) && number.as_i64().is_none()
    };
    has_rules_of_types || any(value, &is_large)
}

fn any(value: &Value, predicate: &impl Fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| any(item, predicate)),
        Value::Object(members) => members.values().any(|member| any(member, predicate)),
        other => predicate(other),
    }
}

/// Tests of a part of the shapes, which run at the same time.
#[tokio::test]
async fn decoded_values_match_the_schema_of_odd_numbered_shapes() {
    assert_decoded_values_match(0).await;
}

#[tokio::test]
async fn decoded_values_match_the_schema_of_even_numbered_shapes() {
    assert_decoded_values_match(1).await;
}

async fn assert_decoded_values_match(first: usize) {
    for shape in shapes::all().into_iter().skip(first).step_by(2) {
        if lenient().iter().any(|(name, ..)| shape.name.starts_with(name)) {
            continue;
        }
        let schema = &shape.tool.definition().parameters;
        let mut tried = Vec::new();
        values(schema.as_value(), |_, near| {
            tried.extend(near);
            tried.len() < 3 * trial_count()
        });
        for value in tried {
            let faults = schema.check(&value);
            if !faults.is_empty() {
                let error = refusal(&shape, &value).await;
                assert!(error.is_some(), "{}: {value}\n{faults:#?}", shape.name);
            }
        }
    }
}

/// Shapes for which serde is known to take more than the schema.
fn lenient() -> [(&'static str, Value, &'static str); 3] {
    [
        ("adjacent", json!({"value": {"kind": "Maybe"}}), "an option is left out"),
        ("flat_enum", json!({"w": 1, "kind": 0}), "a variant by its number"),
        ("flat_maybe", json!({"x": 1, "a": "no number"}), "what doesn't fit an option is none"),
    ]
}

#[tokio::test]
async fn known_lenient_cases_of_serde_are_current() {
    for (name, value, reason) in lenient() {
        let shape = shapes::all().into_iter().find(|shape| shape.name == name).expect(name);
        assert_eq!(refusal(&shape, &value).await, None, "{name}: {reason}");
        assert!(!shape.tool.definition().parameters.check(&value).is_empty(), "{name}: {reason}");
    }
}
