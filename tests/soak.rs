//! Soak test: stopped calls leave no tasks and no processes, whatever their number.
//!
//! `cargo test -p tool-tests --features process --test soak` runs 1,000 calls. `cargo test
//! --release -p tool-tests --features process --test soak -- --ignored --nocapture` runs 10,000
//! calls and prints the delay of each result after its deadline or cancellation.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use serde_json::json;
use support::processes::{MARKER, children, marked, wait_until};
use tool_runtime::dispatch::{Batch, Dispatch};
use tool_runtime::{
    CancellationToken, Dispatcher, Registry, ToolCall, ToolContext, ToolError, ToolExecution, tool,
    tools,
};

const LIMIT: Duration = Duration::from_millis(50);
/// The shell that ends programs if this process is killed: it runs as long as the process.
const WATCHDOGS: usize = 1;

/// Starts three tasks that never end, and never returns.
#[tool(timeout = "50ms")]
async fn hang(ctx: &ToolContext) {
    start(ctx).await;
}

/// Starts three tasks that never end, and waits for cancellation.
#[tool]
async fn hang_untimed(ctx: &ToolContext) {
    start(ctx).await;
}

async fn start(ctx: &ToolContext) {
    for _ in 0..3 {
        ctx.spawn(std::future::pending::<()>());
    }
    std::future::pending().await
}

/// Starts three programs that outlive the deadline.
#[tool(timeout = "50ms")]
async fn run(marker: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    let tree = ctx.command("sh").args(["-c", "sleep 1000 & sleep 1000"]).env(MARKER, marker);
    tree.output().await?.into_text()
}

/// Delays of the results after the moment at which their calls had to stop.
#[derive(Default)]
struct Delays(Vec<Duration>);

impl Delays {
    fn add(&mut self, executions: &[ToolExecution]) {
        self.0.extend(executions.iter().map(|execution| execution.duration.saturating_sub(LIMIT)));
    }

    fn print(mut self, label: &str) {
        self.0.sort();
        let at = |share: f64| {
            let index = ((self.0.len() - 1) as f64 * share) as usize;
            self.0[index].as_secs_f64() * 1_000.0
        };
        println!(
            "{:>6} {label:<28} p50 {:>6.2} ms  p90 {:>6.2}  p99 {:>6.2}  max {:>6.2}",
            self.0.len(),
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0)
        );
    }
}

fn calls(count: usize, name: &str, arguments: &serde_json::Value) -> Vec<ToolCall> {
    (0..count).map(|n| ToolCall::new(format!("call_{n}"), name, arguments.clone())).collect()
}

/// Runs `count` calls: of ten, eight time out, one is cancelled and one runs programs.
async fn soak(count: usize) {
    let marker = format!("soak-{count}-{}", std::process::id());
    let dispatcher = Dispatcher::new(Registry::try_from(tools![hang, hang_untimed, run]).unwrap());
    let before = alive();

    let mut late = Delays::default();
    for _ in 0..count * 8 / 10 / 100 {
        let executions = dispatcher.dispatch(calls(100, "hang", &json!({}))).await;
        assert!(executions.iter().all(
            |execution| execution.failed_with("TOOL_TIMEOUT") && !execution.has_detached_thread
        ));
        late.add(&executions);
    }

    let mut cancelled = Delays::default();
    for _ in 0..count / 10 / 100 {
        let mut batch = Batch::from(calls(100, "hang_untimed", &json!({})));
        let stop = CancellationToken::new();
        batch.cancellation = Some(stop.clone());
        let stopped = tokio::spawn(async move {
            tokio::time::sleep(LIMIT).await;
            stop.cancel();
            Instant::now()
        });
        let executions = Dispatch::dispatch(&dispatcher, batch).await;
        let (answered, stopped) = (Instant::now(), stopped.await.unwrap());
        assert!(
            executions.iter().all(|execution| execution.failed_with("TOOL_CANCELLED")
                && !execution.has_detached_thread)
        );
        // The calls of a batch return together, so each has the delay of the batch.
        cancelled.0.extend(executions.iter().map(|_| answered.saturating_duration_since(stopped)));
    }

    let mut programs = Delays::default();
    for _ in 0..count / 10 / 10 {
        let executions = dispatcher.dispatch(calls(10, "run", &json!({ "marker": marker }))).await;
        assert!(
            executions.iter().all(|it| it.failed_with("TOOL_TIMEOUT") && !it.has_detached_thread)
        );
        programs.add(&executions);
    }

    wait_until("no tasks are left", || alive() == before).await;
    wait_until("no programs are left", || marked(&marker) == 0 && children() == WATCHDOGS).await;
    late.print("timed out");
    cancelled.print("cancelled");
    programs.print("with programs, timed out");
    let (tasks, left) = (alive() - before, marked(&marker) + children() - WATCHDOGS);
    println!("{tasks} tasks and {left} processes left");
}

fn alive() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_calls_leave_nothing_behind() {
    soak(1_000).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; the short version always runs"]
async fn ten_thousand_stopped_calls_leave_nothing_behind() {
    soak(10_000).await;
}
