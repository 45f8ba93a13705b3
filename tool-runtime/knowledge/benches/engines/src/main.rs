//! Compares `Knowledge` on SQLite with FTS5 of SQLite alone and with tantivy alone.
//!
//! `cargo run --release -- 1000000` indexes that many generated chunks with each engine, and prints
//! the rate, the times of 200 searches, the peak of memory and the size on the disk. Each engine
//! runs in a separate process.

mod corpus;
mod fts5;
mod knowledge;
mod tantivy_index;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use corpus::Corpus;

/// The number of searches of each kind.
const SEARCHES: u64 = 200;

/// The number of results of a search.
pub(crate) const RESULTS: usize = 10;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let count: u64 = arguments.first().map_or(100_000, |count| count.parse().expect("a number"));
    let folder = env::temp_dir().join("tool-knowledge-engines");
    match arguments.get(1).map(String::as_str) {
        None => {
            println!("{count} chunks; {SEARCHES} searches for 3 words");
            for engine in ["knowledge", "fts5", "tantivy"] {
                let program = env::current_exe().expect("this program");
                let _ = fs::remove_dir_all(&folder);
                fs::create_dir_all(&folder).expect("a folder");
                let status =
                    Command::new(program).args([&arguments[0], engine]).status().expect("a child");
                assert!(status.success(), "{engine}");
            }
            let _ = fs::remove_dir_all(&folder);
        }
        Some("knowledge") => knowledge::run(&Corpus::new(count), &folder),
        Some("fts5") => fts5::run(&Corpus::new(count), &folder),
        Some("tantivy") => tantivy_index::run(&Corpus::new(count), &folder),
        Some(engine) => panic!("unknown engine: {engine}"),
    }
}

/// Prints the rate at which chunks were indexed since `start`.
pub(crate) fn report_ingest(engine: &str, corpus: &Corpus, start: Instant, folder: &Path) {
    let seconds = start.elapsed().as_secs_f64();
    let rate = corpus.count as f64 / seconds;
    let (memory, disk) = (peak_memory() >> 20, size_of(folder) >> 20);
    println!(
        "{engine:20} indexed in {seconds:.0} s, {rate:.0} chunks/s; peak {memory} MiB; \
         {disk} MiB on the disk"
    );
}

/// Prints the times of searches, each of which returns the number of its results.
pub(crate) fn report_searches(kind: &str, corpus: &Corpus, mut search: impl FnMut(&str) -> usize) {
    let mut found = 0;
    let mut times: Vec<Duration> = (0..SEARCHES)
        .map(|number| {
            let query = corpus.query(number);
            let start = Instant::now();
            found += search(&query);
            start.elapsed()
        })
        .collect();
    times.sort();
    let [p50, p95] = [50, 95].map(|percent| times[times.len() * percent / 100]);
    let memory = peak_memory() >> 20;
    println!("{kind:20} p50 {p50:.1?}, p95 {p95:.1?}; {found} results; peak {memory} MiB");
}

/// Returns the most bytes of memory that this process has had.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let size = |path: &PathBuf| {
        if path.is_dir() { size_of(path) } else { path.metadata().map_or(0, |it| it.len()) }
    };
    paths.iter().map(size).sum()
}
