//! The cost of a sub-agent counts as its caller's.

use tool_runtime::agent::{Limits, Prices};
use tool_runtime::{CancellationToken, EffectRecord, Policy};

use super::*;

/// This price for each input token; output is free.
fn prices(input: f64) -> Option<Limits> {
    let prices = Prices { input: input * 1e6, cached: 0.0, output: 0.0 };
    Some(Limits::default().max_cost(f64::INFINITY, prices))
}

fn priced(agent: Agent, limits: Option<Limits>) -> Agent {
    agent.limits(limits.unwrap_or_default())
}

/// Makes one request before it calls the sub-agent, and one after.
fn priced_caller_of(limits: Option<Limits>, tool: SubAgent) -> Agent {
    priced(caller_of(tool, "helper"), limits)
}

/// Sends two requests, of ten tokens each.
fn helper(limits: Option<Limits>) -> SubAgent {
    let model = story([echo_call("a"), ChatReply::text("There.")]);
    priced(Agent::new(model, tools![echo]), limits).into_tool("helper", "Looks for things.")
}

/// Returns the costs that executions record, each with its tokens.
fn recorded_costs(events: &[Event]) -> Vec<(u64, Option<f64>)> {
    let effects =
        events.iter().filter_map(Event::execution).flat_map(|execution| &execution.effects);
    effects
        .filter_map(|effect| match effect {
            EffectRecord::TokensSpent { usage, cost, .. } => Some((usage.input_tokens, *cost)),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn each_agent_counts_at_its_own_prices() {
    for (outer, inner, cost, reported) in [
        (prices(2.0), prices(5.0), Some(140.0), Some(100.0)),
        // Without its own prices, the prices of the caller apply.
        (prices(2.0), None, Some(80.0), None),
        // The cost of the caller's own model is unknown.
        (None, prices(5.0), None, Some(100.0)),
        (None, None, None, None),
    ] {
        let (agent, events) = with_recorder(priced_caller_of(outer, helper(inner)));
        let answer = agent.run("Go").await.unwrap();
        assert_eq!((answer.usage, answer.cost), (Usage::new(40, 4), cost));
        assert_eq!(recorded_costs(&events.lock().unwrap()), [(20, reported)]);
    }
}

#[tokio::test]
async fn costs_of_nested_sub_agents_add_up() {
    for (outer, middle, inner, cost) in [
        (prices(2.0), prices(3.0), prices(5.0), 40.0 + 60.0 + 100.0),
        (prices(2.0), None, prices(5.0), 40.0 + 40.0 + 100.0),
        (prices(2.0), prices(3.0), None, 40.0 + 60.0 + 60.0),
        (prices(2.0), None, None, 120.0),
    ] {
        let middle = priced_caller_of(middle, helper(inner)).into_tool("helper", "Helps.");
        let answer = priced_caller_of(outer, middle).run("Go").await.unwrap();
        assert_eq!((answer.usage.input_tokens, answer.cost), (60, Some(cost)));
    }
}

/// The caller's limit is 110, which is enough for both at its own prices.
#[tokio::test]
async fn cost_of_a_sub_agent_counts_towards_the_cost_limit_of_its_caller() {
    let dear = Prices { input: 2e6, cached: 0.0, output: 0.0 };
    let limits = Limits::default().max_cost(110.0, dear);
    let answer = priced_caller_of(Some(limits.clone()), helper(None)).run("Go").await.unwrap();
    assert_eq!(answer.cost, Some(80.0));
    let stopped = priced_caller_of(Some(limits), helper(prices(5.0))).run("Go").await.unwrap_err();
    let StopReason::CostLimit { cost, .. } = stopped.reason else { panic!("{stopped}") };
    assert_eq!((cost, stopped.cost), (120.0, Some(120.0)));
}

/// Stopped by its own limit, by that of its call, and with the outer run; also if the middle agent,
/// which knows the prices of the innermost one, is stopped.
#[tokio::test(start_paused = true)]
async fn cost_of_a_stopped_sub_agent_counts() {
    let second = Duration::from_secs(1);
    let stuck = |limits| {
        let agent = Agent::new(stuck_behind(Usage::new(10, 1)), tools![echo]);
        priced(agent, limits).into_tool("helper", "Looks for things.")
    };
    let limited = || helper(prices(5.0).map(|limits| limits.max_iterations(1)));
    let answer = priced_caller_of(prices(2.0), limited()).run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].error.as_deref(), Some("TOOL_EXECUTION_FAILED"));
    assert_eq!(answer.cost, Some(40.0 + 50.0));

    for (middle, inner, cost) in [
        (prices(3.0), prices(5.0), 30.0 + 50.0),
        (prices(3.0), None, 30.0 + 30.0),
        (None, prices(5.0), 20.0 + 50.0),
    ] {
        let middle =
            || priced_caller_of(middle.clone(), stuck(inner.clone())).into_tool("helper", "Helps.");
        let timed = middle().map_definition(|definition| definition.timeout(second));
        let answer = priced_caller_of(prices(2.0), timed).run("Go").await.unwrap();
        assert_eq!(results(&answer.transcript[2])[0].error.as_deref(), Some("TOOL_TIMEOUT"));
        assert_eq!(answer.cost, Some(40.0 + cost));

        let stop = CancellationToken::new();
        let cancelled = priced_caller_of(prices(2.0), middle()).cancellation(stop.clone());
        let (cancelled, ()) = tokio::join!(cancelled.run("Go"), async {
            tokio::time::sleep(second).await;
            stop.cancel();
        });
        assert_eq!(cancelled.unwrap_err().cost, Some(20.0 + cost));
    }
}

/// Usage from before the pause is not counted again.
#[tokio::test]
async fn cost_before_a_pause_counts_once() {
    let paid = Paid::default();
    let agent = || {
        let model = story([pay_call("Ada"), ChatReply::text("Ada has her money.")]);
        let agent = Agent::new(model, tools![pay])
            .extension(paid.clone())
            .policy(Policy::new().approver(AskLater));
        priced_caller_of(
            prices(2.0),
            priced(agent, prices(5.0)).into_tool("helper", "Sees to money."),
        )
    };
    let stopped = agent().run("Pay Ada.").await.unwrap_err();
    assert_eq!(stopped.cost, Some(20.0 + 50.0));
    let mut waiting = paused(stopped);
    approve_all(&mut waiting);
    assert_eq!(agent().resume(waiting).finish().await.unwrap().cost, Some(40.0 + 100.0));
}

/// Draws something, with a model that is paid elsewhere.
#[tool]
async fn draw(ctx: &ToolContext) -> &'static str {
    for cost in [Some(0.25), None, Some(0.5)] {
        ctx.record(EffectRecord::TokensSpent { usage: Usage::new(1, 0), cost, model: None });
    }
    "drawn"
}

#[tokio::test]
async fn cost_that_a_tool_records_is_added() {
    let model = story([ChatReply::default().call("draw", "{}"), ChatReply::text("Done.")]);
    let (agent, events) = with_recorder(priced(Agent::new(model, tools![draw]), prices(2.0)));
    let answer = agent.run("Go").await.unwrap();
    assert_eq!((answer.usage.input_tokens, answer.cost), (23, Some(42.75)));
    assert_eq!(recorded_costs(&events.lock().unwrap()), [(1, None), (2, Some(0.75))]);
}
