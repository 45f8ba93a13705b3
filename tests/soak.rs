//! Stopped calls leave nothing behind, however many there are.
//!
//! `cargo test -p tool-tests --features process --test soak` runs a tenth;
//! `cargo test --release -p tool-tests --features process --test soak -- --ignored --nocapture` runs
//! 10,000 calls and prints how long after its deadline, or after the word to stop, each was answered.
#![cfg(target_os = "linux")]

#[path = "support/processes.rs"]
mod processes;

use std::time::{Duration, Instant};

use processes::{MARKER, children, marked, until};
use serde_json::json;
use tool_runtime::dispatch::{Batch, Dispatch};
use tool_runtime::{
    CancellationToken, Dispatcher, Registry, ToolCall, ToolContext, ToolError, ToolExecution, tool,
    tools,
};

const LIMIT: Duration = Duration::from_millis(50);

/// Starts three tasks that never end, nor does it.
#[tool(timeout = "50ms")]
async fn hang(ctx: &ToolContext) {
    start(ctx).await;
}

/// The same, until it is stopped.
#[tool]
async fn hang_on(ctx: &ToolContext) {
    start(ctx).await;
}

async fn start(ctx: &ToolContext) {
    for _ in 0..3 {
        ctx.spawn(std::future::pending::<()>());
    }
    std::future::pending().await
}

/// Starts three programs that don't end in time.
#[tool(timeout = "50ms")]
async fn run(marker: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    let tree = ctx.command("sh").args(["-c", "sleep 1000 & sleep 1000"]).env(MARKER, marker);
    tree.output().await?.into_text()
}

/// How long after the moment at which it had to stop each call was answered.
#[derive(Default)]
struct Delays(Vec<Duration>);

impl Delays {
    fn add(&mut self, done: &[ToolExecution]) {
        self.0.extend(done.iter().map(|done| done.took.saturating_sub(LIMIT)));
    }

    fn print(mut self, what: &str) {
        self.0.sort();
        let at = |share: f64| {
            let place = ((self.0.len() - 1) as f64 * share) as usize;
            self.0[place].as_secs_f64() * 1_000.0
        };
        println!(
            "{:>6} {what:<28} p50 {:>6.2} ms  p90 {:>6.2}  p99 {:>6.2}  max {:>6.2}",
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

/// Runs so many calls, eight in ten past their time, one cancelled and one with programs.
async fn soak(count: usize) {
    let marker = format!("soak-{count}-{}", std::process::id());
    let dispatcher = Dispatcher::new(Registry::try_from(tools![hang, hang_on, run]).unwrap());
    let before = alive();

    let mut late = Delays::default();
    for _ in 0..count * 8 / 10 / 100 {
        let done = dispatcher.dispatch(calls(100, "hang", &json!({}))).await;
        assert!(done.iter().all(|done| done.failed_with("TOOL_TIMEOUT") && !done.left_running));
        late.add(&done);
    }

    let mut cancelled = Delays::default();
    for _ in 0..count / 10 / 100 {
        let mut batch = Batch::from(calls(100, "hang_on", &json!({})));
        let stop = CancellationToken::new();
        batch.stop = Some(stop.clone());
        let stopped = tokio::spawn(async move {
            tokio::time::sleep(LIMIT).await;
            stop.cancel();
            Instant::now()
        });
        let done = Dispatch::dispatch(&dispatcher, batch).await;
        let (answered, stopped) = (Instant::now(), stopped.await.unwrap());
        assert!(done.iter().all(|done| done.failed_with("TOOL_CANCELLED") && !done.left_running));
        // Of each the time of all: they are answered together.
        cancelled.0.extend(done.iter().map(|_| answered.saturating_duration_since(stopped)));
    }

    let mut programs = Delays::default();
    for _ in 0..count / 10 / 10 {
        let done = dispatcher.dispatch(calls(10, "run", &json!({ "marker": marker }))).await;
        assert!(done.iter().all(|done| done.failed_with("TOOL_TIMEOUT") && !done.left_running));
        programs.add(&done);
    }

    until("no tasks", || alive() == before).await;
    until("no programs", || marked(&marker) == 0 && children() == 0).await;
    late.print("past their time");
    cancelled.print("cancelled");
    programs.print("with programs, past their time");
    let (tasks, left) = (alive() - before, marked(&marker) + children());
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
#[ignore = "takes minutes: a named command, given above; the short version runs always"]
async fn ten_thousand_stopped_calls_leave_nothing_behind() {
    soak(10_000).await;
}
