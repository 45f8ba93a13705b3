//! Texts of models and what is read from them, as data: `corpus/<class>/<topic>.txt`.
//!
//! What comes out of a case is told by lines. If it can be read: the value, `truncated` where it is,
//! and a line for each fix. Else: the kind of refusal and its place, and its words; `refused` stands
//! for any kind, and for a value that its schema does not allow. Whatever is left out of an expectation may be as it will: fixes if there are none,
//! their places, the words of a refusal. A line for a fix may be only its kind, a line of a refusal
//! only a part of its words.
//!
//! `UPDATE=1 cargo test -p tool-tests --test repair` writes anew the expectations that leave nothing
//! out. Read the difference.

#[path = "support/corpus.rs"]
mod corpus;
#[path = "support/sound.rs"]
mod sound;
#[path = "support/written.rs"]
mod written;

use std::collections::BTreeMap;
use std::{env, fmt::Write, fs};

use corpus::{CASE, Case, EXPECT, SCHEMA};
use serde_json::Value;
use tool_runtime::json::{Level, ParseError, Parsed, parse, parse_as};
use tool_runtime::schema::Schema;

const REFUSED: &str = "refused";
const TRUNCATED: &str = "truncated";
/// Longer numbers may have digits that no value holds.
const DIGITS: usize = 15;

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

/// What came out, by lines, with nothing left out.
fn told(text: &str, outcome: &Outcome) -> String {
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

/// Whether an expectation tells the places of all fixes, or the place of a refusal and its words.
fn is_full(expect: &str) -> bool {
    let mut lines = expect.lines();
    let first = lines.next().unwrap_or_default();
    let rest: Vec<_> = lines.filter(|line| *line != TRUNCATED).collect();
    !rest.is_empty() && (first.contains(" at ") || rest.iter().all(|line| line.contains("..")))
}

/// Whether what came out is what was expected, as far as that goes.
fn agrees(expect: &str, got: &str, outcome: &Outcome) -> bool {
    let (first, expected) = expect.split_once('\n').unwrap_or((expect, ""));
    let (got_first, got_rest) = got.split_once('\n').unwrap_or((got, ""));
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
    let same = |(fix, got): (&&str, &&str)| {
        fix == got || got.split(' ').next().is_some_and(|kind| kind == *fix)
    };
    (parsed.truncated || !expected.lines().any(|line| line == TRUNCATED))
        && (fixes.is_empty()
            || fixes.len() == got_fixes.len() && fixes.iter().zip(&got_fixes).all(same))
}

/// The numbers of a JSON text that need more than a float, in no order: members are sorted in one
/// text and not in the other.
fn long_numbers(json: &str) -> Vec<String> {
    let (mut found, mut number) = (Vec::new(), String::new());
    let (mut in_text, mut is_escaped) = (false, false);
    for c in json.chars().chain(" ".chars()) {
        if !in_text && (c.is_ascii_digit() || "+-.eE".contains(c)) {
            number.push(c);
            continue;
        }
        if number.len() > DIGITS {
            found.push(number.clone());
        }
        number.clear();
        in_text ^= c == '"' && !is_escaped;
        is_escaped = in_text && c == '\\' && !is_escaped;
    }
    found.sort();
    found
}

/// Whether nothing was guessed: the text was refused, or its value is for a validator to refuse.
fn is_refused(case: &Case, outcome: &Outcome) -> bool {
    match (&case.schema, outcome) {
        (_, Err(_)) => true,
        (Some(schema), Ok(parsed)) => {
            let schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
            !Schema::from(schema).check(&parsed.value).is_empty()
        }
        (None, Ok(_)) => false,
    }
}

/// What a class promises, whatever the expectations say.
fn keeps_promise(class: &str, text: &str, outcome: &Outcome) -> bool {
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
        // The expectation says which kind of refusal it is.
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
fn every_case_reads_as_written() {
    let update = env::var_os("UPDATE").is_some();
    let (mut counts, mut wrong) = (BTreeMap::new(), Vec::new());
    for (class, path) in corpus::files() {
        let topic = path.file_stem().expect("a file").to_string_lossy().into_owned();
        let mut written = String::new();
        for case in corpus::cases(&path) {
            let (all, failed) = counts.entry(class.clone()).or_insert((0, 0));
            *all += 1;
            let text = case.text();
            let outcome = read(&case, &text);
            let got = told(&text, &outcome);
            let fault = outcome.as_ref().ok().and_then(|parsed| {
                sound::fault(&text, parsed).or_else(|| written::invented(&text, parsed))
            });
            let is_new = update && is_full(&case.expect);
            let why = if let Some(fault) = fault {
                Some(fault)
            } else if case.expect == REFUSED && is_refused(&case, &outcome) {
                None
            } else if !is_new && !agrees(&case.expect, &got, &outcome) {
                Some("it reads otherwise".to_owned())
            } else if !keeps_promise(&class, &text, &outcome) {
                Some("it does not belong to its class".to_owned())
            } else {
                None
            };
            if let Some(why) = why {
                *failed += 1;
                wrong.push(format!(
                    "{class}/{topic}:{} {}: {why}\ninput:\n{text}\nwanted:\n{}\ngot:\n{got}",
                    case.line, case.name, case.expect
                ));
            }
            let expect = if is_new { got } else { case.expect };
            let schema =
                case.schema.map(|schema| format!("{SCHEMA}\n{schema}")).unwrap_or_default();
            writeln!(written, "{CASE}{}\n{}\n{schema}{EXPECT}\n{expect}\n", case.name, case.input)
                .unwrap();
        }
        if update {
            fs::write(&path, format!("{}\n", written.trim_end())).unwrap();
        }
    }
    let table: String = counts
        .iter()
        .map(|(class, (all, failed))| format!("{class}: {all} cases, {failed} wrong\n"))
        .collect();
    println!("{table}");
    assert!(wrong.is_empty(), "{}\n\n{table}", wrong.join("\n\n"));

    let all: usize = counts.values().map(|(all, _)| all).sum();
    let careful = ["ambiguous", "guesses", "refused", "traps", "valid"];
    let careful: usize = careful.iter().map(|class| counts[*class].0).sum();
    assert!(all >= 860, "only {all} cases were found");
    assert!(careful >= all / 4, "only {careful} of {all} cases are refusals and traps");
}
