//! Measures how the time of `json::parse` grows with the length of hostile texts, and how that of
//! `parse_as` and `check` grows with the size of schemas.
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
/// Numbers of names in a schema.
const SCHEMAS: [usize; 4] = [500, 5_000, 50_000, 400_000];
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
    measure_schemas();
}

/// Prints the time of a text of 1,000 objects by the number of names in the schema.
fn measure_schemas() {
    println!(
        "\n| names | schema KB | misspelled keys ms | listed values ms | branches ms | check ms |"
    );
    println!("|---|---|---|---|---|---|");
    for count in SCHEMAS {
        let names: Vec<_> = (0..count).map(|at| format!("name_{at}")).collect();
        let integers = names.iter().map(|name| (name.clone(), json!({"type": "integer"})));
        let closed = json!({"properties": Value::Object(integers.collect()),
            "additionalProperties": false});
        let kinds = names.iter().map(|name| json!({"properties": {"kind": {"const": name}}}));
        let branches = json!({"anyOf": kinds.collect::<Vec<_>>()});
        let [keys, values, kinds] = [
            (&closed, r#"{"Name-7": "1"}"#),
            (&json!({"enum": names}), r#""NAME_7 ""#),
            (&branches, r#"{"kind": "NAME_7"}"#),
        ]
        .map(|(items, item)| {
            let schema = json!({"type": "array", "items": items});
            let text = format!("[{}]", vec![item; 1_000].join(","));
            least(|| parse_as(&text, &schema).unwrap())
        });
        let unknown = (0..50_000).map(|at| (format!("other_{at}"), json!(1)));
        let value = Value::Object(unknown.collect());
        let checked = least(|| tool_json::check(&value, &closed));
        let size = closed.to_string().len() / 1_000;
        println!("| {count} | {size} | {keys:.1} | {values:.1} | {kinds:.1} | {checked:.1} |");
    }
}

/// Returns the least milliseconds of some runs.
fn least<T>(run: impl Fn() -> T) -> f64 {
    let times = (0..5).map(|_| {
        let started = Instant::now();
        drop(run());
        started.elapsed().as_secs_f64() * 1e3
    });
    times.fold(f64::MAX, f64::min)
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
