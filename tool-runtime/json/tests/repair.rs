//! Parses model texts with their expected results: `corpus/<class>/<topic>.txt`.
//!
//! The expectation of a case has several lines. If the text is accepted: the value, `truncated` if
//! it is, and a line for each fix. Otherwise: the kind of error with its position, and its message;
//! `refused` stands for any kind, and for a value that its schema rejects. An expectation may omit
//! details: all fixes, their positions, or the message of an error. The line of a fix may be only
//! its kind, the line of a message only a part of it.
//!
//! `UPDATE=1 cargo test -p tool-json --test json repair` rewrites the expectations that omit
//! nothing. Review the difference.

use std::collections::BTreeMap;
use std::{env, fmt::Write, fs};

use serde_json::Value;
use tool_json::{Level, ParseError, Parsed, check, parse, parse_as};

use crate::corpus::{self, CASE, Case, EXPECT, SCHEMA};
use crate::{CORPUS, invariants, provenance};

const REFUSED: &str = "refused";
const TRUNCATED: &str = "truncated";
/// The maximum length of a number whose digits every value preserves.
const EXACT_DIGITS: usize = 15;

type Outcome = Result<Parsed, ParseError>;

fn read(case: &Case, text: &str) -> Outcome {
    match &case.schema {
        Some(schema) => {
            let schema = serde_json::from_str(schema)
                .unwrap_or_else(|error| panic!("the schema of {}: {error}", case.name));
            parse_as(text, &schema)
        }
        None => parse(text),
    }
}

/// Formats an outcome as an expectation that omits nothing.
fn format_outcome(text: &str, outcome: &Outcome) -> String {
    let mut out = String::new();
    match outcome {
        Ok(parsed) => {
            write!(out, "{}", parsed.value).unwrap();
            if parsed.truncated {
                write!(out, "\n{TRUNCATED}").unwrap();
            }
            for fix in &parsed.fixes {
                let bytes = text.get(fix.span.clone());
                write!(out, "\n{:?} {:?} {:?}", fix.kind, fix.span, bytes.unwrap_or("?")).unwrap();
            }
        }
        Err(error) => write!(out, "{:?} at {}\n{error}", error.kind(), error.offset()).unwrap(),
    }
    out
}

/// Returns whether an expectation has the positions of all fixes, or the position and message of an
/// error.
fn is_full(expect: &str) -> bool {
    let mut lines = expect.lines();
    let first = lines.next().unwrap_or_default();
    let rest: Vec<_> = lines.filter(|line| *line != TRUNCATED).collect();
    !rest.is_empty() && (first.contains(" at ") || rest.iter().all(|line| line.contains("..")))
}

/// Returns whether an outcome matches an expectation, as far as that goes.
fn matches_expectation(expect: &str, actual: &str, outcome: &Outcome) -> bool {
    let (first, expected) = expect.split_once('\n').unwrap_or((expect, ""));
    let (got_first, got_rest) = actual.split_once('\n').unwrap_or((actual, ""));
    let Ok(parsed) = outcome else {
        let is_kind = first == got_first || got_first.split(' ').next() == Some(first);
        return is_kind && expected.lines().all(|words| got_rest.contains(words));
    };
    let Ok(value) = serde_json::from_str::<Value>(first) else {
        return false;
    };
    if value != parsed.value || long_numbers(first) != long_numbers(parsed.json()) {
        return false;
    }
    let is_fix = |line: &&str| *line != TRUNCATED;
    let fixes: Vec<_> = expected.lines().filter(is_fix).collect();
    let got_fixes: Vec<_> = got_rest.lines().filter(is_fix).collect();
    let same = |(fix, actual_fix): (&&str, &&str)| {
        fix == actual_fix || actual_fix.split(' ').next().is_some_and(|kind| kind == *fix)
    };
    (parsed.truncated || !expected.lines().any(|line| line == TRUNCATED))
        && (fixes.is_empty()
            || fixes.len() == got_fixes.len() && fixes.iter().zip(&got_fixes).all(same))
}

/// The numbers of a JSON text that need more digits than a float has, sorted: the order of members
/// differs between texts.
fn long_numbers(json: &str) -> Vec<String> {
    let (mut found, mut number) = (Vec::new(), String::new());
    let (mut in_text, mut is_escaped) = (false, false);
    for c in json.chars().chain(" ".chars()) {
        if !in_text && (c.is_ascii_digit() || "+-.eE".contains(c)) {
            number.push(c);
            continue;
        }
        if number.len() > EXACT_DIGITS {
            found.push(number.clone());
        }
        number.clear();
        in_text ^= c == '"' && !is_escaped;
        is_escaped = in_text && c == '\\' && !is_escaped;
    }
    found.sort();
    found
}

/// Returns whether the text was refused, or its value is rejected by the schema.
fn is_refused(case: &Case, outcome: &Outcome) -> bool {
    match (&case.schema, outcome) {
        (_, Err(_)) => true,
        (Some(schema), Ok(parsed)) => {
            let schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
            !check(&parsed.value, &schema).is_empty()
        }
        (None, Ok(_)) => false,
    }
}

/// Returns whether an outcome satisfies the rules of its class.
fn satisfies_class(class: &str, text: &str, outcome: &Outcome) -> bool {
    let at_most = |most: Level| {
        outcome.as_ref().is_ok_and(|parsed| parsed.level() <= most && !parsed.fixes.is_empty())
    };
    let is_whole = outcome.as_ref().is_ok_and(|parsed| !parsed.truncated);
    match (class, outcome) {
        ("valid", Ok(parsed)) => {
            parsed.fixes.is_empty()
                && !parsed.truncated
                && serde_json::from_str(text).ok().as_ref() == Some(&parsed.value)
        }
        ("ambiguous", Err(error)) => error.is_ambiguous(),
        ("refused", Err(error)) => !error.is_ambiguous(),
        // The expectation names the kind of error.
        ("guesses", _) => true,
        ("encoded" | "schema", Ok(_)) => is_whole,
        ("cut", Ok(parsed)) => !parsed.fixes.is_empty(),
        ("fenced" | "prose" | "tagged" | "wrapped", Ok(_)) => is_whole && at_most(Level::Wrapping),
        ("spelling", Ok(_)) => is_whole && at_most(Level::Spelling),
        ("mended", Ok(parsed)) => parsed.level() > Level::Wrapping,
        ("structure" | "traps" | "calls", Ok(_)) => at_most(Level::Structure),
        _ => false,
    }
}

#[test]
fn corpus_cases_match_expectations() {
    let update = env::var_os("UPDATE").is_some();
    let (mut counts, mut wrong) = (BTreeMap::new(), Vec::new());
    for (class, path) in corpus::files(CORPUS) {
        let topic = path.file_stem().expect("a file").to_string_lossy().into_owned();
        let mut rewritten = String::new();
        for case in corpus::cases(&path) {
            let (all, failed) = counts.entry(class.clone()).or_insert((0, 0));
            *all += 1;
            let text = case.text();
            let outcome = read(&case, &text);
            let actual = format_outcome(&text, &outcome);
            let violation = outcome.as_ref().ok().and_then(|parsed| {
                invariants::violation(&text, parsed).or_else(|| provenance::invented(&text, parsed))
            });
            let is_new = update && is_full(&case.expect);
            let problem = if let Some(violation) = violation {
                Some(violation)
            } else if case.expect == REFUSED && is_refused(&case, &outcome) {
                None
            } else if !is_new && !matches_expectation(&case.expect, &actual, &outcome) {
                Some("the result differs from the expectation".to_owned())
            } else if !satisfies_class(&class, &text, &outcome) {
                Some("the result violates the rules of its class".to_owned())
            } else {
                None
            };
            if let Some(problem) = problem {
                *failed += 1;
                wrong.push(format!(
                    "{class}/{topic}:{} {}: {problem}\ninput:\n{text}\nwanted:\n{}\ngot:\n{actual}",
                    case.line, case.name, case.expect
                ));
            }
            let expect = if is_new { actual } else { case.expect };
            let schema =
                case.schema.map(|schema| format!("{SCHEMA}\n{schema}")).unwrap_or_default();
            writeln!(
                rewritten,
                "{CASE}{}\n{}\n{schema}{EXPECT}\n{expect}\n",
                case.name, case.input
            )
            .unwrap();
        }
        if update {
            fs::write(&path, format!("{}\n", rewritten.trim_end())).unwrap();
        }
    }
    let table: String = counts
        .iter()
        .map(|(class, (all, failed))| format!("{class}: {all} cases, {failed} wrong\n"))
        .collect();
    println!("{table}");
    assert!(wrong.is_empty(), "{}\n\n{table}", wrong.join("\n\n"));

    let all: usize = counts.values().map(|(all, _)| all).sum();
    let refusing = ["ambiguous", "guesses", "refused", "traps", "valid"];
    let refusing: usize = refusing.iter().map(|class| counts[*class].0).sum();
    assert!(all >= 860, "only {all} cases were found");
    assert!(refusing >= all / 4, "only {refusing} of {all} cases are refusals and traps");
}
