//! Threads of blocking tools that outlive their calls.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};

use tool_runtime::CancellationToken;
use tool_runtime::dispatch::{Batch, Dispatch};

use super::*;

/// Blocks threads, and counts those that started.
struct Held {
    until: Mutex<Receiver<()>>,
    begun: AtomicU32,
    is_stopped: AtomicBool,
}

/// Blocks its thread.
#[tool(blocking, timeout = "50ms")]
fn hold_up(ctx: &ToolContext) {
    let held = ctx.get::<Arc<Held>>().unwrap();
    held.begun.fetch_add(1, Ordering::SeqCst);
    let _ = held.until.lock().unwrap().recv();
}

/// Blocks its thread forever.
#[tool(blocking)]
fn hold_up_for_ever(ctx: &ToolContext) {
    hold_up(ctx);
}

/// Is idempotent, but blocks its thread past its timeout.
#[tool(blocking, idempotent, retries = 3, timeout = "50ms")]
fn hold_up_once(ctx: &ToolContext) {
    hold_up(ctx);
}

/// Checks for its cancellation.
#[tool(blocking, timeout = "50ms")]
fn listen(ctx: &ToolContext) {
    let stop = ctx.cancellation();
    while !stop.is_cancelled() {
        std::thread::yield_now();
    }
    ctx.get::<Arc<Held>>().unwrap().is_stopped.store(true, Ordering::SeqCst);
}

/// Runs at once.
#[tool(blocking)]
fn quick() {}

/// Waits, for a bounded time, until the condition holds.
fn until(mut is_so: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never came about");
        std::thread::yield_now();
    }
}

fn on_threads(
    most: usize,
    test: impl AsyncFnOnce(Dispatcher, Arc<Held>, std::sync::mpsc::Sender<()>),
) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime =
        builder.worker_threads(1).max_blocking_threads(most).enable_all().build().unwrap();
    let (let_go, receiver) = channel();
    let held = Arc::new(Held {
        until: Mutex::new(receiver),
        begun: AtomicU32::new(0),
        is_stopped: AtomicBool::new(false),
    });
    let dispatcher = dispatcher(tools![hold_up, hold_up_once, hold_up_for_ever, listen, quick]);
    let dispatcher = dispatcher.extension(Arc::clone(&held));
    runtime.block_on(test(dispatcher, held, let_go));
}

#[test]
fn detached_threads_are_counted() {
    on_threads(4, async |dispatcher, held, let_go| {
        assert_eq!(dispatcher.detached_threads(), 0);
        let done = run(&dispatcher, &["hold_up", "quick"]).await;
        assert_eq!((code(&done[0]), done[0].has_detached_thread), ("TOOL_TIMEOUT", true));
        assert_eq!((code(&done[1]), done[1].has_detached_thread), ("-", false));
        assert_eq!(dispatcher.detached_threads(), 1);

        // The number is the same for every way in which a call is abandoned.
        let stop = CancellationToken::new();
        let mut batch = Batch::from(vec![ToolCall::new("c", "hold_up_for_ever", "{}")]);
        batch.cancellation = Some(stop.clone());
        let at_work = Arc::clone(&held);
        tokio::task::spawn(async move {
            while at_work.begun.load(Ordering::SeqCst) < 2 {
                tokio::task::yield_now().await;
            }
            stop.cancel();
        });
        let done = Dispatch::dispatch(&dispatcher, batch).await.remove(0);
        assert_eq!((code(&done), done.has_detached_thread), ("TOOL_CANCELLED", true));
        assert_eq!(dispatcher.detached_threads(), 2);

        drop(let_go);
        until(|| dispatcher.detached_threads() == 0);
    });
}

#[test]
fn timed_out_blocking_tool_is_not_retried() {
    on_threads(2, async |dispatcher, held, let_go| {
        let done = run(&dispatcher, &["hold_up_once"]).await.remove(0);
        assert_eq!((code(&done), done.attempts), ("TOOL_TIMEOUT", 1));
        assert_eq!(held.begun.load(Ordering::SeqCst), 1);
        drop(let_go);
    });
}

#[test]
fn blocking_tool_that_checks_cancellation_leaves_no_thread() {
    on_threads(1, async |dispatcher, held, _| {
        let done = run(&dispatcher, &["listen"]).await.remove(0);
        assert_eq!((code(&done), done.has_detached_thread), ("TOOL_TIMEOUT", false));
        assert_eq!(dispatcher.detached_threads(), 0);
        assert!(held.is_stopped.load(Ordering::SeqCst));
    });
}

#[test]
fn blocking_tool_without_a_free_thread_never_runs() {
    on_threads(1, async |dispatcher, held, let_go| {
        run(&dispatcher, &["hold_up"]).await;
        let done = run(&dispatcher, &["hold_up"]).await.remove(0);
        let text = "The tool was not run: no thread was free for it within 50ms.";
        assert_eq!((code(&done), done.result.text.as_str()), ("TOOL_TRANSIENT_FAILURE", text));
        assert!(!done.has_detached_thread);
        assert_eq!(dispatcher.detached_threads(), 1);
        drop(let_go);
        // A thread becomes free, and the call is over by then.
        assert!(run(&dispatcher, &["quick"]).await[0].is_success());
        assert_eq!(held.begun.load(Ordering::SeqCst), 1);
        assert_eq!(dispatcher.detached_threads(), 0);
    });
}
