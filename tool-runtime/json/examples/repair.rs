//! Repairs the JSON on standard input: prints it on standard output, and the fixes on standard
//! error. With the path of a JSON Schema, the value is also coerced to the schema and checked.
//!
//! `echo "{a: 1,}" | cargo run -p tool-json --example repair`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a program")]

use std::error::Error;
use std::process::ExitCode;
use std::{env, fs, io};

use tool_json::{parse, parse_valid};

fn main() -> ExitCode {
    match repair() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn repair() -> Result<(), Box<dyn Error>> {
    let text = io::read_to_string(io::stdin())?;
    let parsed = match env::args_os().nth(1) {
        Some(path) => parse_valid(&text, &serde_json::from_str(&fs::read_to_string(path)?)?)?,
        None => parse(&text)?,
    };
    println!("{}", parsed.json());
    for fix in &parsed.fixes {
        eprintln!("{}..{}: {fix}", fix.span.start, fix.span.end);
    }
    if parsed.truncated {
        eprintln!("the text ended before the value did");
    }
    Ok(())
}
