//! Settings: one convention for the names of limits on sizes, counts and times, and of errors. The
//! design page `contributing` has the table.

use std::fs;

use regex_lite::Regex;

use super::files::{LIBRARIES, relative, root, sources};
use super::source::code;

/// Ends of the names of times that are no limits, such as `poll_interval`.
const TIMES: [&str; 11] = [
    "cool_down",
    "delay",
    "delays",
    "duration",
    "interval",
    "lease",
    "lifetime",
    "per",
    "period",
    "retention",
    "retry_after",
];

/// Numbers that are no limits: data, the page of a query, and integers that carry their unit.
const NUMBERS: [&str; 14] = [
    "at_revision",
    "bytes_after",
    "bytes_before",
    "context_tokens",
    "epoch",
    "limit",
    "pid",
    "rate_limit",
    "server",
    "size",
    "status",
    "timeout_millis",
    "timeout_seconds",
    "with_dimensions",
];

fn expression(text: &str) -> Regex {
    Regex::new(text).expect("an expression")
}

/// Returns the public setters of a file, and the public fields of the types that hold limits: the
/// line, the name, and the parameters or the type of each.
fn settings(code: &str) -> Vec<(usize, String, String)> {
    let setter = expression(
        r"pub (?:const )?fn (\w+)(?:<[^(]*>)?\(\s*(?:mut )?self,\s*([^)]*?),?\s*\)\s*->\s*Self\b",
    );
    let field = expression(r"(?m)^ +pub (\w+): ([^,\n]+),$");
    let declared = expression(r"pub struct (\w+)");
    let holds_limits = |at: usize| {
        let owner = declared.captures_iter(&code[..at]).last();
        owner
            .is_some_and(|it| ["Limits", "Options", "Rules"].iter().any(|end| it[1].ends_with(end)))
    };
    let fields = field.captures_iter(code).filter(|field| {
        let at = field.get(0).map_or(0, |it| it.start());
        field[2].contains("Duration") || holds_limits(at)
    });
    let found = setter.captures_iter(code).chain(fields);
    let lines = |at| code[..at].matches('\n').count() + 1;
    found
        .map(|it| (lines(it.get(1).map_or(0, |it| it.start())), it[1].to_owned(), it[2].to_owned()))
        .collect()
}

/// Returns how the name of a setting differs from the convention.
fn complaint(name: &str, types: &str) -> Option<&'static str> {
    let ends_in = |end: &str| name == end || name.ends_with(&format!("_{end}"));
    let is_count = expression(r"(^|: )(impl Into<)?(Option<)?(usize|u8|u16|u32|u64|NonZero\w+)>*$");
    if types.contains("Duration") {
        let is_named = ends_in("timeout") || TIMES.iter().any(|noun| ends_in(noun));
        return (!is_named).then_some("a limit on a time ends in `_timeout`");
    }
    if !is_count.is_match(types) || NUMBERS.contains(&name) {
        return None;
    }
    if !name.starts_with("max_") {
        return Some("a limit on a size or a count begins with `max_`");
    }
    let is_size = types.starts_with("bytes:")
        || ["budget", "len", "limit", "memory", "size"].iter().any(|end| ends_in(end));
    (is_size && !ends_in("bytes")).then_some("a limit on a size ends in `_bytes`")
}

#[test]
fn settings_have_names_of_the_convention() {
    let mut found = Vec::new();
    for (path, text) in LIBRARIES.iter().flat_map(|folder| sources(folder)) {
        for (line, name, types) in settings(&code(&text)) {
            let place = format!("{}:{line}: {name}", relative(&path));
            found.extend(complaint(&name, &types).map(|complaint| format!("{place}: {complaint}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn attribute_words_have_names_of_the_convention() {
    let word = expression(r#""(\w+)" => \{\s*self\.\w+ =\s*value::(count|duration)\("#);
    let text = fs::read_to_string(root().join("tool-macros/src/attr/tool.rs")).expect("a file");
    let words: Vec<_> = word.captures_iter(&text).collect();
    assert_eq!(words.len(), 2, "the words that take a count or a time have moved");
    for word in words {
        let types = if &word[2] == "duration" { "Duration" } else { "u32" };
        assert_eq!(complaint(&word[1], types), None, "{}", &word[1]);
    }
}

/// Errors with other names: the ends of a run without an answer, a line of `CheckError`, and what a
/// conformance suite finds.
const OTHER_ERRORS: [&str; 4] = ["CheckProblem", "StopReason", "Stopped", "Violation"];

/// Returns the names of the public types of a file that are errors.
fn errors(code: &str) -> Vec<String> {
    let derived = expression(
        r"#\[derive\([^)]*\bError\b[^)]*\)\](?s:[^{;]{0,400}?)\bpub (?:enum|struct) (\w+)",
    );
    let implemented = expression(r"impl (?:std::error::)?Error for (\w+)");
    let found = derived.captures_iter(code).chain(implemented.captures_iter(code));
    let is_public = |name: &String| {
        ["struct", "enum"].iter().any(|kind| code.contains(&format!("\npub {kind} {name}")))
    };
    found.map(|it| it[1].to_owned()).filter(is_public).collect()
}

#[test]
fn errors_have_names_of_the_convention() {
    let files = LIBRARIES.iter().flat_map(|folder| sources(folder));
    let names: Vec<_> = files.flat_map(|(_, text)| errors(&code(&text))).collect();
    let is_named = |name: &str| name.ends_with("Error") || name.ends_with("Errors");
    let others: Vec<_> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !is_named(name) && !OTHER_ERRORS.contains(name))
        .collect();
    assert_eq!(others, [""; 0]);
    assert!(names.len() > 30, "only {} errors were found", names.len());
}

#[test]
fn absent_limits_are_none() {
    let largest = expression(r"\bmax_\w+: (usize|u32|u64)::MAX\b");
    for (path, text) in LIBRARIES.iter().flat_map(|folder| sources(folder)) {
        let found = largest.find(&code(&text)).map(|it| it.as_str().to_owned());
        assert_eq!(found, None, "{}: use `None`", relative(&path));
    }
}

#[test]
fn errors_are_found_whether_derived_or_implemented() {
    let derived = "\n#[derive(Debug, thiserror::Error)]\n#[error(\"\")]\npub enum Refused {";
    let implemented = "\npub struct Refused;\nimpl std::error::Error for Refused {}";
    for code in [derived, implemented] {
        assert_eq!(errors(code), ["Refused"], "{code}");
    }
    assert!(errors("\n#[derive(Debug)]\npub struct Answer {").is_empty());
}

#[test]
fn other_names_of_settings_are_found() {
    for (code, expected) in [
        ("pub fn run_timeout(mut self, timeout: Duration) -> Self {", None),
        ("pub fn time_limit(mut self, timeout: Duration) -> Self {", Some("_timeout")),
        ("pub fn poll_interval(self, interval: Duration) -> Self {", None),
        ("pub fn max_tool_calls(mut self, name: impl Into<String>, max: usize) -> Self {", None),
        (
            "pub fn tool(\n    mut self,\n    name: String,\n    max: usize,\n) -> Self {",
            Some("max_"),
        ),
        ("pub const fn max_len(mut self, len: usize) -> Self {", Some("_bytes")),
        ("pub fn max_output(mut self, bytes: usize) -> Self {", Some("_bytes")),
        ("pub fn repeats(mut self, it: impl Into<Option<u32>>) -> Self {", Some("max_")),
        ("pub fn name(mut self, name: impl Into<String>) -> Self {", None),
        ("pub struct Limits {\n    pub pages: usize,\n}", Some("max_")),
        ("pub struct Usage {\n    pub input: u64,\n}", None),
        ("pub struct Batch {\n    pub deadline: Option<Duration>,\n}", Some("_timeout")),
    ] {
        let [(_, name, types)] = &settings(code)[..] else {
            assert_eq!(expected, None, "{code}");
            continue;
        };
        let found = complaint(name, types);
        assert_eq!(found.is_some(), expected.is_some(), "{code}");
        assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{code}");
    }
}
