//! Approval: a person at the terminal decides what may run.
//!
//! `cargo run --example approval` asks before each file that a scripted model wants to delete: y for
//! yes, a for all of them, anything else for no. Where nobody answers, nothing is deleted.

use std::io;

use tokio::task::spawn_blocking;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::{Agent, ChatReply, Policy, ScriptedModel, async_trait, tool, tools};

/// Deletes a file.
#[tool(effect = "write", permission = "ask")]
async fn delete(path: String) -> String {
    // Only in words: nothing is touched here.
    format!("{path} is gone")
}

/// Whoever sits at the terminal.
struct Terminal;

#[async_trait]
impl Approver for Terminal {
    async fn approve(&self, request: &ApprovalRequest) -> Approval {
        let question = format!("{} {} [y/n/a] ", request.call.name, request.redacted_arguments());
        // Reading holds its thread up.
        match spawn_blocking(move || ask(&question)).await {
            Ok(Ok(answer)) => approval(&answer),
            Ok(Err(error)) => Approval::Deny(format!("the terminal can't be read: {error}")),
            Err(_) => Approval::Deny("nobody could be asked".into()),
        }
    }

    fn name(&self) -> &str {
        "the terminal"
    }
}

fn ask(question: &str) -> io::Result<String> {
    // Held until the answer is there: calls of one reply are asked about at once, and two questions
    // must not mix.
    let stdin = io::stdin();
    let mut lines = stdin.lock();
    // Seen also where the output goes into a file.
    eprint!("{question}");
    let mut answer = String::new();
    io::BufRead::read_line(&mut lines, &mut answer)?;
    if answer.is_empty() {
        eprintln!();
    }
    Ok(answer)
}

fn approval(answer: &str) -> Approval {
    match answer.trim() {
        "y" | "yes" => Approval::Once,
        "a" | "all" => Approval::ForRun,
        "" => Approval::Deny("nobody answered".into()),
        _ => Approval::Deny("the user said no".into()),
    }
}

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
        .on_tool_result(|done| println!("  {}", done.result.text));
    println!("{}", agent.run("Tidy up.").await?);
    Ok(())
}
