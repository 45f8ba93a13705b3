//! What an agent took counts as its caller's, however its call ends, once.

use tool_runtime::agent::CompletedStep;
use tool_runtime::agent::session::MemoryStore;
use tool_runtime::dispatch::{Batch, Dispatch};
use tool_runtime::{
    CancellationToken, Dispatcher, EffectRecord, Policy, Registry, ToolCall, ToolExecution,
    ToolOutput,
};

use super::*;

/// Takes tokens, and comes to no end.
fn stuck(name: &str) -> SubAgent {
    let agent = Agent::new(stuck_behind(Usage::new(100, 7)), tools![echo]);
    agent.into_tool(name, "Looks for things.")
}

/// So many agents of which each calls the next, and the last is stuck.
fn deep(agents: u32) -> SubAgent {
    (1..agents).fold(stuck("helper"), |tool, _| above(tool, "helper").into_tool("helper", "Helps."))
}

/// What that takes until it is stuck.
fn taken(agents: u64) -> Usage {
    Usage::new(100 + 10 * (agents - 1), 7 + (agents - 1))
}

fn plus(mut sum: Usage, more: Usage) -> Usage {
    sum += more;
    sum
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn whatever_stops_it() {
    for agents in 1..=3 {
        let taken = taken(agents.into());
        // The caller asks twice where it goes on, and once where it is over.
        let agent = |tool| above(tool, "helper");
        let timed = deep(agents).map_definition(|definition| definition.timeout(SECOND));
        let answer = agent(timed).run("Go").await.unwrap();
        assert_eq!(results(&answer.transcript[2])[0].error.as_deref(), Some("TOOL_TIMEOUT"));
        assert_eq!(answer.usage, plus(taken, Usage::new(20, 2)), "{agents}");

        let answer = agent(deep(agents))
            .policy(Policy::new().batch_deadline(SECOND))
            .run("Go")
            .await
            .unwrap();
        assert_eq!(answer.usage, plus(taken, Usage::new(20, 2)), "{agents}");

        let late = agent(deep(agents)).time_limit(SECOND).run("Go").await.unwrap_err();
        assert!(matches!(late.why, StopReason::TimeLimit(_)));
        assert_eq!(*late.usage, plus(taken, Usage::new(10, 1)), "{agents}");

        let stop = CancellationToken::new();
        let cancelled = agent(deep(agents)).stop_on(stop.clone());
        let (cancelled, ()) = tokio::join!(cancelled.run("Go"), async {
            tokio::time::sleep(SECOND).await;
            stop.cancel();
        });
        let cancelled = cancelled.unwrap_err();
        assert!(matches!(cancelled.why, StopReason::Cancelled));
        assert_eq!(*cancelled.usage, plus(taken, Usage::new(10, 1)), "{agents}");
    }
}

/// A step that is dropped, and the run gone on with.
#[tokio::test(start_paused = true)]
async fn a_step_that_is_dropped_took_what_it_took() {
    for agents in 1..=3 {
        for beside in [false, true] {
            let mut call = ask("helper");
            if beside {
                call = call.call("other", r#"{"task": "Go on."}"#);
            }
            let model = story([call, ChatReply::text("Done.")]);
            let tools = Tools::new().with(deep(agents)).with(stuck("other"));
            let agent = Agent::new(model, tools);
            let mut run = agent.start("Go");
            assert!(matches!(run.next().await, Some(CompletedStep::Replied)));
            assert!(tokio::time::timeout(SECOND, run.next()).await.is_err());
            let mut taken = plus(taken(agents.into()), Usage::new(10, 1));
            if beside {
                taken += Usage::new(100, 7);
                tokio::task::yield_now().await;
            }
            assert_eq!(run.state().turn.usage(), taken);
            assert_eq!(run.turn_mut().usage(), taken);
            let answer = run.finish().await.unwrap();
            assert_eq!(answer.usage, plus(taken, Usage::new(10, 1)), "{agents} {beside}");
        }
    }
}

/// Asks a model.
#[tool]
async fn costly() -> ToolOutput {
    let usage = Usage::new(100, 7);
    ToolOutput::text("42").with_effect(EffectRecord::TokensSpent { usage, cost: None })
}

/// What one call says that it took is not taken for what another is taking beside it.
#[tokio::test(start_paused = true)]
async fn what_came_early_is_paid_for_by_itself() {
    let both = || story([ask("helper").call("costly", "{}"), ChatReply::text("Done.")]);
    let agent = Agent::new(both(), tools![costly].with(stuck("helper")));
    let session = agent.session(MemoryStore::default(), "s");
    let mut run = session.start("Go").await.unwrap();
    run.next().await;
    assert!(tokio::time::timeout(SECOND, run.next()).await.is_err());
    tokio::task::yield_now().await;
    assert_eq!(run.turn_mut().usage(), plus(Usage::new(200, 14), Usage::new(10, 1)));
}

/// Asks the helper itself.
#[tool]
async fn hand_on(ctx: &ToolContext) -> String {
    let call = ToolCall::new("", "helper", r#"{"task": "Go on."}"#);
    ctx.dispatch(vec![call]).await.remove(0).result.text
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_a_tool_calls_counts_as_well() {
    let model = || story([ChatReply::default().call("hand_on", "{}"), ChatReply::text("Done.")]);
    let helper = || {
        let model = story([echo_call("a"), ChatReply::text("There.")]);
        Agent::new(model, tools![echo]).into_tool("helper", "Looks for things.")
    };
    let answer = Agent::new(model(), tools![hand_on].with(helper())).run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].text, "There.");
    assert_eq!(answer.usage, Usage::new(40, 4));

    let agent = Agent::new(model(), tools![hand_on].with(deep(2)))
        .policy(Policy::new().batch_deadline(SECOND));
    assert_eq!(agent.run("Go").await.unwrap().usage, plus(taken(2), Usage::new(20, 2)));
}

/// Has calls run here, and hears of no deadline.
struct Deaf(Dispatcher);

#[async_trait]
impl Dispatch for Deaf {
    async fn dispatch(&self, mut batch: Batch) -> Vec<ToolExecution> {
        (batch.deadline, batch.stop) = (None, None);
        Dispatch::dispatch(&self.0, batch).await
    }
}

/// Whoever runs the calls and comes to no end has taken what it took.
#[tokio::test(start_paused = true)]
async fn what_is_lost_elsewhere_took_what_it_took() {
    let there = Registry::try_from(Tools::new().with(deep(2))).unwrap();
    let agent = above(deep(2), "helper").dispatch(Deaf(Dispatcher::new(there)));
    let late = agent.time_limit(SECOND).run("Go").await.unwrap_err();
    assert!(matches!(late.why, StopReason::TimeLimit(_)));
    assert_eq!(*late.usage, plus(taken(2), Usage::new(10, 1)));

    // And what comes to an end counts once.
    let helper = || {
        let model = story([echo_call("a"), ChatReply::text("There.")]);
        Agent::new(model, tools![echo]).into_tool("helper", "Looks for things.")
    };
    let there = Registry::try_from(Tools::new().with(helper())).unwrap();
    let agent = above(helper(), "helper").dispatch(Deaf(Dispatcher::new(there)));
    assert_eq!(agent.run("Go").await.unwrap().usage, Usage::new(40, 4));
}
