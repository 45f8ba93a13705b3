//! Texts of models and what is read from them, as data: `corpus/<class>/<topic>.txt`.
//!
//! A file holds cases. `=== name` begins one; its input follows, then, if it has one, `--- schema`
//! and the schema, then `--- expect` and what comes out: the value and a line for each fix, or the
//! kind of refusal, its place and its words. Every line before is input, the last line break
//! excepted; `\u{…}` stands for a character that would not be seen.
//!
//! `UPDATE=1 cargo test --test repair` writes the expectations anew. Read the difference.

use std::{env, fmt::Write, fs, path::Path};

use tool_runtime::json::{Level, Parsed, Unreadable, parse, parse_as};

const CASE: &str = "=== ";
const SCHEMA: &str = "--- schema";
const EXPECT: &str = "--- expect";

struct Case {
    name: String,
    input: String,
    schema: Option<String>,
    expect: String,
}

fn cases(file: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut section = CASE;
    for line in file.lines() {
        if let Some(name) = line.strip_prefix(CASE) {
            cases.push(Case {
                name: name.into(),
                input: String::new(),
                schema: None,
                expect: String::new(),
            });
            section = CASE;
            continue;
        }
        let case = cases.last_mut().expect("a file begins with a case");
        let text = match (section, line) {
            (CASE, SCHEMA) => {
                case.schema = Some(String::new());
                section = SCHEMA;
                continue;
            }
            (_, EXPECT) => {
                section = EXPECT;
                continue;
            }
            (CASE, _) => &mut case.input,
            (SCHEMA, _) => case.schema.as_mut().expect("its section has begun"),
            _ => &mut case.expect,
        };
        text.push_str(line);
        text.push('\n');
    }
    for case in &mut cases {
        case.input.pop();
        case.expect = case.expect.trim_end().into();
    }
    cases
}

/// `\u{feff}` in the file, so that it can be seen there, is the character in the text.
fn visible(text: &str) -> String {
    let mut parts = text.split(r"\u{");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('}').expect("the code ends with a brace");
        let code = u32::from_str_radix(code, 16).expect("the code is hexadecimal");
        shown.push(char::from_u32(code).expect("the code is a character"));
        shown.push_str(rest);
    }
    shown
}

fn outcome(text: &str, result: &Result<Parsed, Unreadable>) -> String {
    let mut out = String::new();
    match result {
        Ok(parsed) => {
            write!(out, "{}", parsed.value).unwrap();
            for fix in &parsed.fixes {
                let span = fix.span.clone();
                write!(out, "\n{:?} {span:?} {:?}", fix.kind, &text[span.clone()]).unwrap();
            }
        }
        Err(error) => write!(out, "{:?} at {}\n{error}", error.kind(), error.offset()).unwrap(),
    }
    out
}

/// What a class promises, whatever the expectations say.
fn keeps_promise(class: &str, text: &str, result: &Result<Parsed, Unreadable>) -> bool {
    match (class, result) {
        ("valid", Ok(parsed)) => {
            parsed.level() == Level::Strict
                && serde_json::from_str(text).ok().as_ref() == Some(&parsed.value)
        }
        ("ambiguous", Err(error)) => error.is_ambiguous(),
        ("refused", Err(error)) => !error.is_ambiguous(),
        ("encoded", Ok(_)) => true,
        ("valid" | "ambiguous" | "refused", _) | (_, Err(_)) => false,
        (_, Ok(parsed)) => parsed.level() == Level::Wrapping,
    }
}

#[test]
fn every_case_reads_as_written() {
    let update = env::var_os("UPDATE").is_some();
    let (mut count, mut wrong) = (0, Vec::new());
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for class in fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()) {
        let class_name = class.file_name().unwrap().to_string_lossy().into_owned();
        for path in fs::read_dir(&class).unwrap().map(|entry| entry.unwrap().path()) {
            if path.extension().is_none_or(|extension| extension != "txt") {
                continue;
            }
            let mut written = String::new();
            for case in cases(&fs::read_to_string(&path).unwrap()) {
                count += 1;
                let text = visible(&case.input);
                let result = match &case.schema {
                    Some(schema) => parse_as(&text, &serde_json::from_str(schema).unwrap()),
                    None => parse(&text),
                };
                let got = outcome(&text, &result);
                let at = format!("{} in {}", case.name, path.display());
                if !keeps_promise(&class_name, &text, &result) {
                    wrong.push(format!("{at} does not belong to its class:\n{got}"));
                } else if !update && got != case.expect {
                    wrong.push(format!("{at}\nexpected:\n{}\ngot:\n{got}", case.expect));
                }
                let schema =
                    case.schema.map(|schema| format!("{SCHEMA}\n{schema}")).unwrap_or_default();
                writeln!(written, "{CASE}{}\n{}\n{schema}{EXPECT}\n{got}\n", case.name, case.input)
                    .unwrap();
            }
            if update {
                fs::write(&path, written).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count >= 120, "only {count} cases were found");
}
