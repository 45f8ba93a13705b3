//! Documentation: summaries of public items, the README, and the mention of features.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex_lite::Regex;

use super::files::{LIBRARIES, files, relative, root, sources};
use super::items::{Item, items, module_docs, summary};

/// The most lines of the README.
const README_LINES: usize = 150;

/// The most lines of the crate's docs.
const CRATE_DOCS_LINES: usize = 60;

/// The fewest words of a public summary, also of a field, a variant or a trait method.
const MIN_SUMMARY_WORDS: usize = 4;

/// Beginnings of a summary that says nothing without the item above it.
const BAD_STARTS: [&str; 13] = [
    "The same", "As", "It", "Its", "Where", "What", "Whatever", "Who", "Whose", "Whom", "That",
    "Those", "Whoever",
];

/// Public items that only generated code names.
const GENERATED: [&str; 8] = [
    "tool-runtime/core/src/private.rs",
    "tool-runtime/core/src/workspace.rs",
    "tool-runtime/core/src/tool/args",
    "tool-runtime/core/src/tool/function/mod.rs",
    "tool-runtime/core/src/tool/function/layout.rs",
    "tool-runtime/core/src/tool/param",
    "tool-runtime/core/src/tool/output/return_value.rs",
    "tool-macros/src/",
];

pub(crate) fn is_generated(path: &Path) -> bool {
    let path = relative(path);
    GENERATED.iter().any(|start| path.starts_with(start)) || path.contains("/tests")
}

fn starts_badly(summary: &str) -> bool {
    let text = summary.trim_start_matches(['[', '`']);
    BAD_STARTS.iter().any(|start| {
        let rest = text.strip_prefix(start);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

#[test]
fn summaries_stand_alone() {
    let mut violations = Vec::new();
    for (path, text) in ["tool-macros", "tool-runtime"].into_iter().flat_map(sources) {
        let module = summary(&module_docs(&text));
        if starts_badly(&module) {
            violations.push(format!("{}:1: {module}", relative(&path)));
        }
        for item in items(&text) {
            let summary = item.summary();
            if starts_badly(&summary) {
                violations.push(format!("{}:{}: {summary}", relative(&path), item.line));
            }
        }
    }
    assert!(violations.is_empty(), "{} summaries:\n{}", violations.len(), violations.join("\n"));
}

/// The sources of the crates that users import.
pub(crate) fn crates() -> impl Iterator<Item = (PathBuf, String)> {
    LIBRARIES.into_iter().flat_map(sources)
}

#[test]
fn public_summaries_have_at_least_four_words() {
    let mut violations = Vec::new();
    for (path, text) in crates() {
        if is_generated(&path) {
            continue;
        }
        let is_checked =
            |item: &&Item| is_documented_api(item) || (item.is_public_member() && !item.is_hidden);
        for item in items(&text).iter().filter(is_checked) {
            let summary = item.summary();
            if summary.split_whitespace().count() < MIN_SUMMARY_WORDS {
                violations.push(format!("{}:{}: {summary}", relative(&path), item.line));
            }
        }
    }
    assert!(violations.is_empty(), "{} summaries:\n{}", violations.len(), violations.join("\n"));
}

pub(crate) fn is_documented_api(item: &Item) -> bool {
    let is_reexport = item.code.starts_with("pub use") || item.code.starts_with("pub mod");
    item.is_public() && !item.is_hidden && !is_reexport && item.kind_and_name().is_some()
}

/// Returns the prose of a Markdown page and its blocks of Rust code, each with line numbers.
fn prose_and_rust(page: &str) -> [Vec<(usize, &str)>; 2] {
    let (mut prose, mut rust) = (Vec::new(), Vec::new());
    // The info string of the block around a line.
    let mut block: Option<&str> = None;
    for (at, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), block) {
            (Some(info), None) => block = Some(info.trim()),
            (Some(_), Some(_)) => block = None,
            (None, None) => prose.push((at + 1, line)),
            (None, Some("" | "rust" | "no_run" | "rust,no_run")) => rust.push((at + 1, line)),
            (None, Some(_)) => {}
        }
    }
    [prose, rust]
}

#[test]
fn readme_is_short_and_plain() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    assert!(readme.lines().count() <= README_LINES, "{} lines", readme.lines().count());
    let [_, rust] = prose_and_rust(&readme);
    let hidden = rust.iter().find(|(_, line)| *line == "#" || line.starts_with("# "));
    assert_eq!(hidden, None, "a code host shows the hidden lines of doc tests");
}

#[test]
fn readme_links_lead_somewhere() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("an expression");
    let intra_doc = Regex::new(r"\[`[^`]+`\](?:[^(\[:]|$)").expect("an expression");
    let mut links = 0;
    for (line, prose) in prose_and_rust(&readme)[0].iter() {
        assert!(!intra_doc.is_match(prose), "line {line} links to an item without an address");
        for target in link.captures_iter(prose) {
            let target = target[1].to_owned();
            let file = target.split('#').next().unwrap_or_default();
            let leads = target.starts_with("https://") || root().join(file).exists();
            assert!(leads, "line {line}: nothing is at {target}");
            links += 1;
        }
    }
    assert!(links > 10, "the README links to {links} places");
}

#[test]
fn readme_and_crate_docs_mention_every_feature() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let library = fs::read_to_string(root().join("tool-runtime/src/lib.rs")).expect("the library");
    let list = library.split("//! All features are optional.").nth(1).expect("a list");
    let list = list.split("\n#").next().unwrap_or_default();
    let manifest = fs::read_to_string(root().join("tool-runtime/Cargo.toml")).expect("a manifest");
    let features = manifest.split("[features]").nth(1).expect("features");
    let features = features.split("\n[").next().unwrap_or_default();
    let names: BTreeSet<_> = features
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.trim())
        .filter(|name| *name != "default" && !name.starts_with('#'))
        .collect();
    assert!(names.len() >= 10, "only {names:?} were read");
    for name in &names {
        assert!(readme.contains(&format!("`{name}`")), "the README does not mention `{name}`");
    }
    let listed: BTreeSet<_> = list.split('`').skip(1).step_by(2).collect();
    assert_eq!(listed, names, "the docs of the crate list other features than its manifest");
}

#[test]
fn guide_pages_start_with_an_example_and_end_with_limits_and_links() {
    let mut pages = 0;
    let folders = [
        "tool-runtime/src/docs/guide",
        "tool-runtime/dynamic/src/docs",
        "tool-runtime/mcp/src/docs/guide",
    ];
    for (path, text) in folders.into_iter().flat_map(|folder| files(folder, &["md"])) {
        if path.ends_with("index.md") {
            continue;
        }
        let page = relative(&path);
        let headings: Vec<_> = prose_and_rust(&text)[0]
            .iter()
            .filter(|(_, line)| line.starts_with("## "))
            .map(|(at, line)| (*at, *line))
            .collect();
        let [(first, _), .., (_, limits), (_, links)] = headings[..] else {
            panic!("{page} has {} headings", headings.len());
        };
        assert_eq!((limits, links), ("## Limits", "## See also"), "{page}");
        let has_example = text.lines().take(first).any(|line| line.starts_with("```"));
        assert!(has_example, "{page} has no example before line {first}");
        pages += 1;
    }
    assert!(pages >= 18, "only {pages} pages were read");
}

#[test]
fn crate_docs_are_short() {
    let text = fs::read_to_string(root().join("tool-runtime/src/lib.rs")).expect("the crate");
    let docs = module_docs(&text);
    assert!((10..=CRATE_DOCS_LINES).contains(&docs.len()), "{} lines", docs.len());
}

#[test]
fn documentation_rules_find_violations() {
    for text in ["The same, step by step", "As [`run`]", "It runs", "Where.", "What came", "Who"] {
        assert!(starts_badly(text), "{text}");
    }
    for text in ["Assembles a reply", "Iterates over items", "Itself", "Runs the agent"] {
        assert!(!starts_badly(text), "{text}");
    }
    let page = "a\n```rust\n# hidden\n```\nb\n```toml\nc = 1\n```\n";
    assert_eq!(prose_and_rust(page), [vec![(1, "a"), (5, "b")], vec![(3, "# hidden")]]);
}
