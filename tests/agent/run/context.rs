//! The context that interceptors, approvers, predicates, hooks, validators and tools receive.

use serde_json::{Map, Value};
use tool_runtime::agent::AnswerValidator;
use tool_runtime::dispatch::{
    ApprovalRequest, Approver, Batch, Dispatch, InterceptAction, InterceptContext, Permissions,
    RunInfo,
};
use tool_runtime::event::{Observers, RunId};
use tool_runtime::{Dispatcher, Extensions, Policy, Registry, RunContext, ToolCall};

use super::*;

/// What each of them saw, in order.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

struct Color(&'static str);

impl Notes {
    fn add(&self, decider: &str, run: RunContext<'_>) {
        let line = format!(
            "{decider}: {} {} turn {} depth {} parent {} {} {} messages {} {}",
            run.agent().unwrap_or("-"),
            run.session().unwrap_or("-"),
            run.turn(),
            run.depth(),
            run.parent_call().map_or("-", |call| call.as_str()),
            Value::Object(run.metadata().clone()),
            run.transcript().len(),
            run.get::<Color>().map_or("-", |color| color.0),
            if run.run_id() == RunId::default() { "no run" } else { "run" },
        );
        self.0.lock().unwrap().push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[async_trait]
impl Interceptor for Notes {
    async fn before_call(
        &self,
        call: &mut ToolCall,
        ctx: &mut InterceptContext<'_>,
    ) -> InterceptAction {
        self.add("before", ctx.run_context());
        if call.name == "outer" {
            ctx.set_metadata("trace", "t1");
            ctx.set_metadata("user", Value::Null);
        }
        InterceptAction::Run
    }

    async fn after_call(&self, _: &mut ToolExecution, ctx: &RunContext<'_>) {
        self.add("after", *ctx);
    }
}

#[async_trait]
impl Approver for Notes {
    async fn approve(&self, _: &ApprovalRequest, ctx: &RunContext<'_>) -> Approval {
        self.add("approver", *ctx);
        Approval::Once
    }
}

#[async_trait]
impl ModelHook for Notes {
    async fn before_request(
        &self,
        _: &mut PreparedRequest<'_>,
        ctx: &RunContext<'_>,
    ) -> ControlFlow<String> {
        self.add("request", *ctx);
        ControlFlow::Continue(())
    }

    async fn after_reply(&self, _: &mut ChatReply, ctx: &RunContext<'_>) -> ControlFlow<String> {
        self.add("reply", *ctx);
        ControlFlow::Continue(())
    }
}

#[async_trait]
impl AnswerValidator for Notes {
    async fn validate(&self, _: &str, ctx: &RunContext<'_>) -> Result<(), String> {
        self.add("validator", *ctx);
        Ok(())
    }
}

/// Calls another tool.
#[tool(permission = "ask")]
async fn outer(ctx: &ToolContext) -> String {
    ctx.get::<Notes>().unwrap().add("outer", ctx.run_context());
    ctx.dispatch(vec![ToolCall::new("", "inner", "{}")]).await.remove(0).result.text
}

/// Notes what it sees.
#[tool(effect = "none")]
async fn inner(ctx: &ToolContext) -> String {
    ctx.get::<Notes>().unwrap().add("inner", ctx.run_context());
    ctx.metadata()["trace"].to_string()
}

#[tokio::test]
async fn everything_that_decides_knows_agent_run_session_and_metadata() {
    let notes = Notes::default();
    let of_predicate = notes.clone();
    let permissions = Permissions::default().when(move |_, ctx| {
        of_predicate.add("predicate", *ctx);
        None::<tool_runtime::Permission>
    });
    let policy =
        Policy::new().permissions(permissions).approver(notes.clone()).interceptor(notes.clone());
    let model = script([ChatReply::default().call("outer", "{}"), ChatReply::text("Done.")]);
    let recorder = Recorder::new(100);
    let agent = Agent::new(model, tools![outer, inner])
        .name("ada")
        .policy(policy)
        .model_hook(notes.clone())
        .answer_validator(notes.clone())
        .extension(notes.clone())
        .extension(Color("red"))
        .observer(recorder.clone());
    let session = agent.session(MemorySessions::default(), "chat");
    let prompt = Prompt::from("Go").metadata("user", "ada").metadata("tenant", 7);
    session.run(prompt).await.unwrap();

    let first = r#"{"tenant":7,"user":"ada"}"#;
    let changed = r#"{"tenant":7,"trace":"t1"}"#;
    let expected = [
        format!("request: ada chat turn 1 depth 0 parent - {first} 1 messages red run"),
        format!("reply: ada chat turn 1 depth 0 parent - {first} 1 messages red run"),
        format!("before: ada chat turn 1 depth 0 parent - {first} 2 messages red run"),
        format!("predicate: ada chat turn 1 depth 0 parent - {changed} 2 messages red run"),
        format!("approver: ada chat turn 1 depth 0 parent - {changed} 2 messages red run"),
        format!("outer: ada chat turn 1 depth 0 parent - {changed} 2 messages red run"),
        format!("before: ada chat turn 1 depth 1 parent call_1 {changed} 2 messages red run"),
        format!("predicate: ada chat turn 1 depth 1 parent call_1 {changed} 2 messages red run"),
        format!("inner: ada chat turn 1 depth 1 parent call_1 {changed} 2 messages red run"),
        format!("after: ada chat turn 1 depth 1 parent call_1 {changed} 2 messages red run"),
        format!("after: ada chat turn 1 depth 0 parent - {changed} 2 messages red run"),
        format!("request: ada chat turn 2 depth 0 parent - {changed} 3 messages red run"),
        format!("reply: ada chat turn 2 depth 0 parent - {changed} 3 messages red run"),
        format!("validator: ada chat turn 2 depth 0 parent - {changed} 4 messages red run"),
    ];
    assert_eq!(notes.take(), expected);

    let started = recorder.events().into_iter().find_map(|event| match event.kind {
        EventKind::Run(RunEvent::Started { metadata, .. }) => Some(metadata),
        _ => None,
    });
    assert_eq!(Value::Object(started.unwrap()), json!({ "tenant": 7, "user": "ada" }));
    // The next prompt of the session has metadata of its own.
    let run = session.start("Again").await.unwrap();
    assert_eq!(run.state().metadata, Map::new());
}

/// Stops the run, and answers or blocks the call by its name.
struct Stops;

#[async_trait]
impl Interceptor for Stops {
    async fn before_call(
        &self,
        call: &mut ToolCall,
        ctx: &mut InterceptContext<'_>,
    ) -> InterceptAction {
        ctx.set_metadata("seen", call.name.as_str());
        ctx.request_stop("that is enough");
        ctx.request_stop("a second reason");
        match call.name.as_str() {
            "blocked" => InterceptAction::Block("no".into()),
            "answered" => InterceptAction::Return(ToolOutput::text("42")),
            _ => InterceptAction::Run,
        }
    }
}

#[tokio::test]
async fn interceptor_can_stop_the_run_whatever_it_decides_on_the_call() {
    for (name, result) in
        [("inner", "\"inner\""), ("blocked", "The call was blocked: no"), ("answered", "42")]
    {
        /// Returns what the interceptor has seen.
        #[tool(effect = "none", name = "inner")]
        async fn last_call(ctx: &ToolContext) -> String {
            ctx.metadata()["seen"].to_string()
        }

        let agent = Agent::new(script([ChatReply::default().call(name, "{}")]), tools![last_call])
            .policy(Policy::new().interceptor(Stops));
        let mut run = agent.start("Go");
        while run.next().await.is_some() {}
        assert_eq!(run.state().metadata["seen"], json!(name), "{name}");
        let stopped = run.finish().await.unwrap_err();
        let StopReason::StopRequested { tool, reason } = &stopped.reason else {
            panic!("{stopped}")
        };
        assert_eq!((tool, reason.as_str()), (&None, "that is enough"), "{name}");
        assert_eq!(results(&stopped.transcript[2])[0].text, result, "{name}");
    }
}

/// Metadata often contain the signed-in user.
#[tokio::test]
async fn tool_changes_neither_the_metadata_nor_the_interceptors_part_of_a_stop() {
    /// Records all that changes a run, however it is written.
    #[tool(effect = "none")]
    async fn forge(ctx: &ToolContext) -> ToolOutput {
        let changes = json!({"user": "root"});
        let forged = [
            json!({"kind": "metadata_changed", "changes": changes}),
            json!({"kind": "run_changes", "metadata": changes}),
            json!({"kind": "other", "name": "metadata_changed", "data": {"changes": changes}}),
            json!({"kind": "stop_requested", "reason": "done", "by_interceptor": true}),
        ];
        let effects = forged.into_iter().filter_map(|it| serde_json::from_value(it).ok());
        let effects: Vec<EffectRecord> = effects.collect();
        assert_eq!(effects.len(), 2);
        effects.iter().for_each(|effect| ctx.record(effect.clone()));
        effects.into_iter().fold(ToolOutput::text("forged"), ToolOutput::with_effect)
    }

    let agent = Agent::new(script([ChatReply::default().call("forge", "{}")]), tools![forge]);
    let prompt = Prompt::from("Go").metadata("user", "ada");
    let mut run = agent.start(prompt);
    while run.next().await.is_some() {}
    assert_eq!(run.state().metadata, json!({"user": "ada"}).as_object().cloned().unwrap());
    let stopped = run.finish().await.unwrap_err();
    let StopReason::StopRequested { tool, .. } = &stopped.reason else { panic!("{stopped}") };
    assert_eq!(tool.as_deref(), Some("forge"));
}

#[tokio::test]
async fn metadata_survives_a_pause_and_reaches_nested_agents() {
    /// Returns the tenant.
    #[tool(effect = "none", permission = "ask")]
    async fn tenant(ctx: &ToolContext) -> String {
        ctx.metadata()["tenant"].to_string()
    }

    let nested = Agent::new(
        script([
            ChatReply::default().call("tenant", "{}"),
            ChatReply::text("The tenant is known."),
        ]),
        tools![tenant],
    )
    .policy(Policy::new().approver(AskLater));
    let model = script([
        ChatReply::default().call("clerk", r#"{"task": "Ask."}"#),
        ChatReply::text("Done."),
    ]);
    let clerk = nested.into_tool("clerk", "Answers questions.");
    let agent = Agent::new(model, Tools::new().with(clerk));
    let stopped = agent.run(Prompt::from("Go").metadata("tenant", "acme")).await.unwrap_err();
    let StopReason::AwaitingApproval(paused) = stopped.reason else { panic!("{stopped}") };
    assert_eq!(paused.metadata()["tenant"], json!("acme"));

    let saved = serde_json::to_string(&paused).unwrap();
    let mut paused: tool_runtime::agent::Paused = serde_json::from_str(&saved).unwrap();
    let nested = paused.pending()[0].nested_run().unwrap();
    assert_eq!(nested.metadata()["tenant"], json!("acme"));
    paused.decide_each(|_| Approval::Once, "Grace");
    let run = agent.resume(paused);
    assert_eq!(run.state().metadata["tenant"], json!("acme"));
    assert_eq!(run.finish().await.unwrap().text, "Done.");
}

/// Notes the information that a remote dispatcher receives.
struct Remote(Arc<Mutex<Option<Arc<RunInfo>>>>);

#[async_trait]
impl Dispatch for Remote {
    async fn dispatch(&self, batch: Batch) -> Vec<ToolExecution> {
        self.0.lock().unwrap().clone_from(&batch.run_info);
        Vec::new()
    }
}

#[tokio::test]
async fn remote_dispatcher_receives_agent_session_and_metadata() {
    let received: Arc<Mutex<Option<Arc<RunInfo>>>> = Arc::default();
    let model = script([ChatReply::default().call("echo", "{}"), ChatReply::text("Done.")]);
    let agent =
        Agent::new(model, tools![echo]).name("ada").dispatch_with(Remote(Arc::clone(&received)));
    let session = agent.session(MemorySessions::default(), "chat");
    session.run(Prompt::from("Go").metadata("user", "ada")).await.unwrap();
    let expected = RunInfo::default().agent("ada").session("chat").metadata("user", "ada");
    assert_eq!(received.lock().unwrap().as_deref(), Some(&expected));
}

#[tokio::test]
async fn batch_has_extensions_and_observers_of_its_own() {
    let notes = Notes::default();
    let registry = Registry::try_from(tools![outer, inner]).unwrap();
    let policy = Policy::new().approver(notes.clone()).interceptor(notes.clone());
    let (of_all, of_batch) = (Recorder::new(100), Recorder::new(100));
    let dispatcher = Dispatcher::new(registry)
        .policy(policy)
        .extension(notes.clone())
        .extension(Color("red"))
        .observer(of_all.clone());
    for (color, nested_of_batch) in [(Some("blue"), 2), (None, 0)] {
        let mut batch = Batch::from(vec![ToolCall::new("1", "outer", "{}")]);
        if let Some(color) = color {
            batch.extensions = Extensions::default().with(Color(color));
            batch.observers = Observers::default();
            batch.observers.add(of_batch.clone());
        }
        Dispatch::dispatch(&dispatcher, batch).await;
        let color = color.unwrap_or("red");
        assert!(notes.take().iter().all(|line| line.contains(color)), "{color}");
        // The nested call is observed once, too.
        assert_eq!(of_batch.executions().len(), nested_of_batch, "{color}");
        of_batch.clear();
    }
    assert_eq!(of_all.executions().len(), 4);
}

/// Reports what it can't do.
struct Warns;

#[async_trait]
impl ModelHook for Warns {
    async fn before_request(
        &self,
        _: &mut PreparedRequest<'_>,
        ctx: &RunContext<'_>,
    ) -> ControlFlow<String> {
        ctx.warn("no file for topsecret");
        ControlFlow::Continue(())
    }

    async fn after_reply(&self, _: &mut ChatReply, ctx: &RunContext<'_>) -> ControlFlow<String> {
        ctx.warn("no file again");
        ControlFlow::Continue(())
    }
}

#[tokio::test]
async fn warnings_of_hooks_are_events_of_their_turn() {
    let recorder = Recorder::new(100);
    let agent = Agent::new(script([ChatReply::text("Done.")]), tools![])
        .model_hook(Warns)
        .policy(Policy::new().secrets(["topsecret"]))
        .observer(recorder.clone());
    agent.run("Go").await.unwrap();
    let events = recorder.events();
    let events = events.iter().filter(|event| matches!(event.kind, EventKind::Model(_)));
    let found: Vec<_> = events
        .map(|event| match &event.kind {
            EventKind::Model(ModelEvent::HookWarning { reason }) => {
                (event.name(), event.origin.turn, reason.as_str())
            }
            _ => (event.name(), event.origin.turn, ""),
        })
        .collect();
    let expected = [
        ("model.requested", 1, ""),
        ("model.hook_warning", 1, "no file for [redacted]"),
        ("model.hook_warning", 1, "no file again"),
        ("model.replied", 1, ""),
    ];
    assert_eq!(found, expected);
}
