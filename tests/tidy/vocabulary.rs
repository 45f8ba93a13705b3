//! Vocabulary: a serialized name or a code is the name in Rust, so that what is logged and stored
//! has no words of its own.

use std::fs;

use regex_lite::Regex;

use super::files::{files, relative, root, sources};

/// Folders and files with the formats of others, in which a rename is a word of theirs.
const FOREIGN: [(&str, &str); 6] = [
    ("tool-runtime/providers/", "APIs of model providers"),
    ("tool-runtime/mcp/src/client/", "the Model Context Protocol and OAuth"),
    ("tool-runtime/mcp/src/server/", "the Model Context Protocol"),
    ("tool-runtime/dynamic/src/rust/", "source code that is generated"),
    ("tool-runtime/dynamic/src/spec/field.rs", "`type`, as in JSON Schema"),
    ("/searxng.rs", "the API of a search engine"),
];

/// Names and codes that were serialized once. The list omits words that texts for models use as
/// well.
const FORMER: [&str; 66] = [
    "CUT",
    "GIVEN_UP",
    "HALTED",
    "IN_SESSION",
    "MAX_ITERATIONS",
    "MISREAD",
    "MONEY_SPENT",
    "NOTHING_ASKED",
    "OUT_OF_TURN",
    "REPEATED",
    "REQUESTED",
    "SILENT",
    "TIME_LIMIT",
    "TOKENS_SPENT",
    "UNFIT",
    "acted",
    "acts",
    "asked",
    "bare_key",
    "bare_text",
    "began",
    "begun",
    "bill",
    "blank",
    "broke",
    "choice_case",
    "cut_list",
    "cut_literal",
    "cut_member",
    "cut_text",
    "decoded",
    "doubtful",
    "file_written",
    "goes_on",
    "has_stopped",
    "is_apart",
    "last_holds",
    "left_running",
    "listed",
    "log lost",
    "lost",
    "may_pass",
    "measured",
    "model asked",
    "model replied",
    "offered",
    "pulled_in",
    "remembered",
    "run finished",
    "run said",
    "run started",
    "said",
    "shown",
    "shown_json",
    "summarized",
    "told",
    "took",
    "tool approved",
    "tool asked",
    "tool blocked",
    "tool cancelled",
    "tool finished",
    "tool progress",
    "tool retried",
    "tool started",
    "unlisted",
];

/// The rules themselves hold the words.
const OWN_FOLDER: &str = "tests/tidy/";

/// Lists the former names beside those of today.
const CHANGELOG: &str = "tool-runtime/CHANGELOG.md";

const FOLDERS: [&str; 3] = ["tool-runtime", "examples", "tests"];

/// Returns the renames of a file that are not derived from the name in Rust, with their lines.
///
/// A rename may append the unit `_us`, or prepend the layer of an event.
fn renames(text: &str) -> Vec<(usize, String)> {
    let rename = Regex::new(r#"^\s*#\[serde\((?:.*, )?rename = "([^"]*)""#).expect("an expression");
    let declared = Regex::new(r"^\s*(?:pub(?:\([^)]*\))? )?(\w+)").expect("an expression");
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(word) = rename.captures(line) else { continue };
        let is_declaration = |(_, line): &(usize, &str)| !line.trim_start().starts_with(['#', '/']);
        let item = lines.clone().find(is_declaration).map_or("", |(_, line)| line);
        let name =
            declared.captures(item).map_or("", |name| name.get(1).map_or("", |it| it.as_str()));
        let word = &word[1];
        let layers = ["run", "model", "tool", "log"];
        let is_event = |layer: &str| word == format!("{layer}.{}", snake_case(name));
        if word != format!("{name}_us") && !layers.into_iter().any(is_event) {
            found.push((at + 1, word.to_owned()));
        }
    }
    found
}

/// Returns the codes of a file that are not derived from the variant in whose arm they stand, with
/// their lines.
///
/// A code may prepend the layer of the error.
fn codes(text: &str) -> Vec<(usize, String)> {
    let arm = Regex::new(r#"\w::([A-Z]\w*)(?:\([^()]*\)| \{[^{}]*\})? => "([A-Z_]+)""#);
    let arm = arm.expect("an expression");
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for arm in arm.captures_iter(line) {
            let (name, code) = (snake_case(&arm[1]).to_uppercase(), &arm[2]);
            let layers = ["MODEL", "TOOL"];
            let has_layer = |layer: &str| code == format!("{layer}_{name}");
            if code != name && !layers.into_iter().any(has_layer) {
                found.push((at + 1, code.to_owned()));
            }
        }
    }
    found
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (at, c) in name.char_indices() {
        if c.is_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// Returns the former names in a file that are quoted, also as code in prose, with their lines.
fn former_names(text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let is_quoted = |word: &&&str| {
            line.match_indices(**word).any(|(start, word)| {
                let quote = line[..start].chars().next_back();
                let end = line[start + word.len()..].chars().next();
                quote == end && quote.is_some_and(|quote| "\"'`".contains(quote))
            })
        };
        found.extend(FORMER.iter().filter(is_quoted).map(|word| (at + 1, *word)));
    }
    found
}

#[test]
fn serialized_names_are_the_names_in_rust() {
    let mut violations = Vec::new();
    for (path, text) in FOLDERS.into_iter().flat_map(sources) {
        let name = relative(&path);
        let is_foreign = FOREIGN.iter().any(|(part, _)| name.contains(part));
        if is_foreign || name.contains("tests/") {
            continue;
        }
        let found = renames(&text).into_iter();
        violations.extend(found.map(|(line, word)| format!("{name}:{line}: rename = \"{word}\"")));
    }
    assert!(violations.is_empty(), "{} renames:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn codes_are_the_names_of_their_variants() {
    let mut violations = Vec::new();
    for (path, text) in FOLDERS.into_iter().flat_map(sources) {
        let name = relative(&path);
        if FOREIGN.iter().any(|(part, _)| name.contains(part)) || name.starts_with(OWN_FOLDER) {
            continue;
        }
        let found = codes(&text).into_iter();
        violations.extend(found.map(|(line, code)| format!("{name}:{line}: \"{code}\"")));
    }
    assert!(violations.is_empty(), "{} codes:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn former_serialized_names_are_not_used() {
    let extensions = ["rs", "js", "py", "html", "md"];
    let readme = root().join("README.md");
    let text = fs::read_to_string(&readme).expect("the README");
    let folders = FOLDERS.into_iter().flat_map(|folder| files(folder, &extensions));
    let mut violations = Vec::new();
    for (path, text) in folders.chain([(readme, text)]) {
        let name = relative(&path);
        if name.starts_with(OWN_FOLDER) || name == CHANGELOG {
            continue;
        }
        let found = former_names(&text).into_iter();
        violations.extend(found.map(|(line, word)| format!("{name}:{line}: \"{word}\"")));
    }
    assert!(violations.is_empty(), "{} places:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn vocabulary_rules_find_violations() {
    for (text, expected) in [
        ("#[serde(rename = \"took\", with = \"micros\")]\nduration: Duration,", Some("took")),
        ("    #[serde(default, rename = \"by\")]\n    /// Who.\n    pub(crate) a: A,", Some("by")),
        ("#[serde(rename = \"duration_us\")]\npub duration: Duration,", None),
        ("#[serde(rename = \"run.message_added\")]\nMessageAdded {", None),
        ("#[serde(rename = \"run.said\")]\nMessageAdded {", Some("run.said")),
        ("#[serde(rename_all = \"snake_case\")]\npub enum A {", None),
    ] {
        let found = renames(text).into_iter().next().map(|(_, word)| word);
        assert_eq!(found.as_deref(), expected, "{text}");
    }
    for (text, expected) in [
        ("Self::TokenLimit { .. } => \"TOKEN_LIMIT\",", None),
        ("Self::TokenLimit { .. } => \"TOKENS_SPENT\",", Some("TOKENS_SPENT")),
        ("Kind::NotFound => \"TOOL_NOT_FOUND\",", None),
        ("Kind::Other(_) => \"MODEL_FAILED\",", Some("MODEL_FAILED")),
        ("Kind::Other => \"a text\",", None),
    ] {
        let found = codes(text).into_iter().next().map(|(_, code)| code);
        assert_eq!(found.as_deref(), expected, "{text}");
    }
    assert_eq!(former_names("a\nx[\"took\"]"), [(2, "took")]);
    assert_eq!(former_names("find('said') `CUT`"), [(1, "CUT"), (1, "said")]);
    assert_eq!(former_names("the run took long, \"took 3 s\""), []);
}
