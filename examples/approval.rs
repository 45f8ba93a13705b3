//! Approvals: a person at the terminal decides which calls may run.
//!
//! Run it with `cargo run --example approval`. It needs no key and no network. A scripted model
//! wants to delete two files, and the program asks before each: y for yes, a for all, anything else
//! for no. If the input ends, every call is denied.

use std::io;

use tokio::task::spawn_blocking;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::{Agent, ChatReply, Policy, RunContext, ScriptedModel, async_trait, tool, tools};

/// Deletes a file.
#[tool(effect = "write", permission = "ask")]
async fn delete(path: String) -> String {
    // The example deletes nothing.
    format!("deleted {path}")
}

/// Asks the person at the terminal.
struct Terminal;

#[async_trait]
impl Approver for Terminal {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        let question =
            format!("{} {} [y/n/a] ", request.call.name, request.redacted_arguments_json());
        // Reading from the terminal blocks its thread.
        match spawn_blocking(move || ask(&question)).await {
            Ok(Ok(answer)) => approval(&answer),
            Ok(Err(error)) => Approval::Deny(format!("the terminal can't be read: {error}")),
            Err(_) => Approval::Deny("the terminal can't be reached".into()),
        }
    }

    fn name(&self) -> &str {
        "the terminal"
    }
}

/// Prints the question and reads one line.
fn ask(question: &str) -> io::Result<String> {
    // The calls of one reply ask at the same time. The lock keeps their questions apart.
    let stdin = io::stdin();
    let mut lines = stdin.lock();
    // Standard error stays visible if the output goes to a file.
    eprint!("{question}");
    let mut answer = String::new();
    io::BufRead::read_line(&mut lines, &mut answer)?;
    if answer.is_empty() {
        eprintln!();
    }
    Ok(answer)
}

/// Converts an answer to an approval.
fn approval(answer: &str) -> Approval {
    match answer.trim() {
        "y" | "yes" => Approval::Once,
        "a" | "all" => Approval::ForRun,
        "" => Approval::Deny("no answer".into()),
        _ => Approval::Deny("the user said no".into()),
    }
}

/// Scripts the replies of the model.
fn script() -> ScriptedModel {
    ScriptedModel::new([
        ChatReply::default().call("delete", r#"{"path": "draft.txt"}"#),
        ChatReply::default().call("delete", r#"{"path": "thesis.txt"}"#),
        ChatReply::text("That is all I wanted to delete."),
    ])
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::new(script(), tools![delete])
        .policy(Policy::new().approver(Terminal))
        .on_tool_result(|execution| println!("  {}", execution.result.text));
    println!("{}", agent.run("Tidy up.").await?);
    Ok(())
}
