//! Errors of scripts, as texts for the model that wrote the body.

use tool_core::{ToolError, ToolErrorKind};

use super::advice::line_advice;
use super::limits::{MAX_LINE_CHARS, MAX_MEMORY_BYTES, MAX_OUTPUT_BYTES};
use super::watch::Stop;

/// Why a script has no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptError {
    /// The script was stopped from outside.
    Stopped(Stop),
    /// The body threw, or can't be parsed.
    Exception {
        /// The name and the message of the exception.
        text: String,
        /// The line of the body, from 1.
        line: Option<usize>,
    },
    /// The script needs more memory than it has.
    OutOfMemory,
    /// The body waits for a promise that nothing can resolve.
    NeverResolves,
    /// The output has too many bytes.
    LargeOutput(usize),
    /// The output is no JSON.
    InvalidOutput(String),
}

impl ScriptError {
    /// Returns the error of a body that was not run.
    pub(super) fn of_body(&self, body: &str) -> ToolError {
        let text = self.text(body);
        ToolError::invalid_arguments(format!("The tool was not made. `body`: {text}"))
    }

    /// Returns the error of a call, with the text of the console.
    pub(super) fn of_call(&self, body: &str, console: &str) -> ToolError {
        let kind = match self {
            Self::Stopped(Stop::Deadline) => ToolErrorKind::Timeout,
            Self::Stopped(Stop::Cancelled) => ToolErrorKind::Cancelled,
            _ => ToolErrorKind::ExecutionFailed,
        };
        let mut text = format!("The body of the tool failed. {}", self.text(body));
        if !console.is_empty() {
            text.push_str("\nConsole:\n");
            text.push_str(console);
        }
        ToolError::new(kind, text)
    }

    fn text(&self, body: &str) -> String {
        match self {
            Self::Stopped(Stop::Deadline) => {
                "It ran longer than its time limit: do less work, or set `timeout_seconds`.".into()
            }
            Self::Stopped(Stop::Cancelled) => "The call was cancelled.".into(),
            Self::Exception { text, line } => match line {
                Some(number) => {
                    let line = line_of(body, *number);
                    let advice = line_advice(text, line).map(|advice| format!(". {advice}"));
                    let advice = advice.unwrap_or_default();
                    format!("{text}{advice}\n{}", quoted_line(line, *number))
                }
                None => text.clone(),
            },
            Self::OutOfMemory => {
                format!("It needs more than {} MiB of memory.", MAX_MEMORY_BYTES >> 20)
            }
            Self::NeverResolves => "It waits for a promise that never resolves. Only `call_tool` \
                                    and `fetch` return promises that are resolved later."
                .into(),
            Self::LargeOutput(bytes) => format!(
                "Its output has {bytes} bytes, and at most {MAX_OUTPUT_BYTES} are allowed: return \
                 less."
            ),
            Self::InvalidOutput(reason) => {
                format!("Its output can't be written as JSON: {reason}. Return plain data.")
            }
        }
    }
}

fn line_of(body: &str, number: usize) -> &str {
    body.lines().nth(number - 1).unwrap_or_default().trim()
}

/// Quotes a line of the body with its number.
fn quoted_line(line: &str, number: usize) -> String {
    let shortened: String = line.chars().take(MAX_LINE_CHARS).collect();
    let omitted = if shortened.len() < line.len() { " …" } else { "" };
    format!("at line {number}: `{shortened}{omitted}`")
}
