//! Scores the parser on external suites and on model outputs; prints tables and asserts nothing.
//!
//! `REPAIR_SUITES=folder cargo test --release -p tool-json --test json scores -- --nocapture`
//! reads the `*.jsonl` files of one or more folders, separated as in `PATH`.
//!
//! - A line of a suite has `source`, `class`, `input` and `expected` or `reject`, optionally a
//!   `schema`; `consensus` if no other suite contradicts it; `strict_only` or `info` if any result
//!   is acceptable.
//! - A line of a model's output has `content`, `tool_calls` and the tool's `schema`.
//!
//! `REPAIR_DIFFERENCES=1` lists every case that differs from its suite.

mod outputs;
mod rules;
mod suites;

use std::{env, fs};

use serde_json::Value;

#[test]
fn external_suites_are_scored() {
    let Some(folders) = env::var_os("REPAIR_SUITES") else {
        println!("REPAIR_SUITES names no folder: nothing is scored");
        return;
    };
    let differences = env::var_os("REPAIR_DIFFERENCES").is_some();
    let lines: Vec<Value> = env::split_paths(&folders)
        .flat_map(|folder| fs::read_dir(folder).expect("REPAIR_SUITES is a folder"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .flat_map(|path| {
            let text = fs::read_to_string(path).expect("text");
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .map(|line| serde_json::from_str(&line).expect("a line is JSON"))
        .collect();
    let scored = suites::score(&lines, differences) + outputs::score(&lines, differences);
    assert!(scored > 0, "the folder has no cases");
}
