//! Measures registry reads while another thread registers tools: one snapshot and one lookup.
//!
//! With the feature `search`, also measures tool search and the selectors.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench stops at the first failure and prints its figures"
)]

#[path = "support/listed.rs"]
mod listed;
#[path = "support/many_tools.rs"]
mod many_tools;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use listed::{Listed, registry};
use tool_runtime::Registry;

const COUNTS: [usize; 3] = [10, 1_000, 10_000];

/// Number of reads between two readings of the clock.
const READS: u32 = 100;

/// Duration of the measurement of one column.
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
    nearest();
    many_tools::measure();
    #[cfg(feature = "search")]
    search();
}

/// Measures the index of the thousand tools of the search tests, with the queries of these tests.
#[cfg(feature = "search")]
fn search() {
    use tool_runtime::ToolDefinition;
    use tool_runtime::registry::{BySearch, ByWeight, Selector, SelectorInput, ToolIndex};

    let read = |file: &str| -> Vec<serde_json::Value> {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus/tools/");
        let text = std::fs::read_to_string(format!("{corpus}{file}")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let definitions = read("tools.jsonl");
    let tools = |times: usize| -> Vec<_> {
        let tools = (0..times).flat_map(|copy| definitions.iter().map(move |tool| (copy, tool)));
        let define = |(copy, tool): (usize, &serde_json::Value)| {
            let name = format!("{}_{copy}", text(&tool["name"]));
            ToolDefinition::new(name, text(&tool["description"]), tool["parameters"].clone())
        };
        tools.map(define).collect()
    };
    let queries: Vec<_> = read("queries.jsonl").iter().map(|query| text(&query["query"])).collect();

    let least = |run: &mut dyn FnMut()| {
        let times = (0..20).map(|_| {
            let started = Instant::now();
            run();
            started.elapsed()
        });
        times.min().unwrap()
    };
    println!("\n| tools | an index | a search | by search | by search, fitting 5 | by weight |");
    println!("|---|---|---|---|---|---|");
    for times in [1, 10] {
        let mut tools = tools(times);
        let schema = serde_json::json!({ "type": "object" });
        tools.push(ToolDefinition::new("search_tools", "Finds more.", schema).finds_tools());
        let mut tools: Vec<_> = tools.iter().collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let built = least(&mut || drop(ToolIndex::new(tools.iter().copied())));
        let index = ToolIndex::new(tools.iter().copied());
        let all = least(&mut || {
            for query in &queries {
                black_box(index.search(query, 5));
            }
        });
        let searched = all / u32::try_from(queries.len()).unwrap();
        let found: Vec<_> = tools.iter().take(20).map(|tool| tool.name.clone()).collect();
        let selection =
            SelectorInput::new(&tools).user_text("play music").discovered(&found).offered(&found);
        let selectors: [&dyn Selector; 3] = [
            &BySearch::new().always(["now"]),
            &BySearch::new().max_matches(5),
            &ByWeight::new(16 << 10),
        ];
        let selected = selectors.map(|selector| least(&mut || drop(selector.select(selection))));
        let [by_search, fitting, by_weight] = selected;
        println!(
            "| {times},000 | {built:.1?} | {searched:.1?} | {by_search:.1?} | {fitting:.1?} | {by_weight:.1?} |",
        );
    }
}

/// Measures the suggestion of tool names for an unknown name.
fn nearest() {
    println!("\n| tools | nearest: one letter off | a part | nothing alike | as long as can be |");
    println!("|---|---|---|---|---|");
    for count in COUNTS {
        let snapshot = registry(count, "small").snapshot();
        let endless = "tool_0123456789".repeat(17);
        let times = ["tol_7", "tool", "play_music", &endless].map(|name| {
            let rounds = (0..20).map(|_| {
                let started = Instant::now();
                black_box(snapshot.nearest(black_box(name)));
                started.elapsed()
            });
            rounds.min().unwrap()
        });
        let [typo, part, no_match, endless] = times;
        println!("| {count} | {typo:.1?} | {part:.1?} | {no_match:.1?} | {endless:.1?} |");
    }
}

/// Measures reads while another thread replaces one tool after the other.
///
/// Returns the sorted times and the number of tools replaced per second.
fn under_load(registry: &Registry, count: usize) -> (Vec<f64>, f64) {
    let (is_done, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let writer = {
        let (registry, is_done, written) =
            (registry.clone(), Arc::clone(&is_done), Arc::clone(&written));
        thread::spawn(move || {
            let tools: Vec<_> = (0..count).map(|n| Arc::new(Listed::new(n, "small"))).collect();
            for tool in tools.iter().cycle() {
                if is_done.load(Ordering::Relaxed) {
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
    is_done.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    (times, rate)
}

/// Returns the nanoseconds of one snapshot with a lookup, for each round, sorted.
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
