//! Identifiers: a name describes what it names.
//!
//! Pronouns, adverbs, and verb forms of speaking and keeping name nothing that a reader can search.
//! The rule reads what `declarations` finds: items, members, parameters, bindings of patterns.
//!
//! The name of a store begins with the place of its data.

use std::collections::BTreeSet;

use regex_lite::Regex;

use super::declarations::declared;
use super::documentation::crates;
use super::files::{relative, sources};

/// Folders whose declarations are checked.
const FOLDERS: [&str; 4] = ["tool-macros", "tool-runtime", "examples", "tests"];

/// Words that are no name by themselves.
const BANNED: [&str; 102] = [
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
    "both",
    "called",
    "came",
    "come",
    "comes",
    "does",
    "done",
    "drawn",
    "elsewhere",
    "fallen",
    "few",
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
    "held",
    "here",
    "hold_up",
    "how",
    "how_many",
    "however",
    "into",
    "is",
    "it",
    "its",
    "itself",
    "kept",
    "kin",
    "led",
    "less",
    "let_go",
    "look_out",
    "made",
    "many",
    "may",
    "meant",
    "mine",
    "no",
    "nobody",
    "not",
    "nothing",
    "one",
    "ours",
    "own",
    "said",
    "saw",
    "say",
    "saying",
    "says",
    "seen",
    "sent",
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
    "than",
    "theirs",
    "them",
    "then",
    "there",
    "they",
    "thing",
    "things",
    "this",
    "through",
    "told",
    "took",
    "until",
    "untold",
    "wanted",
    "went",
    "where",
    "whoever",
    "within",
];

/// Words that are no name by themselves, and no last word of a short one.
const BANNED_ENDINGS: [&str; 17] = [
    "asked", "came", "given", "gone", "heard", "it", "kept", "meant", "said", "them", "told",
    "what", "which", "who", "whom", "whose", "why",
];

/// Names of more words are sentences, as those of tests.
const SHORT_NAME_WORDS: usize = 3;

/// Declarations that keep their name: it is serialized, read from an API, or `then` of an answer.
const EXEMPT: [(&str, &str); 4] = [
    ("tool-runtime/core/src/agent/outcome/answer.rs", "then"),
    ("tool-runtime/core/src/event/tool/mod.rs", "done"),
    ("tool-runtime/providers/src/ollama/decode.rs", "done"),
    ("tool-runtime/report/src/terminal/screen.rs", "done"),
];

/// Places of data with which the name of a store begins.
const PLACES: [&str; 4] = ["File", "Memory", "Postgres", "Sqlite"];

/// Stores whose data is elsewhere.
const OTHER_STORES: [(&str, &str); 3] = [
    ("EnvironmentSecrets", "the environment variables of the process"),
    ("KeyringSecrets", "the keyring of the operating system"),
    ("RecordPins", "any store of records, which it wraps"),
];

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

/// Tests of a part of the files, which run at the same time.
#[test]
fn declared_names_of_odd_numbered_files_are_descriptive() {
    assert_names_are_good(0);
}

#[test]
fn declared_names_of_even_numbered_files_are_descriptive() {
    assert_names_are_good(1);
}

fn assert_names_are_good(first: usize) {
    let mut violations = Vec::new();
    for (path, text) in FOLDERS.into_iter().flat_map(sources).skip(first).step_by(2) {
        let path = relative(&path);
        for (line, name) in declared(&text) {
            if is_banned(&name) && !EXEMPT.contains(&(path.as_str(), name.as_str())) {
                violations.push(format!("{path}:{line}: `{name}`"));
            }
        }
    }
    assert!(violations.is_empty(), "{} names:\n{}", violations.len(), violations.join("\n"));
}

/// Returns the types that implement the trait of a store, such as `Records` or `SessionStore`.
fn stores(text: &str) -> Vec<String> {
    let store = Regex::new(r"(?m)^impl.* (?:\w+::)*(?:Records|\w+Store) for (\w+)");
    let store = store.expect("an expression");
    store.captures_iter(text).map(|store| store[1].to_owned()).collect()
}

fn is_store_name(name: &str) -> bool {
    PLACES.iter().any(|place| name.starts_with(place))
        || OTHER_STORES.iter().any(|(other, _)| *other == name)
}

#[test]
fn stores_are_named_by_the_place_of_their_data() {
    let declaration = Regex::new(r"(?m)^pub struct (\w+)").expect("an expression");
    let (mut public, mut found) = (BTreeSet::new(), BTreeSet::new());
    for (_, text) in crates() {
        public.extend(declaration.captures_iter(&text).map(|name| name[1].to_owned()));
        found.extend(stores(&text));
    }
    found.retain(|name| public.contains(name));
    for name in ["MemoryRecords", "FileSecrets", "Postgres", "SqliteDocuments"] {
        assert!(found.contains(name), "{found:?}");
    }
    for (name, _) in OTHER_STORES {
        assert!(found.contains(name), "`{name}` is no store");
    }
    found.retain(|name| !is_store_name(name));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn identifier_rules_find_violations() {
    let code = "/// impl Records for A {}\nimpl<T> records::Records for B<T> {\n}\n\
        impl PinStore for PinFile {}\nimpl From<Records> for C {}\n";
    assert_eq!(stores(code), ["B", "PinFile"]);
    assert!(is_store_name("FilePins") && is_store_name("Sqlite") && !is_store_name("PinFile"));
    for (code, expected) in [
        ("fn told() {}", &["told"][..]),
        ("const SAID: u8 = 1; struct TellsWhy { kept: bool }", &["SAID", "TellsWhy", "kept"]),
        ("fn f(one: u8, other: u8) {}", &["one"]),
        ("let (mut seen, b) = f(\"told\");", &["seen"]),
        ("let Some(asked) = x else { return };", &["asked"]),
        ("for (name, shown) in told {}", &["shown"]),
        ("a.map(|said| said)", &["said"]),
        ("match a { Some(gone) => gone }", &["gone"]),
        ("match a { (Some(B { c: own, .. }), is) if held => d }", &["own", "is"]),
        ("a.map(|(B { c: Some(sent) }, many)| own)", &["sent", "many"]),
        ("fn f((wanted, b): (u8, u8), then: fn(u8)) {}", &["wanted", "then"]),
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
}
