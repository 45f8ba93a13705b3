//! How many calls run at once.

use std::cell::Cell;

use tool_runtime::Policy;
use tool_runtime::dispatch::Concurrency;

use super::*;

// Of each test its own: it has one thread, and runs its calls there.
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
async fn no_more_calls_run_at_once_than_may() {
    for (limits, seconds, most) in [
        (Concurrency::default(), 1, 12),
        (Concurrency::default().all(4), 3, 4),
        (Concurrency::default().all(0), 12, 1),
        (Concurrency::default().tool("slow", 2), 3, 8),
        (Concurrency::default().provider("p", 3), 2, 9),
        (Concurrency::default().provider("p", 3).tool("slow", 1), 6, 4),
        (Concurrency::default().tool("nobody", 1).all(100), 1, 12),
    ] {
        let registry = Registry::try_from(tools![slow]).unwrap();
        registry.register_all_from("p", tools![slow_too]).unwrap();
        let dispatcher =
            Dispatcher::new(registry).policy(Policy::new().concurrency(limits.clone()));
        MOST.set(0);
        let started = Instant::now();
        let done = run(&dispatcher, &["slow", "other"].repeat(6)).await;
        // The timeout of a tool is not spent on waiting for a place.
        assert!(done.iter().all(|done| code(done) == "-"), "{limits:?}: {:?}", texts(&done));
        let took = (started.elapsed().as_secs(), MOST.get());
        assert_eq!(took, (seconds, most), "{limits:?}");
    }
}

/// Calls the tool of its name that is another's.
#[tool(name = "other")]
async fn asks_twice(ctx: &ToolContext) {
    let call = || ToolCall::new("", "p__other", "{}");
    ctx.dispatch(vec![call(), call()]).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_within_a_call_waits_for_what_the_outer_one_does_not_hold() {
    // Within, only what both share is not waited for.
    let d = Concurrency::default;
    for (limits, seconds) in [
        (d().tool("p__other", 1), 2),
        (d().tool("p__other", 1).tool("q__other", 5).all(1), 2),
        (d().tool("other", 1), 1),
        (d().provider("p", 1).provider("q", 1), 2),
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
