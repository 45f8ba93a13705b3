//! Concurrency limits.

use std::cell::Cell;

use tool_runtime::Policy;
use tool_runtime::dispatch::Concurrency;

use super::*;

// Thread-local, so that each test has its own: a test runs its calls on one thread.
thread_local! {
    static RUNNING: Cell<u32> = const { Cell::new(0) };
    static MOST: Cell<u32> = const { Cell::new(0) };
}

async fn take_a_second() {
    RUNNING.set(RUNNING.get() + 1);
    MOST.set(MOST.get().max(RUNNING.get()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    RUNNING.set(RUNNING.get() - 1);
}

/// Takes a second.
#[tool(timeout = "1500ms")]
async fn slow() {
    take_a_second().await;
}

/// Takes a second as well.
#[tool(name = "other")]
async fn slow_too() {
    take_a_second().await;
}

#[tokio::test(start_paused = true)]
async fn concurrency_limits_hold() {
    for (limits, seconds, most) in [
        (Concurrency::default(), 1, 12),
        (Concurrency::default().max_calls(4), 3, 4),
        (Concurrency::default().max_calls(0), 12, 1),
        (Concurrency::default().max_tool_calls("slow", 2), 3, 8),
        (Concurrency::default().max_provider_calls("p", 3), 2, 9),
        (Concurrency::default().max_provider_calls("p", 3).max_tool_calls("slow", 1), 6, 4),
        (Concurrency::default().max_tool_calls("nobody", 1).max_calls(100), 1, 12),
    ] {
        let registry = Registry::try_from(tools![slow]).unwrap();
        registry.register_all_from("p", tools![slow_too]).unwrap();
        let dispatcher =
            Dispatcher::new(registry).policy(Policy::new().concurrency(limits.clone()));
        MOST.set(0);
        let started = Instant::now();
        let executions = run(&dispatcher, &["slow", "other"].repeat(6)).await;
        // The timeout of a tool does not include the wait for a permit.
        assert!(
            executions.iter().all(|it| code(it) == "-"),
            "{limits:?}: {:?}",
            texts(&executions)
        );
        let elapsed_and_peak = (started.elapsed().as_secs(), MOST.get());
        assert_eq!(elapsed_and_peak, (seconds, most), "{limits:?}");
    }
}

/// Calls the tool of another provider with the same name.
#[tool(name = "other")]
async fn asks_twice(ctx: &ToolContext) {
    let call = || ToolCall::new("", "p__other", "{}");
    ctx.dispatch(vec![call(), call()]).await;
}

#[tokio::test(start_paused = true)]
async fn nested_call_waits_only_for_permits_that_outer_calls_do_not_hold() {
    // A nested call waits for every permit but those that it shares with the outer call.
    let d = Concurrency::default;
    for (limits, seconds) in [
        (d().max_tool_calls("p__other", 1), 2),
        (d().max_tool_calls("p__other", 1).max_tool_calls("q__other", 5).max_calls(1), 2),
        (d().max_tool_calls("other", 1), 1),
        (d().max_provider_calls("p", 1).max_provider_calls("q", 1), 2),
    ] {
        let registry = Registry::new();
        registry.register_all_from("p", tools![slow_too]).unwrap();
        registry.register_all_from("q", tools![asks_twice]).unwrap();
        let started = Instant::now();
        run(&Dispatcher::new(registry).policy(Policy::new().concurrency(limits)), &["q__other"])
            .await;
        assert_eq!(started.elapsed().as_secs(), seconds);
    }
}
