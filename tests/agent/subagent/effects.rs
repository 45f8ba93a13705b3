//! Sub-agents that stop without an answer report their possible effects.

use tool_runtime::agent::Limits;
use tool_runtime::{CancellationToken, Effect, EffectRecord, Policy, ToolError};

use super::*;

/// Sends a letter.
#[tool(effect = "external")]
async fn send() -> &'static str {
    "sent"
}

/// Writes a note.
#[tool(effect = "write")]
async fn note() -> Result<(), &'static str> {
    Err("the pen broke midway")
}

/// Looks something up.
#[tool(effect = "read")]
async fn look() -> &'static str {
    "there"
}

/// Rejects its arguments.
#[tool(effect = "write")]
async fn picky() -> Result<(), ToolError> {
    Err(ToolError::invalid_arguments("not like that"))
}

/// Requests a stop.
#[tool(effect = "none")]
async fn stop(ctx: &ToolContext) {
    ctx.record(EffectRecord::stop("enough"));
}

fn call(names: &[&str]) -> ChatReply {
    names.iter().fold(ChatReply::default(), |reply, name| reply.call(*name, "{}"))
}

fn helper<const N: usize>(replies: [ChatReply; N]) -> Agent {
    Agent::new(story(replies), tools![send, note, look, picky, stop])
}

/// Returns the result that the caller's model gets.
async fn result_for_caller(agent: Agent) -> String {
    let agent = caller_of(agent.into_tool("helper", "Helps."), "helper");
    let answer = agent.run("Go").await.unwrap();
    results(&answer.transcript[2])[0].text.clone()
}

#[tokio::test]
async fn stopped_sub_agent_reports_possible_effects_for_every_stop_reason() {
    let sends = || call(&["send", "look"]);
    let twice = || helper([sends(), call(&["note"]), call(&["look"])]);
    let cancelled = CancellationToken::new();
    let cancels = cancelled.clone();
    let cancel = move |event: &Event| {
        if event.execution().is_some() {
            cancels.cancel();
        }
    };
    for (agent, code, ran) in [
        (twice().max_iterations(3), "ITERATION_LIMIT", "note, send"),
        (twice().limits(Limits::default().max_tokens(22)), "TOKEN_LIMIT", "send"),
        (
            helper([sends(), sends(), sends()]).limits(Limits::default().max_repeats(2)),
            "REPEATED_CALL",
            "send",
        ),
        (twice(), "MODEL_SETUP", "note, send"),
        (helper([call(&["send"])]).cancellation(cancelled).on_event(cancel), "CANCELLED", "send"),
        (helper([call(&["note", "stop"])]), "STOP_REQUESTED", "note"),
    ] {
        let output = result_for_caller(agent).await;
        assert!(
            output.starts_with(&format!("The agent stopped without an answer ({code})")),
            "{output}"
        );
        assert!(output.ends_with(&format!(". It may have had effects: it ran {ran}.")), "{output}");
    }
}

#[tokio::test]
async fn stopped_sub_agent_without_effects_reports_none() {
    for agent in [
        helper([call(&["look", "picky"])]),
        // One tool rejects its arguments, and calls after the limit are not run.
        helper([call(&["look"]), call(&["send"])]).max_iterations(2),
        helper([call(&["gone"])]),
        helper([]),
    ] {
        let output = result_for_caller(agent).await;
        assert!(!output.contains("effects"), "{output}");
    }
}

/// A sub-agent nested deeper is a tool like any other, and declares its own effect.
#[tokio::test]
async fn nested_sub_agent_reports_its_own_effects() {
    for (effect, ran) in [(Effect::External, true), (Effect::Read, false)] {
        let inner = helper([call(&["send"]), ChatReply::text("It is sent.")]);
        let inner = inner.into_tool("clerk", "Writes letters.").effect(effect);
        let agent = Agent::new(story([ask("clerk")]), Tools::new().with(inner));
        let output = result_for_caller(agent).await;
        assert_eq!(output.ends_with(" It may have had effects: it ran clerk."), ran, "{output}");
    }
}

/// Effects from before the pause are reported in another process.
#[tokio::test]
async fn effects_before_a_pause_are_reported_after_resuming() {
    let paid = Paid::default();
    let agent = || {
        let model = story([pay_call("Ada").call("send", "{}")]);
        let agent = Agent::new(model, tools![send, pay]).extension(paid.clone());
        caller_of(
            agent.policy(Policy::new().approver(AskLater)).into_tool("cashier", "Sees to money."),
            "cashier",
        )
    };
    for (approval, ran) in [(Approval::Once, "pay, send"), (Approval::Deny("no".into()), "send")] {
        let mut waiting = paused(agent().run("Pay Ada.").await.unwrap_err());
        waiting.decide_each(|_| approval.clone(), "Grace");
        let answer = agent().resume(waiting).finish().await.unwrap();
        let output = &results(&answer.transcript[2])[0].text;
        assert!(output.ends_with(&format!(" It may have had effects: it ran {ran}.")), "{output}");
    }
}
