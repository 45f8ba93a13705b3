//! Folders and files that are exchanged for links while tools use them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use super::fixture::Fixture;

const SECRET: &str = "correct horse battery staple";

/// Exchanges two entries until it is stopped, and counts how often.
fn exchange(left: &Path, right: &Path, is_stopped: &AtomicBool, count: &AtomicU64) {
    while !is_stopped.load(Ordering::Relaxed) {
        renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE).unwrap();
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Calls tools on a folder and a file that a thread exchanges for links to the outside, and on a
/// folder that another thread moves out of the workspace.
async fn race(rounds: u64) {
    let fixture = Fixture::new();
    let outside = fixture.folder.join("outside");
    fs::create_dir(&outside).unwrap();
    for name in ["file.txt", "target.txt"] {
        fs::write(outside.join(name), SECRET).unwrap();
    }
    let secrets = || {
        let mut names: Vec<_> = fs::read_dir(&outside)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (fs::read_to_string(&path).unwrap(), path))
            .collect();
        names.sort();
        names
    };
    let before = secrets();
    for name in ["swap", "moved"] {
        fixture.write(&format!("{name}/file.txt"), "public");
    }
    fixture.write("swap.txt", "public");
    symlink("../outside", fixture.path("link")).unwrap();
    symlink("../outside/file.txt", fixture.path("link.txt")).unwrap();
    let is_stopped = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicU64::new(0));
    let swaps = [
        ("swap", fixture.path("link")),
        ("swap.txt", fixture.path("link.txt")),
        ("moved", fixture.folder.join("elsewhere")),
    ];
    fs::create_dir(fixture.folder.join("elsewhere")).unwrap();
    let threads: Vec<_> = swaps
        .into_iter()
        .map(|(left, right)| {
            let left = fixture.path(left);
            let (is_stopped, count) = (Arc::clone(&is_stopped), Arc::clone(&count));
            thread::spawn(move || exchange(&left, &right, &is_stopped, &count))
        })
        .collect();
    let (mut reads, mut writes) = (0_u64, 0_u64);
    for round in 0..rounds {
        let (tool, arguments) = match round % 10 {
            0 => ("file_read", json!({ "path": "swap/file.txt" })),
            1 => ("file_read", json!({ "path": "swap.txt" })),
            2 => ("file_read", json!({ "path": "moved/file.txt" })),
            3 => ("grep", json!({ "pattern": "horse|public" })),
            4 => ("file_list", json!({ "path": "swap" })),
            5 => ("glob", json!({ "pattern": "swap/*" })),
            6 => ("file_write", json!({ "path": "swap/file.txt", "content": "public" })),
            7 => ("file_write", json!({ "path": "swap.txt", "content": "public" })),
            8 => ("file_write", json!({ "path": "swap/new/file.txt", "content": "public" })),
            _ => ("file_delete", json!({ "path": "swap/new/file.txt" })),
        };
        let execution = fixture.call(tool, arguments).await;
        let text = execution.result.plain_text();
        assert!(!text.contains("horse"), "round {round}, {tool}: {text}");
        assert!(!text.contains("target.txt"), "round {round}, {tool}: {text}");
        if execution.is_success() {
            let counter = if execution.effects.is_empty() { &mut reads } else { &mut writes };
            *counter += 1;
        }
    }
    is_stopped.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(secrets(), before);
    let swaps = count.load(Ordering::Relaxed);
    assert!(swaps > rounds / 100, "{swaps} swaps");
    assert!(reads > 0 && writes > 0, "{reads} reads, {writes} writes");
    println!("{rounds} rounds: {reads} reads, {writes} writes, {swaps} swaps");
}

#[tokio::test]
async fn races_with_links_leak_nothing() {
    race(1_000).await;
}

#[tokio::test]
#[ignore = "takes minutes"]
async fn hundred_thousand_races_with_links_leak_nothing() {
    race(100_000).await;
}
