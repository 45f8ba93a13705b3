//! Texts that nobody thought of: cases changed at random hold to the laws that all texts hold to.
//!
//! `cargo test` tries the same few thousand texts every time.
//! `FUZZ_SECONDS=600 cargo test --release -p tool-tests --test repair_fuzz -- --nocapture` goes on
//! for that long with each target, a target's name at the end picks one, and `FUZZ_SEED=7` begins
//! elsewhere. The first text that breaks a law is made as short as it can be.

#[expect(dead_code, reason = "only the texts are wanted here")]
#[path = "support/corpus.rs"]
mod corpus;
#[path = "schema_check/draw.rs"]
mod draw;
#[path = "fuzz/drive.rs"]
mod drive;
#[path = "fuzz/mangle.rs"]
mod mangle;
#[path = "schema_check/mutate.rs"]
mod mutate;
#[path = "schema_check/random_schema.rs"]
mod random_schema;
#[path = "schema_check/random_value.rs"]
mod random_value;
#[path = "support/sound.rs"]
mod sound;
#[path = "support/written.rs"]
mod written;

use std::rc::Rc;

use drive::{Trial, drive};
use mangle::Seeds;
use serde_json::Value;
use tool_runtime::json::{ParseError, Parsed, Partial, parse, parse_as};
use tool_runtime::schema::Schema;

const TEXTS_PER_SCHEMA: usize = 20;
/// The longest that a refusal may be, in characters.
const LONGEST: usize = 400;

#[test]
fn parse_holds() {
    let seeds = Seeds::of_corpus();
    drive("parse", |draws| {
        let text = seeds.mangled(draws);
        Trial::new(text, |text| {
            let outcome = parse(text);
            match (serde_json::from_str::<Value>(text), &outcome) {
                (Ok(value), Ok(parsed)) if parsed.value != value || !parsed.fixes.is_empty() => {
                    Some(format!("valid JSON was changed: {parsed:?}"))
                }
                (Ok(_), Err(error)) => Some(format!("valid JSON was refused: {error}")),
                _ => broken(text, &outcome),
            }
        })
    });
}

#[test]
fn parse_as_holds() {
    let seeds = Seeds::of_corpus();
    let mut schema = Rc::new(Value::Bool(true));
    let mut texts = 0;
    drive("parse_as", |draws| {
        // To make one takes longer than to read many texts.
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
                mangle::mangled(draws, &value, &seeds)
            }
        };
        Trial::new(text, move |text| {
            let outcome = parse_as(text, &schema);
            broken(text, &outcome)
                .or_else(|| changed(text, &schema, &outcome))
                .map(|law| format!("{law}\nschema: {schema}"))
        })
    });
}

#[test]
fn partial_holds() {
    let seeds = Seeds::of_corpus();
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
                // Read or not, it must be there to be read.
                let _ = partial.value().map(|so_far| so_far.to_value());
                rest = left;
                if rest.is_empty() {
                    break;
                }
            }
            let (arrived, whole) = (partial.finish(), parse(text));
            (arrived != whole).then(|| format!("in chunks: {arrived:?}\nwhole: {whole:?}"))
        })
    });
}

/// A law of every outcome that this one breaks.
fn broken(text: &str, outcome: &Result<Parsed, ParseError>) -> Option<String> {
    match outcome {
        Ok(parsed) => sound::fault(text, parsed).or_else(|| written::invented(text, parsed)),
        Err(error) if !text.is_char_boundary(error.offset()) => {
            Some(format!("{} splits a character", error.offset()))
        }
        Err(error) if error.to_string().chars().count() > LONGEST => {
            Some(format!("a long refusal: {error}"))
        }
        Err(_) => None,
    }
}

/// What the schema allows already has no other reading, keys excepted: where more of them may be,
/// one that is nearly known is allowed and still meant as the known one. 30.0 is allowed as an
/// integer, and becomes 30.
fn changed(text: &str, schema: &Value, outcome: &Result<Parsed, ParseError>) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let is_allowed = !has_keys(&value) && Schema::from(schema.clone()).check(&value).is_empty();
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
