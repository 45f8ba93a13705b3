//! Language: the words of docs, comments, error messages and names of tests.
//!
//! The rules are those of the glossary in `tool-runtime/src/docs/design/glossary.md`. String
//! literals are not read, because they hold texts for the model; messages of errors are.

use regex_lite::Regex;

use super::files::{files, relative, sources};

/// Folders whose prose is checked.
const FOLDERS: [&str; 4] = ["tool-macros", "tool-runtime", "examples", "tests"];

/// Words that have a replacement in the language of the field.
const BANNED: [&str; 16] = [
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
];

/// The most columns of a line of prose.
const MOST_COLUMNS: usize = 100;

fn banned() -> Regex {
    Regex::new(&format!(r"(?i)\b({})\b", BANNED.join("|"))).expect("an expression")
}

/// Returns the comments of a Rust file with their lines, without code in doc comments.
fn comments(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if let Some(comment) = code.strip_prefix("//") {
            if comment.trim_start_matches(['/', '!']).trim_start().starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                found.push((at + 1, comment.trim_start_matches(['/', '!'])));
            }
        } else {
            is_code = false;
            if let Some((before, comment)) = code.split_once(" // ")
                && before.matches('"').count() % 2 == 0
            {
                found.push((at + 1, comment));
            }
        }
    }
    found
}

/// Returns the messages of errors in a Rust file with their lines: `#[error("…")]`.
fn error_messages(text: &str) -> Vec<(usize, String)> {
    let message = Regex::new(r#"#\[error\(\s*"((?:[^"\\]|\\.)*)""#).expect("an expression");
    let line_of = |at: usize| text[..at].lines().count().max(1);
    let found = message.captures_iter(text);
    found.map(|it| (line_of(it.get(0).expect("all").start()), it[1].to_owned())).collect()
}

/// Returns the string literals of an assertion, a panic or an `expect` on one line, with the line.
fn panic_messages(text: &str) -> Vec<(usize, String)> {
    let call = Regex::new(r"(?:assert\w*!|panic!|unreachable!|\.expect)\((.*)").expect("it");
    let literal = Regex::new(r#""((?:[^"\\]|\\.)*)"\)?;?$"#).expect("an expression");
    let message = |line: &str| {
        let arguments = call.captures(line)?.get(1)?.as_str().to_owned();
        Some(literal.captures(&arguments)?[1].to_owned())
    };
    let lines = text.lines().enumerate();
    lines.filter_map(|(at, line)| Some((at + 1, message(line)?))).collect()
}

/// Returns the names of the tests of a Rust file with their lines, as words.
fn test_names(text: &str) -> Vec<(usize, String)> {
    let name = Regex::new(r"fn (\w+)\(").expect("an expression");
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if !(line.trim_start().starts_with("#[test]") || line.contains("#[tokio::test")) {
            continue;
        }
        let function = lines.iter().enumerate().skip(at).find_map(|(at, line)| {
            let name = name.captures(line)?;
            Some((at + 1, name[1].replace('_', " ")))
        });
        found.extend(function);
    }
    found
}

#[test]
fn prose_uses_the_words_of_the_field() {
    let banned = banned();
    let mut violations = Vec::new();
    for (path, text) in FOLDERS.into_iter().flat_map(sources) {
        // These files hold the words themselves.
        if path.ends_with("tests/tidy/language.rs") {
            continue;
        }
        let comments = comments(&text).into_iter().map(|(line, text)| (line, text.to_owned()));
        let prose = comments.chain(error_messages(&text)).chain(test_names(&text));
        let is_program = !path.starts_with(super::files::root().join("tool-runtime/src"));
        let messages = if is_program { panic_messages(&text) } else { Vec::new() };
        let prose = prose.chain(messages);
        for (line, prose) in prose {
            for word in banned.find_iter(&prose) {
                violations.push(format!("{}:{line}: `{}`", relative(&path), word.as_str()));
            }
        }
    }
    let pages = FOLDERS.into_iter().filter(|folder| *folder == "tool-runtime");
    for (path, text) in pages.flat_map(|folder| files(folder, &["md"])) {
        for (line, prose) in text.lines().enumerate() {
            for word in banned.find_iter(prose) {
                violations.push(format!("{}:{}: `{}`", relative(&path), line + 1, word.as_str()));
            }
        }
    }
    assert!(violations.is_empty(), "{} places:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn error_messages_start_lower_case_and_end_without_a_full_stop() {
    let mut violations = Vec::new();
    for (path, text) in ["tool-runtime", "tool-macros"].into_iter().flat_map(sources) {
        for (line, message) in error_messages(&text) {
            // A name, an acronym or a placeholder may come first.
            let mut chars = message.chars();
            let is_capital = chars.next().is_some_and(char::is_uppercase)
                && chars.next().is_some_and(char::is_lowercase);
            if is_capital || message.ends_with('.') {
                violations.push(format!("{}:{line}: {message}", relative(&path)));
            }
        }
    }
    assert!(violations.is_empty(), "{} places:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn prose_wraps_at_the_agreed_column() {
    let mut violations = Vec::new();
    for (path, text) in FOLDERS.into_iter().flat_map(sources) {
        for (at, line) in text.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            if is_comment && is_too_long(line) {
                violations.push(format!("{}:{}", relative(&path), at + 1));
            }
        }
    }
    let mut pages = files("tool-runtime", &["md"]);
    let readme = super::files::root().join("README.md");
    let text = std::fs::read_to_string(&readme).expect("the README");
    pages.push((readme, text));
    for (path, text) in pages {
        for (at, line) in text.lines().enumerate() {
            if is_too_long(line) {
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

#[test]
fn language_rules_find_violations() {
    let banned = banned();
    assert!(banned.is_match("Whoever resumes a run"));
    assert!(banned.is_match("the model is told of it"));
    assert!(!banned.is_match("the dispatcher reports it"));
    let code = "/// Runs.\n/// ```\n/// // nobody\n/// ```\nlet a = 1; // somebody\n";
    assert_eq!(comments(code), [(1, " Runs."), (5, "somebody")]);
    let error = "#[error(\n    \"Is told.\")]\nstruct E;";
    assert_eq!(error_messages(error), [(1, "Is told.".to_owned())]);
    let test = "#[test]\nfn nobody_is_told() {}\n";
    assert_eq!(test_names(test), [(2, "nobody is told".to_owned())]);
    assert!(is_too_long(&format!("// {}", "word ".repeat(30))));
    assert!(!is_too_long(&format!("| {} |", "word ".repeat(30))));
}
