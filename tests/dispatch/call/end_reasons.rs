//! A tool learns why its call ends, before anything of the call is stopped.

use std::sync::Mutex;

use tokio::time::{sleep, timeout};
use tool_runtime::dispatch::CallEnd::{self, Cancelled, Dropped, Finished, TimedOut};
use tool_runtime::dispatch::{Batch, Dispatch};
use tool_runtime::{Agent, CancellationToken, ChatReply, Policy, ScriptedModel};

use super::*;

/// The reasons that the destructor and the task of `wait` got.
#[derive(Clone, Default)]
struct Ends {
    of_destructor: Arc<Mutex<Option<CallEnd>>>,
    of_task: Arc<Mutex<Option<CallEnd>>>,
}

struct Destructor<'c>(&'c ToolContext, Ends);

impl Drop for Destructor<'_> {
    fn drop(&mut self) {
        *self.1.of_destructor.lock().unwrap() = self.0.end_reason();
    }
}

/// Waits.
#[tool(timeout = "60s")]
async fn wait(millis: u64, ctx: &ToolContext) -> Result<(), ToolError> {
    assert_eq!(ctx.end_reason(), None);
    let ends = ctx.require::<Ends>()?.clone();
    let (shared, of_task) = (ctx.clone(), Arc::clone(&ends.of_task));
    tokio::spawn(async move {
        shared.cancellation().cancelled().await;
        *of_task.lock().unwrap() = shared.end_reason();
    });
    let _destructor = Destructor(ctx, ends);
    sleep(Duration::from_millis(millis)).await;
    Ok(())
}

/// Lets another tool wait, at most for some time.
#[tool(timeout = "60s")]
async fn delegate(millis: u64, limit: u64, ctx: &ToolContext) {
    let nested = ToolCall::new("", "wait", json!({ "millis": millis }));
    let _ = timeout(Duration::from_millis(limit), ctx.dispatch(vec![nested])).await;
}

/// Runs a call of one tool in a batch, and returns the reasons that `wait` got. `stop` ends the
/// batch early.
async fn ends_of(
    dispatcher: &Dispatcher,
    (tool, arguments): (&str, serde_json::Value),
    stop: Stop,
) -> (Option<CallEnd>, Option<CallEnd>) {
    let ends = Ends::default();
    let dispatcher = dispatcher.clone().extension(ends.clone());
    let mut batch = Batch::from(vec![ToolCall::new("1", tool, arguments)]);
    let token = CancellationToken::new();
    batch.cancellation = Some(token.clone());
    batch.timeout = (stop == Stop::BatchTimeout).then_some(SECOND);
    let run = Dispatch::dispatch(&dispatcher, batch);
    match stop {
        Stop::Nothing | Stop::BatchTimeout => _ = run.await,
        Stop::Drop => _ = timeout(SECOND, run).await,
        Stop::Cancel => {
            _ = tokio::join!(run, async {
                sleep(SECOND).await;
                token.cancel();
            })
        }
    }
    // The task needs one more poll.
    sleep(Duration::from_millis(1)).await;
    (*ends.of_destructor.lock().unwrap(), *ends.of_task.lock().unwrap())
}

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stop {
    Nothing,
    BatchTimeout,
    Cancel,
    Drop,
}

#[tokio::test(start_paused = true)]
async fn tool_gets_the_reason_why_its_call_ends() {
    let dispatcher = Dispatcher::new(Registry::try_from(tools![wait, delegate]).unwrap());
    let limited = dispatcher.clone().policy(Policy::new().max_output_bytes(100));
    let wait = |millis: u64| ("wait", json!({ "millis": millis }));
    let nested =
        |millis: u64, limit: u64| ("delegate", json!({ "millis": millis, "limit": limit }));
    let long = 3_600_000;
    let cases = [
        (wait(10), Stop::Nothing, None, Finished),
        (wait(long), Stop::Nothing, Some(TimedOut), TimedOut),
        (wait(long), Stop::BatchTimeout, Some(TimedOut), TimedOut),
        (wait(long), Stop::Cancel, Some(Cancelled), Cancelled),
        (wait(long), Stop::Drop, Some(Dropped), Dropped),
        (nested(10, long), Stop::Nothing, None, Finished),
        // The caller gives up, is stopped, or is dropped.
        (nested(long, 10), Stop::Nothing, Some(Cancelled), Cancelled),
        (nested(long, 2 * long), Stop::BatchTimeout, Some(TimedOut), TimedOut),
        (nested(long, 2 * long), Stop::Cancel, Some(Cancelled), Cancelled),
        (nested(long, 2 * long), Stop::Drop, Some(Dropped), Dropped),
    ];
    for (call, stop, of_destructor, of_task) in cases {
        for dispatcher in [&dispatcher, &limited] {
            let ends = ends_of(dispatcher, call.clone(), stop).await;
            assert_eq!(ends, (of_destructor, Some(of_task)), "{call:?} {stop:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_nested_agent_end_as_the_call_of_their_agent() {
    for (stop, expected) in [(Stop::Cancel, Cancelled), (Stop::Drop, Dropped)] {
        let model =
            ScriptedModel::new([ChatReply::default().call("wait", json!({ "millis": 3_600_000 }))]);
        let ends = Ends::default();
        let inner = Agent::new(model, tools![wait]).extension(ends.clone());
        let tool = inner.into_tool("research", "Researches.");
        let dispatcher = dispatcher(Tools::new().with(tool));
        ends_of(&dispatcher, ("research", json!({ "task": "Wait." })), stop).await;
        assert_eq!(*ends.of_destructor.lock().unwrap(), Some(expected), "{stop:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn reason_belongs_to_the_attempt() {
    let recorded = Arc::new(Mutex::new(Vec::new()));
    let reasons = Arc::clone(&recorded);
    let mut flaky = ByHandWithContext(
        ToolDefinition::new("flaky", "Fails once.", json!({ "type": "object" }))
            .idempotent()
            .max_retries(1),
        Box::new(move |ctx| {
            reasons.lock().unwrap().push(ctx.end_reason());
            if ctx.attempt() == 1 { Err(ToolError::transient("again")) } else { Ok(()) }
        }),
    );
    flaky.0.timeout = Some(SECOND);
    let dispatcher = dispatcher(Tools::new().with(flaky));
    let executions = dispatcher.dispatch(calls(&[("flaky", "{}")])).await;
    assert_eq!(executions[0].attempts, 2);
    assert_eq!(*recorded.lock().unwrap(), [None, None]);
}

type WithContext = Box<dyn Fn(&ToolContext) -> Result<(), ToolError> + Send + Sync>;

/// A tool whose code receives the context.
struct ByHandWithContext(ToolDefinition, WithContext);

#[async_trait]
impl Tool for ByHandWithContext {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        (self.1)(ctx).map(|()| ToolOutput::text("ok"))
    }
}
