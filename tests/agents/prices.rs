//! What an agent took costs its caller what it cost itself.

use tool_runtime::agent::{Limits, Prices};
use tool_runtime::{CancellationToken, EffectRecord, Policy};

use super::*;

/// So much for each token that a model is sent; what it says is free.
fn prices(input: f64) -> Option<Limits> {
    let prices = Prices { input: input * 1e6, cached: 0.0, output: 0.0 };
    Some(Limits::default().cost(f64::INFINITY, prices))
}

fn priced(agent: Agent, limits: Option<Limits>) -> Agent {
    agent.limits(limits.unwrap_or_default())
}

/// So many tokens in, before it calls this one and behind it.
fn above_at(limits: Option<Limits>, tool: SubAgent) -> Agent {
    priced(above(tool, "helper"), limits)
}

/// Asks its model twice, for ten tokens each time.
fn helper(limits: Option<Limits>) -> SubAgent {
    let model = story([echo_call("a"), ChatReply::text("There.")]);
    priced(Agent::new(model, tools![echo]), limits).into_tool("helper", "Looks for things.")
}

/// The costs that are said of calls, each beside its tokens.
fn said(events: &[Event]) -> Vec<(u64, Option<f64>)> {
    let done = events.iter().filter_map(Event::finished).flat_map(|done| &done.effects);
    done.filter_map(|effect| match effect {
        EffectRecord::TokensSpent { usage, cost } => Some((usage.input, *cost)),
        _ => None,
    })
    .collect()
}

#[tokio::test]
async fn each_model_has_its_own() {
    for (outer, inner, cost, told) in [
        (prices(2.0), prices(5.0), Some(140.0), Some(100.0)),
        // The caller's hold, where it has none of its own.
        (prices(2.0), None, Some(80.0), None),
        // What the caller's own model cost nobody knows.
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
async fn however_deep_they_lie() {
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

/// The caller may take 110: at its own prices that is enough for what both take.
#[tokio::test]
async fn the_callers_budget_sees_it() {
    let dear = Prices { input: 2e6, cached: 0.0, output: 0.0 };
    let limits = Limits::default().cost(110.0, dear);
    let answer = above_at(Some(limits.clone()), helper(None)).run("Go").await.unwrap();
    assert_eq!(answer.cost, Some(80.0));
    let stopped = above_at(Some(limits), helper(prices(5.0))).run("Go").await.unwrap_err();
    let StopReason::CostLimit { cost, .. } = stopped.why else { panic!("{stopped}") };
    assert_eq!((cost, stopped.cost), (120.0, Some(120.0)));
}

/// By a limit of its own, by that of its call, and with the run around it; also where it is the one in the middle
/// that is stopped, and knows the price of what lies within.
#[tokio::test(start_paused = true)]
async fn whatever_stops_it() {
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

/// What it took before it waited is not counted again.
#[tokio::test]
async fn also_where_it_waited() {
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

/// Asks a model that is paid elsewhere, and draws something.
#[tool]
async fn draw(ctx: &ToolContext) -> &'static str {
    for cost in [Some(0.25), None, Some(0.5)] {
        ctx.record(EffectRecord::TokensSpent { usage: Usage::new(1, 0), cost });
    }
    "drawn"
}

#[tokio::test]
async fn a_tool_says_what_it_paid() {
    let model = story([ChatReply::default().call("draw", "{}"), ChatReply::text("Done.")]);
    let (agent, events) = watched(priced(Agent::new(model, tools![draw]), prices(2.0)));
    let answer = agent.run("Go").await.unwrap();
    assert_eq!((answer.usage.input, answer.cost), (23, Some(42.75)));
    assert_eq!(said(&events.lock().unwrap()), [(1, None), (2, Some(0.75))]);
}
