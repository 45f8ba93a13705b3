//! Events: a log, a recorder and a channel receive everything that happens in a run.
//!
//! Run it with `cargo run --example events`. A scripted model pays two bills. One payment is
//! retried, and the password is redacted everywhere. It needs no key and no network.

use std::error::Error;
use std::io::stdout;

use tool_runtime::event::{Channel, JsonLines, Progress, Recorder, ToolEvent};
use tool_runtime::{Agent, ChatReply, EffectRecord, ScriptedModel, ToolContext, ToolError};
use tool_runtime::{tool, tools};

/// Pays a bill.
#[tool(idempotent, max_retries = 2)]
async fn pay(
    /// The recipient.
    to: String,
    /// The amount.
    amount: u32,
    /// The password of the account.
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

    // The log is written by a dedicated thread, and the channel sends events to a task.
    let (log, recorder, channel) =
        (JsonLines::new(stdout())?, Recorder::new(1_000), Channel::new(100));
    let mut reader = channel.reader();
    let retries = tokio::spawn(async move {
        let mut lines = Vec::new();
        while let Some(event) = reader.next().await {
            if let Some(ToolEvent::Retried { call, error, .. }) = event.tool_event() {
                lines.push(format!("retried {call}: {error}"));
            }
        }
        lines
    });

    let agent = Agent::new(model, tools![pay])
        .observer(log.clone())
        .observer(recorder.clone())
        .observer(channel);
    let answer = agent.run("Pay Ada 20 and Grace 500.").await?;
    // Dropping the agent closes the channel.
    drop(agent);
    log.flush()?;

    println!("\n{answer}");
    for line in retries.await? {
        println!("{line}");
    }
    for execution in recorder.executions() {
        println!(
            "{} took {:?} and {} attempts",
            execution.call.name, execution.duration, execution.attempts
        );
    }
    for ((_, turn), effects) in recorder.effects_by_turn() {
        let paid: Vec<(String, u32)> =
            effects.iter().filter_map(|effect| effect.other_data("paid")).collect();
        println!("payments of turn {turn}: {paid:?}");
    }
    Ok(())
}
