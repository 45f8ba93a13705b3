//! The end of a batch: by a failure, a blocked call, its deadline or a cancellation.

use tool_runtime::dispatch::{Batch, Concurrency, Dispatch};
use tool_runtime::{CancellationToken, Policy};

use super::*;

/// The number of calls that entered a tool.
#[derive(Clone, Default)]
struct Entered(Arc<AtomicU32>);

/// Works.
#[tool]
async fn work(ctx: &ToolContext) -> &'static str {
    ctx.get::<Entered>().unwrap().0.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(1)).await;
    "done"
}

/// Works alone.
#[tool(sequential)]
async fn work_sequentially(ctx: &ToolContext) -> &'static str {
    work(ctx).await
}

/// Fails at once.
#[tool]
async fn fail() -> Result<(), &'static str> {
    Err("no")
}

fn all() -> (Dispatcher, Entered) {
    let entered = Entered::default();
    let dispatcher = dispatcher(tools![work, work_sequentially, fail, denied, hang]);
    (dispatcher.extension(entered.clone()), entered)
}

/// Never ends.
#[tool]
async fn hang() {
    std::future::pending().await
}

/// Doesn't run.
#[tool(permission = "deny")]
async fn denied() {}

#[tokio::test(start_paused = true)]
async fn failure_or_block_aborts_the_batch_if_configured() {
    let cancelled = "TOOL_CANCELLED";
    for (on_failure, on_block, second, last, at) in [
        (false, false, "fail", "-", None),
        (true, false, "fail", cancelled, Some(1)),
        (false, true, "fail", "-", None),
        (true, false, "denied", "-", None),
        (false, true, "denied", cancelled, Some(1)),
        // The model can correct its own mistakes.
        (true, true, "unknown", "-", None),
    ] {
        let (dispatcher, entered) = all();
        let policy = Policy::new();
        let policy = if on_failure { policy.abort_on_failure() } else { policy };
        let policy = if on_block { policy.abort_on_block() } else { policy };
        let dispatcher = dispatcher.policy(policy);
        let names = ["work", second, "work_sequentially"];
        let calls = names.map(|name| ToolCall::new(name, name, "{}"));
        let ended = dispatcher.try_dispatch(calls.into()).await;
        let (executions, aborted_at) = match ended {
            Ok(executions) => (executions, None),
            Err(aborted) => (aborted.executions, Some(aborted.index)),
        };
        // Concurrent calls finished; later calls never started.
        assert_eq!(
            (code(&executions[0]), code(&executions[2])),
            ("-", last),
            "{second} {on_failure:?}"
        );
        assert_eq!(aborted_at, at);
        assert_eq!(entered.0.load(Ordering::Relaxed), if last == "-" { 2 } else { 1 });
        assert_eq!(executions[2].did_run(), last == "-");
    }
}

#[tokio::test(start_paused = true)]
async fn queued_call_does_not_start_after_an_abort() {
    let (dispatcher, entered) = all();
    let dispatcher = dispatcher.policy(
        Policy::new()
            .abort_on_failure()
            .concurrency(Concurrency::default().max_tool_calls("work", 1)),
    );
    let executions = run(&dispatcher, &["work", "work", "fail"]).await;
    assert_eq!(
        [0, 1, 2].map(|n| code(&executions[n])),
        ["-", "TOOL_CANCELLED", "TOOL_EXECUTION_FAILED"]
    );
    assert_eq!(entered.0.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn run_ends_with_a_failure_if_configured() {
    let calls = || ChatReply::default().call("fail", "{}");
    let model = ScriptedModel::new([calls(), ChatReply::text("Never mind.")]);
    let agent = Agent::new(model, tools![fail]);
    assert_eq!(agent.run("Go").await.unwrap().text, "Never mind.");

    let agent = Agent::new(ScriptedModel::new([calls()]), tools![fail])
        .policy(Policy::new().abort_on_failure());
    let stopped = agent.run("Go").await.unwrap_err();
    let text = "the run stopped: batch aborted by call `call_1` of tool `fail`: no";
    assert_eq!(stopped.to_string(), text);
    assert_complete(&stopped.transcript);
}

#[tokio::test(start_paused = true)]
async fn batch_is_answered_when_its_deadline_passes() {
    let (dispatcher, _) = all();
    let dispatcher = dispatcher.policy(Policy::new().batch_timeout(Duration::from_secs(3)));
    let started = Instant::now();
    let executions = run(&dispatcher, &["work", "hang", "work_sequentially", "work"]).await;
    assert_eq!(started.elapsed(), Duration::from_secs(3));
    let codes: Vec<_> = executions.iter().map(code).collect();
    assert_eq!(codes, ["-", "TOOL_TIMEOUT", "TOOL_TIMEOUT", "TOOL_TIMEOUT"]);
    assert_eq!(
        executions.iter().map(|execution| execution.attempts).collect::<Vec<_>>(),
        [1, 1, 0, 0]
    );
}

#[tokio::test(start_paused = true)]
async fn batch_is_answered_when_it_is_cancelled() {
    for names in [&["hang"][..], &["work", "hang", "work_sequentially", "work"]] {
        let (dispatcher, _) = all();
        let stop = CancellationToken::new();
        let mut batch = Batch::from(
            names.iter().map(|name| ToolCall::new(*name, *name, "{}")).collect::<Vec<_>>(),
        );
        batch.cancellation = Some(stop.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            stop.cancel();
        });
        let started = Instant::now();
        let executions = Dispatch::dispatch(&dispatcher, batch).await;
        assert_eq!(started.elapsed(), Duration::from_millis(2_500));
        // Finished calls have their results; later calls never started.
        let codes: Vec<_> = executions.iter().map(code).collect();
        let over = usize::from(names[0] == "work");
        assert!(codes[..over].iter().all(|code| *code == "-"), "{codes:?}");
        assert!(codes[over..].iter().all(|code| *code == "TOOL_CANCELLED"), "{codes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn run_is_answered_when_it_is_cancelled() {
    let stop = CancellationToken::new();
    let model = ScriptedModel::new([ChatReply::default().call("hang", "{}")]);
    let agent = Agent::new(model, tools![hang]).cancellation(stop.clone());
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stop.cancel();
    });
    let stopped = agent.run("Go").await.unwrap_err();
    let text = "the run stopped: cancelled by the cancellation token of the agent";
    assert_eq!(stopped.to_string(), text);
    assert_complete(&stopped.transcript);
    assert_eq!(results(&stopped.transcript[2])[0].error.as_deref(), Some("TOOL_CANCELLED"));
}
