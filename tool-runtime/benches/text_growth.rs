//! Measures how the search for calls in text grows with the length of hostile texts.
//!
//! For each format, the text repeats a call that is cut off or has lost a part. A second table
//! measures text that the driver holds back until it knows whether it is a call. Arguments select
//! formats by name.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench stops at the first failure and prints its figures"
)]

#[path = "../../tests/drivers/text/tools.rs"]
mod tools;

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::json;
use tool_runtime::__workspace::{Formats, TextStream, ToolLookup};
use tool_runtime::drivers::{Driver as _, Native};
use tool_runtime::{ChatOptions, ChatRequest, Delta, ToolDefinition};

const LENS: [usize; 3] = [100_000, 300_000, 1_000_000];
/// Number of parts into which a call is broken.
const PARTS: usize = 8;
/// Delivery of the text: whole, or in pieces of so many bytes.
const PIECES: [Option<usize>; 4] = [None, Some(1), Some(16), Some(4_096)];

fn main() {
    let selected: Vec<_> = env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    if selected.is_empty() {
        held_back();
    }
    let tools = tools::all();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/drivers/text/formats");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    println!(
        "| format | worst | 1 MB whole, ms | exponent | in pieces of 1 | exponent | of 16 | exponent | of 4,096 | exponent |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if !selected.is_empty() && !selected.contains(&name) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let patterns: Vec<String> = cases(&text).iter().flat_map(|case| broken(case)).collect();
        let mut worst = (Duration::ZERO, String::new());
        for pattern in patterns {
            let time = measured(&repeated(&pattern, LENS[2]), None, &tools);
            if time > worst.0 {
                worst = (time, pattern);
            }
        }
        let mut row = format!("| {name} | `{:?}`", worst.1);
        for pieces in PIECES {
            let times = LENS.map(|bytes| {
                let text = repeated(&worst.1, bytes);
                (0..3).map(|_| measured(&text, pieces, &tools)).min().unwrap().as_secs_f64() * 1e3
            });
            let exponent = (times[2] / times[0]).ln() / 10_f64.ln();
            row += &format!(" | {:.1} | {exponent:.2}", times[2]);
        }
        println!("{row} |");
    }
}

/// Measures text that may turn out to be the arguments of a call, in pieces of a few bytes.
///
/// The driver holds it back and must look at each byte only once.
fn held_back() {
    println!("| kept back, in pieces of 4 | 1 MB, ms | exponent |\n|---|---|---|");
    let tool = ToolDefinition::new("now", "Tells the time.", json!({ "type": "object" }));
    let (tools, options) = ([&tool], ChatOptions::default());
    for (begin, more) in [("", " "), ("{", "\n"), ("```json", " "), ("```", "a"), ("{\"", "a")] {
        let times = LENS.map(|bytes| {
            let text = begin.to_owned() + &more.repeat(bytes);
            let measure = || {
                let request = ChatRequest::new(&[]).tools(&tools).options(&options);
                let mut decode = Native.stream_decoder(request).unwrap();
                let started = Instant::now();
                for piece in text.as_bytes().chunks(4) {
                    let piece = std::str::from_utf8(piece).unwrap();
                    decode(Delta::Text(piece), &mut |_: Delta<'_>| {});
                }
                started.elapsed()
            };
            (0..3).map(|_| measure()).min().unwrap().as_secs_f64() * 1e3
        });
        let exponent = (times[2] / times[0]).ln() / 10_f64.ln();
        println!("| `{begin:?}`, and `{more:?}` over and over | {:.1} | {exponent:.2} |", times[2]);
    }
    println!();
}

/// Returns the texts of a file of cases.
fn cases(text: &str) -> Vec<String> {
    let limit = env::var("GROWTH_CASES").ok().and_then(|limit| limit.parse().ok()).unwrap_or(3);
    let cases = text.split("\n=== ").skip(1).map(|case| case.split_once('\n').unwrap().1);
    let with_calls = cases.filter_map(|case| Some(case.split_once("\n--- calls")?.0.to_owned()));
    with_calls.take(limit).collect()
}

/// Returns a call cut at several places, and with each of its parts removed.
fn broken(call: &str) -> Vec<String> {
    let chars: Vec<char> = call.chars().collect();
    let mut variants = Vec::new();
    for part in 0..PARTS {
        let (from, to) = (chars.len() * part / PARTS, chars.len() * (part + 1) / PARTS);
        variants.push(chars[..to].iter().collect());
        variants.push(chars[..from].iter().chain(&chars[to..]).collect());
    }
    let opener = ['\n'].into_iter().chain(chars[..chars.len() / 4].iter().copied());
    variants.push(opener.collect());
    variants
}

fn repeated(pattern: &str, bytes: usize) -> String {
    pattern.repeat(bytes / pattern.len() + 1)
}

fn measured(text: &str, pieces: Option<usize>, tools: &[ToolDefinition]) -> Duration {
    let offered = ToolLookup::new(&tools.iter().collect::<Vec<_>>());
    let started = Instant::now();
    let Some(length) = pieces else {
        drop(Formats::all().extract(text, &offered));
        return started.elapsed();
    };
    let mut stream = TextStream::new(Formats::all(), offered);
    let mut rest = text;
    while !rest.is_empty() {
        let end = (length..rest.len()).find(|end| rest.is_char_boundary(*end));
        let (piece, tail) = rest.split_at(end.unwrap_or(rest.len()));
        stream.push(piece);
        rest = tail;
    }
    drop(stream.finish());
    started.elapsed()
}
