//! Measures the calls of one reply: many calls that wait should take as long as one.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at the first failure and prints its figures"
)]

use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tool_runtime::{Dispatcher, Registry, ToolCall, tool, tools};

const CALLS: usize = 64;
const ROUNDS: usize = 50;

/// Waits for 10 ms.
#[tool]
async fn wait() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

fn main() {
    let current_thread = Builder::new_current_thread().enable_time().build().unwrap();
    let two_workers = Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();

    println!("| {CALLS} calls of 10 ms | least ms | median ms | most ms |");
    println!("|---|---|---|---|");
    measure("current thread", &current_thread);
    measure("2 workers", &two_workers);
}

fn measure(name: &str, runtime: &Runtime) {
    let dispatcher = Dispatcher::new(Registry::try_from(tools![wait]).unwrap());
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| runtime.block_on(round(&dispatcher))).collect();
    times.sort_by(f64::total_cmp);
    let [Some(least), Some(median), Some(most)] =
        [times.first(), times.get(ROUNDS / 2), times.last()]
    else {
        return;
    };
    println!("| {name} | {least:.1} | {median:.1} | {most:.1} |");
}

async fn round(dispatcher: &Dispatcher) -> f64 {
    let call = |index| ToolCall::new(format!("call_{index}"), "wait", "{}");
    let calls: Vec<_> = (0..CALLS).map(call).collect();
    let started = Instant::now();
    let executions = dispatcher.dispatch(calls).await;
    let elapsed = started.elapsed();
    assert!(executions.iter().all(|execution| execution.result.is_success()));
    elapsed.as_secs_f64() * 1e3
}
