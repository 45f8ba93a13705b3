//! Structure: imports between modules, sans-IO modules, file sizes and the files at the top level.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::files::{LIBRARIES, files, relative, root, sources};
use super::source::code;

/// Which modules of the runtime each module may import; one way, no circles. `json` is a crate.
const MAY_IMPORT: [(&str, &[&str]); 19] = [
    ("guard", &[]),
    ("span", &[]),
    ("framing", &[]),
    ("http", &[]),
    ("message", &[]),
    ("schema", &["json"]),
    ("secret", &["message", "schema", "json"]),
    ("event", &["guard", "message", "json", "secret"]),
    ("report", &["event", "message", "json"]),
    ("terminal", &["event", "message"]),
    ("process", &["guard", "framing", "event"]),
    // `tool` knows which errors of `http` are transient.
    ("tool", &["guard", "http", "process", "schema", "json", "message", "event", "secret"]),
    ("registry", &["guard", "tool", "schema", "message", "event"]),
    ("models", &["message", "schema", "tool", "event"]),
    ("drivers", &["json", "message", "models", "schema", "tool"]),
    (
        "dispatch",
        &["guard", "span", "registry", "tool", "schema", "json", "message", "event", "secret"],
    ),
    (
        "providers",
        // `drivers` reads calls in output that a server rejected.
        &["guard", "framing", "http", "models", "drivers", "message", "schema", "json", "tool"],
    ),
    (
        "agent",
        &[
            "guard", "span", "dispatch", "registry", "models", "drivers", "tool", "event",
            "secret", "message", "schema", "json",
        ],
    ),
    ("store", &["agent", "registry", "tool", "message", "event"]),
];

/// Modules that decide, besides the crate of `json`: time, tasks and chance come to them as
/// arguments.
const SANS_IO: [&str; 26] = [
    "drivers/",
    "framing/",
    "schema/",
    "message/",
    "agent/turn/",
    "agent/window/",
    "dispatch/plan.rs",
    "dispatch/policy/",
    "dispatch/record.rs",
    "dispatch/resolve.rs",
    "providers/chat/",
    "providers/codec/",
    "providers/embeddings/",
    "providers/error_response.rs",
    "providers/frames.rs",
    "providers/mistral/",
    "providers/ollama/",
    "providers/gemini/",
    "providers/openai/",
    "providers/responses/",
    "providers/retry.rs",
    "models/history.rs",
    "registry/select/",
    "report/layout.rs",
    "terminal/line.rs",
    "terminal/screen.rs",
];

/// The longest a file may be.
const MOST_LINES: usize = 500;

/// The modules of the crate that a file names. `below` is its path in the runtime's sources.
fn imports(below: &Path, text: &str) -> BTreeSet<String> {
    let name = below.display();
    // How many times `super` leads from the file's module to the crate.
    let depth = below.components().count() - usize::from(below.ends_with("mod.rs"));
    let to_crate = "super::".repeat(depth);
    let code = code(text);
    let mut found = BTreeSet::new();
    for start in ["crate::", &to_crate] {
        for (at, _) in code.match_indices(start) {
            let is_name_char = |c: char| c.is_alphanumeric() || c == '_';
            if code[..at].ends_with(is_name_char) {
                continue;
            }
            let rest = &code[at + start.len()..];
            assert!(!rest.starts_with('{'), "{name}: import from one module at a time");
            assert!(!rest.starts_with("super"), "{name}: name the module");
            let end = rest.find(|c| !is_name_char(c)).unwrap_or(rest.len());
            found.insert(rest[..end].to_owned());
        }
    }
    found
}

#[test]
fn imports_are_found_in_every_notation() {
    for (below, text, expected) in [
        ("json/scan.rs", "use crate::tool::Tool;", &["tool"][..]),
        ("json/scan.rs", "fn f() { crate::tool::f(super::g()) }", &["tool"]),
        ("json/scan.rs", "use super::super::tool::Tool;", &["tool"]),
        ("json/scan.rs", "use super::fix::Fix;", &[]),
        ("json/mod.rs", "use super::tool::Tool;", &["tool"]),
        ("json/deep/mod.rs", "use super::super::tool::Tool;", &["tool"]),
        ("json/deep/er.rs", "use super::super::fix; use super::super::super::tool;", &["tool"]),
        ("guard.rs", "use super::tool::Tool;", &["tool"]),
        ("json/scan.rs", "x(\"//\"); crate::a(); // crate::b", &["a"]),
        ("json/scan.rs", "#[cfg(test)]\nconst X: u8 = 1;\nuse crate::tool::Tool;", &["tool"]),
        ("json/scan.rs", "#[cfg(test)]\nmod tests { use crate::tool::Tool; }", &[]),
    ] {
        let found = imports(Path::new(below), text);
        assert_eq!(found, expected.iter().map(|name| (*name).to_owned()).collect(), "{text}");
    }
}

#[test]
fn modules_import_only_allowed_modules() {
    let allowed: BTreeMap<_, _> = MAY_IMPORT.into_iter().collect();
    let runtime = root().join("tool-runtime/src");
    let mut modules = BTreeSet::new();
    for (path, text) in sources("tool-runtime/src") {
        let below = path.strip_prefix(&runtime).expect("below");
        let first = below.components().next().expect("a name").as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        if ["docs", "lib", "private"].contains(&module.as_str()) {
            continue;
        }
        let row = allowed.get(module.as_str());
        let row = row.unwrap_or_else(|| panic!("{module} has no row in the table of imports"));
        for import in imports(below, &text) {
            assert!(
                import == module || row.contains(&import.as_str()),
                "{} imports `{import}`, which `{module}` may not",
                below.display()
            );
        }
        modules.insert(module);
    }
    assert!(modules.len() >= 9, "only {modules:?} were read");
}

#[test]
fn sans_io_modules_do_no_io() {
    let runtime = root().join("tool-runtime/src");
    let mut read = 0;
    let json = root().join("tool-runtime/json/src");
    for (path, text) in
        [sources("tool-runtime/src"), sources("tool-runtime/json/src")].into_iter().flatten()
    {
        let below = path.strip_prefix(&runtime).unwrap_or(&path).to_string_lossy().into_owned();
        // The one file of a codec that reads the environment.
        let sets_up = below.starts_with("providers/") && below.ends_with("/mod.rs");
        let decides = SANS_IO.iter().any(|place| below.starts_with(place));
        if sets_up || !decides && !path.starts_with(&json) {
            continue;
        }
        read += 1;
        let code = code(&text);
        let words: BTreeSet<_> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for word in ["tokio", "Instant", "SystemTime", "fs", "net", "env", "process", "rand"] {
            assert!(!words.contains(word), "{below} uses {word}");
        }
    }
    assert!(read >= 10, "only {read} files were read");
}

#[test]
fn source_files_respect_the_line_limit() {
    for folder in ["tool-macros", "tool-runtime", "examples", "tests"] {
        for (path, text) in sources(folder) {
            let lines = text.lines().count();
            assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
        }
    }
}

#[test]
fn files_contain_no_merge_markers() {
    let folders = ["tool-macros", "tool-runtime", "examples", "tests"];
    let endings = ["rs", "md", "toml", "py", "js", "css", "html", "txt", "json"];
    let found = folders.into_iter().flat_map(|folder| files(folder, &endings));
    for (path, text) in found {
        let marks = ["<".repeat(7) + " ", ">".repeat(7) + " "];
        let left = text.lines().find(|line| marks.iter().any(|mark| line.starts_with(mark)));
        assert_eq!(left, None, "{}", path.display());
    }
}

#[test]
fn root_folder_contains_only_agreed_entries() {
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
fn compile_fail_cases_are_short_and_have_expected_output() {
    let cases = sources("tests/ui/fail");
    for (path, text) in &cases {
        assert!(path.with_extension("stderr").exists(), "{} has no .stderr", path.display());
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(lines <= 16, "{} shows one mistake in few lines", path.display());
    }
}

#[test]
fn target_files_are_in_their_manifest() {
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

/// The output of `Debug` may change with each version of a crate and of Rust.
#[test]
fn hashes_do_not_cover_debug_output() {
    let mut hashing = 0;
    for (path, text) in LIBRARIES.into_iter().flat_map(sources) {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        if !text.contains("hmac_sha256::") || path.ends_with("conformance/mod.rs") {
            continue;
        }
        hashing += 1;
        let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let debug = lines.find(|line| line.contains(":?"));
        assert_eq!(debug, None, "{}: hash a serialization", relative(&path));
    }
    assert!(hashing > 5, "only {hashing} files hash");
}
