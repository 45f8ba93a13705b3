//! Measures how the time of `json::parse` grows with the length of hostile texts.
//!
//! The bench runs in a thread with a small stack. Recursion for each bracket would overflow it.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench stops at the first failure and prints its figures"
)]

mod rounds;

use std::thread;
use std::time::{Duration, Instant};

use rounds::Rounds;
use serde_json::{Value, json};
use tool_json::{parse, parse_as};

const ROUNDS: usize = 100;
const LENS: [usize; 3] = [100_000, 200_000, 400_000];
const STACK: usize = 256 * 1024;
const TARGET: f64 = 1.1;
const LIMIT: Duration = Duration::from_millis(500);

/// The name, the beginning and the repeated unit of each text.
const TEXTS: [(&str, &str, &str); 24] = [
    ("`[`", "", "["),
    ("`{`", "", "{"),
    ("`{\"a\":`", "", "{\"a\":"),
    ("`\"`", "", "\""),
    ("`\\`", "", "\\"),
    ("`'`", "", "'"),
    ("fences", "", "```\n"),
    ("open fences", "", "```json\n{"),
    ("`a:`", "", "a:"),
    ("`{a:`", "{", "a:"),
    ("`{:::`", "", "{:::"),
    ("`]}`", "", "]}"),
    ("`[]}`", "[", "]}"),
    ("inner quotes", "{\"a\": \"", "x \"y\" z "),
    ("inner quotes and commas", "{\"a\": \"", "x \"y\", z "),
    ("inner quotes, commas and keys", "{\"a\": \"", "\"b\", \"c\": "),
    ("`{` and prose", "", "{ as in prose "),
    ("digits", "", "9"),
    ("digits in a list", "[", "9"),
    ("items without commas", "[", "\"a\" "),
    ("joined strings", "[\"a\"", " + \"a\""),
    ("comments", "[", "/* */ // \n"),
    ("open comments", "[", "/* "),
    ("reasoning", "", "<think>{"),
];

fn main() {
    // A stack overflow here is a finding: the parser must not recurse with the nesting of the text.
    thread::Builder::new().stack_size(STACK).spawn(measure).unwrap().join().unwrap();
}

fn measure() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    let mut rounds = Rounds::new(ROUNDS, 1);
    let mut names = Vec::new();
    for (name, start, unit) in TEXTS {
        let texts = LENS.map(|len| start.to_owned() + &unit.repeat(len / unit.len()));
        if let Some(text) = texts.iter().find(|text| is_slow(text, &schema)) {
            println!("{name}: {} bytes take more than {LIMIT:?}\n", text.len());
            continue;
        }
        names.push(name);
        for text in texts {
            let (text_copy, schema) = (text.clone(), schema.clone());
            rounds.add(move || parse(&text));
            rounds.add(move || parse_as(&text_copy, &schema));
        }
    }
    let times = rounds.run();

    let [small, medium, large] = LENS.map(|len| format!("{} KB ms", len / 1_000));
    println!("| text | {small} | {medium} | {large} | exponent | with a schema | target |");
    println!("|---|---|---|---|---|---|---|");
    for (name, times) in names.iter().zip(times.chunks_exact(2 * LENS.len())) {
        let plain: Vec<f64> = times.iter().step_by(2).copied().collect();
        let with_schema: Vec<f64> = times.iter().skip(1).step_by(2).copied().collect();
        let [small, medium, large] = [0, 1, 2].map(|index| plain[index] / 1e6);
        println!(
            "| {name} | {small:.2} | {medium:.2} | {large:.2} | {:.2} | {:.2} | {TARGET} |",
            exponent(&plain),
            exponent(&with_schema)
        );
    }
    println!("\nparsed in a thread with a stack of {} KB", STACK / 1024);
}

/// Whether one parse takes too long to measure all rounds.
fn is_slow(text: &str, schema: &Value) -> bool {
    let started = Instant::now();
    drop((parse(text), parse_as(text, schema)));
    started.elapsed() > LIMIT
}

/// Returns the slope of the regression line through the logarithms of length and time.
fn exponent(times: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> =
        LENS.iter().zip(times).map(|(len, time)| ((*len as f64).ln(), time.ln())).collect();
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let slope = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    slope / points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>()
}
