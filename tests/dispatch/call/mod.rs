//! Exactly one result for every call, in the order of the calls, whatever its tool does.

mod doubtful;
mod end_reasons;
mod kinds;
mod panics;
mod tasks;
mod unavailable;
mod unknown;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tokio::sync::{Barrier, Notify};
use tool_runtime::event::{Observers, ToolEvent};
use tool_runtime::{
    Arguments, Availability, Dispatcher, Effect, Event, Registry, Tool, ToolCall, ToolContext,
    ToolDefinition, ToolError, ToolExecution, ToolOutput, Tools, async_trait, tool, tools,
};

/// Adds two numbers.
#[tool(effect = "none")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Fails.
#[tool]
async fn fail() -> Result<(), std::io::Error> {
    Err(std::io::Error::other("the disk is full"))
}

/// Panics.
#[tool]
async fn crash() {
    panic!("secret of the operator");
}

/// Never ends.
#[tool(timeout = "2s")]
async fn hang() {
    std::future::pending::<()>().await;
}

/// Never ends, and has no effects.
#[tool(timeout = "2s", effect = "read")]
async fn look() {
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn calls_outside_of_a_conversation_have_ids_and_keys_of_their_own() {
    /// Returns its idempotency key.
    #[tool(effect = "write")]
    async fn key(ctx: &ToolContext) -> String {
        ctx.idempotency_key()
    }

    let dispatcher = Dispatcher::new(Registry::try_from(tools![key]).unwrap());
    let (first, second) = (dispatcher.call("key", "{}").await, dispatcher.call("key", "{}").await);
    assert_ne!(first.call.id, second.call.id);
    assert_eq!(first.call.id, first.result.call);
    assert_ne!(first.result.text, second.result.text);
}

#[tokio::test(start_paused = true)]
async fn error_text_warns_of_effects_of_tools_that_change_something() {
    let dispatcher = dispatcher(tools![hang, look]);
    let executions = dispatcher.dispatch(calls(&[("hang", "{}"), ("look", "{}")])).await;
    let text = "The tool was stopped: it took longer than 2s.";
    assert_eq!(texts(&executions), [format!("{text} It may have had effects."), text.to_owned()]);
}

/// A hand-written tool whose call is this function.
struct ByHand<F>(ToolDefinition, F);

impl<F> ByHand<F> {
    fn new(name: &str, run: F) -> Self {
        Self(ToolDefinition::new(name, "By hand.", json!({ "type": "object" })), run)
    }
}

type Call<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

impl<F: Fn() -> Call<'static> + Send + Sync> Tool for ByHand<F> {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn call<'a, 'c, 'r>(&'a self, _: Arguments, _: &'c ToolContext) -> Call<'r>
    where
        'a: 'r,
        'c: 'r,
        Self: 'r,
    {
        (self.1)()
    }
}

fn dispatcher(tools: Tools) -> Dispatcher {
    Dispatcher::new(Registry::try_from(tools).unwrap())
}

fn all() -> Dispatcher {
    dispatcher(tools![add, fail, crash, hang])
}

fn calls(list: &[(&str, &str)]) -> Vec<ToolCall> {
    let numbered = list.iter().enumerate();
    numbered.map(|(n, (name, text))| ToolCall::new(format!("call_{n}"), *name, *text)).collect()
}

fn texts(executions: &[ToolExecution]) -> Vec<&str> {
    executions.iter().map(|execution| execution.result.text.as_str()).collect()
}

fn codes(executions: &[ToolExecution]) -> Vec<&str> {
    executions.iter().map(|execution| execution.result.error.as_deref().unwrap_or("-")).collect()
}

#[tokio::test(start_paused = true)]
async fn every_tool_behaviour_yields_one_result() {
    support::panics::silence_panics_on_purpose();
    let executions = all()
        .dispatch(calls(&[
            ("add", r#"{"a": 1, "b": 2}"#),
            ("fail", "{}"),
            ("crash", "{}"),
            ("hang", "{}"),
            ("adds", "{}"),
            ("add", r#"{"a": 1, "b": "two"}"#),
            ("add", "{"),
            ("add", r#"{"a": 3, "b": 4}"#),
        ]))
        .await;
    assert_eq!(
        codes(&executions),
        [
            "-",
            "TOOL_EXECUTION_FAILED",
            "TOOL_PANICKED",
            "TOOL_TIMEOUT",
            "TOOL_NOT_FOUND",
            "TOOL_INVALID_ARGUMENTS",
            "TOOL_INVALID_ARGUMENTS",
            "-",
        ]
    );
    let texts = texts(&executions);
    assert_eq!(texts[0], "3");
    assert_eq!(texts[1], "the disk is full");
    assert_eq!(
        texts[2],
        "The tool crashed; this is not the arguments' fault. It may have had effects."
    );
    assert_eq!(texts[3], "The tool was stopped: it took longer than 2s. It may have had effects.");
    assert_eq!(texts[4], "There is no tool named `adds`. Did you mean `add`?");
    assert_eq!(texts[7], "7");
    let ids: Vec<_> =
        executions.iter().map(|execution| execution.result.call.to_string()).collect();
    assert_eq!(ids, (0..8).map(|n| format!("call_{n}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn panic_message_is_only_in_the_cause() {
    support::panics::silence_panics_on_purpose();
    let executions = all().dispatch(calls(&[("crash", "{}")])).await;
    assert!(!executions[0].result.text.contains("secret"));
    assert_eq!(executions[0].cause.as_deref(), Some("panicked: secret of the operator"));
    let executions = all().dispatch(calls(&[("fail", "{}")])).await;
    assert_eq!(executions[0].cause.as_deref(), Some("the disk is full"));
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// Pending forever or ready at once, with a destructor that panics.
struct Unsafe(bool, Bomb);

impl Future for Unsafe {
    type Output = Result<ToolOutput, ToolError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if self.0 { Poll::Ready(Ok(ToolOutput::text("done"))) } else { Poll::Pending }
    }
}

#[tokio::test(start_paused = true)]
async fn panic_is_caught_in_every_phase_of_a_tool() {
    support::panics::silence_panics_on_purpose();
    let mut slow = ByHand::new("slow_bomb", || -> Call<'static> { Box::pin(Unsafe(false, Bomb)) });
    slow.0 = slow.0.timeout(Duration::from_secs(1));
    let tools = Tools::new()
        .with(ByHand::new("before", || -> Call<'static> { panic!("before there is a future") }))
        .with(ByHand::new("payload", || -> Call<'static> {
            Box::pin(async { std::panic::panic_any(Bomb) })
        }))
        .with(ByHand::new("after", || -> Call<'static> { Box::pin(Unsafe(true, Bomb)) }))
        .with(slow);
    let dispatcher = dispatcher(tools);
    for (name, code) in [
        ("before", "TOOL_PANICKED"),
        ("payload", "TOOL_PANICKED"),
        ("after", "TOOL_PANICKED"),
        ("slow_bomb", "TOOL_TIMEOUT"),
    ] {
        assert_eq!(codes(&dispatcher.dispatch(calls(&[(name, "{}")])).await), [code]);
        let pair = dispatcher.dispatch(calls(&[(name, "{}"), (name, "{}")])).await;
        assert_eq!(codes(&pair), [code, code]);
    }
}

#[tokio::test]
async fn calls_of_one_reply_run_concurrently() {
    // Each call waits for all others: run one after the other, they would never end.
    let barrier = Arc::new(Barrier::new(16));
    let meet = ByHand::new("meet", move || -> Call<'static> {
        let barrier = Arc::clone(&barrier);
        Box::pin(async move {
            barrier.wait().await;
            Ok(ToolOutput::text("met"))
        })
    });
    let list: Vec<_> = (0..16).map(|_| ("meet", "{}")).collect();
    let executions = dispatcher(Tools::new().with(meet)).dispatch(calls(&list)).await;
    assert_eq!(texts(&executions), ["met"; 16]);
}

#[tokio::test]
async fn results_are_in_the_order_of_the_calls() {
    // The first call waits for the second.
    let notify = Arc::new(Notify::new());
    let (waits, wakes) = (Arc::clone(&notify), notify);
    let first = ByHand::new("first", move || -> Call<'static> {
        let notify = Arc::clone(&waits);
        Box::pin(async move {
            notify.notified().await;
            Ok(ToolOutput::text("1"))
        })
    });
    let second = ByHand::new("second", move || -> Call<'static> {
        wakes.notify_one();
        Box::pin(async { Ok(ToolOutput::text("2")) })
    });
    let dispatcher = dispatcher(Tools::new().with(first).with(second));
    let executions = dispatcher.dispatch(calls(&[("first", "{}"), ("second", "{}")])).await;
    assert_eq!(texts(&executions), ["1", "2"]);
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn endless(stopped: &Arc<AtomicUsize>) -> impl Tool + 'static {
    let stopped = Arc::clone(stopped);
    ByHand::new("endless", move || -> Call<'static> {
        let counted = Counted(Arc::clone(&stopped));
        Box::pin(async move {
            let _counted = counted;
            std::future::pending().await
        })
    })
}

#[tokio::test(start_paused = true)]
async fn timeout_stops_the_work_of_a_tool() {
    let stopped = Arc::new(AtomicUsize::new(0));
    struct Limited<T>(T, ToolDefinition);
    #[async_trait]
    impl<T: Tool> Tool for Limited<T> {
        fn definition(&self) -> &ToolDefinition {
            &self.1
        }
        async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
            self.0.call(args, ctx).await
        }
    }
    let tool = endless(&stopped);
    let definition = tool.definition().clone().timeout(Duration::from_secs(1));
    let dispatcher = dispatcher(Tools::new().with(Limited(tool, definition)));
    let executions = dispatcher.dispatch(calls(&[("endless", "{}"), ("endless", "{}")])).await;
    assert_eq!(codes(&executions), ["TOOL_TIMEOUT"; 2]);
    assert_eq!(stopped.load(Ordering::SeqCst), 2);
    assert_eq!(executions[0].duration, Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_dispatch_stops_the_work() {
    for count in [1, 3] {
        let stopped = Arc::new(AtomicUsize::new(0));
        let dispatcher = dispatcher(Tools::new().with(endless(&stopped)));
        let list: Vec<_> = (0..count).map(|_| ("endless", "{}")).collect();
        let running = dispatcher.dispatch(calls(&list));
        assert!(tokio::time::timeout(Duration::from_secs(1), running).await.is_err());
        while stopped.load(Ordering::SeqCst) < count {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn empty_batch_has_no_results() {
    assert!(all().dispatch(Vec::new()).await.is_empty());
}

#[tokio::test]
async fn snapshot_is_unchanged_while_the_registry_changes() {
    let registry = Registry::try_from(tools![add]).unwrap();
    let dispatcher = Dispatcher::new(registry.clone());
    let before = registry.snapshot();

    assert!(registry.register(Arc::new(fail {})).unwrap().is_none());
    let displaced = registry.register(Arc::new(add {})).unwrap();
    assert_eq!(displaced.unwrap().definition().name, "add");
    assert!(registry.unregister("add").is_some());
    assert!(registry.unregister("add").is_none());

    let sum = || calls(&[("add", r#"{"a": 1, "b": 2}"#)]);
    assert_eq!(texts(&dispatcher.dispatch_on(&before, sum()).await), ["3"]);
    assert_eq!(codes(&dispatcher.dispatch(sum()).await), ["TOOL_NOT_FOUND"]);
}

#[tokio::test]
async fn observers_receive_events_and_their_panics_are_caught() {
    support::panics::silence_panics_on_purpose();
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut observers = Observers::default();
    observers.add(|_: &Event| panic!("in an observer"));
    observers.add(move |event: &Event| sender.send(event.clone()).unwrap());
    let dispatcher = all().observers(observers);
    let executions = dispatcher.dispatch(calls(&[("add", "```\n{\"a\": 1, \"b\": 2}\n```")])).await;

    let events: Vec<_> = receiver.try_iter().collect();
    let tool_events: Vec<_> =
        events.iter().map(|event| event.tool_event().unwrap().clone()).collect();
    let ToolEvent::Started { call, tool: Some(tool) } = &tool_events[0] else { panic!() };
    assert_eq!((call, tool.effect), (&executions[0].call, Effect::None));
    let running = ToolEvent::Running { call: call.id.clone(), attempt: 1 };
    assert_eq!(tool_events[1..], [running, ToolEvent::Finished(executions[0].clone())]);
    assert!(!executions[0].fixes.is_empty());
    assert_eq!(executions[0].call.arguments.to_text(), "```\n{\"a\": 1, \"b\": 2}\n```");
    let last = &events[2];
    let read: Event = serde_json::from_value(serde_json::to_value(last).unwrap()).unwrap();
    assert_eq!(read, *last);
}

/// A kind of call and its expected result.
fn any_call() -> impl Strategy<Value = (&'static str, String, &'static str)> {
    prop_oneof![
        any::<(i32, i32)>().prop_map(|(a, b)| ("add", json!({ "a": a, "b": b }).to_string(), "-")),
        Just(("add", r#"{"a": 1}"#.to_owned(), "TOOL_INVALID_ARGUMENTS")),
        Just(("add", r#"{"a": 1, "b"#.to_owned(), "TOOL_INVALID_ARGUMENTS")),
        Just(("fail", "{}".to_owned(), "TOOL_EXECUTION_FAILED")),
        Just(("crash", "{}".to_owned(), "TOOL_PANICKED")),
        Just(("hang", "{}".to_owned(), "TOOL_TIMEOUT")),
        "[a-z]{8}".prop_map(|_| ("missing", "{}".to_owned(), "TOOL_NOT_FOUND")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_batch_is_answered_in_order(batch in prop::collection::vec(any_call(), 0..24)) {
        support::panics::silence_panics_on_purpose();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let list: Vec<_> = batch.iter().map(|(name, text, _)| (*name, text.as_str())).collect();
        let calls = calls(&list);
        let executions = runtime.unwrap().block_on(all().dispatch(calls.clone()));
        let expected: Vec<_> = batch.iter().map(|(_, _, code)| *code).collect();
        prop_assert_eq!(codes(&executions), expected);
        let answered: Vec<_> = executions.iter().map(|execution| &execution.result.call).collect();
        prop_assert_eq!(answered, calls.iter().map(|call| &call.id).collect::<Vec<_>>());
    }
}
