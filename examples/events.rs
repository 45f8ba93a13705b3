//! Events: everything that happens in a run, for a log, a screen and a record, and no secret in it.
//!
//! `cargo run --example events` pays two bills: one connection is shaky, and no password is printed.

use std::error::Error;
use std::io::stdout;

use tool_runtime::event::{Channel, JsonLines, Progress, Recorder, ToolEvent};
use tool_runtime::{Agent, ChatReply, EffectRecord, ScriptedModel, ToolContext, ToolError};
use tool_runtime::{tool, tools};

/// Pays a bill.
#[tool(idempotent, retries = 2)]
async fn pay(
    /// To whom.
    to: String,
    /// How much.
    amount: u32,
    /// The account's password.
    #[arg(secret)]
    password: String,
    ctx: &ToolContext,
) -> Result<String, ToolError> {
    let message = Some(format!("signed in with {password}"));
    ctx.progress(Progress { done: 1.0, total: Some(2.0), message });
    if amount > 100 && ctx.attempt() == 1 {
        return Err(ToolError::transient(format!("the bank hung up on {password}")));
    }
    ctx.record(EffectRecord::other("paid", &(&to, amount))?);
    Ok(format!("{to} has {amount} more, by {password}"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = ScriptedModel::new([
        ChatReply::text("I pay both.")
            .call("pay", r#"{"to": "Ada", "amount": 20, "password": "hunter22"}"#)
            .call("pay", r#"{"to": "Grace", "amount": 500, "password": "hunter22"}"#),
        ChatReply::text("Both are paid."),
    ]);

    // A log of all of it, written by a thread of its own; a record to ask; and a channel to a task.
    let (log, record, channel) =
        (JsonLines::new(stdout())?, Recorder::new(1_000), Channel::new(100));
    let mut reader = channel.reader();
    let screen = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(event) = reader.next().await {
            if let Some(ToolEvent::Retried { call, error, .. }) = event.tool() {
                seen.push(format!("{call} is tried again: {error}"));
            }
        }
        seen
    });

    let agent = Agent::new(model, tools![pay])
        .observer(log.clone())
        .observer(record.clone())
        .observer(channel);
    let answer = agent.run("Pay Ada 20 and Grace 500.").await?;
    drop(agent); // and with it the channel
    log.flush()?;

    println!("\n{answer}");
    for line in screen.await? {
        println!("{line}");
    }
    for done in record.executions() {
        println!("{} took {:?} and {} attempts", done.call.name, done.took, done.attempts);
    }
    for ((_, turn), effects) in record.effects() {
        let paid: Vec<(String, u32)> =
            effects.iter().filter_map(|effect| effect.data_of("paid")).collect();
        println!("on turn {turn}: {paid:?}");
    }
    Ok(())
}
