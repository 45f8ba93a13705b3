//! The cases of `corpus/<class>/<topic>.txt`: model texts and their expected values.
//!
//! A case begins with `=== name`. Its input follows, then an optional schema after `--- schema`,
//! then the expected value after `--- expect`. The input is every line before that, without the
//! last line break. `\u{…}` stands for an invisible character.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const CASE: &str = "=== ";
pub(crate) const SCHEMA: &str = "--- schema";
pub(crate) const EXPECT: &str = "--- expect";

/// One case, as it is written in its file.
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
    /// Returns the input with escapes such as `\u{feff}` replaced by their characters.
    pub(crate) fn text(&self) -> String {
        let mut parts = self.input.split(r"\u{");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (code, rest) = part.split_once('}').expect("the code ends with a brace");
            let code = u32::from_str_radix(code, 16).expect("the code is hexadecimal");
            text.push(char::from_u32(code).expect("the code is a character"));
            text.push_str(rest);
        }
        text
    }
}

/// Returns every file of a corpus with its class, in a stable order.
pub(crate) fn files(corpus: &str) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    for class in paths(Path::new(corpus)) {
        let name = class.file_name().expect("a folder").to_string_lossy().into_owned();
        files.extend(paths(&class).into_iter().map(|file| (name.clone(), file)));
    }
    files
}

fn paths(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// Parses the cases of one file.
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
