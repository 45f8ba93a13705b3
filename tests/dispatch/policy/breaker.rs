//! Circuit breakers of providers.

use tool_runtime::dispatch::{Breaker, Breakers, RateLimits};
use tool_runtime::event::BlockReason;
use tool_runtime::{Arguments, RateLimit, Tool, ToolDefinition, async_trait};

use super::*;

/// The behaviour of the next calls of a provider; later calls succeed.
#[derive(Clone, Default)]
struct Script(Arc<Mutex<Vec<&'static str>>>);

async fn act(ctx: &ToolContext) -> Result<(), ToolError> {
    let next = {
        let mut script = ctx.get::<Script>().unwrap().0.lock().unwrap();
        if script.is_empty() { "works" } else { script.remove(0) }
    };
    match next {
        "works" => Ok(()),
        "says no" => Err("no".into()),
        "is down" => Err(ToolError::transient("down")),
        "panics" => panic!("on purpose"),
        "was asked wrongly" => Err(ToolError::invalid_arguments("no")),
        _ => std::future::pending().await,
    }
}

/// Behaves as the script says.
#[tool]
async fn single(ctx: &ToolContext) -> Result<(), ToolError> {
    act(ctx).await
}

/// Behaves as the script says, after a second.
#[tool(idempotent, max_retries = 2, timeout = "1s")]
async fn repeatable(ctx: &ToolContext) -> Result<(), ToolError> {
    act(ctx).await
}

fn with(script: &[&'static str]) -> Dispatcher {
    with_policy(Policy::new(), script)
}

fn with_policy(policy: Policy, script: &[&'static str]) -> Dispatcher {
    support::panics::silence_panics_on_purpose();
    let registry = Registry::new();
    for provider in ["near", "far"] {
        registry.register_all_from(provider, tools![single, repeatable]).unwrap();
    }
    let breakers = Breakers::default().provider("far", Breaker::after(2));
    let script = Script(Arc::new(Mutex::new(script.to_vec())));
    Dispatcher::new(registry).policy(policy.breakers(breakers)).extension(script)
}

async fn call(dispatcher: &Dispatcher, name: &str) -> ToolExecution {
    run(dispatcher, &[name]).await.remove(0)
}

#[tokio::test(start_paused = true)]
async fn breaker_opens_after_two_failures() {
    for (script, is_closed) in [
        (["is down", "is down"], true),
        (["panics", "is down"], true),
        (["is down", "works"], false),
        (["is down", "says no"], false),
        (["is down", "was asked wrongly"], false),
        (["says no", "says no"], false),
    ] {
        let dispatcher = with(&script);
        for _ in script {
            assert!(call(&dispatcher, "far__single").await.did_run());
        }
        let execution = call(&dispatcher, "far__repeatable").await;
        assert_eq!(execution.blocked_by, is_closed.then_some(BlockReason::Breaker), "{script:?}");
        assert_eq!(execution.attempts, u32::from(!is_closed));
        if is_closed {
            assert!(!offered(&dispatcher).contains(&"far__repeatable".to_owned()));
            let text = "Not run: the tools of `far` fail at the moment. Go on without them, or call \
                        again in 30 s.";
            assert_eq!(
                (code(&execution), execution.result.text.as_str()),
                ("TOOL_UNAVAILABLE", text)
            );
        }
        // Other providers are not affected.
        assert!(call(&dispatcher, "near__single").await.is_success());
        assert!(offered(&dispatcher).contains(&"near__repeatable".to_owned()));
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert!(offered(&dispatcher).contains(&"far__repeatable".to_owned()), "{script:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn breaker_admits_one_probe_after_the_cool_down() {
    for (probe, opens) in [("works", true), ("says no", true), ("is down", false), ("hangs", false)]
    {
        let policy = Policy::new().batch_timeout(Duration::from_secs(5));
        let dispatcher = with_policy(policy, &["is down", "is down", probe]);
        run(&dispatcher, &["far__single"]).await;
        run(&dispatcher, &["far__single"]).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        let executions = run(&dispatcher, &["far__single"; 3]).await;
        assert_eq!(
            executions.iter().filter(|execution| execution.did_run()).count(),
            if opens { 3 } else { 1 }
        );
        let next = call(&dispatcher, "far__single").await;
        assert_eq!(next.is_success(), opens, "{probe}");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_probe_is_followed_by_another() {
    let dispatcher = with(&["is down", "is down", "hangs"]);
    run(&dispatcher, &["far__single"]).await;
    run(&dispatcher, &["far__single"]).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let probe = tokio::time::timeout(Duration::from_secs(1), run(&dispatcher, &["far__single"]));
    probe.await.unwrap_err();
    assert!(call(&dispatcher, "far__single").await.is_success());
}

#[tokio::test(start_paused = true)]
async fn open_breaker_prevents_retries() {
    let dispatcher = with(&["is down", "hangs", "works"]);
    let execution = call(&dispatcher, "far__repeatable").await;
    assert_eq!((code(&execution), execution.attempts), ("TOOL_TIMEOUT", 2));
    assert_eq!(call(&dispatcher, "far__repeatable").await.blocked_by, Some(BlockReason::Breaker));
}

/// Fails until the first attempts have ended; later attempts would succeed.
#[tool(idempotent, max_retries = 1)]
async fn down(ctx: &ToolContext) -> Result<(), ToolError> {
    act(ctx).await
}

#[tokio::test(start_paused = true)]
async fn breaker_that_opens_during_a_retry_delay_prevents_the_retry() {
    let registry = Registry::new();
    registry.register_all_from("far", tools![single, down]).unwrap();
    let script = Script(Arc::new(Mutex::new(vec!["is down", "is down"])));
    let dispatcher = Dispatcher::new(registry)
        .policy(Policy::new().breakers(Breakers::default().each(Breaker::after(2))))
        .extension(script.clone());
    // The first call would be retried; by then the second has failed as well.
    let executions = run(&dispatcher, &["down", "single"]).await;
    assert_eq!(executions.iter().map(|execution| execution.attempts).collect::<Vec<_>>(), [1, 1]);
    assert_eq!([code(&executions[0]), code(&executions[1])], ["TOOL_TRANSIENT_FAILURE"; 2]);
}

/// Behaves as the script says, for as long as its definition allows.
struct Defined(ToolDefinition);

#[async_trait]
impl Tool for Defined {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        act(ctx).await.map(|()| ToolOutput::text("done"))
    }
}

#[tokio::test(start_paused = true)]
async fn longest_duration_of_each_setting_is_no_limit() {
    let longest = Duration::MAX;
    let breakers = Breakers::default().each(Breaker::after(1).cool_down(longest));
    let limit = RateLimit { times: 3, per: longest };
    let limits = RateLimits::default().tool("unlimited", limit).wait_timeout(longest);
    let policy = Policy::new().batch_timeout(longest).rate_limits(limits).breakers(breakers);
    let schema = json!({ "type": "object" });
    let definition = ToolDefinition::new("unlimited", "Acts.", schema).timeout(longest);
    let registry = Registry::new();
    registry.register_from("far", Arc::new(Defined(definition))).unwrap();
    let script = Script(Arc::new(Mutex::new(vec!["works", "is down"])));
    let dispatcher = Dispatcher::new(registry).policy(policy).extension(script);
    let name = "far__unlimited";
    assert!(call(&dispatcher, name).await.is_success());
    assert_eq!(code(&call(&dispatcher, name).await), "TOOL_TRANSIENT_FAILURE");
    assert_eq!(call(&dispatcher, name).await.blocked_by, Some(BlockReason::Breaker));
}
