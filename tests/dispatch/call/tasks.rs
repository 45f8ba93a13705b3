//! A single call runs in the caller's task, and otherwise like several calls.

use std::sync::Mutex;

use tool_runtime::Policy;
use tool_runtime::event::Progress;

use super::*;

tokio::task_local! {
    static CALLER: &'static str;
}

#[tokio::test]
async fn several_calls_run_in_tasks_of_their_own() {
    let look = ByHand::new("look", || -> Call<'static> {
        Box::pin(async {
            let task_local = CALLER.try_with(|caller| *caller).unwrap_or("nobody");
            Ok(ToolOutput::text(task_local))
        })
    });
    let dispatcher = dispatcher(Tools::new().with(look));
    for (count, caller) in [(1, "me"), (2, "nobody")] {
        let list = vec![("look", "{}"); count];
        let executions = CALLER.scope("me", dispatcher.dispatch(calls(&list))).await;
        assert_eq!(texts(&executions), vec![caller; count]);
    }
}

/// Blocks its thread: the clock advances and nothing else does.
fn block_thread(span: Duration) {
    let mut advance = std::pin::pin!(tokio::time::advance(span));
    let _ = advance.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop()));
}

#[tokio::test(start_paused = true)]
async fn late_result_is_not_used() {
    for (millis, count, code) in
        [(2_000, 1, "TOOL_TIMEOUT"), (2_000, 3, "TOOL_TIMEOUT"), (999, 1, "-")]
    {
        let mut busy = ByHand::new("busy", move || -> Call<'static> {
            Box::pin(async move {
                block_thread(Duration::from_millis(millis));
                Ok(ToolOutput::text("done"))
            })
        });
        busy.0 = busy.0.timeout(Duration::from_secs(1));
        let dispatcher = dispatcher(Tools::new().with(busy));
        let executions = dispatcher.dispatch(calls(&vec![("busy", "{}"); count])).await;
        assert_eq!(codes(&executions), vec![code; count]);
        if code == "TOOL_TIMEOUT" {
            let text =
                "The tool took longer than 1s, so its result is not used. It may have had effects.";
            assert_eq!(texts(&executions), vec![text; count]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unrestricted_call_gives_the_same_execution_as_a_limited_one() {
    support::panics::silence_panics_on_purpose();
    let list = [
        ("add", r#"{"a": 1, "b": 2}"#),
        ("add", "```\n{'a': 1, b: 2}\n```"),
        ("add", r#"{"a": 1}"#),
        ("add", "{"),
        ("fail", "{}"),
        ("crash", "{}"),
        ("unknown", "{}"),
    ];
    for call in list {
        let short = all().dispatch(calls(&[call])).await.remove(0);
        // A limit and a deadline that are never reached.
        let limits = tool_runtime::dispatch::Concurrency::default().max_calls(100);
        let long =
            all().policy(Policy::new().concurrency(limits).batch_timeout(Duration::from_secs(60)));
        let mut long = long.dispatch(calls(&[call])).await.remove(0);
        long.started_at = short.started_at;
        assert_eq!(short, long);
    }
}

/// Adds a line when it is dropped.
struct Stops(Arc<Mutex<Vec<&'static str>>>);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("task stopped");
    }
}

/// Spawns a task that never ends, and waits.
#[tool]
async fn spawns(ctx: &ToolContext) {
    let stops = Stops(Arc::clone(ctx.get().unwrap()));
    let (progress, ctx) = (ctx.clone(), ctx);
    ctx.spawn(async move {
        let _stops = stops;
        progress.progress(Progress::default());
        std::future::pending::<()>().await;
    });
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn end_of_a_dropped_call_follows_the_end_of_its_tasks() {
    for count in [1, 2] {
        let lines = Arc::<Mutex<Vec<&str>>>::default();
        let (ended, log) = (Arc::new(Notify::new()), Arc::clone(&lines));
        let notify = Arc::clone(&ended);
        let observer = move |event: &Event| {
            let line = match event.tool_event() {
                Some(ToolEvent::Finished(_)) => "finished",
                Some(ToolEvent::Progress { .. }) => "progress",
                _ => return,
            };
            log.lock().unwrap().push(line);
            notify.notify_one();
        };
        let dispatcher =
            dispatcher(tools![spawns]).extension(Arc::clone(&lines)).observer(observer);
        let dispatching = dispatcher.dispatch(calls(&vec![("spawns", "{}"); count]));
        let count_of = |line| lines.lock().unwrap().iter().filter(|it| **it == line).count();
        let mut dispatching = Box::pin(dispatching);
        while count_of("progress") < count {
            tokio::select! {
                _ = &mut dispatching => unreachable!("the calls never end"),
                () = ended.notified() => {}
            }
        }
        drop(dispatching);
        while count_of("finished") < count {
            ended.notified().await;
        }
        assert_eq!((count_of("finished"), count_of("task stopped")), (count, count));
        // Each task stops before the end of a call: of its own.
        let mut stopped = 0;
        for line in lines.lock().unwrap().iter() {
            match *line {
                "task stopped" => stopped += 1,
                "finished" => {
                    stopped -= 1;
                    assert!(stopped >= 0, "{lines:?}");
                }
                _ => {}
            }
        }
    }
}
