//! A call that a worker runs has the events and the result of a local call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::time::{sleep, timeout};
use tool_runtime::dispatch::{
    AskLater, Batch, CallEnd, CallEnvelope, Dispatch, RunInfo, SuspendedCall,
};
use tool_runtime::event::{Observers, Origin, ProtocolError, Recorder, RunId, ToolEvent};
use tool_runtime::{
    Agent, Arguments, CancellationToken, ChatReply, Dispatcher, EffectRecord, Permission, Policy,
    Registry, ScriptedModel, StopReason, Tool, ToolCall, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolExecution, ToolOutput, Tools, Usage, async_trait, tool, tools,
};

/// A tool whose code runs on a worker. Everything between the two is JSON.
struct OnWorker {
    /// The definition that this process knows.
    definition: ToolDefinition,
    /// The definition of the worker.
    served: ToolDefinition,
    worker: Dispatcher,
    envelopes: Arc<Mutex<Vec<CallEnvelope>>>,
}

#[async_trait]
impl Tool for OnWorker {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let json = serde_json::to_string(&ctx.envelope(&self.served, &args))?;
        let received: CallEnvelope = serde_json::from_str(&json)?;
        self.envelopes.lock().unwrap().push(received.clone());
        let execution = self.worker.serve(received, Observers::default(), ctx.cancellation()).await;
        ctx.outcome_of(serde_json::from_str(&serde_json::to_string(&execution)?)?)
    }
}

/// Returns the tools as those of a worker with this policy, and the envelopes that it receives.
fn on_worker(tools: Tools, policy: Policy) -> (Tools, Arc<Mutex<Vec<CallEnvelope>>>) {
    let worker = Dispatcher::new(Registry::try_from(tools).unwrap()).policy(policy);
    let envelopes = Arc::new(Mutex::new(Vec::new()));
    let snapshot = worker.registry().snapshot();
    let remote = snapshot.entries().map(|entry| {
        let served = entry.definition().clone();
        let definition = served.clone();
        OnWorker { definition, served, worker: worker.clone(), envelopes: Arc::clone(&envelopes) }
    });
    (remote.fold(Tools::new(), Tools::with), envelopes)
}

fn dispatcher(tools: Tools) -> Dispatcher {
    Dispatcher::new(Registry::try_from(tools).unwrap())
}

/// Adds two numbers.
#[tool(effect = "none")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Returns everything that an output can hold.
#[tool]
async fn rich(ctx: &ToolContext) -> ToolOutput {
    ctx.record(EffectRecord::TokensSpent { usage: Usage::new(3, 4), cost: Some(0.5), model: None });
    ToolOutput::text("seen")
        .with_structured(json!({ "seen": [1, null] }))
        .with_part(tool_runtime::ContentPart::text("and more"))
}

/// Fails in every respect.
#[tool]
async fn fail() -> Result<(), ToolError> {
    let error = ToolError::new(ToolErrorKind::TransientFailure, "Busy: try later.");
    let error = error.with_part(tool_runtime::ContentPart::text("the log"));
    Err(error.with_source("the disk is full").with_protocol_error(ProtocolError::new(-32_000)))
}

/// Panics.
#[tool]
async fn crash() {
    panic!("a secret of the operator, on purpose");
}

/// Asks before it books.
#[tool]
async fn book(train: String, ctx: &ToolContext) -> Result<String, ToolError> {
    let Some(resumed) = ctx.resumed() else {
        return Err(ToolError::suspended("Window or aisle?", json!({ "train": train })));
    };
    let state: serde_json::Value = resumed.state_as()?;
    Ok(format!("{}: {}, {}", state["train"], resumed.answer_as::<String>()?, ctx.resumptions()))
}

fn all() -> Tools {
    tools![add, rich, fail, crash, book]
}

/// Returns what the caller sees of an execution: all but its times.
fn visible(mut execution: ToolExecution) -> ToolExecution {
    execution.started_at = std::time::UNIX_EPOCH;
    execution.duration = Duration::ZERO;
    // The worker has the decoded arguments; the caller has sent what it validated itself.
    execution.decoded_arguments = None;
    execution
}

#[tokio::test]
async fn call_on_a_worker_has_the_execution_of_a_local_call() {
    support::panics::silence_panics_on_purpose();
    let (remote, _) = on_worker(all(), Policy::new());
    let (local, remote) = (dispatcher(all()), dispatcher(remote));
    let list = [
        ("add", r#"{"a": 2, "b": 3}"#),
        ("add", r#"{'a': 2, b: 3,}"#),
        ("add", r#"{"a": 2}"#),
        ("rich", "{}"),
        ("fail", "{}"),
        ("crash", "{}"),
        ("book", r#"{"train": "ICE 71"}"#),
    ];
    for (tool, arguments) in list {
        let call = ToolCall::new("1", tool, arguments);
        let expected = visible(local.dispatch(vec![call.clone()]).await.remove(0));
        let found = visible(remote.dispatch(vec![call]).await.remove(0));
        assert_eq!(found, expected, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn worker_sees_the_run_of_the_caller() {
    /// Returns the context.
    #[tool]
    async fn look(ctx: &ToolContext) -> String {
        let run = ctx.run_context();
        format!(
            "{} {} {:?} {:?} {:?} {:?} {} {}",
            run.run_id(),
            run.turn(),
            run.agent(),
            run.session(),
            run.parent_call().map(ToString::to_string),
            run.metadata(),
            ctx.call_id(),
            ctx.idempotency_key(),
        )
    }
    let (remote, envelopes) = on_worker(tools![look], Policy::new());
    let info = RunInfo::default().agent("clerk").session("ada").metadata("tenant", "acme");
    let mut texts = Vec::new();
    for dispatcher in [dispatcher(tools![look]), dispatcher(remote)] {
        let mut batch = Batch::from(vec![ToolCall::new("c7", "look", "{}")]);
        batch.origin = Origin::new(RunId::from(7), 3).nested(&"outer".into());
        batch.run_info = Some(Arc::new(info.clone()));
        texts.push(Dispatch::dispatch(&dispatcher, batch).await.remove(0).result.text);
    }
    assert_eq!(texts[0], texts[1]);
    assert!(texts[0].contains("clerk") && texts[0].contains("acme"), "{}", texts[0]);
    assert!(texts[0].ends_with(&envelopes.lock().unwrap()[0].key), "{}", texts[0]);
}

#[tokio::test]
async fn policy_is_applied_by_the_caller_alone() {
    /// Pays.
    #[tool(permission = "deny", requires("money"))]
    async fn pay() -> String {
        "paid ".repeat(100)
    }
    /// Pays by another tool.
    #[tool]
    async fn delegate(ctx: &ToolContext) -> String {
        ctx.dispatch(vec![ToolCall::new("", "pay", "{}")]).await.remove(0).result.text
    }
    let policy = Policy::new().max_output_bytes(10);
    let (remote, _) = on_worker(tools![pay, delegate], policy);
    let allowed = Policy::new()
        .permissions(tool_runtime::dispatch::Permissions::default().tool("pay", Permission::Allow))
        .grant(["money"]);
    let execution = dispatcher(remote).policy(allowed).call("pay", json!({})).await;
    assert_eq!(execution.result.text, "paid ".repeat(100), "the worker neither denies nor cuts");
    let (remote, _) = on_worker(tools![pay, delegate], Policy::new());
    let denied = dispatcher(remote);
    assert_eq!(denied.call("pay", json!({})).await.result.error.as_deref(), Some("TOOL_DENIED"));
    let nested = denied.call("delegate", json!({})).await;
    let text = "`pay` needs `money`, which is not granted here.";
    assert_eq!(nested.result.text, text);
}

#[tokio::test]
async fn worker_with_another_definition_does_not_run_the_call() {
    let changes: [fn(ToolDefinition) -> ToolDefinition; 5] = [
        |it| it.version("2"),
        |it| it.idempotent(),
        |it| it.timeout(Duration::from_secs(1)),
        |it| it.max_retries(1),
        |it| it.output(json!({ "type": "string" })),
    ];
    let worker = dispatcher(tools![add]);
    let mut known = vec![];
    let definition = worker.registry().snapshot().definition("add").unwrap().clone();
    known.extend(changes.map(|change| change(definition.clone())));
    let mut unknown = definition.clone();
    unknown.name = "subtract".into();
    known.push(unknown);
    for served in known {
        let on_worker = OnWorker {
            definition: definition.clone(),
            served,
            worker: worker.clone(),
            envelopes: Arc::default(),
        };
        let execution =
            dispatcher(Tools::new().with(on_worker)).call("add", json!({"a": 1, "b": 1})).await;
        assert_eq!(execution.result.error.as_deref(), Some("TOOL_UNAVAILABLE"), "{execution:?}");
        assert!(execution.cause.is_some(), "{execution:?}");
    }
}

#[tokio::test]
async fn question_of_a_worker_is_answered_in_another_process() {
    let (remote, envelopes) = on_worker(all(), Policy::new());
    let model = ScriptedModel::new([
        ChatReply::default().call("book", json!({ "train": "ICE 71" })),
        ChatReply::text("Booked."),
    ]);
    let agent = Agent::new(model, remote).policy(Policy::new().approver(AskLater));
    let stopped = agent.run("Book a seat.").await.unwrap_err();
    let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!("{stopped}") };
    assert_eq!(paused.pending()[0].question().as_deref(), Some("Window or aisle?"));
    let call = paused.pending()[0].call.id.clone();
    paused.answer(&call, "aisle", "Ada").unwrap();
    let answer = agent.resume(*paused).finish().await.unwrap();
    let tool_runtime::Message::Tool { results } = &answer.transcript[2] else { panic!() };
    assert_eq!(results[0].text, "\"ICE 71\": aisle, 1");
    let envelopes = envelopes.lock().unwrap();
    let suspended = envelopes[1].suspended.as_ref();
    assert_eq!(suspended.map(|suspended| suspended.resumptions), Some(1));
    assert_ne!(envelopes[0].key, envelopes[1].key, "a queue would return the question again");
}

#[tokio::test(start_paused = true)]
async fn worker_gets_the_reason_why_a_call_ends() {
    #[derive(Clone, Default)]
    struct End(Arc<Mutex<Option<CallEnd>>>);
    struct Destructor<'c>(&'c ToolContext);
    impl Drop for Destructor<'_> {
        fn drop(&mut self) {
            *self.0.get::<End>().unwrap().0.lock().unwrap() = self.0.end_reason();
        }
    }
    /// Waits.
    #[tool]
    async fn wait(ctx: &ToolContext) {
        let _destructor = Destructor(ctx);
        sleep(Duration::from_secs(3_600)).await;
    }
    for (is_cancelled, expected) in [(true, CallEnd::Cancelled), (false, CallEnd::Dropped)] {
        let end = End::default();
        let worker = dispatcher(tools![wait]).extension(end.clone());
        let definition = worker.registry().snapshot().definition("wait").unwrap().clone();
        let envelope = ToolContext::default().envelope(&definition, &"{}".into());
        let (cancel, recorder) = (CancellationToken::new(), Recorder::new(100));
        let mut observers = Observers::default();
        observers.add(recorder.clone());
        let served = worker.serve(envelope, observers, cancel.clone());
        if is_cancelled {
            let (execution, ()) = tokio::join!(served, async {
                sleep(Duration::from_secs(1)).await;
                cancel.cancel();
            });
            assert!(execution.failed_with("TOOL_CANCELLED"), "{execution:?}");
        } else {
            let _ = timeout(Duration::from_secs(1), served).await;
        }
        assert_eq!(*end.0.lock().unwrap(), Some(expected));
        let is_end = |event: &ToolEvent| matches!(event, ToolEvent::Finished(_));
        let events = recorder.events();
        assert_eq!(
            events.iter().filter_map(|it| it.tool_event()).filter(|it| is_end(it)).count(),
            1
        );
    }
}

/// Workers may run another version of the program: what travels keeps its form.
#[test]
fn envelope_has_the_documented_form() {
    let definition = ToolDefinition::new("add", "Adds.", json!({ "type": "object" }));
    let ctx = ToolContext::new(ToolCall::new("c1", "math_add", r#"{"a": 2}"#));
    let ctx = ctx.with_metadata("tenant", "acme");
    let mut envelope = ctx.envelope(&definition, &r#"{"a": 2}"#.into());
    envelope.key = "7-1-c1".into();
    let mut suspended = SuspendedCall::new("c1".into(), &definition, json!({ "step": 1 }));
    suspended = suspended.with_answer("yes", "Ada");
    envelope.suspended = Some(suspended);
    let fingerprint = definition.fingerprint().to_string();
    let expected = json!({
        "call": { "id": "c1", "name": "add", "arguments": "{\"a\": 2}" },
        "key": "7-1-c1",
        "origin": { "run": "00000000000000000000000000000000", "turn": 0 },
        "run_info": { "metadata": { "tenant": "acme" } },
        "fingerprint": fingerprint,
        "suspended": {
            "call": "c1",
            "tool": "add",
            "fingerprint": fingerprint,
            "state": { "step": 1 },
            "resumptions": 1,
            "answer": { "value": "yes", "answered_by": "Ada" },
        },
    });
    assert_eq!(serde_json::to_value(&envelope).unwrap(), expected);
    assert_eq!(serde_json::from_value::<CallEnvelope>(expected).unwrap(), envelope);
}
