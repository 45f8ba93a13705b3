//! Schemas in the dialects of providers: what they take, and nothing lost.
//!
//! `PROPTEST_CASES=10000` tries more schemas; `DIALECT_CORPUS=<folder>` names one with a file
//! `functions.jsonl` of definitions by other people, one `{"name", "description", "parameters"}` a line.

#[path = "dialects/cases.rs"]
mod cases;
#[expect(dead_code, reason = "other tests draw more")]
#[path = "schema_check/draw.rs"]
mod draw;
#[path = "agreement/fitting.rs"]
mod fitting;
#[path = "dialects/grammar.rs"]
mod grammar;
#[path = "dialects/providers.rs"]
mod providers;
#[path = "dialects/registered.rs"]
mod registered;
#[path = "dialects/said.rs"]
mod said;
#[path = "agreement/shapes.rs"]
mod shapes;
#[path = "agreement/types.rs"]
mod types;

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use draw::Draws;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use said::{Outcome, try_schema};
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

/// What came of many schemas in one dialect.
#[derive(Default)]
struct Tally {
    bent: usize,
    values: usize,
    broken: usize,
    refused: BTreeMap<String, usize>,
}

impl Tally {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Bent { said, broken } => {
                self.bent += 1;
                self.values += said.len() + broken;
                self.broken += broken;
            }
            Outcome::Refused(reason) => *self.refused.entry(reason.clone()).or_default() += 1,
        }
    }

    fn report(&self, what: &str, dialect: Dialect) {
        let Self { bent, values, broken, refused } = self;
        let errors: usize = refused.values().sum();
        println!(
            "{what}, {dialect}: {bent} bent, {errors} refused; {values} values said, {broken} against a rule"
        );
        for (reason, count) in refused {
            println!("    {count}: {reason}");
        }
    }
}

/// Every shape of a type: bent, what is said decodes to the same typed value as what it is read as.
#[tokio::test]
async fn types_of_every_shape() {
    for dialect in DIALECTS {
        let mut tally = Tally::default();
        for shape in shapes::all() {
            let own = shape.tool.definition().parameters.as_value();
            let outcome = try_schema(own, dialect);
            tally.add(&outcome);
            let Outcome::Bent { said, .. } = outcome else { continue };
            for value in &said {
                let read = parse_as(&value.to_string(), own).expect("JSON").value;
                let [bent, plain] = [value, &read].map(async |value| {
                    let (ctx, told) = (ToolContext::default(), format!("{value}"));
                    let output = shape.tool.call(Arguments::from(told), &ctx).await;
                    // Maps print in any order.
                    output.map_err(|error| error.text().to_owned()).map(|output| {
                        let mut letters: Vec<_> = output.as_text().chars().collect();
                        letters.sort_unstable();
                        letters
                    })
                });
                let (bent, plain) = (bent.await, plain.await);
                // What doesn't fit an option that is flattened is none to serde, as 1.0 for an integer.
                if shape.name.starts_with("flat_maybe") && read != *value {
                    assert_eq!(bent.is_ok(), plain.is_ok(), "{dialect}, {}: {value}", shape.name);
                    continue;
                }
                assert_eq!(bent, plain, "{dialect}, {}: {value}", shape.name);
                let is_taken = bent.is_ok() || is_left_to_types(own, value);
                assert!(is_taken, "{dialect}, {}: {value}: {bent:?}", shape.name);
            }
        }
        tally.report("types", dialect);
        assert!(tally.bent > 20, "few shapes can be said");
    }
}

/// What the schema takes and a type may refuse, whatever the dialect: a text of some format, a key that is a number, and numbers
/// beyond 64 bits.
fn is_left_to_types(own: &Value, value: &Value) -> bool {
    let own = own.to_string();
    let is_large = value.to_string().split(|c: char| !c.is_ascii_digit()).any(|it| it.len() > 15);
    own.contains("\"format\":") || own.contains("\"patternProperties\":") || is_large
}

#[test]
fn schemas_of_every_shape() {
    let cases = Config::default().cases.max(400);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    for dialect in DIALECTS {
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let tally = std::cell::RefCell::new(Tally::default());
        let bytes = proptest::collection::vec(any::<u8>(), 0..400);
        let ran = TestRunner::new_with_rng(config.clone(), rng).run(&bytes, |bytes| {
            let own = grammar::parameters(&mut Draws::new(&bytes));
            tally.borrow_mut().add(&try_schema(&own, dialect));
            Ok(())
        });
        ran.unwrap_or_else(|error| panic!("{error}"));
        let tally = tally.into_inner();
        tally.report("generated", dialect);
        assert!(tally.bent * 5 > cases as usize, "few can be said");
    }
}

#[test]
fn definitions_by_other_people() {
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
