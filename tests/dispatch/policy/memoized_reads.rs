//! What a pure tool has read is memoized until a call of the same run may change it.

use std::cell::Cell;

use proptest::prelude::*;
use tool_runtime::dispatch::{Batch, Concurrency};
use tool_runtime::event::{Origin, RunId};
use tool_runtime::{BackgroundChange, Policy, StopReason};

use super::*;

// Thread-local, so that each test has its own: a test runs its calls on one thread.
thread_local! {
    static VERSION: Cell<u64> = const { Cell::new(0) };
    static READS: Cell<u32> = const { Cell::new(0) };
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(0..8))).await;
}

/// Reads the version of the file.
#[tool(pure, effect = "read")]
async fn read(file: u8) -> u64 {
    let _ = file;
    READS.set(READS.get() + 1);
    pause().await;
    let version = VERSION.get();
    pause().await;
    version
}

/// Writes the next version of all files.
#[tool(effect = "write", sequential)]
async fn write() -> u64 {
    change().await
}

/// Asks another program to write, and reports that it failed.
#[tool]
async fn touch() -> Result<String, ToolError> {
    change().await;
    Err("no reply".into())
}

/// Writes by the tool of another call.
#[tool(effect = "none")]
async fn delegate(ctx: &ToolContext) -> String {
    let calls = vec![ToolCall::new("", "write", "{}")];
    ctx.dispatch(calls).await.remove(0).result.text
}

/// Reads by the tool of another call, and writes in between.
#[tool(effect = "write")]
async fn read_twice(ctx: &ToolContext) -> String {
    let read = || ctx.dispatch(vec![ToolCall::new("", "read", r#"{"file": 0}"#)]);
    let before = read().await.remove(0).result.text;
    change().await;
    format!("{before} {}", read().await.remove(0).result.text)
}

/// Does not write.
#[tool(effect = "write", permission = "deny")]
async fn forbidden() {
    unreachable!("it is denied")
}

/// Squares a number.
#[tool(pure)]
async fn square(number: u64) -> u64 {
    READS.set(READS.get() + 1);
    number * number
}

async fn change() -> u64 {
    pause().await;
    VERSION.set(VERSION.get() + 1);
    let version = VERSION.get();
    pause().await;
    version
}

fn files() -> Dispatcher {
    dispatcher(tools![read, write, touch, delegate, read_twice, forbidden, square])
}

fn call(name: &str) -> ToolCall {
    let arguments = match name {
        "read" => json!({ "file": 0 }),
        "square" => json!({ "number": 3 }),
        _ => json!({}),
    };
    ToolCall::new(format!("call_{}", fastrand::u64(..)), name, arguments)
}

fn batch(run: RunId, names: &[&str]) -> Batch {
    let mut batch = Batch::from(names.iter().map(|name| call(name)).collect::<Vec<_>>());
    batch.origin = Origin::new(run, 1);
    batch
}

async fn execute(dispatcher: &Dispatcher, run: RunId, names: &[&str]) -> Vec<ToolExecution> {
    let tools = dispatcher.registry().snapshot();
    dispatcher.dispatch_on(&tools, batch(run, names)).await
}

#[tokio::test(start_paused = true)]
async fn read_after_a_write_runs_again() {
    for (between, is_cached) in [
        ("read", true),
        ("square", true),
        ("forbidden", true),
        ("unknown", true),
        ("write", false),
        ("touch", false),
        ("delegate", false),
        ("read_twice", false),
    ] {
        let (dispatcher, run) = (files(), RunId::random());
        execute(&dispatcher, run, &["read", "square"]).await;
        execute(&dispatcher, run, &[between]).await;
        let executions = execute(&dispatcher, run, &["read", "square"]).await;
        assert_eq!(executions[0].result.text, VERSION.get().to_string(), "{between}");
        assert_eq!(executions[0].cached, is_cached, "{between}");
        assert!(executions[1].cached, "{between}: the output depends on the arguments alone");
    }
    // In one reply: `write` is sequential.
    let executions = files().dispatch(["read", "write", "read"].map(call).into()).await;
    let version = VERSION.get();
    assert_eq!(texts(&executions), [version - 1, version, version].map(|it| it.to_string()));
    // In one call.
    let execution = files().dispatch(vec![call("read_twice")]).await.remove(0);
    assert_eq!(execution.result.text, format!("{version} {}", version + 1));
}

#[tokio::test(start_paused = true)]
async fn runs_share_no_outputs() {
    let dispatcher = files();
    let [run, other] = [RunId::random(), RunId::random()];
    for (run, is_cached) in [(run, false), (other, false), (run, true), (other, true)] {
        for name in ["read", "square"] {
            assert_eq!(execute(&dispatcher, run, &[name]).await[0].cached, is_cached, "{name}");
        }
    }
    execute(&dispatcher, run, &["write"]).await;
    assert!(execute(&dispatcher, other, &["read"]).await[0].cached, "the run of another writes");
    // A batch without a run counts as one run, with its nested calls.
    let squares = || vec![call("square"), call("square")];
    for _ in 0..2 {
        let executions = dispatcher.dispatch(squares()).await;
        assert_eq!(executions.iter().filter(|execution| execution.cached).count(), 1);
    }
}

/// Squares a number on the way to another.
#[tool(effect = "none")]
async fn squares(ctx: &ToolContext) -> bool {
    ctx.dispatch(vec![call("square")]).await[0].cached
}

#[tokio::test]
async fn nested_call_outside_of_a_run_uses_the_memo_of_its_batch() {
    let limits = Concurrency::default().max_calls(1);
    let dispatcher = dispatcher(tools![square, squares]).policy(Policy::new().concurrency(limits));
    let executions = dispatcher.dispatch(vec![call("square"), call("squares")]).await;
    assert_eq!(texts(&executions), ["9", "true"]);
    assert_eq!(dispatcher.dispatch(vec![call("squares")]).await[0].result.text, "false");
}

/// Writes for longer than it may. A busy machine needs a part of the time to start the thread.
#[tool(effect = "write", blocking, timeout = "500ms")]
fn write_late(ctx: &ToolContext) {
    while !LATE_END.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    let _ = ctx;
}

static LATE_END: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

#[tokio::test]
async fn write_that_outlives_its_call_is_never_over() {
    let (dispatcher, run) = (dispatcher(tools![read, write_late]), RunId::random());
    assert!(execute(&dispatcher, run, &["write_late"]).await[0].has_detached_thread);
    let first = execute(&dispatcher, run, &["read"]).await;
    let next = execute(&dispatcher, run, &["read"]).await;
    LATE_END.store(true, Ordering::SeqCst);
    assert!(!first[0].cached && !next[0].cached);
}

thread_local! {
    static BACKGROUND: Cell<Option<BackgroundChange>> = const { Cell::new(None) };
}

/// Starts something that goes on after the call.
#[tool(effect = "none")]
async fn start(ctx: &ToolContext) {
    BACKGROUND.set(Some(ctx.begin_background_change()));
}

#[tokio::test(start_paused = true)]
async fn nothing_read_is_reused_while_a_change_goes_on_in_the_background() {
    let dispatcher = dispatcher(tools![read, square, start]);
    let [run, other] = [RunId::random(), RunId::random()];
    let is_cached = async |run, name| execute(&dispatcher, run, &[name]).await[0].cached;
    for run in [run, other] {
        execute(&dispatcher, run, &["read", "square"]).await;
    }
    execute(&dispatcher, run, &["start"]).await;
    for round in 0..3 {
        assert!(!is_cached(run, "read").await, "round {round}");
        assert!(is_cached(run, "square").await && is_cached(other, "read").await, "round {round}");
    }
    drop(BACKGROUND.take());
    assert!(!is_cached(run, "read").await && is_cached(run, "read").await);
    // It may outlive the dispatcher.
    execute(&dispatcher, run, &["start"]).await;
    drop(dispatcher);
    drop(BACKGROUND.take());
}

#[tokio::test(start_paused = true)]
async fn cached_calls_are_no_repetitions() {
    let calls = |name: &str, count| {
        let reply = || ChatReply::new(vec![tool_runtime::AssistantPart::Call(call(name))]);
        let replies = std::iter::repeat_with(reply).take(count);
        ScriptedModel::new(replies.chain([ChatReply::text("Done.")]).collect::<Vec<_>>())
    };
    let agent = |model| Agent::new(model, tools![read, square, write, delegate]);
    for name in ["read", "square"] {
        let answer = agent(calls(name, 15)).run("Go").await.unwrap();
        assert!(answer.transcript.iter().all(|it| !it.text().contains("in a row")), "{name}");
    }
    for name in ["write", "delegate"] {
        let stopped = agent(calls(name, 15)).run("Go").await.unwrap_err();
        assert!(matches!(stopped.reason, StopReason::RepeatedCall { .. }), "{stopped}");
    }
}

/// A call of a tool, and when it is made.
#[derive(Clone, Debug)]
struct Timed(u64, &'static str);

fn timed_calls() -> impl Strategy<Value = Vec<Timed>> {
    const NAMES: &[&str] =
        &["read", "read", "read", "write", "touch", "delegate", "forbidden", "square"];
    let timed = (0..60_u64, prop::sample::select(NAMES));
    prop::collection::vec(timed.prop_map(|(at, name)| Timed(at, name)), 1..24)
}

proptest! {
    #[test]
    fn concurrent_reads_return_nothing_older_than_the_last_write(
        calls in timed_calls(),
        seed: u64,
    ) {
        fastrand::seed(seed);
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
        let (dispatcher, run) = (files(), RunId::random());
        // Each task returns when it started and ended, and the version that it read or wrote.
        let outcomes = runtime.block_on(async {
            let start = Instant::now();
            let tasks: Vec<_> = calls.iter().cloned().map(|Timed(at, name)| {
                let dispatcher = dispatcher.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(at)).await;
                    let execution = execute(&dispatcher, run, &[name]).await.remove(0);
                    let version = match name {
                        "touch" => VERSION.get(),
                        _ => execution.result.text.parse().unwrap_or_default(),
                    };
                    (name, at, u64::try_from(start.elapsed().as_millis()).unwrap(), version)
                })
            }).collect();
            let mut outcomes = Vec::new();
            for task in tasks {
                outcomes.push(task.await.unwrap());
            }
            outcomes
        });
        for (_, started, _, version) in outcomes.iter().filter(|it| it.0 == "read") {
            let is_write = |name: &str| matches!(name, "write" | "delegate");
            let earlier = outcomes.iter().filter(|it| is_write(it.0) && it.2 < *started);
            let least = earlier.map(|it| it.3).max().unwrap_or(0);
            prop_assert!(*version >= least, "{outcomes:?}");
        }
    }
}
