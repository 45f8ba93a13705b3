//! The cases of `formats/<format>.txt`: what a model wrote, and what comes out of it.
//!
//! `# name` at the top says which formats they are of. `=== name` begins a case, and its text follows; then
//! `--- calls` and a line for each call, its tool and its arguments as they are decoded; then `--- text` and
//! what remains, if that is anything, and `--- thought` and what the model thought. Without `--- calls` there
//! is none, and without any section what remains is the text itself. Behind a tool's name `cut` says that
//! the arguments have no end, so that only some tools take them, and `unreadable` that none does.

use std::fs;
use std::path::{Path, PathBuf};

use tool_runtime::ToolDefinition;
use tool_runtime::drivers::text::Reading;
use tool_runtime::json::parse_as;

#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The number of its first line.
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) calls: String,
    remains: Option<String>,
    thought: String,
}

/// The cases of all formats.
pub(crate) fn files() -> Vec<PathBuf> {
    files_of("formats")
}

/// Those of a folder.
pub(crate) fn files_of(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers").join(folder);
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
                    case.remains = Some(String::new());
                }
                continue;
            }
            let part = match section {
                "" => &mut case.text,
                "--- calls" => &mut case.calls,
                "--- text" => case.remains.as_mut().expect("its section has begun"),
                _ => &mut case.thought,
            };
            part.push_str(line);
            part.push('\n');
        }
        for case in &mut cases {
            // The line break before the next line that is no text.
            case.text.pop();
            if let Some(remains) = &mut case.remains {
                remains.pop();
            }
            let is_text = case.calls.is_empty() && case.thought.is_empty();
            case.remains
                .get_or_insert_with(|| if is_text { case.text.clone() } else { String::new() });
        }
        cases
    }

    pub(crate) fn expected(&self) -> String {
        let remains = self.remains.as_deref().unwrap_or_default();
        format!("{}text: {remains:?}\nthought: {:?}", self.calls, self.thought.trim())
    }

    pub(crate) fn described(&self, read: &Reading, tools: &[ToolDefinition]) -> String {
        let mut said = String::new();
        for call in &read.calls {
            let tool = tools.iter().find(|tool| tool.name == call.name).expect("an offered tool");
            let parsed = parse_as(&call.arguments.to_text(), tool.parameters.as_value());
            said += &match parsed {
                Ok(parsed) if parsed.truncated => format!("{} cut {}\n", call.name, parsed.value),
                Ok(parsed) => format!("{} {}\n", call.name, parsed.value),
                Err(_) => format!("{} unreadable\n", call.name),
            };
        }
        format!("{said}text: {:?}\nthought: {:?}", read.text, read.reasoning)
    }
}
