//! Reads the prose of files: comments, docstrings, messages of errors, names of tests.

use regex_lite::Regex;

/// A paragraph, or one message, with its lines.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Prose {
    /// The text; its lines are joined by one space each.
    pub(crate) text: String,
    /// Where each line starts in the text, and its number in the file, from 1.
    lines: Vec<(usize, usize)>,
}

impl Prose {
    /// Creates a text of one line.
    fn line(number: usize, text: impl Into<String>) -> Self {
        Self { text: text.into(), lines: vec![(0, number)] }
    }

    fn push(&mut self, number: usize, line: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        self.text.push_str(line.trim());
    }

    /// Returns the line of the file at which an offset of the text is.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        let line = self.lines.iter().rev().find(|(start, _)| *start <= offset);
        line.map_or(1, |(_, number)| *number)
    }
}

/// Joins lines that follow one another into paragraphs, which end at an empty line.
fn paragraphs<'t>(lines: impl IntoIterator<Item = (usize, &'t str)>) -> Vec<Prose> {
    let mut found: Vec<Prose> = Vec::new();
    let mut next = 0;
    for (number, line) in lines {
        if line.trim().is_empty() {
            continue;
        }
        match found.last_mut() {
            Some(paragraph) if number == next => paragraph.push(number, line),
            _ => found.push(Prose::line(number, line.trim())),
        }
        next = number + 1;
    }
    found
}

/// Returns the paragraphs of a page of text.
pub(crate) fn page(text: &str) -> Vec<Prose> {
    paragraphs(text.lines().enumerate().map(|(at, line)| (at + 1, line)))
}

/// Returns the comments of a Rust file, without code in doc comments.
pub(crate) fn comments(text: &str) -> Vec<Prose> {
    let mut is_code = false;
    let mut lines = Vec::new();
    let mut trailing = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let code = line.trim_start();
        if let Some(comment) = code.strip_prefix("//") {
            let comment = comment.trim_start_matches(['/', '!']);
            if comment.trim_start().starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                lines.push((at + 1, comment));
            }
        } else {
            is_code = false;
            if let Some((before, comment)) = code.split_once(" // ")
                && before.matches('"').count() % 2 == 0
            {
                trailing.push(Prose::line(at + 1, comment));
            }
        }
    }
    let mut found = paragraphs(lines);
    found.extend(trailing);
    found
}

/// Returns the comments of a file in which `#` starts one: Python, shell, TOML or YAML. Python's
/// docstrings are comments too.
pub(crate) fn hash_comments(text: &str) -> Vec<Prose> {
    let mut is_docstring = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let code = line.trim_start();
        let quotes = line.matches("\"\"\"").count();
        if is_docstring || code.starts_with("\"\"\"") {
            is_docstring ^= quotes % 2 == 1;
            lines.push((at + 1, code));
        } else if let Some(comment) = code.strip_prefix('#').filter(|_| !code.starts_with("#!")) {
            lines.push((at + 1, comment));
        } else if let Some((before, comment)) = code.split_once(" # ")
            && before.matches(['"', '\'']).count() % 2 == 0
        {
            lines.push((at + 1, comment));
        }
    }
    paragraphs(lines)
}

/// The inside of a string literal.
const LITERAL: &str = r#"((?:[^"\\]|\\(?s:.))*)"#;

/// Returns the inner text of literals that follow a pattern, as the compiler reads them.
fn literals_after(pattern: &str, text: &str) -> Vec<(usize, String)> {
    let literal = Regex::new(&format!("{pattern}\"{LITERAL}\"")).expect("an expression");
    let break_ = Regex::new(r"\\\n\s*").expect("an expression");
    let found = literal.captures_iter(text);
    found
        .map(|found| {
            (found.get(1).expect("inside").start(), break_.replace_all(&found[1], "").into_owned())
        })
        .collect()
}

/// Returns the part of a Rust file before its module of tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// Returns the messages of errors in a Rust file:
///
/// - those of `#[error("…")]` and of `#[diagnostic::on_unimplemented(…)]`;
/// - literals in the `Display` of a type that implements `Error`;
/// - literals with which an error of the setup or a `syn::Error` is created.
pub(crate) fn error_messages(text: &str) -> Vec<Prose> {
    let text = without_tests(text);
    let mut found = Vec::new();
    // An expression is slow, so it runs only on files that hold a part of it.
    for (part, pattern) in [
        ("#[error(", r"#\[error\(\s*"),
        ("on_unimplemented", r"(?m)^    (?:message|label|note) = "),
        ("Setup(", r"\bSetup\((?:format!\()?\s*"),
        ("Unrecorded(", r"\bUnrecorded\((?:format!\()?\s*"),
        ("TransitionError::new(", r"\bTransitionError::new\((?:format!\()?\s*"),
        ("Error::new", r"\bError::new(?:_spanned)?\([^;]*?,\s*(?:format!\()?\s*"),
    ] {
        if text.contains(part) {
            found.extend(literals_after(pattern, text));
        }
    }
    if !text.contains("Error for ") {
        return located(text, found);
    }
    let error = Regex::new(r"(?m)^impl.* (?:\w+::)*Error for (\w+)").expect("an expression");
    for name in error.captures_iter(text) {
        let display = Regex::new(&format!(r"(?m)^impl.*Display for {}\b", &name[1]));
        let Some(start) = display.expect("an expression").find(text) else { continue };
        let block = text[start.end()..].split("\n}").next().unwrap_or_default();
        let literals = literals_after("", block);
        found.extend(literals.into_iter().map(|(at, message)| (start.end() + at, message)));
    }
    located(text, found)
}

/// Returns the messages of a procedural macro: all literals of more than one word.
pub(crate) fn macro_messages(text: &str) -> Vec<Prose> {
    let text = without_tests(text);
    let mut code = String::new();
    for line in text.lines() {
        let is_comment = line.trim_start().starts_with("//");
        // Quotes in comments are no literals. The length stays, for the numbers of lines.
        let blank = || " ".repeat(line.len());
        code.push_str(&if is_comment { blank() } else { line.replace("'\"'", "   ") });
        code.push('\n');
    }
    let mut found = literals_after("", &code);
    found.retain(|(_, message)| message.contains(' '));
    located(&code, found)
}

fn located(text: &str, found: Vec<(usize, String)>) -> Vec<Prose> {
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    found.into_iter().map(|(at, message)| Prose::line(line_of(at), message)).collect()
}

/// Returns the string literals of an assertion, a panic or an `expect` on one line.
pub(crate) fn panic_messages(text: &str) -> Vec<Prose> {
    let call = Regex::new(r"(?:assert\w*!|panic!|unreachable!|\.expect)\((.*)").expect("it");
    let literal = Regex::new(r#""((?:[^"\\]|\\.)*)"\)*[;,]?$"#).expect("an expression");
    let message = |line: &str| {
        let arguments = call.captures(line)?.get(1)?.as_str().to_owned();
        Some(literal.captures(&arguments)?[1].to_owned())
    };
    let lines = text.lines().enumerate();
    lines.filter_map(|(at, line)| Some(Prose::line(at + 1, message(line)?))).collect()
}

/// Returns the names of the tests of a Rust file, as words.
pub(crate) fn test_names(text: &str) -> Vec<Prose> {
    let name = Regex::new(r"fn (\w+)\(").expect("an expression");
    let lines: Vec<_> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if !(line.trim_start().starts_with("#[test]") || line.contains("#[tokio::test")) {
            continue;
        }
        let function = lines.iter().enumerate().skip(at).find_map(|(at, line)| {
            let name = name.captures(line)?;
            Some(Prose::line(at + 1, name[1].replace('_', " ")))
        });
        found.extend(function);
    }
    found
}

#[test]
fn prose_is_read_with_its_lines() {
    let read = |found: Vec<Prose>| -> Vec<(usize, String)> {
        found.into_iter().map(|prose| (prose.line_at(0), prose.text)).collect()
    };
    let owned = |found: &[(usize, &str)]| -> Vec<(usize, String)> {
        found.iter().map(|(line, text)| (*line, (*text).to_owned())).collect()
    };
    let code = "/// Runs, and\n/// on.\n///\n/// Ends.\n/// ```\n/// // nobody\n/// ```\nlet a = 1; // one\n";
    assert_eq!(read(comments(code)), owned(&[(1, "Runs, and on."), (4, "Ends."), (8, "one")]));
    assert_eq!(comments(code)[0].line_at(10), 2);
    let script = "#!/bin/sh\n# Goes\n# on.\nrun a # b\nd = '# no'\n\"\"\"Does\nit.\"\"\"\nx = 1\n";
    let expected = [(2, "Goes on. b"), (6, "\"\"\"Does it.\"\"\"")];
    assert_eq!(read(hash_comments(script)), owned(&expected));
    let errors = "#[error(\n    \"Is \\\n     told.\"\n)]\nstruct E;\n\nimpl Error for F {}\n\n\
        impl fmt::Display for F {\n    fn fmt() {\n        write!(f, \"It \\\"is\\\".\")\n    }\n}\n\
        fn f() {\n    syn::Error::new(span, \"No.\")\n}\nlet text = \"not an error.\";\n";
    let expected = [(2, "Is told."), (15, "No."), (11, "It \\\"is\\\".")];
    assert_eq!(read(error_messages(errors)), owned(&expected));
    let messages = "// it's \"no text\"\nerrors.at(a, \"two \\\n  words\");\nname == \"one\"\n";
    assert_eq!(read(macro_messages(messages)), owned(&[(2, "two words")]));
    let test = "#[test]\nfn nobody_is_told() {}\n";
    assert_eq!(read(test_names(test)), owned(&[(2, "nobody is told")]));
}
