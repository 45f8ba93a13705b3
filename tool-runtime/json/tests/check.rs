//! `check` returns the same verdict as the crate jsonschema.
//!
//! `SCHEMA_PAIRS=1000000` sets how many pairs of schema and value are tried, and `SCHEMA_SEED=7`
//! tries others than the default ones.

use std::cell::Cell;
use std::env;

use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde_json::Value;
use tool_json::{ParseValidError, check, parse_as, parse_valid};

use crate::draw::Draws;
use crate::{random_schema, random_value};

const VALUES_PER_SCHEMA: u32 = 40;

fn number_from_env(name: &str, default: u32) -> u32 {
    env::var(name).map_or(default, |text| text.parse().expect(name))
}

/// Compares both verdicts, and checks that messages are short for every value.
fn verdict(
    schema: &Value,
    oracle: &jsonschema::Validator,
    value: &Value,
) -> Result<bool, TestCaseError> {
    let mismatches = check(value, schema);
    let is_valid = oracle.is_valid(value);
    if mismatches.is_empty() != is_valid {
        return Err(TestCaseError::fail(format!(
            "jsonschema says {is_valid}, check {mismatches:#?}\nvalue {value}\nschema {schema}"
        )));
    }
    for mismatch in &mismatches {
        let message = mismatch.to_string();
        if message.len() > 1_000 || message.contains('\n') || message.trim() != message {
            return Err(TestCaseError::fail(format!("{message}\nschema {schema}")));
        }
    }
    Ok(is_valid)
}

/// The number of tests that each try a part of the pairs, so that they run at the same time.
const PARTS: u32 = 6;

macro_rules! verdicts_agree_with_jsonschema {
    ($($name:ident: $part:literal)*) => {
        mod verdicts_agree_with_jsonschema {
            $(#[test]
            fn $name() {
                super::assert_verdicts_agree($part);
            })*
        }
    };
}

verdicts_agree_with_jsonschema! {
    in_part_1: 0
    in_part_2: 1
    in_part_3: 2
    in_part_4: 3
    in_part_5: 4
    in_part_6: 5
}

fn assert_verdicts_agree(part: u32) {
    let pairs = number_from_env("SCHEMA_PAIRS", 100_000).div_ceil(PARTS);
    let seed = number_from_env("SCHEMA_SEED", 0);
    let config = Config {
        cases: pairs.div_ceil(VALUES_PER_SCHEMA),
        failure_persistence: None,
        ..Config::default()
    };
    let mut key = [0; 32];
    key[..4].copy_from_slice(&seed.to_le_bytes());
    key[4..8].copy_from_slice(&part.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &key);
    let (valid, invalid) = (Cell::new(0_u32), Cell::new(0_u32));
    let bytes = proptest::collection::vec(any::<u8>(), 0..1_500);
    TestRunner::new_with_rng(config, rng)
        .run(&bytes, |bytes| {
            let mut draws = Draws::new(&bytes);
            let schema = random_schema::document(&mut draws);
            let oracle = jsonschema::draft202012::new(&schema)
                .map_err(|error| TestCaseError::fail(format!("{error}\n{schema:#}")))?;
            for _ in 0..VALUES_PER_SCHEMA {
                let value = random_value::near(&mut draws, &schema);
                let count = if verdict(&schema, &oracle, &value)? { &valid } else { &invalid };
                count.set(count.get() + 1);
            }
            Ok(())
        })
        .unwrap_or_else(|error| match error {
            // The bytes would show nothing.
            TestError::Fail(reason, _) => panic!("{reason}"),
            TestError::Abort(reason) => panic!("{reason}"),
        });
    let (valid, invalid) = (valid.get(), invalid.get());
    println!("{valid} valid pairs, {invalid} invalid");
    // Otherwise the values would cover little.
    assert!(valid.min(invalid) > (valid + invalid) / 5, "{valid} {invalid}");
}

#[test]
fn parse_valid_returns_exactly_the_values_that_satisfy_the_schema() {
    let (mut valid, mut invalid) = (0_u32, 0_u32);
    for round in 0..2_000_u32 {
        // Spread over all bytes.
        let seed = round.wrapping_mul(2_654_435_761).to_le_bytes();
        let mut draws = Draws::new(&seed);
        let schema = random_schema::document(&mut draws);
        let text = random_value::near(&mut draws, &schema).to_string().replace('"', "'");
        match (parse_as(&text, &schema), parse_valid(&text, &schema)) {
            (Ok(read), Ok(checked)) => {
                assert_eq!(read, checked);
                assert_eq!(check(&checked.value, &schema), [], "{text} {schema}");
                valid += 1;
            }
            (Ok(read), Err(ParseValidError::Invalid(mismatches))) => {
                assert_eq!(check(&read.value, &schema), mismatches, "{text} {schema}");
                assert!(!mismatches.is_empty(), "{text} {schema}");
                invalid += 1;
            }
            (Err(error), Err(ParseValidError::Unreadable(same))) => assert_eq!(error, same),
            (read, checked) => panic!("{text} {schema}: {read:?} {checked:?}"),
        }
    }
    // Otherwise the values would cover little.
    assert!(valid.min(invalid) > 200, "{valid} {invalid}");
}
