//! Random batches of calls of every kind: each call has one result, in order, and a tool that must
//! run at most once is never entered twice.
//!
//! `BATCHES=100000 cargo test -p tool-tests --test runtime dispatch::batches` sets the number of
//! batches.

mod trial;

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use self::trial::{Trial, trial};
use proptest::prelude::ProptestConfig;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::json;
use tokio::time::Instant;
use tool_runtime::dispatch::{
    Approval, ApprovalRequest, Approver, Batch, Concurrency, InterceptAction, InterceptContext,
    Interceptor, Permissions, RateLimits, RunInfo,
};
use tool_runtime::event::{BlockReason, Observers, ToolEvent};
use tool_runtime::{
    Arguments, CancellationToken, Dispatcher, Event, Permission, Policy, RateLimit, Registry,
    RunContext, Tool, ToolCall, ToolContext, ToolDefinition, ToolError, ToolExecution, ToolOutput,
    Tools, async_trait, tool, tools,
};

/// Records which calls entered their tools, and which of them ran at the same time.
#[derive(Clone, Default)]
struct Entered(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// The idempotency keys of each call, by its id.
    keys: HashMap<String, Vec<String>>,
    /// The times at which each tool was entered, by its name.
    times: HashMap<String, Vec<Instant>>,
    /// The tools that run now.
    inside: Vec<String>,
    /// The maximum number of concurrent calls: of all tools, and of the pure tool.
    most: usize,
    most_pure: usize,
    /// Whether a sequential tool ran beside another.
    was_crowded: bool,
}

/// Marks a call as running until it is dropped.
struct Inside(Entered, String);

impl Drop for Inside {
    fn drop(&mut self) {
        let mut inner = self.0.0.lock().unwrap();
        let place = inner.inside.iter().position(|name| *name == self.1).expect("it is in");
        inner.inside.swap_remove(place);
    }
}

fn enter(ctx: &ToolContext) -> Inside {
    let call = ctx.metadata().get("call");
    assert!(call.is_none_or(|call| call == ctx.tool_name()), "the metadata of another call");
    let entered = ctx.get::<Entered>().expect("it is given").clone();
    let name = ctx.tool_name().to_owned();
    let mut inner = entered.0.lock().unwrap();
    inner.keys.entry(ctx.call_id().to_string()).or_default().push(ctx.idempotency_key());
    inner.times.entry(name.clone()).or_default().push(Instant::now());
    inner.inside.push(name.clone());
    let inside = |name: &str| inner.inside.iter().filter(|inside| *inside == name).count();
    let (all, pure, sequential) = (inner.inside.len(), inside("pure"), inside("sequential"));
    inner.most = inner.most.max(all);
    inner.most_pure = inner.most_pure.max(pure);
    inner.was_crowded |= sequential > 0 && all > 1;
    drop(inner);
    Inside(entered, name)
}

/// The source of an error, whose text and destructor panic.
#[derive(Debug)]
struct Mined;

impl fmt::Display for Mined {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("on purpose")
    }
}

impl Error for Mined {}

impl Drop for Mined {
    fn drop(&mut self) {
        panic!("on purpose")
    }
}

/// Behaves as `behavior` names it.
async fn act(behavior: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    let _inside = enter(ctx);
    match behavior {
        "works" => Ok("done".into()),
        "waits" => {
            tokio::time::sleep(Duration::from_millis(700)).await;
            Ok("done".into())
        }
        "spawns" => {
            ctx.spawn(std::future::pending::<()>());
            Ok("done".into())
        }
        "fails" => Err("no".into()),
        "passes" => Err(ToolError::transient("later")),
        "is mined" => {
            ctx.spawn(std::future::pending::<()>());
            Err(ToolError::transient("later").with_source(Mined))
        }
        "crashes" => panic!("on purpose"),
        _ => std::future::pending().await,
    }
}

/// Runs once.
#[tool(timeout = "1s")]
async fn single(behavior: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    act(behavior, ctx).await
}

/// May run again.
#[tool(idempotent, max_retries = 2, timeout = "1s")]
async fn repeatable(behavior: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    act(behavior, ctx).await
}

/// Runs alone.
#[tool(sequential, timeout = "1s")]
async fn sequential(behavior: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    act(behavior, ctx).await
}

/// Runs after an approval.
#[tool(permission = "ask", timeout = "1s")]
async fn ask(behavior: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    act(behavior, ctx).await
}

/// Doesn't run.
#[tool(permission = "deny")]
async fn deny(behavior: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    act(behavior, ctx).await
}

/// Gives the same output each time.
#[tool(pure, effect = "none", timeout = "1s")]
async fn pure(behavior: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    act(behavior, ctx).await
}

/// Calls others.
#[tool]
async fn outer(behavior: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    let inner = |name: &str| ToolCall::new("", name, json!({ "behavior": behavior }));
    let executions = ctx.dispatch(vec![inner("single"), inner("repeatable")]).await;
    assert_eq!(executions.len(), 2);
    Ok("done".into())
}

/// Decides by the `behavior` of the call.
struct Clerk;

#[async_trait]
impl Approver for Clerk {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        match request.arguments["behavior"].as_str() {
            Some("fails") => Approval::Deny("no".into()),
            Some("passes") => Approval::Defer,
            Some("crashes") => panic!("on purpose"),
            Some("waits") => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Approval::ForRun
            }
            _ => Approval::Once,
        }
    }
}

/// Blocks some of the calls.
struct Guard;

#[async_trait]
impl Interceptor for Guard {
    async fn before_call(
        &self,
        call: &mut ToolCall,
        _: &mut InterceptContext<'_>,
    ) -> InterceptAction {
        match call.id.as_str().len() {
            6 if call.id.as_str().ends_with('7') => InterceptAction::Block("unlucky".into()),
            _ => InterceptAction::Run,
        }
    }

    async fn after_call(&self, execution: &mut ToolExecution, _: &RunContext<'_>) {
        assert!(execution.attempts != 2, "on purpose");
    }
}

/// A tool that is implemented by hand and passes its calls on to a function.
struct ByHand(Arc<dyn Tool>);

#[async_trait]
impl Tool for ByHand {
    fn definition(&self) -> &ToolDefinition {
        self.0.definition()
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.0.call(args, ctx).await
    }
}

/// Changes the metadata of the run at each call.
struct Traces;

#[async_trait]
impl Interceptor for Traces {
    async fn before_call(
        &self,
        call: &mut ToolCall,
        ctx: &mut InterceptContext<'_>,
    ) -> InterceptAction {
        assert_eq!(ctx.run_context().metadata()["tenant"], "acme");
        ctx.set_metadata("call", call.name.as_str());
        InterceptAction::Run
    }
}

/// The span of the rate limit.
const SPAN: Duration = Duration::from_secs(1);

struct TrialResult {
    executions: Vec<ToolExecution>,
    entered: Entered,
    events: Vec<Event>,
    live_tasks: usize,
}

fn all_tools(trial: &Trial) -> Tools {
    let functions = tools![single, repeatable, sequential, ask, deny, pure, outer];
    let tools = if trial.by_hand {
        functions.into_iter().fold(tools![], |tools, tool| tools.with(ByHand(tool)))
    } else {
        functions
    };
    tools.labeled(["office"])
}

async fn run(trial: &Trial) -> TrialResult {
    let entered = Entered::default();
    let registry = Registry::new();
    match trial.replaced_at {
        None => drop(registry.register_all(all_tools(trial)).unwrap()),
        Some(_) => drop(registry.register_all_from("desk", all_tools(trial)).unwrap()),
    }
    let events = Arc::<Mutex<Vec<Event>>>::default();
    let mut observers = Observers::default();
    let sink = Arc::clone(&events);
    if trial.panicking_observer {
        observers.add(|event: &Event| assert!(event.execution().is_none(), "on purpose"));
    }
    observers.add(move |event: &Event| sink.lock().unwrap().push(event.clone()));
    let mut policy = Policy::new();
    if trial.on_failure {
        policy = policy.abort_on_failure();
    }
    if trial.on_block {
        policy = policy.abort_on_block();
    }
    if trial.guarded {
        policy =
            policy.interceptor(Guard).permissions(Permissions::default().when(|request, _| {
                (request.arguments["behavior"] == "spawns").then_some(Permission::Ask)
            }));
    }
    if trial.needs_approval {
        policy = policy.approver(Clerk);
    }
    if let Some(most) = trial.most {
        policy =
            policy.concurrency(Concurrency::default().max_calls(most).max_tool_calls("pure", 1));
    }
    if let Some(times) = trial.rate {
        let limit = RateLimit { times, per: SPAN };
        policy = policy.rate_limits(RateLimits::default().tool("repeatable", limit));
    }
    if trial.has_metadata {
        policy = policy.interceptor(Traces);
    }
    let dispatcher =
        Dispatcher::new(registry).policy(policy).extension(entered.clone()).observers(observers);

    let calls = trial.calls.iter().enumerate();
    let calls = calls.map(|(n, (name, text))| ToolCall::new(format!("call_{n}"), *name, &**text));
    let mut batch = Batch::from(calls.collect::<Vec<_>>());
    batch.timeout = trial.deadline.map(Duration::from_millis);
    batch.run_info =
        trial.has_metadata.then(|| Arc::new(RunInfo::default().metadata("tenant", "acme")));
    if let Some(at) = trial.replaced_at {
        let (registry, tools) = (dispatcher.registry().clone(), all_tools(trial));
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(at)).await;
            registry.replace_all_from("desk", tools).unwrap();
        });
    }
    if let Some(at) = trial.stop_at {
        let stop = CancellationToken::new();
        batch.cancellation = Some(stop.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(at)).await;
            stop.cancel();
        });
    }
    let tools = dispatcher.registry().snapshot();
    let executions = dispatcher.dispatch_on(&tools, batch).await;
    // The task that cancels the batch may still be waiting.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let live_tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let events = std::mem::take(&mut *events.lock().unwrap());
    TrialResult { executions, entered, events, live_tasks }
}

fn check(trial: &Trial, result: &TrialResult) {
    let TrialResult { executions, entered, events, live_tasks } = result;
    let ids: Vec<_> = (0..trial.calls.len()).map(|n| format!("call_{n}")).collect();
    let result_ids: Vec<_> =
        executions.iter().map(|execution| execution.result.call.to_string()).collect();
    assert_eq!(result_ids, ids, "one result for each call, in their order");
    assert_eq!(*live_tasks, 0, "nothing is left running");
    let entered = entered.0.lock().unwrap();
    assert!(entered.inside.is_empty(), "a call is still inside a tool");
    assert!(!entered.was_crowded, "one that runs alone did not");

    for execution in executions {
        let (id, name) = (execution.call.id.as_str(), execution.call.name.as_str());
        let keys = entered.keys.get(id).map_or(&[][..], Vec::as_slice);
        let most = if name == "repeatable" { 3 } else { 1 };
        assert!(keys.len() <= most, "{name} was entered {} times", keys.len());
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "a retry has its call's key");
        if execution.is_blocked() || ["deny", "unknown"].contains(&name) {
            assert!(keys.is_empty() && !execution.did_run(), "{name} ran though it was held back");
        }
        if name == "ask" && !keys.is_empty() {
            assert!(execution.decided_by().is_some(), "the execution records no decision");
        }
        if ["single", "repeatable", "sequential"].contains(&name)
            && execution.did_run()
            && !trial.guarded
        {
            assert_eq!(execution.attempts as usize, keys.len(), "{execution:?}");
        }
        if execution.blocked_by == Some(BlockReason::Batch) {
            assert!(trial.on_failure || trial.on_block);
        }
        assert_eq!(execution.is_success(), execution.result.error.is_none());
        let is_refused = execution.failed_with("TOOL_INVALID_ARGUMENTS");
        assert!(!is_refused || !execution.did_run(), "{execution:?}");
    }
    for (index, next) in executions.iter().enumerate().flat_map(|(index, execution)| {
        let rest = trial.calls[index..].iter().position(|(name, _)| *name == "sequential");
        let next = rest.map_or(usize::MAX, |rest| index + rest.max(1));
        trial.halts(execution).then_some((index, next))
    }) {
        let later = executions.iter().skip(next).find(|execution| execution.did_run());
        assert!(later.is_none(), "{index} ended the batch, and yet {later:?}");
    }
    // Nested calls are entered once as well.
    for (id, keys) in entered.keys.iter().filter(|(id, _)| id.contains('/')) {
        assert!(keys.len() <= if id.ends_with("/2") { 3 } else { 1 }, "{id}");
    }
    if let Some(most) = trial.most {
        assert!(entered.most_pure <= 1, "too many of one tool at once");
        let has_outer = trial.calls.iter().any(|(name, _)| *name == "outer");
        assert!(has_outer || entered.most <= most, "too many at once");
    }
    if let (Some(times), Some(starts)) = (trial.rate, entered.times.get("repeatable")) {
        for from in starts {
            let in_span = starts.iter().filter(|at| *from <= **at && **at < *from + SPAN).count();
            assert!(in_span <= times as usize, "too many in a span");
        }
    }
    // Every call has one start and one end, and names its parent; times never decrease.
    assert!(events.is_sorted_by_key(|event| event.at));
    let mut open = HashMap::<String, (u32, u32)>::new();
    for event in events {
        let Some(id) = event.call_id() else { continue };
        let outer = id.as_str().rsplit_once('/').map(|(outer, _)| outer);
        assert_eq!(event.origin.parent.as_ref().map(|parent| parent.as_str()), outer);
        let (started, finished) = open.entry(id.to_string()).or_default();
        match event.tool_event() {
            Some(ToolEvent::Started { .. }) => *started += 1,
            Some(ToolEvent::Finished(_)) => *finished += 1,
            _ => {}
        }
    }
    for id in &ids {
        assert_eq!(open.get(id), Some(&(1, 1)), "{id}");
    }
    // This covers nested calls of a cancelled call.
    for (id, counts) in &open {
        assert_eq!(*counts, (1, 1), "{id}");
    }
}

#[test]
fn random_batch_has_one_result_per_call() {
    support::panics::silence_panics_on_purpose();
    let batches = std::env::var("BATCHES").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let config = ProptestConfig { cases: batches, failure_persistence: None, ..Default::default() };
    let seed = std::env::var("BATCHES_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let ended = runner.run(&trial(), |trial| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let result = runtime.unwrap().block_on(run(&trial));
        check(&trial, &result);
        Ok(())
    });
    if let Err(error) = ended {
        panic!("{error}");
    }
}
