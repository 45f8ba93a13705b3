//! The stop reasons after which a run can be resumed, checked against the table of the guide.

use std::ops::ControlFlow;
use std::time::Duration;

use tool_runtime::agent::session::MemorySessions;
use tool_runtime::agent::{Limits, ModelHook, Prices};
use tool_runtime::dispatch::AskLater;
use tool_runtime::drivers::{PreparedRequest, ReAct};
use tool_runtime::{
    Agent, CancellationToken, ChatModel, ChatReply, ChatRequest, EffectRecord, FinishReason,
    ModelError, Policy, RunContext, ScriptedModel, Stopped, ToolError, ToolOutput, Tools, Usage,
    async_trait, tool, tools,
};

/// Fails.
#[tool(effect = "read")]
async fn fail() -> Result<String, ToolError> {
    Err(ToolError::failed("no"))
}

/// Never returns.
#[tool(effect = "read")]
async fn wait() -> &'static str {
    std::future::pending().await
}

/// Requests a stop.
#[tool(effect = "read")]
async fn finish() -> ToolOutput {
    ToolOutput::text("bye").with_effect(EffectRecord::stop("enough"))
}

/// Requires approval.
#[tool(permission = "ask")]
async fn pay() -> &'static str {
    "paid"
}

/// Calls this tool in each reply.
struct Calls(&'static str);

#[async_trait]
impl ChatModel for Calls {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(ChatReply::default().call(self.0, "{}").usage(Usage::new(1_000, 10)))
    }
}

/// Fails.
struct Panics;

#[async_trait]
impl ChatModel for Panics {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        panic!("no")
    }
}

/// Stops before each request.
struct StopsBefore;

#[async_trait]
impl ModelHook for StopsBefore {
    async fn before_request(
        &self,
        _: &mut PreparedRequest<'_>,
        _: &RunContext<'_>,
    ) -> ControlFlow<String> {
        ControlFlow::Break("never".into())
    }
}

fn replies(text: &str, finish: FinishReason) -> ScriptedModel {
    let mut reply = ChatReply::text(text);
    reply.finish_reason = finish;
    ScriptedModel::new([reply])
}

/// The code of each stop reason, an agent that stops for it, and whether the run can be resumed.
fn stop_cases() -> Vec<(&'static str, Agent, bool)> {
    let calls = |name| Agent::new(Calls(name), tools![fail, wait, finish, pay]);
    let prices = Prices { input: 1.0, cached: 1.0, output: 1.0 };
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let twice = Tools::new().with(fail {}).with(fail {});
    vec![
        ("ITERATION_LIMIT", calls("fail").max_iterations(1), false),
        ("TOKEN_LIMIT", calls("fail").limits(Limits::default().max_tokens(500)), false),
        ("COST_LIMIT", calls("fail").limits(Limits::default().max_cost(1e-9, prices)), false),
        ("TIMEOUT", calls("wait").run_timeout(Duration::from_secs(5)), true),
        ("REPEATED_CALL", calls("fail").limits(Limits::default().max_repeats(1)), false),
        ("STOP_REQUESTED", calls("finish"), false),
        ("STOP_REQUESTED", calls("fail").model_hook(StopsBefore), true),
        ("BATCH_ABORTED", calls("fail").policy(Policy::new().abort_on_failure()), true),
        ("AWAITING_APPROVAL", calls("pay").policy(Policy::new().approver(AskLater)), true),
        ("CANCELLED", calls("fail").cancellation(cancelled), true),
        ("TRUNCATED_REPLY", Agent::new(replies("But", FinishReason::Length), Tools::new()), false),
        ("EMPTY_REPLY", Agent::new(replies("", FinishReason::Stop), Tools::new()), false),
        ("MODEL_SCRIPT", Agent::new(ScriptedModel::new::<ChatReply>([]), Tools::new()), true),
        ("MODEL_PANICKED", Agent::new(Panics, Tools::new()), true),
        (
            "UNPARSABLE_REPLY",
            Agent::new(replies("Hm.", FinishReason::Stop), tools![fail])
                .driver(ReAct::new().max_parse_attempts(1)),
            true,
        ),
        ("REGISTRY", Agent::new(replies("", FinishReason::Stop), twice), false),
    ]
}

#[tokio::test(start_paused = true)]
async fn documented_table_says_which_stop_reasons_can_be_resumed() {
    let table = include_str!("../../../tool-runtime/src/docs/guide/steps.md");
    // Returns the number of rows of this code that agree.
    let rows_that_agree = |code: &str, is_resumable: bool| {
        let rows = table.lines().filter(|line| line.contains(&format!("`{code}`")));
        let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
        let agree = cells.filter(|cell| {
            if is_resumable {
                cell.starts_with("yes")
            } else {
                cell.starts_with("no") || cell.starts_with("under higher limits")
            }
        });
        agree.count()
    };
    for (code, agent, is_resumable) in stop_cases() {
        let session = agent.session(MemorySessions::default(), "ada");
        let stopped: Stopped = session.run("Go").await.unwrap_err();
        assert_eq!(stopped.reason.code(), code, "{stopped}");
        // At its next start, a service resumes what was interrupted or waits for a decision.
        let is_interrupted = matches!(code, "CANCELLED" | "AWAITING_APPROVAL");
        assert_eq!(session.resume().await.unwrap().is_some(), is_interrupted, "{code}");
        let resumed = session.resume_failed().await.unwrap();
        assert_eq!(resumed.is_some(), is_resumable, "{code}");
        drop(resumed);
        // The next prompt is accepted after any of them, unless it would discard a pending call.
        assert_eq!(session.start("Go on").await.is_ok(), code != "AWAITING_APPROVAL", "{code}");
        assert!(session.abandon_paused().start("Go on").await.is_ok());
        assert_eq!(rows_that_agree(code, is_resumable), 1, "the table disagrees about {code}");
    }
    let unfit = ScriptedModel::new(["a", "b", "c"].map(ChatReply::text));
    let session = Agent::new(unfit, Tools::new()).session(MemorySessions::default(), "ada");
    let stopped = session.extract::<u32>("When?").await.unwrap_err();
    assert_eq!(
        (stopped.reason.code(), rows_that_agree("EXTRACTION_FAILED", false)),
        ("EXTRACTION_FAILED", 1)
    );
    assert!(session.resume().await.unwrap().is_none());
}
