//! Threads that go on when nobody waits for them any more.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};

use tool_runtime::CancellationToken;
use tool_runtime::dispatch::{Batch, Dispatch};

use super::*;

/// What holds threads up, and how many have begun.
struct Held {
    until: Mutex<Receiver<()>>,
    begun: AtomicU32,
    is_stopped: AtomicBool,
}

/// Holds its thread up.
#[tool(blocking, timeout = "50ms")]
fn hold_up(ctx: &ToolContext) {
    let held = ctx.get::<Arc<Held>>().unwrap();
    held.begun.fetch_add(1, Ordering::SeqCst);
    let _ = held.until.lock().unwrap().recv();
}

/// Holds its thread up, without end.
#[tool(blocking)]
fn hold_up_for_ever(ctx: &ToolContext) {
    hold_up(ctx);
}

/// Could be run again, if only it were over.
#[tool(blocking, idempotent, retries = 3, timeout = "50ms")]
fn hold_up_once(ctx: &ToolContext) {
    hold_up(ctx);
}

/// Looks whether it is to stop.
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

/// Waits, for a bounded time, until it is so.
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
fn threads_left_running_are_counted() {
    on_threads(4, async |dispatcher, held, let_go| {
        assert_eq!(dispatcher.detached_threads(), 0);
        let done = run(&dispatcher, &["hold_up", "quick"]).await;
        assert_eq!((code(&done[0]), done[0].left_running), ("TOOL_TIMEOUT", true));
        assert_eq!((code(&done[1]), done[1].left_running), ("-", false));
        assert_eq!(dispatcher.detached_threads(), 1);

        // By whatever it is that nobody waits any more.
        let stop = CancellationToken::new();
        let mut batch = Batch::from(vec![ToolCall::new("c", "hold_up_for_ever", "{}")]);
        batch.stop = Some(stop.clone());
        let at_work = Arc::clone(&held);
        tokio::task::spawn(async move {
            while at_work.begun.load(Ordering::SeqCst) < 2 {
                tokio::task::yield_now().await;
            }
            stop.cancel();
        });
        let done = Dispatch::dispatch(&dispatcher, batch).await.remove(0);
        assert_eq!((code(&done), done.left_running), ("TOOL_CANCELLED", true));
        assert_eq!(dispatcher.detached_threads(), 2);

        drop(let_go);
        until(|| dispatcher.detached_threads() == 0);
    });
}

#[test]
fn what_may_still_run_is_not_run_again() {
    on_threads(2, async |dispatcher, held, let_go| {
        let done = run(&dispatcher, &["hold_up_once"]).await.remove(0);
        assert_eq!((code(&done), done.attempts), ("TOOL_TIMEOUT", 1));
        assert_eq!(held.begun.load(Ordering::SeqCst), 1);
        drop(let_go);
    });
}

#[test]
fn one_that_stops_when_it_is_told_to_leaves_nothing() {
    on_threads(1, async |dispatcher, held, _| {
        let done = run(&dispatcher, &["listen"]).await.remove(0);
        assert_eq!((code(&done), done.left_running), ("TOOL_TIMEOUT", false));
        assert_eq!(dispatcher.detached_threads(), 0);
        assert!(held.is_stopped.load(Ordering::SeqCst));
    });
}

#[test]
fn what_finds_no_thread_says_so_and_never_runs() {
    on_threads(1, async |dispatcher, held, let_go| {
        run(&dispatcher, &["hold_up"]).await;
        let done = run(&dispatcher, &["hold_up"]).await.remove(0);
        let text = "The tool was not run: no thread was free for it within 50ms.";
        assert_eq!((code(&done), done.result.text.as_str()), ("TOOL_TRANSIENT_FAILURE", text));
        assert!(!done.left_running);
        assert_eq!(dispatcher.detached_threads(), 1);
        drop(let_go);
        // Its turn comes, and goes by.
        assert!(run(&dispatcher, &["quick"]).await[0].is_success());
        assert_eq!(held.begun.load(Ordering::SeqCst), 1);
        assert_eq!(dispatcher.detached_threads(), 0);
    });
}
