//! Shows the approver the exact command and its sandbox.

use serde::Deserialize;
use serde_json::Value;
use tool_core::async_trait;
use tool_core::dispatch::{ApprovalRequest, Previewer};
use tool_core::message::visible;

use crate::Shell;
use crate::command::Command;
use tool_core::__workspace::first_bytes;

/// The most bytes of an input in a preview, so that it does not displace the command.
const MAX_INPUT_LEN: usize = 64 * 1024;

/// The arguments of a tool that runs something.
#[derive(Deserialize)]
struct Arguments {
    command: Option<String>,
    argv: Option<Vec<String>>,
    input: Option<String>,
    process: Option<u32>,
    #[serde(default)]
    close: bool,
}

impl Shell {
    /// Returns the command of a call that has not run, and its sandbox; `None` if the tool does not
    /// belong to this `Shell`, or runs nothing.
    ///
    /// The lines of a command or an input after its first begin with `> `. Of a long input, the
    /// first 64 KiB are shown.
    ///
    /// Characters that could deceive a person, such as those that control a terminal, are made
    /// [visible]. As a [`Previewer`] of a policy, `Shell` shows the
    /// text to the approver.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::shell::{Sandbox, Shell};
    ///
    /// # if cfg!(not(unix)) { return }
    /// let shell = Shell::new(".", Sandbox::none());
    /// assert_eq!(
    ///     shell.preview_of("shell_exec", &json!({"argv": ["ls", "a b"]})).unwrap(),
    ///     "$ ls 'a b'\nsandbox: none: commands have all rights of the program",
    /// );
    /// ```
    pub fn preview_of(&self, tool: &str, arguments: &Value) -> Option<String> {
        self.preview_text(tool, arguments).map(|text| visible(&text).into_owned())
    }

    /// Returns the preview with the characters as they are, so that secrets can be found in it.
    fn preview_text(&self, tool: &str, arguments: &Value) -> Option<String> {
        let arguments = Arguments::deserialize(arguments).ok()?;
        let action = match tool {
            "shell_exec" | "shell_start" => {
                let command = match Command::new(arguments.command, arguments.argv) {
                    Ok(command) => command.text(),
                    Err(error) => return Some(error.text().to_owned()),
                };
                let command = continued(&command);
                match arguments.input {
                    Some(input) => format!("$ {command}\ninput: {}", shown_input(input)),
                    None => format!("$ {command}"),
                }
            }
            "shell_input" => {
                let number = arguments.process?;
                let command = self.0.processes.command(number).unwrap_or_default();
                let command = continued(&command);
                let input = shown_input(arguments.input.unwrap_or_default());
                let end = if arguments.close { "\nthen its standard input is closed" } else { "" };
                format!("input: {input}\nto process {number}: $ {command}{end}")
            }
            _ => return None,
        };
        let sandbox = match self.check() {
            Ok(status) => format!("sandbox: {status}"),
            Err(error) => error.to_string(),
        };
        Some(format!("{action}\n{sandbox}"))
    }
}

/// Marks the lines after the first as a shell does, so that none looks like a part of the preview.
fn continued(text: &str) -> String {
    text.replace('\n', "\n> ")
}

fn shown_input(input: String) -> String {
    continued(&first_bytes(input, MAX_INPUT_LEN))
}

#[async_trait]
impl Previewer for Shell {
    async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
        self.preview_text(&request.tool.name, &request.arguments)
    }
}
