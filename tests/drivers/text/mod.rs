//! Tests of tool calls in text.
//!
//! Each file of `formats` holds the cases of one format; `corpus.rs` describes their syntax.

mod corpus;
mod end_tags;
mod fuzz;
mod invariants;
mod lead_ins;
mod leftovers;
mod names;
mod quotations;
mod scores;
mod tools;
mod unreadable;
mod wrappers;

use std::collections::BTreeMap;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::thread;

use corpus::{Case, files, files_of};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, prop_assert_eq, proptest};
use proptest::sample::select;
use serde_json::Value;
use support::streamed::cut_distance;
use tool_runtime::__workspace::{Formats, TextStream, ToolLookup};
use tool_runtime::ToolDefinition;
use tool_runtime::drivers::text::ParsedText;

/// The minimal number of cases of a format, and the minimal share of cases without a call: one in
/// so many.
const MIN_CASES: usize = 12;
const TRAP_SHARE: usize = 3;
/// The lengths of the pieces into which texts are split, in characters.
const LENGTHS: [usize; 5] = [1, 2, 4, 5, 8];

#[test]
fn every_case_parses_as_specified() {
    assert_cases(&files(), &tools::all());
}

/// Recorded outputs of small models, for prompts that ask for calls and for other things. Each case
/// names the call that a careful reader finds, or none.
#[test]
fn recorded_outputs_parse_as_a_reader_expects() {
    let schemas: BTreeMap<String, Value> =
        serde_json::from_str(include_str!("recorded/tools.json")).expect("schemas");
    let tools: Vec<_> = schemas
        .into_iter()
        .map(|(name, schema)| ToolDefinition::new(name, "Does it.", schema))
        .collect();
    assert_cases(&files_of("recorded"), &tools);
}

fn assert_cases(files: &[PathBuf], tools: &[ToolDefinition]) {
    let lookup = lookup(tools);
    let mut wrong = Vec::new();
    for file in files {
        for case in Case::all(file) {
            let found = case.describe(&extract(&case.text, &lookup), tools);
            if found != case.expected() {
                wrong.push(format!(
                    "{}:{} {}\n{}\nexpected:\n{}\ngot:\n{found}\n",
                    file.display(),
                    case.line,
                    case.name,
                    case.text,
                    case.expected()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_format_has_enough_cases() {
    for file in files() {
        let cases = Case::all(&file);
        let traps = cases.iter().filter(|case| case.calls.is_empty()).count();
        assert!(cases.len() >= MIN_CASES, "{} has {} cases", file.display(), cases.len());
        assert!(traps * TRAP_SHARE >= cases.len(), "{} has {traps} traps", file.display());
    }
    // A format without cases is untested.
    let all: String = files().iter().map(|file| fs::read_to_string(file).expect("text")).collect();
    for name in Formats::all().names() {
        assert!(all.contains(&format!("# {name}\n")), "no file has the cases of {name}");
    }
}

#[test]
fn streamed_cases_equal_whole_text() {
    for_each_case(|case, whole, lookup| {
        for length in LENGTHS {
            let pieces = pieces_of(&case.text, length);
            assert_same_in_pieces(case, whole, pieces.into_iter(), lookup);
        }
    });
}

#[test]
fn cases_cut_in_two_equal_whole_text() {
    for_each_case(|case, whole, lookup| {
        let places: Vec<_> = case.text.char_indices().map(|(at, _)| at).collect();
        let distance = cut_distance(places.len(), 12);
        // Cases of different lengths are cut at different places.
        for &at in places.iter().skip(places.len() % distance).step_by(distance) {
            let (first, second) = case.text.split_at(at);
            assert_same_in_pieces(case, whole, [first, second].into_iter(), lookup);
        }
    });
}

fn for_each_case(check: impl Fn(&Case, &ParsedText, &ToolLookup<'_>)) {
    let tools = tools::all();
    let lookup = lookup(&tools);
    for file in files() {
        for case in Case::all(&file) {
            check(&case, &extract(&case.text, &lookup), &lookup);
        }
    }
}

/// Splits a text into pieces of this number of characters.
pub(crate) fn pieces_of(text: &str, length: usize) -> Vec<&str> {
    let starts = text.char_indices().map(|(at, _)| at).step_by(length);
    let bounds: Vec<_> = starts.chain([text.len()]).collect();
    bounds.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

/// With quadratic time, this would take minutes. `cargo bench -p tool-runtime --bench text_growth`
/// measures the times.
#[test]
fn repeated_truncated_calls_parse_in_linear_time() {
    const THREADS: usize = 4;
    let files = files();
    thread::scope(|scope| {
        for part in files.chunks(files.len().div_ceil(THREADS)) {
            scope.spawn(|| part.iter().for_each(|file| parse_repeated_truncated_calls(file)));
        }
    });
}

fn parse_repeated_truncated_calls(file: &Path) {
    const BYTES: usize = 30_000;
    const PIECE: usize = 4_096;
    let tools = tools::all();
    let lookup = lookup(&tools);
    let case = Case::all(file).swap_remove(0);
    let half = case.text.char_indices().nth(case.text.chars().count() / 2);
    let broken = half.map_or("", |(half, _)| &case.text[..half]);
    let text = broken.repeat(BYTES / broken.len());
    let ends = (1..=BYTES / PIECE).map(|at| at * PIECE).filter(|at| text.is_char_boundary(*at));
    let ends: Vec<_> = iter::once(0).chain(ends).chain([text.len()]).collect();
    let pieces = ends.windows(2).map(|pair| &text[pair[0]..pair[1]]);
    assert_same_in_pieces(&case, &extract(&text, &lookup), pieces, &lookup);
}

fn assert_same_in_pieces<'t>(
    case: &Case,
    whole: &ParsedText,
    pieces: impl Iterator<Item = &'t str> + Clone,
    lookup: &ToolLookup<'_>,
) {
    let fault = invariants::streamed_difference(whole, pieces.clone(), lookup);
    if let Some(fault) = fault {
        let pieces: Vec<_> = pieces.collect();
        panic!("{} in pieces {pieces:?}: {fault}", case.name);
    }
}

/// Extracts the calls of looked-up tools from a text.
fn extract(text: &str, tools: &ToolLookup<'_>) -> ParsedText {
    Formats::all().extract(text, tools)
}

fn lookup(tools: &[ToolDefinition]) -> ToolLookup<'_> {
    ToolLookup::new(&tools.iter().collect::<Vec<_>>())
}

#[test]
fn no_call_without_offered_tools() {
    for file in files() {
        for case in Case::all(&file) {
            let parsed = extract(&case.text, &ToolLookup::new(&[]));
            assert_eq!(parsed.calls, [], "{}", case.name);
        }
    }
}

#[test]
fn stream_emits_text_as_early_as_possible() {
    let tools = tools::all();
    let mut stream = TextStream::new(Formats::all(), lookup(&tools));
    for (piece, chunk) in [
        ("Let me see.", "Let me see."),
        (" 1 < 2", " 1 < 2"),
        (" <", ""),
        ("b>bold</b>", " <b>bold</b>"),
        ("\n", ""),
        ("Act", ""),
        ("ually, ", "\nActually,"),
        ("<tool_call>\n{\"name\": \"<no", ""),
        // No tool can have this name.
        ("body>\", \"", " <tool_call>\n{\"name\": \"<nobody>\", \""),
        ("arguments\": {}}</tool_call>", "arguments\": {}}</tool_call>"),
    ] {
        assert_eq!(stream.push(piece).text, chunk, "{piece}");
    }
    assert_eq!(stream.finish().calls, []);
}

#[test]
fn reasoning_without_start_tag_replaces_emitted_text() {
    let tools = tools::all();
    let mut stream = TextStream::new(Formats::all(), lookup(&tools));
    assert_eq!(stream.push("\n\nTwo and two").text, "\n\nTwo and two");
    let chunk = stream.push(".\n</think>\nThe answer is 4.");
    assert!(chunk.replaces_previous);
    assert_eq!((chunk.text, chunk.reasoning), ("The answer is 4.", "Two and two."));
    let chunk = stream.push(" Four.");
    assert_eq!((chunk.text, chunk.reasoning, chunk.replaces_previous), (" Four.", "", false));
}

/// Pieces of texts without calls.
const PIECES: [&str; 32] = [
    "word ",
    "\n",
    "\n\n",
    "  ",
    "# Title\n",
    "```rust\nfn main() {}\n```\n",
    "```",
    "`x`",
    "`",
    "[1, 2]",
    "[a](b)",
    "{\"a\": 1}",
    "{",
    "}",
    "<b>",
    "a < b",
    "Action",
    "Action:",
    "Thought: so\n",
    "get_weather is",
    "{\"name\": \"Ann\", \"age\": 3}\n",
    "| a | b |\n",
    "<tool",
    "[TOOL",
    "> said\n",
    "é",
    "function=",
    "</p>",
    "</tool_call>",
    "Observation: sun\n",
    "<function=",
    "<|",
];

fn text_without_calls() -> impl Strategy<Value = String> {
    vec(select(PIECES.as_slice()), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_without_calls_is_unchanged(text in text_without_calls(), length in 1..9_usize) {
        let tools = tools::all();
        let lookup = lookup(&tools);
        let parsed = extract(&text, &lookup);
        prop_assert_eq!(&parsed.calls, &[]);
        prop_assert_eq!(&parsed.text, &text);
        let pieces = pieces_of(&text, length).into_iter();
        prop_assert_eq!(invariants::streamed_difference(&parsed, pieces, &lookup), None);
    }
}
