//! The context of a call, and the work that a tool spawns.

use std::sync::atomic::AtomicBool;

use tool_runtime::event::{FileChange, FileOp, Progress, RunId, ToolEvent};
use tool_runtime::{Event, Message, Policy};

use super::*;

/// Notes of the tools for a test.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn note(ctx: &ToolContext, text: impl Into<String>) {
    ctx.get::<Notes>().unwrap().0.lock().unwrap().push(text.into());
}

/// Sets its flag when it is dropped.
struct Flag(Arc<AtomicBool>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Spawns a task that never ends, and ends as `behavior` names it.
#[tool(timeout = "1s")]
async fn start(behavior: &str, ctx: &ToolContext) -> Result<&'static str, ToolError> {
    let is_dropped = Flag(Arc::clone(ctx.get::<Arc<AtomicBool>>().unwrap()));
    let stop = ctx.cancellation();
    ctx.spawn(async move {
        let _flag = is_dropped;
        std::future::pending::<()>().await;
    });
    assert!(!stop.is_cancelled());
    match behavior {
        "works" => Ok("done"),
        "fails" => Err("no".into()),
        "panics" => panic!("on purpose"),
        _ => std::future::pending().await,
    }
}

#[tokio::test(start_paused = true)]
async fn spawned_work_ends_with_its_call() {
    support::panics::silence_panics_on_purpose();
    for behavior in ["works", "fails", "panics", "hangs", "stopped"] {
        let is_dropped = Arc::new(AtomicBool::new(false));
        let mut dispatcher = dispatcher(tools![start]).extension(Arc::clone(&is_dropped));
        if behavior == "stopped" {
            dispatcher = dispatcher.policy(Policy::new().batch_timeout(Duration::from_millis(10)));
        }
        let call = ToolCall::new("c", "start", json!({ "behavior": behavior }));
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        // Together with the result, the work has ended.
        assert!(is_dropped.load(Ordering::Acquire), "{behavior}");
        assert!(!execution.has_detached_thread);
        assert_eq!(execution.is_success(), behavior == "works");
    }
    // Dropping the dispatch stops the work as well, as soon as its task is polled.
    let is_dropped = Arc::new(AtomicBool::new(false));
    let dispatcher = dispatcher(tools![start]).extension(Arc::clone(&is_dropped));
    let call = ToolCall::new("c", "start", json!({ "behavior": "hangs" }));
    let dispatching = dispatcher.dispatch(vec![call]);
    let late = tokio::time::timeout(Duration::from_millis(10), dispatching).await;
    assert!(late.is_err());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(is_dropped.load(Ordering::Acquire));
}

/// Notes everything in its context.
#[tool(idempotent, max_retries = 1, timeout = "5s")]
async fn inform(ctx: &ToolContext) -> Result<(), ToolError> {
    let left = ctx.deadline().unwrap() - Instant::now();
    let transcript = ctx.transcript().iter().map(Message::text).collect::<Vec<_>>().join("|");
    note(ctx, format!("{} {} {} {left:?} {transcript}", ctx.turn(), ctx.attempt(), ctx.call_id()));
    note(ctx, ctx.idempotency_key());
    ctx.progress(Progress { done: 1.0, total: Some(2.0), message: None });
    ctx.record(FileChange::new(format!("{}", ctx.attempt()), FileOp::Write));
    match ctx.attempt() {
        1 => Err(ToolError::transient("once more").with_source("the line is busy")),
        _ => Ok(()),
    }
}

#[tokio::test(start_paused = true)]
async fn context_describes_the_call() {
    let notes = Notes::default();
    let events = Arc::<Mutex<Vec<Event>>>::default();
    let sink = Arc::clone(&events);
    let model =
        ScriptedModel::new([ChatReply::default().call("inform", "{}"), ChatReply::text("A")]);
    let agent = Agent::new(model, tools![inform])
        .extension(notes.clone())
        .on_event(move |event| sink.lock().unwrap().push(event.clone()));
    agent.run("Hello").await.unwrap();

    let events = events.lock().unwrap();
    let run = events[0].origin.run;
    assert_ne!(run, RunId::default());
    let noted = notes.take();
    assert_eq!(noted[0], "1 1 call_1 5s Hello|");
    assert_eq!(noted[2], "1 2 call_1 5s Hello|");
    assert_eq!([&noted[1], &noted[3]], [&format!("{run}-1-call_1"); 2]);

    let tool: Vec<_> = events.iter().filter_map(Event::tool_event).collect();
    assert!(matches!(tool[2], ToolEvent::Progress { progress, .. } if progress.done == 1.0));
    assert!(matches!(tool[3], ToolEvent::Retried { attempt: 1, error, text, .. }
            if error == "TOOL_TRANSIENT_FAILURE" && text == "once more: the line is busy"));
    let ToolEvent::Finished(execution) = tool[6] else { panic!("{:?}", tool[6]) };
    // The effects of the first attempt are kept, though it failed.
    let written = |path: &str| FileChange::new(path, FileOp::Write).into();
    assert_eq!(execution.effects, [written("1"), written("2")]);
    assert!(execution.was_retried() && execution.finished_at() > execution.started_at);
}

/// Calls itself, and returns its depth.
#[tool(effect = "none")]
async fn dive(left: u32, ctx: &ToolContext) -> String {
    if left == 0 {
        return ctx.parent_call().map_or("nobody".into(), ToString::to_string);
    }
    let call = || ToolCall::new("", "dive", json!({ "left": left - 1 }));
    let executions = ctx.dispatch(vec![call(), call()]).await;
    executions[0].result.text.clone()
}

#[tokio::test]
async fn tool_can_call_tools() {
    let events = Arc::<Mutex<Vec<Event>>>::default();
    let sink = Arc::clone(&events);
    let mut observers = tool_runtime::event::Observers::default();
    observers.add(move |event: &Event| sink.lock().unwrap().push(event.clone()));
    let dispatcher = dispatcher(tools![dive]).observers(observers);
    for (left, text) in [
        (0, "nobody"),
        (1, "c"),
        (3, "c/1/1"),
        (8, "Not run: calls of tools may be nested at most 7 levels deep."),
    ] {
        let call = ToolCall::new("c", "dive", json!({ "left": left }));
        events.lock().unwrap().clear();
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        assert_eq!(execution.result.text, text);
        // Every call has its start and its end, and nested calls name their parent.
        let events = events.lock().unwrap();
        assert_eq!(
            events.iter().filter(|event| event.execution().is_some()).count(),
            (2 << left) - 1
        );
        for event in events.iter() {
            let id = event.call_id().unwrap().to_string();
            let outer = id.rsplit_once('/').map(|(outer, _)| outer.to_owned());
            assert_eq!(event.origin.parent.as_ref().map(ToString::to_string), outer);
            assert_eq!(event.origin.depth as usize, id.matches('/').count());
        }
    }
}

#[tokio::test]
async fn tool_with_one_permit_can_call_itself() {
    let limits =
        tool_runtime::dispatch::Concurrency::default().max_calls(1).max_tool_calls("dive", 1);
    let call = ToolCall::new("c", "dive", json!({ "left": 2 }));
    let execution = dispatcher(tools![dive])
        .policy(Policy::new().concurrency(limits))
        .dispatch(vec![call])
        .await
        .remove(0);
    assert_eq!(execution.result.text, "c/1");
}

#[tokio::test]
async fn context_without_a_dispatcher_has_no_tools() {
    let ctx = ToolContext::default();
    let executions = ctx.dispatch(vec![ToolCall::new("", "dive", "{}")]).await;
    assert_eq!(code(&executions[0]), "TOOL_NOT_FOUND");
    assert_eq!((ctx.turn(), ctx.attempt(), ctx.deadline()), (0, 1, None));
    assert!(ctx.transcript().is_empty() && ctx.parent_call().is_none());
}
