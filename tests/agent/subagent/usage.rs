//! The usage of a sub-agent counts once as its caller's, however the call ends.

use tool_runtime::agent::CompletedStep;
use tool_runtime::agent::session::MemorySessions;
use tool_runtime::dispatch::{Batch, Dispatch};
use tool_runtime::{
    CancellationToken, Dispatcher, EffectRecord, Policy, Registry, ToolCall, ToolExecution,
    ToolOutput,
};

use super::*;

/// Uses tokens and never returns.
fn stuck(name: &str) -> SubAgent {
    let agent = Agent::new(stuck_behind(Usage::new(100, 7)), tools![echo]);
    agent.into_tool(name, "Looks for things.")
}

/// So many nested sub-agents, of which the innermost never returns.
fn nested_helpers(agents: u32) -> SubAgent {
    (1..agents)
        .fold(stuck("helper"), |tool, _| caller_of(tool, "helper").into_tool("helper", "Helps."))
}

/// The usage of these agents until then.
fn usage_of(agents: u64) -> Usage {
    Usage::new(100 + 10 * (agents - 1), 7 + (agents - 1))
}

fn plus(mut sum: Usage, more: Usage) -> Usage {
    sum += more;
    sum
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn usage_of_a_stopped_sub_agent_counts() {
    for agents in 1..=3 {
        let usage = usage_of(agents.into());
        // The caller sends two requests if it continues, and one if it stops.
        let agent = |tool| caller_of(tool, "helper");
        let timed = nested_helpers(agents).map_definition(|definition| definition.timeout(SECOND));
        let answer = agent(timed).run("Go").await.unwrap();
        assert_eq!(results(&answer.transcript[2])[0].error.as_deref(), Some("TOOL_TIMEOUT"));
        assert_eq!(answer.usage, plus(usage, Usage::new(20, 2)), "{agents}");

        let answer = agent(nested_helpers(agents))
            .policy(Policy::new().batch_timeout(SECOND))
            .run("Go")
            .await
            .unwrap();
        assert_eq!(answer.usage, plus(usage, Usage::new(20, 2)), "{agents}");

        let late = agent(nested_helpers(agents)).run_timeout(SECOND).run("Go").await.unwrap_err();
        assert!(matches!(late.reason, StopReason::Timeout(_)));
        assert_eq!(*late.usage, plus(usage, Usage::new(10, 1)), "{agents}");

        let stop = CancellationToken::new();
        let cancelled = agent(nested_helpers(agents)).cancellation(stop.clone());
        let (cancelled, ()) = tokio::join!(cancelled.run("Go"), async {
            tokio::time::sleep(SECOND).await;
            stop.cancel();
        });
        let cancelled = cancelled.unwrap_err();
        assert!(matches!(cancelled.reason, StopReason::Cancelled));
        assert_eq!(*cancelled.usage, plus(usage, Usage::new(10, 1)), "{agents}");
    }
}

/// A step is dropped and the run continues.
#[tokio::test(start_paused = true)]
async fn usage_of_a_dropped_step_counts() {
    for agents in 1..=3 {
        for with_tool in [false, true] {
            let mut call = ask("helper");
            if with_tool {
                call = call.call("other", r#"{"task": "Go on."}"#);
            }
            let model = story([call, ChatReply::text("Done.")]);
            let tools = Tools::new().with(nested_helpers(agents)).with(stuck("other"));
            let agent = Agent::new(model, tools);
            let mut run = agent.start("Go");
            assert!(matches!(run.next().await, Some(CompletedStep::Replied)));
            assert!(tokio::time::timeout(SECOND, run.next()).await.is_err());
            let mut usage = plus(usage_of(agents.into()), Usage::new(10, 1));
            if with_tool {
                usage += Usage::new(100, 7);
                tokio::task::yield_now().await;
            }
            assert_eq!(run.state().turn.usage(), usage);
            assert_eq!(run.turn_mut().usage(), usage);
            let answer = run.finish().await.unwrap();
            assert_eq!(answer.usage, plus(usage, Usage::new(10, 1)), "{agents} {with_tool}");
        }
    }
}

/// Uses a model.
#[tool]
async fn costly() -> ToolOutput {
    let usage = Usage::new(100, 7);
    ToolOutput::text("42").with_effect(EffectRecord::TokensSpent { usage, cost: None, model: None })
}

/// Usage that one call reports is not counted as that of another in-flight call.
#[tokio::test(start_paused = true)]
async fn usage_of_an_early_result_counts_once() {
    let two_calls = || story([ask("helper").call("costly", "{}"), ChatReply::text("Done.")]);
    let agent = Agent::new(two_calls(), tools![costly].with(stuck("helper")));
    let session = agent.session(MemorySessions::default(), "s");
    let mut run = session.start("Go").await.unwrap();
    run.next().await;
    assert!(tokio::time::timeout(SECOND, run.next()).await.is_err());
    tokio::task::yield_now().await;
    assert_eq!(run.turn_mut().usage(), plus(Usage::new(200, 14), Usage::new(10, 1)));
}

/// Calls the helper itself.
#[tool]
async fn delegate(ctx: &ToolContext) -> String {
    let call = ToolCall::new("", "helper", r#"{"task": "Go on."}"#);
    ctx.dispatch(vec![call]).await.remove(0).result.text
}

#[tokio::test(start_paused = true)]
async fn usage_of_an_agent_called_by_a_tool_counts() {
    let model = || story([ChatReply::default().call("delegate", "{}"), ChatReply::text("Done.")]);
    let helper = || {
        let model = story([echo_call("a"), ChatReply::text("There.")]);
        Agent::new(model, tools![echo]).into_tool("helper", "Looks for things.")
    };
    let answer = Agent::new(model(), tools![delegate].with(helper())).run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].text, "There.");
    assert_eq!(answer.usage, Usage::new(40, 4));

    let agent = Agent::new(model(), tools![delegate].with(nested_helpers(2)))
        .policy(Policy::new().batch_timeout(SECOND));
    assert_eq!(agent.run("Go").await.unwrap().usage, plus(usage_of(2), Usage::new(20, 2)));
}

/// Runs calls locally and ignores the deadline.
struct IgnoresDeadline(Dispatcher);

#[async_trait]
impl Dispatch for IgnoresDeadline {
    async fn dispatch(&self, mut batch: Batch) -> Vec<ToolExecution> {
        (batch.timeout, batch.cancellation) = (None, None);
        Dispatch::dispatch(&self.0, batch).await
    }
}

/// Remote calls that never return have used their tokens all the same.
#[tokio::test(start_paused = true)]
async fn usage_of_a_lost_remote_call_counts() {
    let other_registry = Registry::try_from(Tools::new().with(nested_helpers(2))).unwrap();
    let agent = caller_of(nested_helpers(2), "helper")
        .dispatch_with(IgnoresDeadline(Dispatcher::new(other_registry)));
    let late = agent.run_timeout(SECOND).run("Go").await.unwrap_err();
    assert!(matches!(late.reason, StopReason::Timeout(_)));
    assert_eq!(*late.usage, plus(usage_of(2), Usage::new(10, 1)));

    // Calls that return count once.
    let helper = || {
        let model = story([echo_call("a"), ChatReply::text("There.")]);
        Agent::new(model, tools![echo]).into_tool("helper", "Looks for things.")
    };
    let other_registry = Registry::try_from(Tools::new().with(helper())).unwrap();
    let agent = caller_of(helper(), "helper")
        .dispatch_with(IgnoresDeadline(Dispatcher::new(other_registry)));
    assert_eq!(agent.run("Go").await.unwrap().usage, Usage::new(40, 4));
}
