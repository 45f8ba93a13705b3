//! Very many calls at once: all complete, and what each takes of memory while it waits.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that can't go on should stop, and its figures are its output"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use allocation_counter::measure;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tool_runtime::{Dispatcher, Registry, ToolCall, ToolContext, tool, tools};

const CALLS: usize = 100_000;

/// Opens when all are there.
struct Gate {
    there: AtomicUsize,
    open: Semaphore,
}

/// Waits until all are there.
#[tool]
async fn wait(ctx: &ToolContext) -> usize {
    let gate: &Arc<Gate> = ctx.get().unwrap();
    if gate.there.fetch_add(1, Ordering::Relaxed) + 1 == CALLS {
        gate.open.close();
    }
    let _ = gate.open.acquire().await;
    gate.there.load(Ordering::Relaxed)
}

fn dispatcher() -> Dispatcher {
    let gate = Gate { there: AtomicUsize::new(0), open: Semaphore::new(0) };
    Dispatcher::new(Registry::try_from(tools![wait]).unwrap()).extension(Arc::new(gate))
}

fn call(place: usize) -> ToolCall {
    ToolCall::new(format!("call_{place}"), "wait", "{}")
}

fn main() {
    // One thread, for the counter counts those of one.
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    println!("| {CALLS} calls in flight | bytes per call at most | allocations per call | s |");
    println!("|---|---|---|---|");
    report("of one reply", &runtime, async |dispatcher| {
        let calls = (0..CALLS).map(call).collect();
        dispatcher.dispatch(calls).await.iter().filter(|done| done.is_success()).count()
    });
    report("of a reply each", &runtime, async |dispatcher| {
        let replies: Vec<_> = (0..CALLS)
            .map(|place| {
                let dispatcher = dispatcher.clone();
                tokio::spawn(async move { dispatcher.dispatch(vec![call(place)]).await })
            })
            .collect();
        let mut done = 0;
        for reply in replies {
            done += reply.await.unwrap().iter().filter(|done| done.is_success()).count();
        }
        done
    });
}

/// The calls themselves and what becomes of them are counted in.
fn report(name: &str, runtime: &Runtime, run: impl AsyncFn(Dispatcher) -> usize) {
    // Once before, so that what the runtime keeps for itself is there already.
    assert_eq!(runtime.block_on(run(dispatcher())), CALLS);
    let started = Instant::now();
    let counted = measure(|| assert_eq!(runtime.block_on(run(dispatcher())), CALLS));
    let took = started.elapsed().as_secs_f64();
    let bytes = counted.bytes_max / CALLS as u64;
    let allocations = counted.count_total / CALLS as u64;
    println!("| {name} | {bytes} | {allocations} | {took:.2} |");
}
