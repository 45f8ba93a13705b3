//! Threads of blocking tools that outlive their calls.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};

use tool_runtime::CancellationToken;
use tool_runtime::dispatch::{Batch, Dispatch};

use super::*;

/// Blocks threads, and counts those that started.
struct BlockedTool {
    released: Mutex<Receiver<()>>,
    started: AtomicU32,
    is_stopped: AtomicBool,
}

/// Blocks its thread.
#[tool(blocking, timeout = "50ms")]
fn block(ctx: &ToolContext) {
    let state = ctx.get::<Arc<BlockedTool>>().unwrap();
    state.started.fetch_add(1, Ordering::SeqCst);
    let _ = state.released.lock().unwrap().recv();
}

/// Blocks its thread forever.
#[tool(blocking)]
fn block_indefinitely(ctx: &ToolContext) {
    block(ctx);
}

/// Is idempotent, but blocks its thread past its timeout.
#[tool(blocking, idempotent, max_retries = 3, timeout = "50ms")]
fn block_once(ctx: &ToolContext) {
    block(ctx);
}

/// Checks for its cancellation.
#[tool(blocking, timeout = "50ms")]
fn listen(ctx: &ToolContext) {
    let stop = ctx.cancellation();
    while !stop.is_cancelled() {
        std::thread::yield_now();
    }
    ctx.get::<Arc<BlockedTool>>().unwrap().is_stopped.store(true, Ordering::SeqCst);
}

/// Runs at once.
#[tool(blocking)]
fn quick() {}

/// Waits, for a bounded time, until the condition holds.
fn wait_until(mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never came about");
        std::thread::yield_now();
    }
}

fn on_threads(
    most: usize,
    test: impl AsyncFnOnce(Dispatcher, Arc<BlockedTool>, std::sync::mpsc::Sender<()>),
) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime =
        builder.worker_threads(1).max_blocking_threads(most).enable_all().build().unwrap();
    let (release, receiver) = channel();
    let state = Arc::new(BlockedTool {
        released: Mutex::new(receiver),
        started: AtomicU32::new(0),
        is_stopped: AtomicBool::new(false),
    });
    let dispatcher = dispatcher(tools![block, block_once, block_indefinitely, listen, quick]);
    let dispatcher = dispatcher.extension(Arc::clone(&state));
    runtime.block_on(test(dispatcher, state, release));
}

#[test]
fn detached_threads_are_counted() {
    on_threads(4, async |dispatcher, state, release| {
        assert_eq!(dispatcher.detached_threads(), 0);
        let executions = run(&dispatcher, &["block", "quick"]).await;
        assert_eq!(
            (code(&executions[0]), executions[0].has_detached_thread),
            ("TOOL_TIMEOUT", true)
        );
        assert_eq!((code(&executions[1]), executions[1].has_detached_thread), ("-", false));
        assert_eq!(dispatcher.detached_threads(), 1);

        // The number is the same for every way in which a call is abandoned.
        let stop = CancellationToken::new();
        let mut batch = Batch::from(vec![ToolCall::new("c", "block_indefinitely", "{}")]);
        batch.cancellation = Some(stop.clone());
        let at_work = Arc::clone(&state);
        tokio::task::spawn(async move {
            while at_work.started.load(Ordering::SeqCst) < 2 {
                tokio::task::yield_now().await;
            }
            stop.cancel();
        });
        let execution = Dispatch::dispatch(&dispatcher, batch).await.remove(0);
        assert_eq!((code(&execution), execution.has_detached_thread), ("TOOL_CANCELLED", true));
        assert_eq!(dispatcher.detached_threads(), 2);

        drop(release);
        wait_until(|| dispatcher.detached_threads() == 0);
    });
}

#[test]
fn timed_out_blocking_tool_is_not_retried() {
    on_threads(2, async |dispatcher, state, release| {
        let execution = run(&dispatcher, &["block_once"]).await.remove(0);
        assert_eq!((code(&execution), execution.attempts), ("TOOL_TIMEOUT", 1));
        assert_eq!(state.started.load(Ordering::SeqCst), 1);
        drop(release);
    });
}

#[test]
fn blocking_tool_that_checks_cancellation_leaves_no_thread() {
    on_threads(1, async |dispatcher, state, _| {
        let execution = run(&dispatcher, &["listen"]).await.remove(0);
        assert_eq!((code(&execution), execution.has_detached_thread), ("TOOL_TIMEOUT", false));
        assert_eq!(dispatcher.detached_threads(), 0);
        assert!(state.is_stopped.load(Ordering::SeqCst));
    });
}

#[test]
fn blocking_tool_without_a_free_thread_never_runs() {
    on_threads(1, async |dispatcher, state, release| {
        run(&dispatcher, &["block"]).await;
        let execution = run(&dispatcher, &["block"]).await.remove(0);
        let text = "The tool was not run: no thread was free for it within 50ms.";
        assert_eq!(
            (code(&execution), execution.result.text.as_str()),
            ("TOOL_TRANSIENT_FAILURE", text)
        );
        assert!(!execution.has_detached_thread);
        assert_eq!(dispatcher.detached_threads(), 1);
        drop(release);
        // The call has ended when a thread becomes free.
        assert!(run(&dispatcher, &["quick"]).await[0].is_success());
        assert_eq!(state.started.load(Ordering::SeqCst), 1);
        assert_eq!(dispatcher.detached_threads(), 0);
    });
}
