//! Policy: capabilities, permissions, retries, sequential tools; images and effects of results.

mod approval;
mod attempt_hooks;
mod attempts;
mod batch;
mod blocking;
mod breaker;
mod concurrency;
mod context;
mod deferred;
mod fingerprints;
mod interceptors;
mod memoization;
mod memoized_reads;
mod output;
mod rate_limits;
mod remote;
mod rules;
mod runs;
mod same_names;
mod suspended;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use support::conversation::{assert_complete, results};
use tokio::time::Instant;
use tool_runtime::event::{FileChange, FileOp};
use tool_runtime::{
    Agent, ChatReply, Dispatcher, EffectRecord, Extensions, Image, Policy, Registry, ScriptedModel,
    ScriptedTurn, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolExecution, ToolOutput,
    Tools, tool, tools,
};

fn dispatcher(tools: Tools) -> Dispatcher {
    Dispatcher::new(Registry::try_from(tools).unwrap())
}

/// Calls these tools in one reply, without arguments.
async fn run(dispatcher: &Dispatcher, names: &[&str]) -> Vec<ToolExecution> {
    let numbered = names.iter().enumerate();
    let calls = numbered.map(|(n, name)| ToolCall::new(format!("call_{n}"), *name, "{}"));
    dispatcher.dispatch(calls.collect()).await
}

fn offered(dispatcher: &Dispatcher) -> Vec<String> {
    let tools = dispatcher.registry().snapshot();
    dispatcher.offered_tools(&tools).iter().map(|tool| tool.name.clone()).collect()
}

fn code(execution: &ToolExecution) -> &str {
    execution.result.error.as_deref().unwrap_or("-")
}

fn texts(executions: &[ToolExecution]) -> Vec<&str> {
    executions.iter().map(|execution| execution.result.text.as_str()).collect()
}

/// Runs.
#[tool]
async fn allowed() {}

/// Doesn't run.
#[tool(permission = "deny")]
async fn denied() {
    unreachable!("it is denied")
}

/// Runs after an approval.
#[tool(permission = "ask")]
async fn needs_approval() {
    unreachable!("no approver is set")
}

/// Needs two capabilities.
#[tool(requires("filesystem", "network"))]
async fn needy() {}

#[tokio::test]
async fn denied_tool_is_neither_offered_nor_run() {
    let dispatcher = dispatcher(tools![allowed, denied, needs_approval]);
    assert_eq!(offered(&dispatcher), ["allowed"]);
    let executions = run(&dispatcher, &["allowed", "denied", "needs_approval"]).await;
    for (execution, (code_, attempts, text)) in executions.iter().zip([
        ("-", 1, "ok"),
        ("TOOL_DENIED", 0, "`denied` is not allowed here."),
        ("TOOL_DENIED", 0, "`needs_approval` needs approval, but no approver is configured."),
    ]) {
        assert_eq!(
            (code(execution), execution.attempts, execution.result.text.as_str()),
            (code_, attempts, text)
        );
    }
}

#[tokio::test]
async fn tool_with_ungranted_capability_is_blocked() {
    for (granted, missing) in [
        (&[][..], Some("filesystem")),
        (&["filesystem"], Some("network")),
        (&["network", "other"], Some("filesystem")),
        (&["network", "filesystem"], None),
    ] {
        let dispatcher =
            dispatcher(tools![needy]).policy(Policy::new().grant(granted.iter().copied()));
        assert_eq!(offered(&dispatcher).is_empty(), missing.is_some());
        let execution = run(&dispatcher, &["needy"]).await.remove(0);
        let text = match missing {
            Some(missing) => format!("`needy` needs `{missing}`, which is not granted here."),
            None => "ok".into(),
        };
        assert_eq!(
            (execution.attempts, execution.result.text),
            (u32::from(missing.is_none()), text)
        );
    }
    // Grants add up.
    let dispatcher =
        dispatcher(tools![needy]).policy(Policy::new().grant(["network"]).grant(["filesystem"]));
    assert_eq!(code(&run(&dispatcher, &["needy"]).await[0]), "-");
}

#[tokio::test]
async fn agent_offers_tools_whose_capabilities_are_granted() {
    for (granted, tools, text) in [
        (&[][..], &["allowed"][..], "not granted"),
        (&["filesystem", "network"], &["allowed", "needy"], "ok"),
    ] {
        let model = ScriptedModel::new([
            ScriptedTurn::new(ChatReply::default().call("needy", "{}"))
                .expect_tools(tools.iter().copied()),
            ScriptedTurn::new(ChatReply::text("Done.")).expect_last(text),
        ]);
        let agent = Agent::new(model, tools![allowed, needy, denied])
            .policy(Policy::new().grant(granted.iter().copied()));
        agent.run("Go").await.unwrap();
    }
}

/// The number of runs of a flaky tool, and how it fails until it has run often enough.
struct Flaky {
    ran: AtomicU32,
    works_at: u32,
    failure: ToolErrorKind,
}

impl Flaky {
    fn run(&self) -> Result<u32, ToolError> {
        let ran = self.ran.fetch_add(1, Ordering::SeqCst) + 1;
        if ran < self.works_at { Err(ToolError::new(self.failure, "not yet")) } else { Ok(ran) }
    }
}

/// Works in the end.
#[tool(idempotent, max_retries = 3)]
async fn flaky(ctx: &ToolContext) -> Result<u32, ToolError> {
    ctx.get::<Flaky>().ok_or("no state")?.run()
}

/// Is not retried.
#[tool(idempotent)]
async fn once(ctx: &ToolContext) -> Result<u32, ToolError> {
    ctx.get::<Flaky>().ok_or("no state")?.run()
}

#[tokio::test(start_paused = true)]
async fn transient_failure_is_retried() {
    use ToolErrorKind::{ExecutionFailed, InvalidArguments, TransientFailure};
    for (tool, failure, works_at, attempts, works, millis) in [
        ("flaky", TransientFailure, 1, 1, true, 0),
        ("flaky", TransientFailure, 2, 2, true, 100),
        ("flaky", TransientFailure, 4, 4, true, 100 + 200 + 400),
        ("flaky", TransientFailure, 5, 4, false, 100 + 200 + 400),
        ("flaky", ExecutionFailed, 2, 1, false, 0),
        ("flaky", InvalidArguments, 2, 1, false, 0),
        ("once", TransientFailure, 2, 1, false, 0),
    ] {
        let state = Flaky { ran: AtomicU32::new(0), works_at, failure };
        let dispatcher =
            dispatcher(tools![flaky, once]).extensions(Extensions::default().with(state));
        let execution = run(&dispatcher, &[tool]).await.remove(0);
        assert_eq!(execution.attempts, attempts);
        assert_eq!(execution.result.is_success(), works);
        assert!(
            jittered(Duration::from_millis(millis)).contains(&execution.duration),
            "{:?}",
            execution.duration
        );
        assert_eq!(
            execution.result.text,
            if works { works_at.to_string() } else { "not yet".into() }
        );
    }
}

/// The range of the total delay: jitter shortens each delay by up to a half. Tokio's clock counts
/// whole milliseconds.
fn jittered(pauses: Duration) -> std::ops::RangeInclusive<Duration> {
    pauses / 2..=pauses + Duration::from_millis(3)
}

/// Hangs, each time.
#[tool(idempotent, max_retries = 2, timeout = "1s")]
async fn hang() {
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_its_own_timeout() {
    let execution = run(&dispatcher(tools![hang]), &["hang"]).await.remove(0);
    assert_eq!((code(&execution), execution.attempts), ("TOOL_TIMEOUT", 3));
    let pauses = execution.duration - Duration::from_secs(3);
    assert!(jittered(Duration::from_millis(100 + 200)).contains(&pauses), "{pauses:?}");
}

/// The times at which tools started and ended.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    async fn take_a_second(ctx: &ToolContext, begins: &'static str, ends: &'static str) {
        let Self(log) = ctx.get().unwrap();
        log.lock().unwrap().push(begins);
        tokio::time::sleep(Duration::from_secs(1)).await;
        log.lock().unwrap().push(ends);
    }
}

/// Runs beside others.
#[tool]
async fn concurrent(ctx: &ToolContext) {
    Log::take_a_second(ctx, "(", ")").await;
}

/// Runs alone.
#[tool(sequential)]
async fn sequential(ctx: &ToolContext) {
    Log::take_a_second(ctx, "[", "]").await;
}

#[tokio::test(start_paused = true)]
async fn sequential_call_runs_alone() {
    for (names, order, seconds) in [
        (&["concurrent", "concurrent", "concurrent"][..], "((()))", 1),
        (&["sequential", "sequential"], "[][]", 2),
        (&["concurrent", "concurrent", "sequential", "concurrent", "concurrent"], "(())[](())", 3),
        (&["sequential", "concurrent", "missing", "concurrent"], "[](())", 2),
    ] {
        let log = Log::default();
        let dispatcher = dispatcher(tools![concurrent, sequential])
            .extensions(Extensions::default().with(log.clone()));
        let started = Instant::now();
        let executions = run(&dispatcher, names).await;
        assert_eq!(log.0.lock().unwrap().concat(), order);
        assert_eq!(started.elapsed(), Duration::from_secs(seconds));
        let answered: Vec<_> =
            executions.iter().map(|execution| execution.call.name.as_str()).collect();
        assert_eq!(answered, names);
    }
}

/// Draws a chart.
#[tool(effect = "write")]
async fn chart(ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let folder: &String = ctx.get().ok_or("there is no folder")?;
    Ok(ToolOutput::text("drawn")
        .with_image(Image { media_type: "image/png".into(), base64: "AAAA".into() })
        .with_effect(FileChange::new(format!("{folder}/chart.png"), FileOp::Create))
        .with_effect(EffectRecord::Other { name: "cost".into(), data: json!(3) }))
}

#[tokio::test]
async fn agent_provides_extensions_and_keeps_images_and_effects() {
    let reply = ChatReply::default().call("chart", "{}").call("chart", "{}");
    let model = ScriptedModel::new([reply, ChatReply::text("Done.")]);
    let executions = Arc::<Mutex<Vec<ToolExecution>>>::default();
    let sink = Arc::clone(&executions);
    let answer = Agent::new(model, tools![chart])
        .extension("first".to_owned())
        .extension(7_u32)
        // The last value of a type counts.
        .extension("out".to_owned())
        .on_tool_result(move |execution| sink.lock().unwrap().push(execution.clone()))
        .run("Go")
        .await
        .unwrap();

    assert_complete(&answer.transcript);
    for result in results(&answer.transcript[2]) {
        assert_eq!(result.parts[0].media().unwrap().media_type, "image/png");
    }
    let effects = [
        FileChange::new("out/chart.png", FileOp::Create).into(),
        EffectRecord::Other { name: "cost".into(), data: json!(3) },
    ];
    let executions = executions.lock().unwrap();
    assert_eq!(executions.len(), 2);
    for execution in executions.iter() {
        assert_eq!(execution.effects, effects);
        let read: ToolExecution =
            serde_json::from_value(serde_json::to_value(execution).unwrap()).unwrap();
        assert_eq!(read, *execution);
    }
}

#[tokio::test]
async fn missing_extension_is_an_error() {
    let execution = run(&dispatcher(tools![chart]), &["chart"]).await.remove(0);
    assert_eq!(execution.result.text, "there is no folder");
    assert!(execution.effects.is_empty() && execution.result.parts.is_empty());
}
