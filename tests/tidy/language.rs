//! Language: the words of docs, comments, error messages and names of tests.
//!
//! `prose` reads them from Rust, Markdown, Python, shell, TOML and YAML. The rules are those of the
//! glossary in `tool-runtime/src/docs/design/glossary.md`. String literals are not read, because
//! they hold texts for the model; messages of errors are.

use std::fs;
use std::path::{Path, PathBuf};

use regex_lite::Regex;

use super::files::{files, relative, root, sources};
use super::prose::{
    Prose, comments, error_messages, hash_comments, macro_messages, page, panic_messages,
    test_names,
};

/// Folders whose prose is checked.
const FOLDERS: [&str; 4] = ["tool-macros", "tool-runtime", "examples", "tests"];

/// Folders of scripts and configuration beside them.
const HIDDEN_FOLDERS: [&str; 6] =
    [".ci", ".ci/runner", ".ci/steps/full", ".ci/steps/run", ".cargo", ".github/workflows"];

/// Files that hold the banned words.
const OWN_FILES: [&str; 2] = ["tests/tidy/language.rs", "tests/tidy/prose.rs"];

/// Words that have a replacement in the language of the field.
const BANNED: [&str; 20] = [
    r"whoever",
    r"somebody",
    r"nobody",
    r"those who watch",
    r"who watch(es)?",
    r"(is|are|was|were|be|being) told",
    r"(goes|go|gone|going|went) on with",
    r"(came|comes|come) of (it|what|them|that)",
    r"what became of",
    r"unless set",
    r"heed(s|ed)?",
    r"hears? of",
    r"hand(s|ed)? on",
    r"takes? along",
    r"let(s|ting)? go",
    r"lies? within",
    r"lies? too deep",
    r"stands? behind",
    r"(run|call|step|pause|script|story) is over",
    r"(an?|each|every) (\w+ )?\w+ of (its|their) own",
];

/// The most columns of a line of prose.
const MOST_COLUMNS: usize = 100;

fn banned() -> Regex {
    Regex::new(&format!(r"(?i)\b({})\b", BANNED.join("|"))).expect("an expression")
}

/// Reads which prose of a file: by its extension, or as a script if it has none.
fn prose(path: &Path, text: &str) -> Vec<Prose> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => {
            let place = relative(path);
            let is_library = place.starts_with("tool-runtime/") && place.contains("/src/");
            let is_macro = path.starts_with(root().join("tool-macros/src"));
            let mut found = comments(text);
            found.extend(error_messages(text));
            found.extend(test_names(text));
            // The library's own panics are read by hand: the other literals are for the model.
            found.extend(if is_library { Vec::new() } else { panic_messages(text) });
            found.extend(if is_macro { macro_messages(text) } else { Vec::new() });
            found
        }
        Some("md" | "stderr") => page(text),
        _ => hash_comments(text),
    }
}

/// Returns all files with prose: sources, pages, expected diagnostics, scripts and configuration.
fn files_with_prose() -> Vec<(PathBuf, String)> {
    let mut found: Vec<_> = FOLDERS
        .into_iter()
        .flat_map(|folder| files(folder, &["rs", "md", "stderr", "py", "toml", "yml", "yaml"]))
        .collect();
    let root = root();
    let scripts =
        HIDDEN_FOLDERS.iter().map(|folder| root.join(folder)).filter(|path| path.exists());
    for folder in scripts.chain([root.clone()]) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_lock = path.extension().is_some_and(|extension| extension == "lock");
            if path.is_file() && !is_lock {
                let text = fs::read_to_string(&path).expect("text");
                found.push((path, text));
            }
        }
    }
    found.retain(|(path, _)| {
        // These files hold the words themselves, or the words of lawyers.
        let name = relative(path);
        !OWN_FILES.contains(&name.as_str()) && !name.starts_with("LICENSE")
    });
    found
}

#[test]
fn prose_uses_the_words_of_the_field() {
    let banned = banned();
    let mut violations = Vec::new();
    for (path, text) in files_with_prose() {
        for prose in prose(&path, &text) {
            for word in banned.find_iter(&prose.text) {
                let line = prose.line_at(word.start());
                violations.push(format!("{}:{line}: `{}`", relative(&path), word.as_str()));
            }
        }
    }
    assert!(violations.is_empty(), "{} places:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn error_messages_start_lower_case_and_end_without_a_full_stop() {
    let mut violations = Vec::new();
    for (path, text) in ["tool-runtime", "tool-macros"].into_iter().flat_map(sources) {
        let is_macro = path.starts_with(root().join("tool-macros/src"));
        let messages = if is_macro { macro_messages(&text) } else { error_messages(&text) };
        for message in messages {
            if is_badly_formed(&message.text) {
                let line = message.line_at(0);
                violations.push(format!("{}:{line}: {}", relative(&path), message.text));
            }
        }
    }
    assert!(violations.is_empty(), "{} places:\n{}", violations.len(), violations.join("\n"));
}

/// Returns whether an error message starts with a capital or ends with a full stop. A name, an
/// acronym or a placeholder may come first.
fn is_badly_formed(message: &str) -> bool {
    let mut chars = message.chars();
    let is_capital = chars.next().is_some_and(char::is_uppercase)
        && chars.next().is_some_and(char::is_lowercase);
    is_capital || message.ends_with('.')
}

#[test]
fn prose_wraps_at_the_agreed_column_and_tables_do_not() {
    let mut violations = Vec::new();
    for (path, text) in files_with_prose() {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let is_prose = |line: &str| match extension {
            Some("rs") => line.trim_start().starts_with("//"),
            Some("md") => true,
            Some("stderr") => false,
            _ => line.trim_start().starts_with('#'),
        };
        for (at, line) in text.lines().enumerate() {
            if is_prose(line) && (is_too_long(line) || is_wrapped_table(line)) {
                violations.push(format!("{}:{}", relative(&path), at + 1));
            }
        }
    }
    assert!(violations.is_empty(), "{} lines:\n{}", violations.len(), violations.join("\n"));
}

/// Returns whether a line is over the limit and could be wrapped: rows of tables and lines without
/// a second word, such as links, can't.
fn is_too_long(line: &str) -> bool {
    let text = line.trim_start().trim_start_matches(['/', '!']).trim_start();
    let can_wrap = !text.starts_with('|') && !text.starts_with('[') && text.contains(' ');
    line.chars().count() > MOST_COLUMNS && can_wrap && !text.contains("](http")
}

/// Returns whether a line holds several rows of a table, as after the wrapping of a paragraph.
fn is_wrapped_table(line: &str) -> bool {
    line.contains("| |---")
}

#[test]
fn language_rules_find_violations() {
    let banned = banned();
    assert!(banned.is_match("Whoever resumes a run"));
    assert!(banned.is_match("the model is told of it"));
    assert!(!banned.is_match("the dispatcher reports it"));
    let wrapped = &comments("// The run is gone\n// on with.\n")[0];
    assert_eq!(banned.find(&wrapped.text).map(|word| wrapped.line_at(word.start())), Some(1));
    assert!(is_badly_formed("Is told") && is_badly_formed("is told."));
    assert!(!is_badly_formed("`name` is empty") && !is_badly_formed("HTTP status 404"));
    assert!(is_too_long(&format!("// {}", "word ".repeat(30))));
    assert!(!is_too_long(&format!("| {} |", "word ".repeat(30))));
    assert!(is_wrapped_table("   | a | b | |---|---| | c |") && !is_wrapped_table("|---|---|"));
}
