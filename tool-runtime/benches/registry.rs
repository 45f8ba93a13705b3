//! Reading a registry while another thread goes on registering: a snapshot and a look-up in it. With
//! the feature `search`, finding tools as well.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench that can't go on should stop, and its figures are its output"
)]

mod listed;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use listed::{Listed, registry};
use tool_runtime::Registry;

const COUNTS: [usize; 3] = [10, 1_000, 10_000];

/// Reads between two looks at the clock.
const READS: u32 = 100;

/// How long one table row is measured.
const TIME: Duration = Duration::from_secs(3);

fn main() {
    println!(
        "| tools | quiet ns | under load: least ns | median | 99 % | registrations a second |"
    );
    println!("|---|---|---|---|---|---|");
    for count in COUNTS {
        let registry = registry(count, "small");
        let quiet = read(&registry);
        let (busy, written) = under_load(&registry, count);
        let [least, median, most] = [0.0, 0.5, 0.99].map(|part| quantile(&busy, part));
        let quiet = quantile(&quiet, 0.5);
        println!("| {count} | {quiet:.0} | {least:.0} | {median:.0} | {most:.0} | {written:.0} |");
    }
    #[cfg(feature = "search")]
    search();
}

/// The index of the thousand tools that the tests search, and the queries that they ask.
#[cfg(feature = "search")]
fn search() {
    use tool_runtime::ToolDefinition;
    use tool_runtime::registry::ToolIndex;

    let read = |file: &str| -> Vec<serde_json::Value> {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus/tools/");
        let text = std::fs::read_to_string(format!("{corpus}{file}")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let tools = read("tools.jsonl");
    let tools: Vec<_> = tools
        .iter()
        .map(|tool| {
            let parameters = tool["parameters"].clone();
            ToolDefinition::new(text(&tool["name"]), text(&tool["description"]), parameters)
        })
        .collect();
    let queries: Vec<_> = read("queries.jsonl").iter().map(|asked| text(&asked["query"])).collect();

    let (mut built, mut searched) = (Duration::MAX, Duration::MAX);
    for _ in 0..20 {
        let started = Instant::now();
        let index = ToolIndex::new(&tools);
        built = built.min(started.elapsed());
        let started = Instant::now();
        for query in &queries {
            black_box(index.search(query, 5));
        }
        searched = searched.min(started.elapsed() / u32::try_from(queries.len()).unwrap());
    }
    println!("\nan index of {} tools: {built:.1?}; a search in it: {searched:.1?}", tools.len());
}

/// The times of reading while a thread replaces one tool after the other, and how many it replaced
/// in a second.
fn under_load(registry: &Registry, count: usize) -> (Vec<f64>, f64) {
    let (is_over, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let writer = {
        let (registry, is_over, written) =
            (registry.clone(), Arc::clone(&is_over), Arc::clone(&written));
        thread::spawn(move || {
            let tools: Vec<_> = (0..count).map(|n| Arc::new(Listed::new(n, "small"))).collect();
            for tool in tools.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                registry.register(Arc::<Listed>::clone(tool)).unwrap();
                written.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    while written.load(Ordering::Relaxed) == 0 {
        thread::yield_now();
    }
    let (before, started) = (written.load(Ordering::Relaxed), Instant::now());
    let times = read(registry);
    let after = written.load(Ordering::Relaxed);
    let rate = (after - before) as f64 / started.elapsed().as_secs_f64();
    is_over.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    (times, rate)
}

/// The nanoseconds that one snapshot with a look-up takes, for each round of them, sorted.
fn read(registry: &Registry) -> Vec<f64> {
    let (mut times, started) = (Vec::new(), Instant::now());
    while started.elapsed() < TIME {
        let round = Instant::now();
        for _ in 0..READS {
            let snapshot = black_box(registry).snapshot();
            assert!(black_box(snapshot.get(black_box("tool_7"))).is_some());
        }
        times.push(round.elapsed().as_secs_f64() * 1e9 / f64::from(READS));
    }
    times.sort_by(f64::total_cmp);
    times
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * part) as usize]
}
