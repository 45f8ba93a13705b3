//! Tests of dialects: a converted schema is valid for its provider and loses nothing.
//!
//! `PROPTEST_CASES=10000` tries more schemas. `DIALECT_CORPUS=<folder>` names a folder with a file
//! `functions.jsonl` of third-party definitions, each line `{"name", "description", "parameters"}`.

mod cases;
mod grammar;
mod providers;
mod registration;
mod round_trip;

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use crate::draw::Draws;
use crate::schema::agreement::shapes;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use round_trip::{Outcome, try_schema};
use serde_json::Value;
use tool_runtime::json::parse_as;
use tool_runtime::schema::Dialect;
use tool_runtime::{Arguments, ToolContext};

const DIALECTS: [Dialect; 5] = [
    Dialect::OpenAiStrict,
    Dialect::AnthropicStrict,
    Dialect::Gemini,
    Dialect::GeminiOpenApi,
    Dialect::Ollama,
];

/// The outcomes of many schemas in one dialect.
#[derive(Default)]
struct Tally {
    converted: usize,
    values: usize,
    violating: usize,
    refused: BTreeMap<String, usize>,
}

impl Tally {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Converted { expressed_values, violating } => {
                self.converted += 1;
                self.values += expressed_values.len() + violating;
                self.violating += violating;
            }
            Outcome::Refused(reason) => *self.refused.entry(reason.clone()).or_default() += 1,
        }
    }

    fn report(&self, subject: &str, dialect: Dialect) {
        let Self { converted, values, violating, refused } = self;
        let errors: usize = refused.values().sum();
        println!(
            "{subject}, {dialect}: {converted} converted, {errors} refused; {values} values, {violating} violate a rule"
        );
        for (reason, count) in refused {
            println!("    {count}: {reason}");
        }
    }
}

/// For every shape of a type, a value of the converted schema decodes to the same typed value as
/// its repaired form.
async fn assert_types_round_trip(dialect: Dialect) {
    let mut tally = Tally::default();
    for shape in shapes::all() {
        let original = shape.tool.definition().parameters.as_value();
        let outcome = try_schema(original, dialect);
        tally.add(&outcome);
        let Outcome::Converted { expressed_values, .. } = outcome else { continue };
        for value in &expressed_values {
            let read = parse_as(&value.to_string(), original).expect("JSON").value;
            let [converted, plain] = [value, &read].map(async |value| {
                let (ctx, text) = (ToolContext::default(), format!("{value}"));
                let output = shape.tool.call(Arguments::from(text), &ctx).await;
                // Maps print in any order.
                output.map_err(|error| error.text().to_owned()).map(|output| {
                    let mut letters: Vec<_> = output.as_text().chars().collect();
                    letters.sort_unstable();
                    letters
                })
            });
            let (converted, plain) = (converted.await, plain.await);
            // serde decodes a flattened option as `None` if the value doesn't fit, such as 1.0
            // for an integer.
            if shape.name.starts_with("flat_maybe") && read != *value {
                assert_eq!(converted.is_ok(), plain.is_ok(), "{dialect}, {}: {value}", shape.name);
                continue;
            }
            assert_eq!(converted, plain, "{dialect}, {}: {value}", shape.name);
            let is_taken = converted.is_ok() || is_left_to_types(original, value);
            assert!(is_taken, "{dialect}, {}: {value}: {converted:?}", shape.name);
        }
    }
    tally.report("types", dialect);
    assert!(tally.converted > 20, "few shapes can be expressed");
}

/// Values that the schema takes and a type may refuse in any dialect: a string with a format, a key
/// that is a number, and numbers beyond 64 bits.
fn is_left_to_types(original: &Value, value: &Value) -> bool {
    let original = original.to_string();
    let is_large = value.to_string().split(|c: char| !c.is_ascii_digit()).any(|it| it.len() > 15);
    original.contains("\"format\":") || original.contains("\"patternProperties\":") || is_large
}

/// Two tests for each dialect, which run at the same time.
macro_rules! round_trips {
    ($($name:ident: $dialect:ident)*) => {
        mod types_of_every_shape_round_trip {
            $(#[tokio::test]
            async fn $name() {
                super::assert_types_round_trip(super::Dialect::$dialect).await;
            })*
        }

        mod schemas_of_every_shape_round_trip {
            $(#[test]
            fn $name() {
                super::assert_generated_round_trip(super::Dialect::$dialect);
            })*
        }

        #[test]
        fn every_dialect_is_tested() {
            assert_eq!(DIALECTS, [$(Dialect::$dialect),*]);
        }
    };
}

round_trips! {
    in_openai_strict: OpenAiStrict
    in_anthropic_strict: AnthropicStrict
    in_gemini: Gemini
    in_gemini_open_api: GeminiOpenApi
    in_ollama: Ollama
}

fn assert_generated_round_trip(dialect: Dialect) {
    let cases = Config::default().cases.max(400);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let tally = std::cell::RefCell::new(Tally::default());
    let bytes = proptest::collection::vec(any::<u8>(), 0..400);
    let ran = TestRunner::new_with_rng(config, rng).run(&bytes, |bytes| {
        let original = grammar::parameters(&mut Draws::new(&bytes));
        tally.borrow_mut().add(&try_schema(&original, dialect));
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    let tally = tally.into_inner();
    tally.report("generated", dialect);
    assert!(tally.converted * 5 > cases as usize, "few can be expressed");
}

#[test]
fn third_party_schemas_round_trip() {
    let Ok(folder) = env::var("DIALECT_CORPUS") else {
        println!("skipped: DIALECT_CORPUS names no folder");
        return;
    };
    let lines = fs::read_to_string(Path::new(&folder).join("functions.jsonl")).expect("the corpus");
    for dialect in DIALECTS {
        let mut tally = Tally::default();
        for line in lines.lines() {
            let definition: Value = serde_json::from_str(line).expect("JSON");
            tally.add(&try_schema(&definition["parameters"], dialect));
        }
        tally.report("definitions", dialect);
    }
}
