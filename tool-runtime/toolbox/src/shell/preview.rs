//! Shows the approver the exact command and its sandbox.

use serde::Deserialize;
use serde_json::Value;
use tool_runtime::async_trait;
use tool_runtime::dispatch::{ApprovalRequest, Previewer};

use super::Shell;
use super::command::Command;

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
    /// As a [`Previewer`] of a policy, `Shell` shows it to the approver.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_toolbox::{Sandbox, Shell};
    ///
    /// # if cfg!(not(unix)) { return }
    /// let shell = Shell::new(".", Sandbox::none());
    /// assert_eq!(
    ///     shell.preview_of("shell_exec", &json!({"argv": ["ls", "a b"]})).unwrap(),
    ///     "$ ls 'a b'\nsandbox: none: commands have all rights of the program",
    /// );
    /// ```
    pub fn preview_of(&self, tool: &str, arguments: &Value) -> Option<String> {
        let arguments = Arguments::deserialize(arguments).ok()?;
        let action = match tool {
            "shell_exec" | "shell_start" => {
                let command = match Command::new(arguments.command, arguments.argv) {
                    Ok(command) => command.text(),
                    Err(error) => return Some(error.text().to_owned()),
                };
                match arguments.input {
                    Some(input) => format!("$ {command}\ninput: {input}"),
                    None => format!("$ {command}"),
                }
            }
            "shell_input" => {
                let number = arguments.process?;
                let command = self.0.processes.command(number).unwrap_or_default();
                let input = arguments.input.unwrap_or_default();
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

#[async_trait]
impl Previewer for Shell {
    async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
        self.preview_of(&request.tool.name, &request.arguments)
    }
}
