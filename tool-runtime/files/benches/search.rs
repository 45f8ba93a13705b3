//! Times of `grep` and `glob` on a tree of 100,000 files, beside those of ripgrep.
//!
//! `cargo bench -p tool-files --bench search` prints the best of five runs.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench stops at the first failure and prints its figures"
)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use tool_runtime::files::Files;
use tool_runtime::{Dispatcher, Registry, ToolCall, tools};

const FOLDERS: u32 = 1_000;
const FILES_PER_FOLDER: u32 = 100;
const RUNS: u32 = 5;

fn main() {
    let folder = std::env::temp_dir().join("tool-files-bench");
    if !folder.join("complete").exists() {
        create_tree(&folder);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
    let files = Files::open(&folder).unwrap();
    println!("{:32} {:>10} {:>10} {:>7}", "search", "ripgrep", "tool", "ratio");
    for (name, tool, arguments, ripgrep) in [
        ("needle_xyz", "grep", json!({ "pattern": "needle_xyz" }), &["-n", "needle_xyz"][..]),
        (
            "st[a-z]+ needle",
            "grep",
            json!({ "pattern": "st[a-z]+ needle" }),
            &["-n", "st[a-z]+ needle"],
        ),
        ("retur.*valu", "grep", json!({ "pattern": "retur.*valu" }), &["-n", "retur.*valu"]),
        ("glob *.rs", "glob", json!({ "pattern": "*.rs" }), &["--files", "-g", "*.rs"]),
        ("glob **", "glob", json!({ "pattern": "**" }), &["--files"]),
    ] {
        let of_ripgrep = best(|| {
            let output = Command::new("rg").args(ripgrep).current_dir(&folder).output();
            output.is_ok()
        });
        let of_tool = best(|| {
            // Each run has a dispatcher, so that no output is cached.
            let registry = Registry::try_from(tools![..files.clone()]).unwrap();
            let call = ToolCall::new("1", tool, arguments.to_string());
            let execution = runtime.block_on(Dispatcher::new(registry).dispatch(vec![call]));
            execution[0].is_success()
        });
        let ratio = of_tool.as_secs_f64() / of_ripgrep.as_secs_f64();
        println!("{name:32} {of_ripgrep:>10.0?} {of_tool:>10.0?} {ratio:>7.2}");
    }
}

/// Returns the shortest time of several runs.
fn best(mut run: impl FnMut() -> bool) -> Duration {
    let times = (0..RUNS).map(|_| {
        let start = Instant::now();
        assert!(run(), "the search failed");
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

/// Writes files of 1 to 5 KB, of which few contain a rare word.
fn create_tree(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    let line = "    let value = start(items); // returns the value of the first step\n";
    for number in 0..FOLDERS {
        let below = folder.join(format!("part_{}", number / 50)).join(format!("module_{number}"));
        fs::create_dir_all(&below).unwrap();
        for file in 0..FILES_PER_FOLDER {
            let index = number * FILES_PER_FOLDER + file;
            let mut text = line.repeat(15 + (index % 60) as usize);
            if index.is_multiple_of(547) {
                text.push_str("needle_xyz\n");
            }
            let extension = if index.is_multiple_of(3) { "txt" } else { "rs" };
            fs::write(below.join(format!("file_{file}.{extension}")), text).unwrap();
        }
    }
    fs::write(folder.join("complete"), "").unwrap();
}
