//! A call that is suspended for its nested run has neither failed nor ended for any policy.

use tool_runtime::dispatch::{Breaker, Breakers, Concurrency, RateLimits};
use tool_runtime::{Policy, RateLimit, Registry};

use super::*;

fn cashier_with(paid: &Paid, change: impl FnOnce(&mut tool_runtime::ToolDefinition)) -> SubAgent {
    cashier(paid).map_definition(|mut definition| {
        change(&mut definition);
        definition
    })
}

#[tokio::test(start_paused = true)]
async fn suspended_call_is_not_retried() {
    let paid = Paid::default();
    let retried = cashier_with(&paid, |definition| {
        (definition.idempotent, definition.max_retries) = (true, 3);
    });
    let (agent, output) = with_recorder(caller_of(retried, "cashier"));
    let mut waiting = paused(agent.run("Pay Ada.").await.unwrap_err());
    assert_eq!(reported_usage(&output.lock().unwrap()), Usage::new(20, 2));
    approve_all(&mut waiting);
    let (agent, output) =
        with_recorder(caller_of(cashier_with(&paid, |it| it.max_retries = 0), "cashier"));
    assert_eq!(agent.resume(waiting).finish().await.unwrap().usage, Usage::new(40, 4));
    assert_eq!(reported_usage(&output.lock().unwrap()), Usage::new(20, 2));
}

#[tokio::test]
async fn suspended_call_is_not_memoized() {
    let paid = Paid::default();
    let agent =
        || caller_of(cashier_with(&paid, |it| (it.pure, it.idempotent) = (true, true)), "cashier");
    let mut waiting = paused(agent().run("Pay Ada.").await.unwrap_err());
    approve_all(&mut waiting);
    let answer = agent().resume(waiting).finish().await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].text, "Ada has her money.");
    assert_eq!(paid.all(), ["Ada"]);
}

/// A resumed call was admitted when it started.
#[tokio::test(start_paused = true)]
async fn resumed_call_counts_once_towards_rate_limits() {
    let paid = Paid::default();
    let hourly = cashier_with(&paid, |it| it.rate_limit = Some(RateLimit::per_hour(2)));
    let policy = Policy::new()
        .concurrency(Concurrency::default().max_calls(1))
        .rate_limits(RateLimits::default().wait_timeout(Duration::MAX));
    let agent = caller_of(hourly, "cashier").policy(policy);
    let started = tokio::time::Instant::now();
    for _ in 0..2 {
        let mut waiting = paused(agent.run("Pay Ada.").await.unwrap_err());
        approve_all(&mut waiting);
        agent.resume(waiting).finish().await.unwrap();
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
    paused(agent.run("Pay Ada.").await.unwrap_err());
    assert_eq!(started.elapsed(), Duration::from_secs(3_600));
}

/// Fails.
#[tool]
async fn broken() -> Result<(), tool_runtime::ToolError> {
    Err(tool_runtime::ToolError::transient("down"))
}

/// It does not close the breaker: earlier failures still count.
#[tokio::test(start_paused = true)]
async fn suspended_call_does_not_change_its_breaker() {
    let paid = Paid::default();
    let registry = Registry::new();
    registry.register_all_from("bank", tools![broken].with(cashier(&paid))).unwrap();
    let broken = || ChatReply::default().call("broken", "{}");
    let replies = [broken(), ask("cashier"), broken(), broken(), ChatReply::text("Done.")];
    let breakers = Breakers::default().each(Breaker::after(2));
    let agent =
        Agent::new(ScriptedModel::new(replies), registry).policy(Policy::new().breakers(breakers));
    paused(agent.run("Pay Ada.").await.unwrap_err());
    let answer = agent.run("Go").await.unwrap();
    let codes: Vec<_> = [2, 4].map(|at| results(&answer.transcript[at])[0].error.clone()).into();
    assert_eq!(codes, [Some("TOOL_TRANSIENT_FAILURE".into()), Some("TOOL_UNAVAILABLE".into())]);
}
