//! The files that decide what a build compiles: the lock file, and the list of what may run code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns the packages of a lock file with their checksums.
fn packages(lock: &str) -> BTreeSet<String> {
    let entries = lock.split("[[package]]").skip(1);
    let keys = ["name", "version", "checksum"];
    entries
        .map(|entry| {
            let is_key =
                |line: &&str| keys.iter().any(|key| line.starts_with(&format!("{key} = ")));
            entry.lines().filter(is_key).collect::<Vec<_>>().join(" ")
        })
        .filter(|entry| entry.contains("checksum"))
        .collect()
}

#[test]
fn lock_file_has_the_versions_of_the_workspace() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock = packages(&fs::read_to_string(folder.join("support/Cargo.lock")).unwrap());
    let workspace = packages(&fs::read_to_string(folder.join("../../Cargo.lock")).unwrap());
    assert!(lock.len() > 100);
    let missing: Vec<_> = lock.difference(&workspace).collect();
    assert!(missing.is_empty(), "copy these from Cargo.lock to support/Cargo.lock: {missing:#?}");
}
