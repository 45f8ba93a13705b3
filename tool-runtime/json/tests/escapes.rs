//! Backslashes that begin no JSON escape: a tool with side effects receives them as they were
//! written, or refuses the text.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use tool_json::{Options, Parsed, Risk, parse, parse_with};

/// Parses with the limit of tools that have side effects.
fn parse_for_write(text: &str) -> Option<Parsed> {
    parse_with(text, &Options::default().max_risk(Risk::Inferred)).ok()
}

/// The JSON of an object whose text escapes line breaks and double quotes, but no backslashes.
fn without_escaped_backslashes(key: &str, text: &str) -> String {
    let raw = text.replace('"', "\\\"").replace('\n', "\\n");
    format!("{{\"{key}\": \"{raw}\"}}")
}

/// Texts with backslashes before signs; none is a JSON escape.
fn texts() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "\\'", "\\`", "\\$", "\\(", "\\)", "\\!", "\\;", "\\ ", "\\.", "\\x41", "\\0", "\\e[1m",
        "\\d", "\\w", "'", "\"", "`", "$", "it", "s", "rm", " ", "-rf", "/tmp", "(", ")", "|",
        "\n", "x.txt", "é",
    ]);
    vec(piece, 1..10).prop_map(|pieces| pieces.concat())
}

/// Returns whether lines may be read as a path of Windows, in which `\n` is no line break:
/// `src\new\Util.rs`.
fn may_be_path(text: &str) -> bool {
    let is_of_path = |c: char| c.is_alphanumeric() || "\\\n.-".contains(c);
    text.contains('\\') && text.contains('\n') && text.chars().all(is_of_path)
}

/// Returns whether `read` is `written` without some backslashes before apostrophes in words.
fn lacks_only_apostrophes(written: &str, read: &str) -> bool {
    let mut read = read.chars().peekable();
    let mut before = ' ';
    let mut written = written.chars().peekable();
    while let Some(c) = written.next() {
        if read.peek() == Some(&c) {
            read.next();
            before = c;
            continue;
        }
        let is_escape = c == '\\' && written.next_if_eq(&'\'').is_some();
        let is_inside = before.is_alphabetic() && written.peek().is_some_and(|c| c.is_alphabetic());
        if !is_escape || !is_inside || read.next() != Some('\'') {
            return false;
        }
        before = '\'';
    }
    read.next().is_none()
}

#[test]
fn backslash_with_two_meanings_is_refused_for_write() {
    for raw in [
        r"it costs \$5",
        r"use \`foo\`",
        r"\'hello\' she said",
        r"the dogs\' bones",
        r"cat it\'s.txt",
        r"100\%",
        r"snake\_case",
        r"caf\xe9",
        r"\u{1F600}",
        r"a\0b",
        r"\033[1m",
        "one \\\ntwo",
        r"\ud800",
        r"he said 'it\'s'",
        r"see \(1\) below",
    ] {
        let text = format!("{{\"text\": \"{raw}\"}}");
        assert!(parse_for_write(&text).is_none(), "{raw}");
        let read = parse_with(&text, &Options::default()).unwrap();
        assert_eq!(read.value["text"], raw, "{raw}");
    }
}

#[test]
fn path_that_may_be_lines_of_code_is_refused_for_write() {
    for key in ["code", "command", "pattern", "text"] {
        for raw in [r"rm\nit\x41", r"bin\tool\0x", r"src\u0041b\x41"] {
            let text = format!("{{\"{key}\": \"{raw}\"}}");
            assert!(parse_for_write(&text).is_none(), "{key}: {raw}");
        }
        let text = format!("{{\"{key}\": \"src\\new\\Util.rs\"}}");
        assert_eq!(parse_for_write(&text).unwrap().value[key], r"src\new\Util.rs");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn command_arrives_as_written_or_is_refused(
        text in texts(),
        key in select(vec!["command", "shellCommand", "cmd", "argv", "bash_command"]),
    ) {
        prop_assume!(!may_be_path(&text));
        let json = without_escaped_backslashes(key, &text);
        if let Some(parsed) = parse_for_write(&json) {
            prop_assert_eq!(parsed.value, json!({key: text}), "{}", json);
        }
    }

    #[test]
    fn text_loses_only_backslashes_of_apostrophes(
        text in texts(),
        key in select(vec!["text", "content", "code", "pattern"]),
    ) {
        prop_assume!(!may_be_path(&text));
        let json = without_escaped_backslashes(key, &text);
        if let Some(parsed) = parse_for_write(&json) {
            let read = parsed.value[key].as_str().unwrap_or_default();
            prop_assert!(lacks_only_apostrophes(&text, read), "{} gave {}", json, read);
        }
    }
}

/// Texts with two quotes at one end, where one or the other may be superfluous.
#[test]
fn doubled_quote_at_one_end_is_never_kept() {
    let texts = [
        "2024-03-03",
        "24",
        "a 24",
        "5'10",
        "Oslo",
        "hello world",
        "100%",
        "what?",
        "x@y.z",
        "(a)",
    ];
    for text in texts {
        for quote in ['"', '\'', '”'] {
            for doubled in [format!("\"{text}\"\""), format!("\"\"{text}\"")] {
                let doubled = doubled.replace('"', &quote.to_string());
                for json in [
                    doubled.clone(),
                    format!("{{\"a\": {doubled}}}"),
                    format!("{{\"a\": {doubled}, \"b\": 1}}"),
                    format!("[{doubled}, 1]"),
                    format!("[{doubled}]"),
                ] {
                    let Ok(parsed) = parse_with(&json, &Options::default()) else { continue };
                    let value = &parsed.value;
                    let read = [value, &value["a"], &value[0]].into_iter().find_map(|v| v.as_str());
                    assert_eq!(read, Some(text), "{json}");
                }
            }
        }
    }
}

#[test]
fn escaped_quotes_in_paths_are_read_as_json_in_damaged_texts() {
    let contents = [
        r#"C:\""#,
        r#"C:\"\""#,
        r#"C:\"}"#,
        r#"C:\"\"}\\"#,
        r#"C:\"]\\"#,
        r#"C:\", \" b"#,
        r#"C:\\a\"}"#,
    ];
    for content in contents {
        let expected: Value = serde_json::from_str(&format!("\"{content}\"")).unwrap();
        for rest in [r#","n":1,"#, r#","n":1"#, r#","n":tru"#, r#","n":1,}"#, r#","n":[1"#, ",n:1}"]
        {
            let text = format!("{{\"a\":\"{content}\"{rest}");
            let Ok(parsed) = parse(&text) else { continue };
            let json: Value = serde_json::from_str(parsed.json()).unwrap();
            assert_eq!(json, parsed.value, "{text}");
            assert_eq!(parsed.value["a"], expected, "{text}");
        }
        let text = format!("{{\"a\":\"{content}\",\"n\":1,");
        assert!(parse(&text).is_ok(), "{text}");
    }
}
