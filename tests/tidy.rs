//! Rules of the house, read off its own files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Which modules of the runtime each module may import; one way, no circles.
const MAY_IMPORT: [(&str, &[&str]); 12] = [
    ("message", &[]),
    ("schema", &[]),
    ("json", &[]),
    ("event", &["message", "json"]),
    ("tool", &["schema", "json", "message", "event"]),
    ("registry", &["tool", "schema", "message", "event"]),
    ("models", &["message", "tool", "event"]),
    ("drivers", &["json", "message", "models", "tool"]),
    ("dispatch", &["registry", "tool", "schema", "json", "message", "event"]),
    ("providers", &["models", "message", "schema", "json", "tool"]),
    (
        "agent",
        &[
            "dispatch", "registry", "models", "drivers", "tool", "event", "message", "schema",
            "json",
        ],
    ),
    ("store", &["agent", "registry", "tool", "message", "event"]),
];

/// Modules that decide: time, tasks and chance come to them as arguments.
const SANS_IO: [&str; 6] =
    ["json/", "schema/", "message/", "agent/turn.rs", "dispatch/plan.rs", "providers/openai/"];

/// The longest a file may be.
const MOST_LINES: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_owned()
}

/// All Rust files below a folder, with their text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("text");
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "{folder} has no sources");
    found
}

/// The code of a file: comments are not read, and neither are the tests at its end.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    lines.map(|line| line.split("//").next().unwrap_or_default())
}

/// The modules of the crate that a file names.
fn imports(path: &Path, text: &str) -> BTreeSet<String> {
    let top = path.strip_prefix(root().join("tool-runtime/src")).expect("the runtime's");
    // From a module's own file `super` is the crate.
    let to_crate = match top.components().count() {
        1 => Some("super::"),
        2 if top.ends_with("mod.rs") => Some("super::"),
        _ => None,
    };
    let code: String = code(text).collect::<Vec<_>>().join("\n");
    let starts = ["crate::"].into_iter().chain(to_crate);
    let mut found = BTreeSet::new();
    for start in starts {
        for (at, _) in code.match_indices(start) {
            let rest = &code[at + start.len()..];
            assert!(!rest.starts_with('{'), "{}: import from one module at a time", path.display());
            assert!(!rest.starts_with("super"), "{}: name the module", path.display());
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.insert(rest[..end].to_owned());
        }
    }
    found
}

#[test]
fn imports_go_one_way() {
    let allowed: BTreeMap<_, _> = MAY_IMPORT.into_iter().collect();
    let runtime = root().join("tool-runtime/src");
    let mut seen = BTreeSet::new();
    for (path, text) in sources("tool-runtime/src") {
        let below = path.strip_prefix(&runtime).expect("below");
        let first = below.components().next().expect("a name").as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        if ["lib", "private"].contains(&module.as_str()) {
            continue;
        }
        let may = allowed.get(module.as_str());
        let may = may.unwrap_or_else(|| panic!("{module} has no row in the table of imports"));
        for import in imports(&path, &text) {
            assert!(
                import == module || may.contains(&import.as_str()),
                "{} imports `{import}`, which `{module}` may not",
                below.display()
            );
        }
        seen.insert(module);
    }
    assert!(seen.len() >= 9, "only {seen:?} were read");
}

#[test]
fn what_decides_does_no_io() {
    let runtime = root().join("tool-runtime/src");
    let mut read = 0;
    for (path, text) in sources("tool-runtime/src") {
        let below = path.strip_prefix(&runtime).expect("below").to_string_lossy().into_owned();
        // The one file of a codec that hands over to the transport.
        if !SANS_IO.iter().any(|place| below.starts_with(place))
            || below == "providers/openai/mod.rs"
        {
            continue;
        }
        read += 1;
        for word in ["tokio", "Instant", "SystemTime", "std::fs", "std::net", "std::env", "rand"] {
            let used = code(&text).any(|line| line.contains(word));
            assert!(!used, "{below} uses {word}");
        }
    }
    assert!(read >= 10, "only {read} files were read");
}

#[test]
fn files_are_short() {
    for folder in ["tool-macros", "tool-runtime/src", "examples", "tests"] {
        for (path, text) in sources(folder) {
            let lines = text.lines().count();
            assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
        }
    }
}

#[test]
fn the_top_level_is_the_agreed_one() {
    let agreed = [
        "Cargo.toml",
        "Cargo.lock",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "examples",
        "target",
        "tests",
        "tool-macros",
        "tool-runtime",
    ];
    for entry in fs::read_dir(root()).expect("the root") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        assert!(name.starts_with('.') || agreed.contains(&name.as_str()), "{name} is at the top");
    }
}

#[test]
fn every_compile_fail_case_says_what_is_expected() {
    let cases = sources("tests/ui/fail");
    for (path, text) in &cases {
        assert!(path.with_extension("stderr").exists(), "{} has no .stderr", path.display());
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(lines <= 16, "{} shows one mistake in few lines", path.display());
    }
}

#[test]
fn every_target_is_in_its_manifest() {
    for folder in ["tests", "examples"] {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("it");
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            if name.ends_with(".rs") {
                assert!(
                    manifest.contains(&format!("path = \"{name}\"")),
                    "{folder}/{name} is lost"
                );
            }
        }
    }
}
