//! Memoization of pure tools.

use std::cell::Cell;

use tool_runtime::dispatch::Batch;
use tool_runtime::event::Origin;
use tool_runtime::{Policy, Usage};

use super::*;

// Thread-local, so that each test has its own: a test runs its calls on one thread.
thread_local! {
    static RUNS: Cell<u32> = const { Cell::new(0) };
}

/// Squares a number.
#[tool(pure)]
async fn square(number: i64) -> Result<i64, ToolError> {
    RUNS.set(RUNS.get() + 1);
    tokio::time::sleep(Duration::from_millis(10)).await;
    if number < 0 {
        return Err("not below zero".into());
    }
    Ok(number * number)
}

fn squares(numbers: &[&str]) -> Vec<ToolCall> {
    let call = |(n, number): (usize, &&str)| {
        ToolCall::new(format!("call_{n}"), "square", format!(r#"{{"number": {number}}}"#))
    };
    numbers.iter().enumerate().map(call).collect()
}

/// Dispatches calls that belong to one and the same run.
async fn in_run(dispatcher: &Dispatcher, calls: Vec<ToolCall>) -> Vec<ToolExecution> {
    let mut batch = Batch::from(calls);
    batch.origin = Origin::new("7".parse().unwrap(), 1);
    dispatcher.dispatch_on(&dispatcher.registry().snapshot(), batch).await
}

#[tokio::test(start_paused = true)]
async fn pure_tool_runs_once_for_the_same_arguments() {
    let dispatcher = dispatcher(tools![square]);
    // In every spelling of the arguments, and while the first call still runs.
    let executions = dispatcher.dispatch(squares(&["7", " 7.0 ", "\"7\"", "8"])).await;
    assert_eq!(texts(&executions), ["49", "49", "49", "64"]);
    assert_eq!(RUNS.replace(0), 2);
    let cached: Vec<_> =
        executions.iter().map(|execution| (execution.cached, execution.attempts)).collect();
    assert_eq!(cached.iter().filter(|it| **it == (true, 0)).count(), 2);

    let executions = in_run(&dispatcher, squares(&["7"])).await;
    assert_eq!((RUNS.replace(0), executions[0].cached), (1, false));
    let executions = in_run(&dispatcher, squares(&["7"])).await;
    assert_eq!((RUNS.replace(0), executions[0].cached), (0, true));

    // Errors are not memoized.
    in_run(&dispatcher, squares(&["-1"])).await;
    in_run(&dispatcher, squares(&["-1"])).await;
    assert_eq!(RUNS.replace(0), 2);
}

/// Calls itself with the same arguments.
#[tool(pure)]
async fn mirror(style: String, ctx: &ToolContext) -> String {
    DEEP_CALLS.fetch_add(1, Ordering::SeqCst);
    let call = ToolCall::new("", "mirror", json!({ "style": style }));
    let execution = ctx.dispatch(vec![call]).await.remove(0);
    execution.result.text
}

static DEEP_CALLS: AtomicU32 = AtomicU32::new(0);

#[tokio::test(start_paused = true)]
async fn nested_call_of_a_pure_tool_does_not_wait_for_itself() {
    let call = ToolCall::new("c", "mirror", json!({ "style": "so" }));
    let dispatcher = dispatcher(tools![mirror]);
    let dispatch = tokio::time::timeout(Duration::from_secs(60), dispatcher.dispatch(vec![call]));
    let execution = dispatch.await.unwrap().remove(0);
    assert_eq!(
        execution.result.text,
        "Not run: calls of tools may be nested at most 7 levels deep."
    );
    assert_eq!(DEEP_CALLS.load(Ordering::SeqCst), 8);
}

/// Calls `square` while it holds the only permit.
#[tool]
async fn area(ctx: &ToolContext) -> String {
    // The other call of `square` comes first, and waits for a permit.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let execution = ctx.dispatch(squares(&["5"])).await.remove(0);
    execution.result.text
}

#[tokio::test(start_paused = true)]
async fn call_with_the_only_permit_does_not_wait_for_queued_calls() {
    let limits = tool_runtime::dispatch::Concurrency::default().max_calls(1);
    let dispatcher = dispatcher(tools![area, square]).policy(Policy::new().concurrency(limits));
    let mut calls = squares(&["5"]);
    calls.insert(0, ToolCall::new("area", "area", "{}"));
    let dispatch = tokio::time::timeout(Duration::from_secs(60), dispatcher.dispatch(calls));
    assert_eq!(texts(&dispatch.await.unwrap()), ["25", "25"]);
}

/// Uses a model.
#[tool(pure)]
async fn costly() -> ToolOutput {
    let usage = Usage::new(100, 7);
    ToolOutput::text("42").with_effect(EffectRecord::TokensSpent { usage, cost: None, model: None })
}

#[tokio::test]
async fn memoized_result_uses_no_tokens() {
    let call = || ChatReply::default().call("costly", "{}");
    let two_calls = call().call("costly", "{}");
    let model = ScriptedModel::new([two_calls, call(), ChatReply::text("Done.")]);
    let answer = Agent::new(model, tools![costly]).run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[4])[0].text, "42");
    assert_eq!(answer.usage, Usage::new(100, 7));
}

/// Takes ten seconds, unless it crashes.
#[tool(pure)]
async fn slow(crashes: bool) -> u32 {
    let earlier_calls = SLOW_CALLS.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!crashes || earlier_calls % 2 == 1, "on purpose");
    earlier_calls
}

static SLOW_CALLS: AtomicU32 = AtomicU32::new(0);

#[tokio::test(start_paused = true)]
async fn waiting_call_runs_when_the_first_has_no_output() {
    support::panics::silence_panics_on_purpose();
    let dispatcher = dispatcher(tools![slow]);
    let call = |crashes: bool| vec![ToolCall::new("c", "slow", json!({ "crashes": crashes }))];
    for crashes in [false, true] {
        let (first, next) = (dispatcher.clone(), dispatcher.clone());
        let first = tokio::spawn(async move { in_run(&first, call(crashes)).await });
        tokio::time::sleep(Duration::from_secs(5)).await;
        let next = tokio::spawn(async move { in_run(&next, call(crashes)).await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        if !crashes {
            first.abort();
        }
        let next = next.await.unwrap().remove(0);
        assert!(next.is_success() && !next.cached && next.attempts == 1, "{next:?}");
        assert!(in_run(&dispatcher, call(crashes)).await[0].cached);
        SLOW_CALLS.store(0, Ordering::SeqCst);
    }
}
