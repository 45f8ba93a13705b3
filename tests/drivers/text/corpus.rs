//! The cases of `formats/<format>.txt`: the text of a model and the expected result.
//!
//! `# name` at the top names the formats of the file. `=== name` begins a case, followed by its
//! text. Then come `--- calls`, with a line for each call (the tool and its decoded arguments),
//! `--- text` with the remaining text, if any, and `--- thought` with the reasoning. Without `---
//! calls` the case has no calls, and without any section the remaining text is the text itself.
//! After a tool's name, `unknown` marks a tool that is not offered, `cut` marks arguments without
//! an end, which only some tools take, and `unreadable` arguments that no tool takes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tool_runtime::drivers::text::ParsedText;
use tool_runtime::json::parse_as;
use tool_runtime::{ToolCall, ToolDefinition};

#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The number of the first line.
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) calls: String,
    remaining_text: Option<String>,
    reasoning: String,
}

/// Returns the files of all formats.
pub(crate) fn files() -> Vec<PathBuf> {
    files_of("formats")
}

/// Returns the files of a folder.
pub(crate) fn files_of(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/text").join(folder);
    let entries = fs::read_dir(folder).expect("a folder");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|kind| kind == "txt")).collect();
    files.sort();
    files
}

impl Case {
    pub(crate) fn all(file: &Path) -> Vec<Self> {
        let mut cases: Vec<Self> = Vec::new();
        let mut section = "";
        for (at, line) in fs::read_to_string(file).expect("text").lines().enumerate() {
            if let Some(name) = line.strip_prefix("=== ") {
                cases.push(Self { name: name.into(), line: at + 1, ..Self::default() });
                section = "";
                continue;
            }
            let Some(case) = cases.last_mut() else { continue };
            if ["--- calls", "--- text", "--- thought"].contains(&line) {
                section = line;
                if section == "--- text" {
                    case.remaining_text = Some(String::new());
                }
                continue;
            }
            let part = match section {
                "" => &mut case.text,
                "--- calls" => &mut case.calls,
                "--- text" => {
                    case.remaining_text.as_mut().expect("an earlier line starts the section")
                }
                _ => &mut case.reasoning,
            };
            part.push_str(line);
            part.push('\n');
        }
        for case in &mut cases {
            // The line break before the next section is not part of the text.
            case.text.pop();
            if let Some(remaining_text) = &mut case.remaining_text {
                remaining_text.pop();
            }
            let is_text = case.calls.is_empty() && case.reasoning.is_empty();
            case.remaining_text
                .get_or_insert_with(|| if is_text { case.text.clone() } else { String::new() });
        }
        cases
    }

    pub(crate) fn expected(&self) -> String {
        let remaining_text = self.remaining_text.as_deref().unwrap_or_default();
        format!("{}text: {remaining_text:?}\nthought: {:?}", self.calls, self.reasoning.trim())
    }

    pub(crate) fn describe(&self, read: &ParsedText, tools: &[ToolDefinition]) -> String {
        let mut calls = String::new();
        for call in &read.calls {
            let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else {
                calls += &format!("{} unknown {}\n", call.name, any_value(call));
                continue;
            };
            let parsed = parse_as(&call.arguments.to_text(), tool.parameters.as_value());
            calls += &match parsed {
                // Tools that change something refuse both.
                Ok(parsed) if parsed.truncated || call.is_doubtful => {
                    format!("{} cut {}\n", call.name, parsed.value)
                }
                Ok(parsed) => format!("{} {}\n", call.name, parsed.value),
                Err(_) => format!("{} unreadable\n", call.name),
            };
        }
        format!("{calls}text: {:?}\nthought: {:?}", read.text, read.reasoning)
    }
}

/// Returns the arguments of a call of an unknown tool.
fn any_value(call: &ToolCall) -> String {
    let parsed = parse_as(&call.arguments.to_text(), &Value::Bool(true));
    parsed.map_or_else(|_| "unreadable".to_owned(), |parsed| parsed.value.to_string())
}
