//! Costs of sub-agents: the parent's cost includes them at the sub-agent's prices.

use tool_runtime::agent::{Limits, Prices};
use tool_runtime::{CancellationToken, EffectRecord, Policy};

use super::*;

/// Returns limits with a price per input token; output is free.
fn prices(input: f64) -> Option<Limits> {
    let prices = Prices { input: input * 1e6, cached: 0.0, output: 0.0 };
    Some(Limits::default().cost(f64::INFINITY, prices))
}

fn priced(agent: Agent, limits: Option<Limits>) -> Agent {
    agent.limits(limits.unwrap_or_default())
}

/// Returns an agent that sends a request before and after its call of the sub-agent.
fn above_at(limits: Option<Limits>, tool: SubAgent) -> Agent {
    priced(above(tool, "helper"), limits)
}

/// Returns a sub-agent that sends two requests of ten tokens each.
fn helper(limits: Option<Limits>) -> SubAgent {
    let model = story([echo_call("a"), ChatReply::text("There.")]);
    priced(Agent::new(model, tools![echo]), limits).into_tool("helper", "Looks for things.")
}

/// Returns the usage and cost recorded for calls.
fn said(events: &[Event]) -> Vec<(u64, Option<f64>)> {
    let done = events.iter().filter_map(Event::finished).flat_map(|done| &done.effects);
    done.filter_map(|effect| match effect {
        EffectRecord::TokensSpent { usage, cost } => Some((usage.input, *cost)),
        _ => None,
    })
    .collect()
}

#[tokio::test]
async fn each_agent_uses_its_own_prices() {
    for (outer, inner, cost, told) in [
        (prices(2.0), prices(5.0), Some(140.0), Some(100.0)),
        // Without prices of its own, the parent's prices apply.
        (prices(2.0), None, Some(80.0), None),
        // The cost of the parent's own model is unknown.
        (None, prices(5.0), None, Some(100.0)),
        (None, None, None, None),
    ] {
        let (agent, events) = watched(above_at(outer, helper(inner)));
        let answer = agent.run("Go").await.unwrap();
        assert_eq!((answer.usage, answer.cost), (Usage::new(40, 4), cost));
        assert_eq!(said(&events.lock().unwrap()), [(20, told)]);
    }
}

#[tokio::test]
async fn costs_of_nested_sub_agents_are_included() {
    for (outer, middle, inner, cost) in [
        (prices(2.0), prices(3.0), prices(5.0), 40.0 + 60.0 + 100.0),
        (prices(2.0), None, prices(5.0), 40.0 + 40.0 + 100.0),
        (prices(2.0), prices(3.0), None, 40.0 + 60.0 + 60.0),
        (prices(2.0), None, None, 120.0),
    ] {
        let middle = above_at(middle, helper(inner)).into_tool("helper", "Helps.");
        let answer = above_at(outer, middle).run("Go").await.unwrap();
        assert_eq!((answer.usage.input, answer.cost), (60, Some(cost)));
    }
}

/// The parent's limit is 110. At its own prices, this covers the usage of both.
#[tokio::test]
async fn sub_agent_cost_counts_towards_the_parent_limit() {
    let dear = Prices { input: 2e6, cached: 0.0, output: 0.0 };
    let limits = Limits::default().cost(110.0, dear);
    let answer = above_at(Some(limits.clone()), helper(None)).run("Go").await.unwrap();
    assert_eq!(answer.cost, Some(80.0));
    let stopped = above_at(Some(limits), helper(prices(5.0))).run("Go").await.unwrap_err();
    let StopReason::CostLimit { cost, .. } = stopped.why else { panic!("{stopped}") };
    assert_eq!((cost, stopped.cost), (120.0, Some(120.0)));
}

/// The sub-agent is stopped by its own limit, by the timeout of its call and with the parent run,
/// also as the middle one of three agents.
#[tokio::test(start_paused = true)]
async fn costs_are_included_for_every_stop() {
    let second = Duration::from_secs(1);
    let stuck = |limits| {
        let agent = Agent::new(stuck_behind(Usage::new(10, 1)), tools![echo]);
        priced(agent, limits).into_tool("helper", "Looks for things.")
    };
    let limited = || helper(prices(5.0).map(|limits| limits.iterations(1)));
    let answer = above_at(prices(2.0), limited()).run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].error.as_deref(), Some("TOOL_EXECUTION_FAILED"));
    assert_eq!(answer.cost, Some(40.0 + 50.0));

    for (middle, inner, cost) in [
        (prices(3.0), prices(5.0), 30.0 + 50.0),
        (prices(3.0), None, 30.0 + 30.0),
        (None, prices(5.0), 20.0 + 50.0),
    ] {
        let middle =
            || above_at(middle.clone(), stuck(inner.clone())).into_tool("helper", "Helps.");
        let timed = middle().map_definition(|definition| definition.timeout(second));
        let answer = above_at(prices(2.0), timed).run("Go").await.unwrap();
        assert_eq!(results(&answer.transcript[2])[0].error.as_deref(), Some("TOOL_TIMEOUT"));
        assert_eq!(answer.cost, Some(40.0 + cost));

        let stop = CancellationToken::new();
        let cancelled = above_at(prices(2.0), middle()).stop_on(stop.clone());
        let (cancelled, ()) = tokio::join!(cancelled.run("Go"), async {
            tokio::time::sleep(second).await;
            stop.cancel();
        });
        assert_eq!(cancelled.unwrap_err().cost, Some(20.0 + cost));
    }
}

/// Usage before a pause is counted once.
#[tokio::test]
async fn costs_before_a_pause_are_counted_once() {
    let paid = Paid::default();
    let agent = || {
        let model = story([pay_call("Ada"), ChatReply::text("Ada has her money.")]);
        let agent = Agent::new(model, tools![pay])
            .extension(paid.clone())
            .policy(Policy::new().approver(AskLater));
        above_at(prices(2.0), priced(agent, prices(5.0)).into_tool("helper", "Sees to money."))
    };
    let stopped = agent().run("Pay Ada.").await.unwrap_err();
    assert_eq!(stopped.cost, Some(20.0 + 50.0));
    let mut waiting = paused(stopped);
    once(&mut waiting);
    assert_eq!(agent().resume(waiting).finish().await.unwrap().cost, Some(40.0 + 100.0));
}

/// Draws a picture with a model that has its own prices.
#[tool]
async fn draw(ctx: &ToolContext) -> &'static str {
    for cost in [Some(0.25), None, Some(0.5)] {
        ctx.record(EffectRecord::TokensSpent { usage: Usage::new(1, 0), cost });
    }
    "drawn"
}

#[tokio::test]
async fn tool_reports_its_own_cost() {
    let model = story([ChatReply::default().call("draw", "{}"), ChatReply::text("Done.")]);
    let (agent, events) = watched(priced(Agent::new(model, tools![draw]), prices(2.0)));
    let answer = agent.run("Go").await.unwrap();
    assert_eq!((answer.usage.input, answer.cost), (23, Some(42.75)));
    assert_eq!(said(&events.lock().unwrap()), [(1, None), (2, Some(0.75))]);
}
