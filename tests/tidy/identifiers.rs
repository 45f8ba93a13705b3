//! Identifiers: a name says what it names.
//!
//! Pronouns, adverbs, and verb forms of speaking and keeping name nothing that a reader can search.
//! The rule reads declarations: items, members, parameters, and the bindings of patterns.

use regex_lite::Regex;

use super::files::{relative, sources};
use super::source::without_literals;

/// Folders whose declarations are checked.
const FOLDERS: [&str; 4] = ["tool-macros", "tool-runtime", "examples", "tests"];

/// Words that are no name by themselves.
const BANNED: [&str; 85] = [
    "again",
    "alone",
    "anything",
    "are",
    "arrived",
    "asked",
    "asking",
    "away",
    "began",
    "begun",
    "behind",
    "beside",
    "came",
    "come",
    "comes",
    "does",
    "done",
    "drawn",
    "elsewhere",
    "fallen",
    "gave",
    "given",
    "glance",
    "goes",
    "gone",
    "got",
    "grown",
    "had",
    "hang_on",
    "he",
    "hear",
    "heard",
    "hears",
    "here",
    "hold_up",
    "how",
    "how_many",
    "however",
    "it",
    "its",
    "itself",
    "kept",
    "kin",
    "led",
    "let_go",
    "look_out",
    "made",
    "may",
    "meant",
    "mine",
    "nobody",
    "nothing",
    "one",
    "ours",
    "said",
    "saw",
    "say",
    "saying",
    "says",
    "seen",
    "she",
    "shown",
    "so_far",
    "some",
    "somebody",
    "something",
    "soon",
    "spoken",
    "taken",
    "tell",
    "tells",
    "theirs",
    "them",
    "there",
    "they",
    "thing",
    "things",
    "through",
    "told",
    "took",
    "untold",
    "until",
    "went",
    "within",
    "whoever",
];

/// Words that are no name by themselves, and no last word of a short one.
const BANNED_ENDINGS: [&str; 17] = [
    "asked", "came", "given", "gone", "heard", "it", "kept", "meant", "said", "them", "told",
    "what", "which", "who", "whom", "whose", "why",
];

/// Names of more words are sentences, as those of tests.
const SHORT_NAME_WORDS: usize = 3;

/// Declarations that keep their name, which is serialized or read from an API.
const EXEMPT: [(&str, &str); 4] = [
    ("tool-runtime/src/event/tool.rs", "done"),
    ("tool-runtime/src/providers/ollama/decode.rs", "done"),
    ("tool-runtime/src/report/row.rs", "took"),
    ("tool-runtime/src/terminal/screen.rs", "done"),
];

/// Returns the declared names of a Rust file with their lines.
fn declared(text: &str) -> Vec<(usize, String)> {
    let code = without_literals(text);
    let expression = |text: &str| Regex::new(text).expect("an expression");
    let item = expression(
        r"\b(?:fn|struct|enum|trait|type|const|static|mod|macro_rules!)\s+(?:mut\s+)?(\w+)",
    );
    let typed = expression(concat!(
        r"(?:^|[(,{|\n]|\bpub|\bmut|\))\s*(\w+):\s*",
        r"(?:[&*'\[(A-Z]|(?:impl|dyn|bool|char|str|[iuf]\d+|[iu]size)\b[^:])",
    ));
    let patterns = [
        expression(r"\blet\s+([^=;]+)"),
        expression(r"\bfor\s+([^{;]*?)\sin\b"),
        expression(r"[A-Z]\w*\(([\w\s,&]*)\)\s*(?:if\b[^=]*)?=>"),
    ];
    let closure = expression(r"(?:[(,=&{]\s*|\bmove\s+|\basync\s+|=>\s*)\|([^|;]*)\|");
    let mut found = Vec::new();
    for expression in [&item, &typed] {
        for capture in expression.captures_iter(&code) {
            let name = capture.get(1).expect("a name");
            found.push((name.start(), name.as_str()));
        }
    }
    for expression in &patterns {
        for capture in expression.captures_iter(&code) {
            let pattern = capture.get(1).expect("a pattern");
            found.extend(bindings(pattern.as_str()).map(|(at, name)| (pattern.start() + at, name)));
        }
    }
    for capture in closure.captures_iter(&code) {
        let pattern = capture.get(1).expect("a pattern");
        // `it` is a good name of the only parameter of a short closure.
        let named = bindings(pattern.as_str()).filter(|(_, name)| *name != "it");
        found.extend(named.map(|(at, name)| (pattern.start() + at, name)));
    }
    found.sort_unstable();
    found.dedup();
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    found.into_iter().map(|(at, name)| (line(at), name.to_owned())).collect()
}

/// Returns the names that a pattern binds with their positions: not paths, and not the members
/// that it renames.
fn bindings(pattern: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    pattern.split_inclusive(move |c| !is_word(c)).filter_map(move |part| {
        let start = at;
        at += part.len();
        let name = part.trim_end_matches(|c| !is_word(c));
        let is_first = pattern[..start].trim_start_matches("mut ").trim().is_empty();
        let after = pattern[start + name.len()..].trim_start();
        let is_path = after.starts_with("::") || pattern[..start].ends_with("::");
        let is_member = after.starts_with(':') && !is_first;
        let is_binding = name.starts_with(|c: char| c.is_lowercase()) && !is_path && !is_member;
        is_binding.then_some((start, name))
    })
}

/// Splits `snake_case`, `SCREAMING_CASE` and `CamelCase` into lower-case words.
fn words(name: &str) -> Vec<String> {
    let is_constant = name.chars().all(|c| !c.is_lowercase());
    let mut words = vec![String::new()];
    for c in name.chars() {
        let starts = c == '_' || (c.is_uppercase() && !is_constant);
        if starts && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_banned(name: &str) -> bool {
    let words = words(name);
    let is_ending = |word: &String| BANNED_ENDINGS.contains(&word.as_str());
    BANNED.contains(&words.join("_").as_str())
        || (words.len() <= SHORT_NAME_WORDS && words.last().is_some_and(is_ending))
}

#[test]
fn declared_names_say_what_they_name() {
    let mut violations = Vec::new();
    for (path, text) in FOLDERS.into_iter().flat_map(sources) {
        let path = relative(&path);
        for (line, name) in declared(&text) {
            if is_banned(&name) && !EXEMPT.contains(&(path.as_str(), name.as_str())) {
                violations.push(format!("{path}:{line}: `{name}`"));
            }
        }
    }
    assert!(violations.is_empty(), "{} names:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn identifier_rules_find_violations() {
    for (code, expected) in [
        ("fn told() {}", &["told"][..]),
        ("const SAID: u8 = 1; struct TellsWhy { kept: bool }", &["SAID", "TellsWhy", "kept"]),
        ("fn f(one: u8, other: u8) {}", &["one"]),
        ("let (mut seen, b) = f(\"told\");", &["seen"]),
        ("let Some(asked) = x else { return };", &["asked"]),
        ("for (name, shown) in told {}", &["shown"]),
        ("a.map(|said| said)", &["said"]),
        ("match a { Some(gone) => gone }", &["gone"]),
        ("let is_kept: bool = kept();", &["is_kept"]),
        ("fn a() {\n    let text = \"\n\";\n    let told = 1;\n}", &["told"]),
        // Uses, members that are renamed, paths, comments, and `it` of a closure.
        ("told(kept.said); let Progress { done: count, .. } = asked::b();", &[]),
        ("a.map(|it| it) // let told", &[]),
        ("fn calls_of_a_dropped_step_are_kept() {}", &[]),
    ] {
        let found: Vec<_> =
            declared(code).into_iter().filter(|(_, name)| is_banned(name)).collect();
        let names: Vec<_> = found.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, expected, "{code}");
    }
    assert_eq!(declared("a(\"\n\n\");\nlet b = 1;"), [(4, "b".to_owned())]);
}
