//! Compile-fail cases.
//!
//! They are a package of few dependencies, because trybuild builds all of them once more. Without a
//! case that compiles, it checks all cases with one command.
//!
//! `TRYBUILD=overwrite cargo test -p tool-tests-ui` rewrites the `.stderr` files;
//! `cargo test -p tool-tests-ui -- ui trybuild=word_twice` runs one case.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The compiler whose messages the `.stderr` files contain. With another, a case only has to fail.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn ui_cases_have_the_expected_outcome() {
    let cases = trybuild::TestCases::new();
    if compiler().starts_with(COMPILER) {
        cases.compile_fail("fail/*/*.rs");
    } else {
        for case in without_expectations() {
            cases.compile_fail(case);
        }
    }
}

fn compiler() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("rustc runs");
    String::from_utf8(output.stdout).expect("a version is text")
}

/// Copies the cases without their `.stderr` files and returns the copies.
fn without_expectations() -> Vec<PathBuf> {
    let copies = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    let topics = fs::read_dir("fail").expect("there are cases");
    let mut cases = Vec::new();
    for topic in topics.map(|topic| topic.expect("a topic").path()) {
        for case in fs::read_dir(&topic).expect("a topic has cases") {
            let case = case.expect("a case").path();
            if case.extension().is_some_and(|extension| extension == "rs") {
                let copy = copies.join(case.strip_prefix("fail").expect("it lies there"));
                fs::create_dir_all(copy.parent().expect("it lies in a topic")).expect("a folder");
                fs::copy(&case, &copy).expect("a copy");
                cases.push(copy);
            }
        }
    }
    cases
}
