//! Lists processes through `/proc`.

use std::fs;
use std::time::{Duration, Instant};

/// The environment variable that marks the processes of a test.
pub const MARKER: &str = "TOOL_TESTS_MARKER";

/// Returns the `/proc` folders of all processes.
fn each() -> impl Iterator<Item = std::path::PathBuf> {
    let entries = fs::read_dir("/proc").expect("the system has /proc").flatten();
    entries.map(|entry| entry.path()).filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok())
    })
}

/// Counts the processes with this marker, including their descendants.
pub fn marked(marker: &str) -> usize {
    let expected = format!("{MARKER}={marker}").into_bytes();
    let is_marked = |path: &std::path::PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == expected)
    };
    each().filter(is_marked).count()
}

/// Counts the processes with this argument.
#[allow(dead_code, reason = "not every test counts them")]
pub fn with_argument(argument: &str) -> usize {
    let has_argument = |path: &std::path::PathBuf| {
        let arguments = fs::read(path.join("cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|found| found == argument.as_bytes())
    };
    each().filter(has_argument).count()
}

/// Counts the children of this process, including zombies.
#[allow(dead_code, reason = "not every test counts them")]
pub fn children() -> usize {
    let parent = std::process::id().to_string();
    let is_own = |path: &std::path::PathBuf| {
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        // The name is in brackets and may hold anything. The state and the parent follow.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(1) == Some(parent.as_str())
    };
    each().filter(is_own).count()
}

/// Waits until the condition holds, for at most 30 seconds.
pub async fn wait_until(description: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "timed out: {description}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
