//! Structure: imports between modules, sans-IO modules, file sizes and the files at the top level.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{LIBRARIES, files, relative, root, sources};
use super::source::code;

/// Which modules of the core each module may import; one way, no circles. `json` is a crate.
const MAY_IMPORT: [(&str, &[&str]); 15] = [
    ("guard", &[]),
    ("span", &[]),
    ("message", &[]),
    ("schema", &["json"]),
    ("secret", &["message", "schema", "json"]),
    ("event", &["guard", "message", "json", "secret"]),
    ("errors", &["guard", "records"]),
    ("process", &["guard", "event"]),
    ("tool", &["guard", "errors", "process", "schema", "json", "message", "event", "secret"]),
    ("records", &[]),
    ("registry", &["guard", "records", "tool", "schema", "message", "event"]),
    ("models", &["errors", "message", "schema", "tool", "event"]),
    ("drivers", &["json", "message", "models", "schema", "tool"]),
    (
        "dispatch",
        &["guard", "span", "registry", "tool", "schema", "json", "message", "event", "secret"],
    ),
    (
        "agent",
        &[
            "guard", "span", "errors", "dispatch", "registry", "models", "drivers", "tool",
            "records", "event", "secret", "message", "schema", "json",
        ],
    ),
];

/// Modules that decide, below `tool-runtime`: time, tasks and chance come to them as arguments.
const SANS_IO: [&str; 28] = [
    "core/src/drivers/",
    "core/src/schema/",
    "core/src/message/",
    "core/src/agent/turn/",
    "core/src/agent/window/",
    "core/src/dispatch/plan.rs",
    "core/src/dispatch/policy/",
    "core/src/dispatch/call/record.rs",
    "core/src/dispatch/call/resolve.rs",
    "core/src/models/history.rs",
    "core/src/registry/select/",
    "http/src/lines.rs",
    "http/src/sse.rs",
    "json/src/",
    "providers/src/chat/",
    "providers/src/codec/",
    "providers/src/embeddings/",
    "providers/src/connection/error_response.rs",
    "providers/src/connection/frames.rs",
    "providers/src/mistral/",
    "providers/src/ollama/",
    "providers/src/gemini/",
    "providers/src/openai/",
    "providers/src/responses/",
    "providers/src/connection/retry.rs",
    "report/src/report/layout.rs",
    "report/src/terminal/line.rs",
    "report/src/terminal/screen.rs",
];

/// The most files of Rust in a folder of a library.
const MOST_FILES: usize = 15;

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
    let core = root().join("tool-runtime/core/src");
    let mut modules = BTreeSet::new();
    for (path, text) in sources("tool-runtime/core/src") {
        let below = path.strip_prefix(&core).expect("below");
        let first = below.components().next().expect("a name").as_os_str().to_string_lossy();
        let module = first.trim_end_matches(".rs").to_owned();
        if ["lib", "private", "workspace"].contains(&module.as_str()) {
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
    let runtime = root().join("tool-runtime");
    let lost = SANS_IO.iter().find(|place| !runtime.join(place).exists());
    assert_eq!(lost, None, "it has no file");
    let mut read = 0;
    for (path, text) in LIBRARIES.into_iter().flat_map(sources) {
        let below = path.strip_prefix(&runtime).expect("below").to_string_lossy().into_owned();
        // The one file of a codec that reads the environment.
        let sets_up = below.starts_with("providers/") && below.ends_with("/mod.rs");
        if sets_up || !SANS_IO.iter().any(|place| below.starts_with(place)) {
            continue;
        }
        read += 1;
        let code = code(&text);
        let words: BTreeSet<_> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for word in ["tokio", "Instant", "fs", "net", "env", "process", "rand"] {
            assert!(!words.contains(word), "{below} uses {word}");
        }
        // A time that it is given is a value.
        assert!(!code.contains("SystemTime::now"), "{below} reads the clock");
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
fn folders_respect_the_limit_of_files() {
    let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for (path, _) in LIBRARIES.into_iter().flat_map(sources) {
        *counts.entry(path.parent().expect("a folder").to_owned()).or_default() += 1;
    }
    for (folder, count) in counts {
        assert!(count <= MOST_FILES, "{} has {count} files", relative(&folder));
    }
}

/// Returns the crates of this workspace that a manifest names before `[dev-dependencies]`.
fn dependencies(name: &str) -> BTreeSet<String> {
    let path = root().join("tool-runtime").join(name).join("Cargo.toml");
    let manifest = fs::read_to_string(path).expect("a manifest");
    let (_, dependencies) = manifest.split_once("[dependencies]").expect("dependencies");
    let dependencies = dependencies.split("[dev-dependencies]").next().unwrap_or_default();
    let lines = dependencies.lines().filter(|line| line.starts_with("tool-"));
    let names = lines.filter_map(|line| line.split(['.', ' ']).next()).map(str::to_owned);
    names.filter(|name| name != "tool-runtime-macros").collect()
}

#[test]
fn crates_depend_on_those_that_the_architecture_lists() {
    let page = root().join("tool-runtime/src/docs/design/architecture.md");
    let page = fs::read_to_string(page).expect("the page");
    let mut listed = BTreeSet::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| `tool-")) {
        let cells: Vec<_> = row.split('|').collect();
        let name = cells[0].trim().trim_end_matches('`');
        let expected = cells[2].split(',').map(|cell| cell.trim().trim_matches('`').to_owned());
        let expected: BTreeSet<_> = expected.filter(|cell| !cell.is_empty()).collect();
        assert_eq!(dependencies(name), expected, "tool-{name}");
        listed.insert(format!("tool-runtime/{name}/src"));
    }
    let crates = LIBRARIES.into_iter().filter(|folder| *folder != "tool-runtime/src");
    assert_eq!(listed, crates.map(str::to_owned).collect(), "each crate has a row");
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
        // The suites compare, and store nothing.
        let is_suite = relative(&path).contains("/conformance/");
        if !text.contains("hmac_sha256::") || is_suite {
            continue;
        }
        hashing += 1;
        let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let debug = lines.find(|line| line.contains(":?"));
        assert_eq!(debug, None, "{}: hash a serialization", relative(&path));
    }
    assert!(hashing > 5, "only {hashing} files hash");
}
