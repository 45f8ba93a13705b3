//! The cases of `corpus/<class>/<topic>.txt`: texts of models and what is read from them.
//!
//! `=== name` begins a case; its input follows, then, if it has one, `--- schema` and the schema,
//! then `--- expect` and what comes out. Every line before is input, the last line break excepted;
//! `\u{…}` stands for a character that would not be seen.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const CASE: &str = "=== ";
pub(crate) const SCHEMA: &str = "--- schema";
pub(crate) const EXPECT: &str = "--- expect";

/// One case as its file has it.
#[derive(Default)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The number of its first line.
    pub(crate) line: usize,
    pub(crate) input: String,
    pub(crate) schema: Option<String>,
    pub(crate) expect: String,
}

impl Case {
    /// The text that is read: `\u{feff}` in the file, so that it can be seen there, is the character.
    pub(crate) fn text(&self) -> String {
        let mut parts = self.input.split(r"\u{");
        let mut shown = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (code, rest) = part.split_once('}').expect("the code ends with a brace");
            let code = u32::from_str_radix(code, 16).expect("the code is hexadecimal");
            shown.push(char::from_u32(code).expect("the code is a character"));
            shown.push_str(rest);
        }
        shown
    }
}

/// Every file with its class, in an order that stays.
pub(crate) fn files() -> Vec<(String, PathBuf)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files = Vec::new();
    for class in paths(&corpus) {
        let name = class.file_name().expect("a folder").to_string_lossy().into_owned();
        // Data of other tests is of another kind.
        let cases = paths(&class)
            .into_iter()
            .filter(|file| file.extension().is_some_and(|kind| kind == "txt"));
        files.extend(cases.map(|file| (name.clone(), file)));
    }
    files
}

fn paths(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// The cases of one file.
pub(crate) fn cases(file: &Path) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut section = CASE;
    for (at, line) in fs::read_to_string(file).expect("text").lines().enumerate() {
        if let Some(name) = line.strip_prefix(CASE) {
            cases.push(Case { name: name.into(), line: at + 1, ..Case::default() });
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
