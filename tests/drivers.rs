//! Calls that models wrote into their text.
//!
//! Each file of `drivers/formats` has the cases of one format; what they look like is told in
//! `drivers/corpus.rs`.

#[path = "drivers/corpus.rs"]
mod corpus;
#[path = "drivers/laws.rs"]
mod laws;
#[path = "drivers/own.rs"]
mod own;
#[path = "drivers/tools.rs"]
mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::iter;
use std::path::PathBuf;

use corpus::{Case, files, files_of};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, prop_assert_eq, proptest};
use proptest::sample::select;
use serde_json::Value;
use tool_runtime::ToolDefinition;
use tool_runtime::drivers::text::{Formats, Offered, Reading, TextStream, extract};

/// How many cases a format has to have, and how many of these are none: one in so many.
const CASES: usize = 12;
const TRAPS: usize = 3;
/// Texts come in pieces of so many letters.
const LENGTHS: [usize; 5] = [1, 2, 4, 5, 8];

#[test]
fn every_case_is_read_as_it_says() {
    read_as_they_say(&files(), &tools::all());
}

/// What small models wrote when they were asked for calls, and for other things: whoever reads such a text with
/// care finds the call that its case names, or none.
#[test]
fn every_recorded_output_is_read_as_a_reader_does() {
    let schemas: BTreeMap<String, Value> =
        serde_json::from_str(include_str!("drivers/recorded/tools.json")).expect("schemas");
    let tools: Vec<_> = schemas
        .into_iter()
        .map(|(name, schema)| ToolDefinition::new(name, "Does it.", schema))
        .collect();
    read_as_they_say(&files_of("recorded"), &tools);
}

fn read_as_they_say(files: &[PathBuf], tools: &[ToolDefinition]) {
    let offered = offered(tools);
    let mut wrong = Vec::new();
    for file in files {
        for case in Case::all(file) {
            let found = case.described(&extract(&case.text, &offered), tools);
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
fn every_format_has_its_cases() {
    for file in files() {
        let cases = Case::all(&file);
        let traps = cases.iter().filter(|case| case.calls.is_empty()).count();
        assert!(cases.len() >= CASES, "{} has {} cases", file.display(), cases.len());
        assert!(traps * TRAPS >= cases.len(), "{} has {traps} traps", file.display());
    }
    // A format without cases is one that nobody looked at.
    let all: String = files().iter().map(|file| fs::read_to_string(file).expect("text")).collect();
    for name in Formats::all().names() {
        assert!(all.contains(&format!("# {name}\n")), "no file has the cases of {name}");
    }
}

#[test]
fn every_case_is_read_the_same_in_pieces() {
    let tools = tools::all();
    let offered = offered(&tools);
    for file in files() {
        for case in Case::all(&file) {
            let whole = extract(&case.text, &offered);
            let places: Vec<_> = case.text.char_indices().map(|(at, _)| at).collect();
            for length in LENGTHS {
                let ends = places.iter().copied().step_by(length).chain([case.text.len()]);
                let ends: Vec<_> = ends.collect();
                let pieces = ends.windows(2).map(|pair| &case.text[pair[0]..pair[1]]);
                same(&case, &whole, pieces, &offered);
            }
            for at in places {
                let (first, second) = case.text.split_at(at);
                same(&case, &whole, [first, second].into_iter(), &offered);
            }
        }
    }
}

/// Of text that takes time in proportion to its square a hundred kilobytes for each format would take
/// an hour; `cargo bench -p tool-runtime --bench text_growth` has the times.
#[test]
fn what_is_broken_off_over_and_over_is_read_as_well() {
    const BYTES: usize = 100_000;
    let tools = tools::all();
    let offered = offered(&tools);
    for file in files() {
        let case = Case::all(&file).swap_remove(0);
        let half = case.text.char_indices().nth(case.text.chars().count() / 2);
        let broken = half.map_or("", |(half, _)| &case.text[..half]);
        let text = broken.repeat(BYTES / broken.len());
        let ends = (1..=BYTES / 4_096).map(|at| at * 4_096).filter(|at| text.is_char_boundary(*at));
        let ends: Vec<_> = iter::once(0).chain(ends).chain([text.len()]).collect();
        let pieces = ends.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        same(&case, &extract(&text, &offered), pieces, &offered);
    }
}

fn same<'t>(
    case: &Case,
    whole: &Reading,
    pieces: impl Iterator<Item = &'t str> + Clone,
    offered: &Offered<'_>,
) {
    let fault = laws::in_pieces(whole, pieces.clone(), offered);
    if let Some(fault) = fault {
        let pieces: Vec<_> = pieces.collect();
        panic!("{} in pieces {pieces:?}: {fault}", case.name);
    }
}

fn offered(tools: &[ToolDefinition]) -> Offered<'_> {
    Offered::new(&tools.iter().collect::<Vec<_>>())
}

#[test]
fn nothing_is_called_where_nothing_is_offered() {
    for file in files() {
        for case in Case::all(&file) {
            let read = extract(&case.text, &Offered::new(&[]));
            assert_eq!(read.calls, [], "{}", case.name);
        }
    }
}

#[test]
fn what_is_shown_early_is_all_that_can_be() {
    let tools = tools::all();
    let mut stream = TextStream::new(Formats::all(), offered(&tools));
    for (piece, shown) in [
        ("Let me see.", "Let me see."),
        (" 1 < 2", " 1 < 2"),
        (" <", ""),
        ("b>bold</b>", " <b>bold</b>"),
        ("\n", ""),
        ("Act", ""),
        ("ually, ", "\nActually,"),
        ("<tool_call>\n{\"name\": \"nobody", ""),
        // Nobody is called that.
        ("\", \"", " <tool_call>\n{\"name\": \"nobody\", \""),
        ("arguments\": {}}</tool_call>", "arguments\": {}}</tool_call>"),
    ] {
        assert_eq!(stream.push(piece).text, shown, "{piece}");
    }
    assert_eq!(stream.finish().calls, []);
}

#[test]
fn what_was_shown_is_void_where_it_was_thought() {
    let tools = tools::all();
    let mut stream = TextStream::new(Formats::all(), offered(&tools));
    assert_eq!(stream.push("\n\nTwo and two").text, "\n\nTwo and two");
    let shown = stream.push(".\n</think>\nThe answer is 4.");
    assert!(shown.is_taken_back);
    assert_eq!((shown.text, shown.reasoning), ("The answer is 4.", "Two and two."));
    let shown = stream.push(" Four.");
    assert_eq!((shown.text, shown.reasoning, shown.is_taken_back), (" Four.", "", false));
}

/// What texts are made of that call nothing.
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
    fn text_without_calls_is_returned_as_it_came(text in text_without_calls(), length in 1..9_usize) {
        let tools = tools::all();
        let offered = offered(&tools);
        let read = extract(&text, &offered);
        prop_assert_eq!(&read.calls, &[]);
        prop_assert_eq!(&read.text, &text);
        let chars: Vec<_> = text.chars().collect();
        let pieces: Vec<String> = chars.chunks(length).map(|piece| piece.iter().collect()).collect();
        prop_assert_eq!(laws::in_pieces(&read, pieces.iter().map(String::as_str), &offered), None);
    }
}
