//! Measures the memory of each of 100,000 calls that are in flight at once.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at the first failure and prints its figures"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use allocation_counter::measure;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tool_runtime::{Dispatcher, Registry, ToolCall, ToolContext, tool, tools};

const CALLS: usize = 100_000;

/// Opens when all calls have arrived.
struct Gate {
    waiting: AtomicUsize,
    open: Semaphore,
}

/// Waits until all calls have arrived.
#[tool]
async fn wait(ctx: &ToolContext) -> usize {
    let gate: &Arc<Gate> = ctx.get().unwrap();
    if gate.waiting.fetch_add(1, Ordering::Relaxed) + 1 == CALLS {
        gate.open.close();
    }
    let _ = gate.open.acquire().await;
    gate.waiting.load(Ordering::Relaxed)
}

fn dispatcher() -> Dispatcher {
    let gate = Gate { waiting: AtomicUsize::new(0), open: Semaphore::new(0) };
    Dispatcher::new(Registry::try_from(tools![wait]).unwrap()).extension(Arc::new(gate))
}

fn call(index: usize) -> ToolCall {
    ToolCall::new(format!("call_{index}"), "wait", "{}")
}

fn main() {
    // The allocation counter counts the allocations of one thread.
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    println!("| {CALLS} calls in flight | bytes per call at most | allocations per call | s |");
    println!("|---|---|---|---|");
    report("of one reply", &runtime, async |dispatcher| {
        let calls = (0..CALLS).map(call).collect();
        dispatcher.dispatch(calls).await.iter().filter(|execution| execution.is_success()).count()
    });
    report("of a reply each", &runtime, async |dispatcher| {
        let replies: Vec<_> = (0..CALLS)
            .map(|index| {
                let dispatcher = dispatcher.clone();
                tokio::spawn(async move { dispatcher.dispatch(vec![call(index)]).await })
            })
            .collect();
        let mut succeeded = 0;
        for reply in replies {
            succeeded +=
                reply.await.unwrap().iter().filter(|execution| execution.is_success()).count();
        }
        succeeded
    });
}

/// Runs the calls and prints their memory, including the calls themselves and their results.
fn report(name: &str, runtime: &Runtime, run: impl AsyncFn(Dispatcher) -> usize) {
    // The first run allocates what the runtime keeps for itself.
    assert_eq!(runtime.block_on(run(dispatcher())), CALLS);
    let started = Instant::now();
    let counted = measure(|| assert_eq!(runtime.block_on(run(dispatcher())), CALLS));
    let seconds = started.elapsed().as_secs_f64();
    let bytes = counted.bytes_max / CALLS as u64;
    let allocations = counted.count_total / CALLS as u64;
    println!("| {name} | {bytes} | {allocations} | {seconds:.2} |");
}
