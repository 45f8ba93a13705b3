//! The stores, codecs and observers of this workspace keep their contracts, and each suite finds
//! implementations that do not.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at a failure")]

mod codecs;
mod documents;
mod observers;
mod pins;
mod records;
mod sessions;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process};

use tool_conformance::Violation;

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("conformance-{}-{number}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns the path of a new entry.
    fn next(&self) -> PathBuf {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        self.0.join(COUNT.fetch_add(1, Ordering::Relaxed).to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Asserts that a suite has found the violation of a rule, and describes it in few characters.
fn assert_found(found: &[Violation], rule: &str, defect: &str) {
    let rules: Vec<_> = found.iter().map(|it| it.rule).collect();
    assert!(rules.contains(&rule), "{defect}: {rule:?} is not in {rules:#?}");
    let text = found.iter().find(|it| it.rule == rule).unwrap().to_string();
    assert!(text.starts_with(&format!("{rule}: expected ")) && text.len() < 1_000, "{text}");
}
