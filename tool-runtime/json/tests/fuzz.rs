//! Fuzzes the parser: randomly changed corpus inputs must satisfy the laws of all texts.
//!
//! `cargo test` tries the same few thousand texts every time.
//! `FUZZ_SECONDS=600 cargo test --release -p tool-json --test json fuzz -- --nocapture` runs each
//! target for that long, the name of a target at the end selects it, and `FUZZ_SEED=7` changes
//! the start. The first text that violates a law is minimized.

use std::rc::Rc;

use serde_json::Value;
use tool_json::{ParseError, Parsed, Partial, check, parse, parse_as};

use crate::mangle::{Seeds, mangled};
use crate::runner::{Trial, drive};
use crate::{CORPUS, invariants, provenance, random_schema, random_value};

const TEXTS_PER_SCHEMA: usize = 20;
/// The maximum length of an error message in characters.
const MAX_MESSAGE_CHARS: usize = 400;

#[test]
fn parse_satisfies_all_invariants() {
    let seeds = Seeds::of_corpus(CORPUS);
    drive("parse", |draws| {
        let text = seeds.mangled(draws);
        Trial::new(text, |text| {
            let outcome = parse(text);
            match (serde_json::from_str::<Value>(text), &outcome) {
                (Ok(value), Ok(parsed)) if parsed.value != value || !parsed.fixes.is_empty() => {
                    Some(format!("valid JSON was changed: {parsed:?}"))
                }
                (Ok(_), Err(error)) => Some(format!("valid JSON was refused: {error}")),
                _ => violated_law(text, &outcome),
            }
        })
    });
}

#[test]
fn parse_as_satisfies_all_invariants() {
    let seeds = Seeds::of_corpus(CORPUS);
    let mut schema = Rc::new(Value::Bool(true));
    let mut texts = 0;
    drive("parse_as", |draws| {
        // Generating a schema takes longer than parsing many texts.
        if texts % TEXTS_PER_SCHEMA == 0 {
            schema = Rc::new(random_schema::document(draws));
        }
        texts += 1;
        let schema = Rc::clone(&schema);
        let text = match draws.below(3) {
            0 => seeds.mangled(draws),
            1 => random_value::near(draws, &schema).to_string(),
            _ => {
                let value = random_value::near(draws, &schema).to_string();
                mangled(draws, &value, &seeds)
            }
        };
        Trial::new(text, move |text| {
            let outcome = parse_as(text, &schema);
            violated_law(text, &outcome)
                .or_else(|| changed(text, &schema, &outcome))
                .map(|law| format!("{law}\nschema: {schema}"))
        })
    });
}

#[test]
fn partial_finish_equals_parse() {
    let seeds = Seeds::of_corpus(CORPUS);
    drive("partial", |draws| {
        let text = seeds.mangled(draws);
        let lengths: Vec<usize> = (0..8).map(|_| 1 + draws.below(12)).collect();
        Trial::new(text, move |text| {
            let mut partial = Partial::new();
            let mut rest = text;
            for length in lengths.iter().cycle() {
                let end = rest.char_indices().nth(*length).map_or(rest.len(), |(end, _)| end);
                let (chunk, left) = rest.split_at(end);
                partial.push(chunk);
                // Materialize the value to check that this does not panic.
                let _ = partial.value().map(|partial_value| partial_value.to_value());
                rest = left;
                if rest.is_empty() {
                    break;
                }
            }
            let (finished, whole) = (partial.finish(), parse(text));
            (finished != whole).then(|| format!("in chunks: {finished:?}\nwhole: {whole:?}"))
        })
    });
}

/// Returns the law of all outcomes that this one violates.
fn violated_law(text: &str, outcome: &Result<Parsed, ParseError>) -> Option<String> {
    match outcome {
        Ok(parsed) => {
            invariants::violation(text, parsed).or_else(|| provenance::invented(text, parsed))
        }
        Err(error) if !text.is_char_boundary(error.offset()) => {
            Some(format!("{} splits a character", error.offset()))
        }
        Err(error) if error.to_string().chars().count() > MAX_MESSAGE_CHARS => {
            Some(format!("a long refusal: {error}"))
        }
        Err(_) => None,
    }
}

/// Returns how a value that fits the schema was changed.
///
/// Keys are excluded: where additional keys are allowed, one that is nearly known is allowed and
/// still corrected. 30.0 is allowed as an integer, and becomes 30.
fn changed(text: &str, schema: &Value, outcome: &Result<Parsed, ParseError>) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let is_allowed = !has_keys(&value) && check(&value, schema).is_empty();
    match outcome {
        Ok(parsed) if is_allowed && !same(&parsed.value, &value) => {
            Some(format!("what the schema allows was changed: {parsed:?}"))
        }
        Err(error) if is_allowed => Some(format!("what the schema allows was refused: {error}")),
        _ => None,
    }
}

fn has_keys(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_keys),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        _ => a == b,
    }
}
