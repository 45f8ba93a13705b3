//! Interceptors before and after each call.

use tool_runtime::dispatch::{
    Attempt, AttemptAction, AttemptHook, Batch, Dispatch, InterceptAction, InterceptContext,
    Interceptor,
};
use tool_runtime::{CancellationToken, Policy, RunContext, StopReason, async_trait};

use super::*;

/// Records each call, and acts as the name of the call says.
struct Watch(&'static str, Arc<Mutex<Vec<String>>>);

impl Watch {
    fn note(&self, stage: &str, name: &str) {
        self.1.lock().unwrap().push(format!("{} {stage} {name}", self.0));
    }
}

#[async_trait]
impl Interceptor for Watch {
    async fn before_call(
        &self,
        call: &mut ToolCall,
        _: &mut InterceptContext<'_>,
    ) -> InterceptAction {
        self.note("before", &call.name);
        call.id = "changed".into();
        match (self.0, call.name.as_str()) {
            ("outer", "renamed") => call.name = "allowed".into(),
            ("outer", "blocked") => return InterceptAction::Block("so it is".into()),
            ("inner", "answered") => return InterceptAction::Return(ToolOutput::text("42")),
            ("inner", "crash") => panic!("in before"),
            _ => {}
        }
        InterceptAction::Run
    }

    async fn after_call(&self, execution: &mut ToolExecution, _: &RunContext<'_>) {
        self.note("after", &execution.call.name);
        execution.call.id = "changed".into();
        execution.result.call = "changed".into();
        assert_ne!((self.0, execution.call.name.as_str()), ("outer", "allowed"), "in after");
    }
}

#[tokio::test]
async fn interceptors_can_change_answer_and_block_calls() {
    let notes = Arc::default();
    let dispatcher = dispatcher(tools![allowed]).policy(
        Policy::new()
            .interceptor(Watch("outer", Arc::clone(&notes)))
            .interceptor(Watch("inner", Arc::clone(&notes))),
    );
    for (name, text, code_, expected) in [
        // The outer one panics after it.
        (
            "allowed",
            "The result is withheld, because a check after the call failed. The tool has run.",
            "TOOL_EXECUTION_FAILED",
            "outer inner inner outer",
        ),
        ("renamed", "ok", "-", "outer inner inner outer"),
        ("answered", "42", "-", "outer inner inner outer"),
        ("blocked", "The call was blocked: so it is", "TOOL_DENIED", "outer inner outer"),
        (
            "crash",
            "The call was blocked: an interceptor panicked",
            "TOOL_DENIED",
            "outer inner inner outer",
        ),
    ] {
        let execution = run(&dispatcher, &[name]).await.remove(0);
        assert_eq!((execution.result.text.as_str(), code(&execution)), (text, code_), "{name}");
        // Interceptors can't change ids.
        assert_eq!(
            (execution.call.id.as_str(), execution.result.call.as_str()),
            ("call_0", "call_0")
        );
        assert_eq!(execution.call.name, name);
        let ran_as = execution.modified_call.map(|call| call.name.clone());
        assert_eq!(ran_as.as_deref(), (name == "renamed").then_some("allowed"));
        let notes: Vec<_> = notes.lock().unwrap().drain(..).collect();
        let interceptors: Vec<_> = notes.iter().filter_map(|note| note.split(' ').next()).collect();
        assert_eq!(interceptors.join(" "), expected, "{name}: {notes:?}");
    }
}

/// Never ends after a call or an attempt.
struct Hangs;

#[async_trait]
impl Interceptor for Hangs {
    async fn after_call(&self, _: &mut ToolExecution, _: &RunContext<'_>) {
        std::future::pending().await
    }
}

#[async_trait]
impl AttemptHook for Hangs {
    async fn before_attempt(&self, _: &Attempt<'_>) -> AttemptAction {
        AttemptAction::Run
    }

    async fn after_attempt(&self, _: &Attempt<'_>, _: Result<&ToolOutput, &ToolError>) {
        std::future::pending().await
    }
}

/// Returns a secret that the interceptor would remove, or never ends.
#[tool(effect = "read")]
async fn look(hangs: bool) -> &'static str {
    if hangs {
        std::future::pending::<()>().await;
    }
    "a secret"
}

fn look_call(hangs: bool) -> Vec<ToolCall> {
    vec![ToolCall::new("call_0", "look", json!({ "hangs": hangs }))]
}

#[tokio::test(start_paused = true)]
async fn hook_that_hangs_after_a_call_ends_a_second_after_its_batch() {
    let second = Duration::from_secs(1);
    let notes = Arc::default();
    let policies = || {
        let watched = Policy::new().interceptor(Watch("outer", Arc::clone(&notes)));
        [watched.interceptor(Hangs), Policy::new().attempt_hook(Hangs)]
    };
    for (hook, policy) in policies().into_iter().enumerate() {
        for hangs in [false, true] {
            let policy = policy.clone();
            let deadline =
                dispatcher(tools![look]).policy(policy.clone().batch_timeout(5 * second));
            let start = Instant::now();
            let execution = deadline.dispatch(look_call(hangs)).await.remove(0);
            let is_stopped = start.elapsed() <= 6 * second;
            assert!(is_stopped, "hook {hook}, {hangs}: {:?}", start.elapsed());
            assert!(!execution.result.text.contains("secret") && !execution.is_success());

            let stop = CancellationToken::new();
            let mut batch = Batch::from(look_call(hangs));
            batch.cancellation = Some(stop.clone());
            let cancelled = dispatcher(tools![look]).policy(policy.clone());
            let cancel = async {
                tokio::time::sleep(second).await;
                stop.cancel();
            };
            let start = Instant::now();
            let (executions, ()) = tokio::join!(Dispatch::dispatch(&cancelled, batch), cancel);
            assert!(start.elapsed() <= 2 * second, "hook {hook}, {hangs}: {:?}", start.elapsed());
            assert!(!executions[0].is_success());

            let reply = ChatReply::default().call("look", json!({ "hangs": hangs }).to_string());
            let agent = Agent::new(ScriptedModel::new([reply]), tools![look]).policy(policy);
            let start = Instant::now();
            let stopped = agent.run_timeout(3 * second).run("Go").await.unwrap_err();
            assert!(matches!(stopped.reason, StopReason::Timeout { .. }), "{stopped}");
            assert!(start.elapsed() <= 4 * second, "hook {hook}, {hangs}: {:?}", start.elapsed());
        }
    }
    // The outer interceptor has seen all calls.
    assert_eq!(notes.lock().unwrap().iter().filter(|note| note.contains("after")).count(), 6);
}

#[tokio::test(start_paused = true)]
async fn cause_names_the_hook_that_did_not_end() {
    let policy = Policy::new().interceptor(Hangs).batch_timeout(Duration::from_secs(1));
    let execution =
        dispatcher(tools![look]).policy(policy).dispatch(look_call(false)).await.remove(0);
    assert_eq!(execution.cause.as_deref(), Some("an interceptor did not end after the call"));
    let text = "The result is withheld, because a check after the call failed. The tool has run.";
    assert_eq!(execution.result.text, text);
    assert!(execution.result.structured.is_none() && execution.full_text.is_none());
}

#[tokio::test(start_paused = true)]
async fn hook_that_hangs_after_a_call_that_did_not_run_ends_a_second_after_its_run() {
    let second = Duration::from_secs(1);
    for action in
        [InterceptAction::Return(ToolOutput::text("42")), InterceptAction::Block("no".into())]
    {
        let answer = action.clone();
        let policy = Policy::new().interceptor(Hangs).before_call(move |_, _| answer.clone());
        let agent = |stop: &CancellationToken| {
            let reply = ChatReply::default().call("look", json!({ "hangs": true }).to_string());
            let agent = Agent::new(ScriptedModel::new([reply]), tools![look]);
            agent.policy(policy.clone()).cancellation(stop.clone())
        };
        assert_ends_in_time(&format!("{action:?}"), agent).await;

        let limited = dispatcher(tools![look]).policy(policy.batch_timeout(second));
        let execution = limited.dispatch(look_call(true)).await.remove(0);
        assert!(!execution.is_success() && execution.attempts == 0, "{execution:?}");
        assert_eq!(execution.cause.as_deref(), Some("an interceptor did not end after the call"));
    }
}

/// Calls another tool.
#[tool(effect = "read")]
async fn delegate(ctx: &ToolContext) -> String {
    ctx.dispatch(look_call(false)).await.remove(0).result.text
}

#[tokio::test(start_paused = true)]
async fn hook_that_hangs_after_a_nested_call_ends_a_second_after_the_run() {
    let look_reply = || ChatReply::default().call("look", json!({ "hangs": false }).to_string());
    let sub_agent = |stop: &CancellationToken| {
        let nested = Agent::new(ScriptedModel::new([look_reply()]), tools![look]);
        let nested = nested.policy(Policy::new().interceptor(Hangs)).into_tool("helper", "Helps.");
        let call = ChatReply::default().call("helper", json!({ "task": "Look." }).to_string());
        Agent::new(ScriptedModel::new([call]), Tools::new().with(nested)).cancellation(stop.clone())
    };
    assert_ends_in_time("sub-agent", sub_agent).await;
    let nested_call = |stop: &CancellationToken| {
        let call = ChatReply::default().call("delegate", "{}");
        let agent = Agent::new(ScriptedModel::new([call]), tools![delegate, look]);
        agent.policy(Policy::new().interceptor(Hangs)).cancellation(stop.clone())
    };
    assert_ends_in_time("nested call", nested_call).await;
}

/// Asserts that the run ends a second after its time limit, and a second after it is cancelled.
async fn assert_ends_in_time(case: &str, agent: impl Fn(&CancellationToken) -> Agent) {
    let second = Duration::from_secs(1);
    let start = Instant::now();
    let limited = agent(&CancellationToken::new()).run_timeout(3 * second);
    let stopped = limited.run("Go").await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::Timeout { .. }), "{case}: {stopped}");
    let elapsed = start.elapsed();
    assert!(3 * second <= elapsed && elapsed <= 4 * second, "{case}: {elapsed:?}");

    let (start, stop) = (Instant::now(), CancellationToken::new());
    let cancel = async {
        tokio::time::sleep(second).await;
        stop.cancel();
    };
    let cancelled = agent(&stop);
    let (stopped, ()) = tokio::join!(cancelled.run("Go"), cancel);
    let stopped = stopped.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::Cancelled), "{case}: {stopped}");
    let elapsed = start.elapsed();
    assert!(second <= elapsed && elapsed <= 2 * second, "{case}: {elapsed:?}");
}
