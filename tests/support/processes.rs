//! Which processes there are, as the system tells it.

use std::fs;
use std::time::{Duration, Instant};

/// The variable by which a test knows its processes.
pub const MARKER: &str = "TOOL_TESTS_MARKER";

fn each() -> impl Iterator<Item = std::path::PathBuf> {
    let entries = fs::read_dir("/proc").expect("a system that lists its processes").flatten();
    entries.map(|entry| entry.path()).filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok())
    })
}

/// How many run that were given this marker, they and all that they started.
pub fn marked(marker: &str) -> usize {
    let wanted = format!("{MARKER}={marker}").into_bytes();
    let is_marked = |path: &std::path::PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == wanted)
    };
    each().filter(is_marked).count()
}

/// How many children this process has, those included that ended and nobody asked for.
#[allow(dead_code, reason = "not every test counts them")]
pub fn children() -> usize {
    let own = std::process::id().to_string();
    let is_own = |path: &std::path::PathBuf| {
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        // The name stands in brackets and may hold anything; then come the state and the parent.
        let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
        behind.split_whitespace().nth(1) == Some(own.as_str())
    };
    each().filter(is_own).count()
}

/// Waits, for a bounded time, until it is so.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never came about: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
