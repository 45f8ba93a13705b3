//! Tools of two providers with one name: rules, limits and approvals follow the tool, not its name.

use tool_runtime::dispatch::{
    Approval, ApprovalRequest, Approver, AskLater, Concurrency, RateLimits,
};
use tool_runtime::{Policy, RateLimit, RunContext, StopReason, async_trait};

use super::*;

/// Takes a second.
#[tool(name = "find")]
async fn slow() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Runs once a minute.
#[tool(rate_limit = "1/min")]
async fn rare() {}

fn of_two(tools: fn() -> Tools) -> Registry {
    let registry = Registry::new();
    for provider in ["a", "b"] {
        registry.register_all_from(provider, tools()).unwrap();
    }
    registry
}

/// Limits under which calls wait as long as it takes.
fn patient() -> RateLimits {
    RateLimits::default().wait_timeout(Duration::MAX)
}

/// Returns the seconds that concurrent calls of these tools take.
async fn seconds(dispatcher: &Dispatcher, names: &[&str]) -> u64 {
    let started = Instant::now();
    let executions = run(dispatcher, names).await;
    assert!(executions.iter().all(|execution| code(execution) == "-"), "{:?}", texts(&executions));
    started.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn limits_of_a_shared_name_cover_all_its_tools() {
    let full_names = ["a__find", "b__find"];
    let concurrency =
        |limits| Dispatcher::new(of_two(|| tools![slow])).policy(Policy::new().concurrency(limits));
    let limit = |name: &str| Concurrency::default().max_tool_calls(name, 1);
    assert_eq!(seconds(&concurrency(limit("find")), &full_names).await, 2);
    assert_eq!(seconds(&concurrency(limit("a__find")), &full_names).await, 1);
    assert_eq!(seconds(&concurrency(limit("a__find")), &["a__find"; 2]).await, 2);

    let rate = |name: &str| {
        let limits = patient().tool(name, RateLimit::per_minute(1));
        Dispatcher::new(of_two(|| tools![slow])).policy(Policy::new().rate_limits(limits))
    };
    assert_eq!(seconds(&rate("find"), &full_names).await, 61);
    assert_eq!(seconds(&rate("a__find"), &full_names).await, 1);
    // Alone, the tool is called by its own name and limited by its full name.
    let provider_limit = rate("a__find");
    let _ = provider_limit.registry().unregister_provider("b");
    assert_eq!(seconds(&provider_limit, &["find"; 2]).await, 61);
}

#[tokio::test(start_paused = true)]
async fn declared_rate_limit_follows_a_renamed_tool() {
    let registry = Registry::new();
    registry.register_all_from("a", tools![rare]).unwrap();
    let dispatcher = Dispatcher::new(registry.clone()).policy(Policy::new().rate_limits(patient()));
    assert_eq!(seconds(&dispatcher, &["rare"]).await, 0);
    registry.register_all_from("b", tools![rare]).unwrap();
    assert_eq!(seconds(&dispatcher, &["b__rare"]).await, 0, "another's");
    assert_eq!(seconds(&dispatcher, &["a__rare"]).await, 60, "the same, called otherwise");
    let _ = registry.unregister_provider("b");
    assert_eq!(seconds(&dispatcher, &["rare"]).await, 60);
}

/// Pays by the one bank.
#[tool(name = "pay", permission = "ask")]
async fn pay_by_one() -> &'static str {
    "paid by one"
}

/// Pays by the other.
#[tool(name = "pay", permission = "ask")]
async fn pay_by_other() -> &'static str {
    "paid by the other"
}

/// Replaces one bank by the other: models call its tool by the same name.
fn swap(registry: &Registry) {
    let _ = registry.unregister_provider("one");
    registry.register_all_from("other", tools![pay_by_other]).unwrap();
}

fn of_one() -> Registry {
    let registry = Registry::new();
    registry.register_all_from("one", tools![pay_by_one]).unwrap();
    registry
}

/// Approves one of the tools for the run.
struct OfOne;

#[async_trait]
impl Approver for OfOne {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        match request.provider.as_deref() {
            Some("one") => Approval::ForRun,
            _ => Approval::Deny("not by that".into()),
        }
    }
}

#[tokio::test]
async fn approval_for_the_run_covers_one_of_two_namesakes() {
    let registry = of_one();
    let dispatcher = Dispatcher::new(registry.clone()).policy(Policy::new().approver(OfOne));
    assert_eq!(texts(&run(&dispatcher, &["pay"]).await), ["paid by one"]);
    swap(&registry);
    let text = "`pay` was not approved: not by that";
    assert_eq!(texts(&run(&dispatcher, &["pay"]).await), [text]);
    // The first tool is back, under another name.
    registry.register_all_from("one", tools![pay_by_one]).unwrap();
    assert_eq!(texts(&run(&dispatcher, &["one__pay"]).await), ["paid by one"]);
}

#[tokio::test]
async fn decision_covers_only_the_namesake_that_was_asked_about() {
    for approval in [Approval::Once, Approval::ForRun] {
        for is_swapped in [false, true] {
            let registry = of_one();
            let model = ScriptedModel::new([
                ChatReply::default().call("pay", "{}"),
                ChatReply::text("Done."),
            ]);
            let agent =
                Agent::new(model, registry.clone()).policy(Policy::new().approver(AskLater));
            let waits = |reason| match reason {
                StopReason::AwaitingApproval(paused) => *paused,
                reason => panic!("{reason}"),
            };
            let mut paused = waits(agent.run("Pay.").await.unwrap_err().reason);
            assert_eq!(paused.pending()[0].tool, "one__pay");
            let call = paused.pending()[0].call.id.clone();
            paused.decide(&call, approval.clone(), "Grace").unwrap();
            if is_swapped {
                swap(&registry);
                let paused = waits(agent.resume(paused).finish().await.unwrap_err().reason);
                assert_eq!(paused.pending()[0].tool, "other__pay", "it is asked about again");
            } else {
                assert_eq!(agent.resume(paused).finish().await.unwrap().text, "Done.");
            }
        }
    }
}
