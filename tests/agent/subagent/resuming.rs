//! Paused nested runs that are resumed under other limits, with other tools, or from a damaged
//! state.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};
use tool_runtime::agent::Limits;
use tool_runtime::dispatch::{InterceptAction, InterceptContext, Interceptor, Permissions};
use tool_runtime::{Permission, Policy, Registry, ToolCall};

use super::*;
use support::damage::damaged;

/// Pays Ada under these limits.
fn limited(paid: &Paid, limits: Limits) -> Agent {
    let model = story([pay_call("Ada"), ChatReply::text("Ada has her money.")]);
    let agent = Agent::new(model, tools![pay])
        .extension(paid.clone())
        .policy(Policy::new().approver(AskLater));
    caller_of(agent.limits(limits).into_tool("cashier", "Sees to money."), "cashier")
}

#[tokio::test]
async fn limits_of_the_resuming_agents_apply_to_nested_runs() {
    let all = Limits::default;
    for (before, after, text) in [
        (all().max_iterations(5), all().max_iterations(1), "(ITERATION_LIMIT)"),
        (all().max_iterations(2), all(), "Ada has her money."),
        // Usage from before counts.
        (all().max_tokens(9_000), all().max_tokens(11), "(TOKEN_LIMIT)"),
        (all().max_tokens(12), all().max_tokens(90), "Ada has her money."),
    ] {
        let paid = Paid::default();
        let mut waiting = paused(limited(&paid, before).run("Pay Ada.").await.unwrap_err());
        approve_all(&mut waiting);
        let answer = limited(&paid, after.clone()).resume(waiting).finish().await.unwrap();
        let output = &results(&answer.transcript[2])[0].text;
        assert!(output.contains(text), "{after:?}: {output}");
        assert_eq!(paid.all(), ["Ada"]);
    }
}

/// Blocks every call.
struct BlockAll;

#[async_trait]
impl Interceptor for BlockAll {
    async fn before_call(&self, _: &mut ToolCall, _: &mut InterceptContext<'_>) -> InterceptAction {
        InterceptAction::Block("closed".into())
    }
}

/// Whatever keeps a suspended call from resuming, its result does not claim that it never ran.
#[tokio::test]
async fn suspended_call_that_cannot_resume_is_indeterminate() {
    let paid = Paid::default();
    let model = || story([ask("cashier"), ChatReply::text("Done.")]);
    let agent = |tools: Tools| Agent::new(model(), tools);
    let tools_of = |tool: SubAgent| Tools::new().with(tool);
    let denied = Permissions::default().tool("cashier", Permission::Deny);
    let of_bank = Registry::new();
    of_bank.register_all_from("bank", tools_of(cashier(&paid))).unwrap();
    let strict = cashier(&paid).map_definition(|mut definition| {
        definition.parameters = json!({
            "type": "object",
            "properties": { "sum": { "type": "integer" } },
            "required": ["sum"],
        })
        .into();
        definition.permission = Permission::Ask;
        definition
    });
    let needy = cashier(&paid).map_definition(|mut definition| {
        definition.requires = vec!["money".into()];
        definition
    });
    for (agent, reason) in [
        (agent(Tools::new()), "no longer available"),
        (Agent::new(model(), of_bank), "another tool"),
        (agent(tools_of(cashier(&paid))).policy(Policy::new().permissions(denied)), "not allowed"),
        (agent(tools_of(cashier(&paid))).policy(Policy::new().interceptor(BlockAll)), "closed"),
        (agent(tools_of(needy)), "money"),
        (agent(tools_of(strict)).policy(Policy::new().approver(AskLater)), "sum"),
        // There is no time left for the call, nor for the interceptors.
        (
            agent(tools_of(cashier(&paid))).policy(Policy::new().batch_timeout(Duration::ZERO)),
            "the time limit for the calls of this reply",
        ),
        (
            agent(tools_of(cashier(&paid)))
                .policy(Policy::new().interceptor(BlockAll).batch_timeout(Duration::ZERO)),
            "the time limit for the calls of this reply",
        ),
    ] {
        let mut waiting = paused(caller_of(cashier(&paid), "cashier").run("Go").await.unwrap_err());
        approve_all(&mut waiting);
        let (agent, output) = with_recorder(agent);
        let answer = agent.resume(waiting).finish().await.unwrap();
        assert_complete(&answer.transcript);
        let result = &results(&answer.transcript[2])[0];
        assert_eq!(result.error.as_deref(), Some("TOOL_INDETERMINATE"), "{reason}: {result:?}");
        assert!(result.text.contains("may have had effects"), "{result:?}");
        assert!(result.text.contains(reason), "{reason}: {result:?}");
        let output: Vec<_> =
            output.lock().unwrap().iter().filter_map(Event::execution).cloned().collect();
        assert_eq!(&output[0].result, result);
    }
    assert!(paid.all().is_empty());

    // The same if another call aborts the batch.
    let two_calls =
        || ChatReply::default().call("later", "{}").call("cashier", json!({ "task": "Go" }));
    let tools = || tools![later].with(cashier(&paid));
    let agent = || {
        Agent::new(story([two_calls()]), tools())
            .policy(Policy::new().approver(AskLater).abort_on_failure())
    };
    let mut waiting = paused(agent().run("Go").await.unwrap_err());
    approve_all(&mut waiting);
    let stopped = agent().resume(waiting).finish().await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::BatchAborted(_)), "{stopped}");
    let output = &results(&stopped.transcript[2])[1];
    assert_eq!(output.error.as_deref(), Some("TOOL_INDETERMINATE"), "{output:?}");
    assert!(paid.all().is_empty());
}

/// Fails, once it is approved.
#[tool(permission = "ask", sequential)]
async fn later() -> Result<(), &'static str> {
    Err("broken")
}

#[tokio::test]
async fn suspended_call_resumes_without_a_new_approval() {
    let paid = Paid::default();
    let mut waiting = paused(caller_of(cashier(&paid), "cashier").run("Go").await.unwrap_err());
    approve_all(&mut waiting);
    let asks = Permissions::default().tool("cashier", Permission::Ask);
    let agent = caller_of(cashier(&paid), "cashier")
        .policy(Policy::new().permissions(asks).approver(AskLater));
    assert_eq!(agent.resume(waiting).finish().await.unwrap().text, "Done.");
    assert_eq!(paid.all(), ["Ada"]);
}

/// Asserts that a provider would accept every request.
struct Strict(Story);

#[async_trait]
impl ChatModel for Strict {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        assert_complete(request.messages);
        self.0.reply(request).await
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    /// A damaged state is repaired or refused at any depth.
    #[test]
    fn damaged_nested_state_is_repaired_or_refused(picks in vec((any::<u16>(), any::<u8>()), 1..4), decides in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let paid = Paid::default();
            let strict = |replies: [ChatReply; 3]| Strict(story(replies));
            let agent = || {
                let model = strict([echo_call("hi"), pay_call("Ada"), ChatReply::text("Paid.")]);
                let cashier = Agent::new(model, tools![pay, echo]).extension(paid.clone()).policy(Policy::new().approver(AskLater));
                let model = strict([echo_call("hi"), ask("cashier"), ChatReply::text("Done.")]);
                Agent::new(model, tools![echo].with(cashier.into_tool("cashier", "Sees to money.")))
            };
            let mut waiting = paused(agent().run("Go").await.unwrap_err());
            if decides {
                approve_all(&mut waiting);
            }
            let value = damaged(json!(waiting), &picks);
            let Ok(waiting) = serde_json::from_value::<Paused>(value) else { return };
            match agent().resume(waiting).finish().await {
                Ok(answer) => {
                    assert_complete(&answer.transcript);
                    let output = answer.transcript.iter().map(|it| format!("{it:?}")).collect::<String>();
                    assert!(!output.contains("MODEL_PANICKED"), "{output}");
                }
                Err(stopped) => {
                    assert!(!matches!(stopped.reason, StopReason::ModelPanicked(_) | StopReason::InvalidTransition(_)), "{stopped}");
                    assert_complete(&stopped.transcript);
                }
            }
            assert!(paid.all().len() <= usize::from(decides));
        });
    }
}

#[tokio::test]
async fn paused_run_resumes_to_a_value() {
    for replies in [0, 1] {
        let paid = Paid::default();
        let model = || {
            let value = ChatReply::text(r#"{"value": 7}"#);
            story([ask("cashier"), ChatReply::text("Paid."), value])
        };
        let agent = || {
            let tools = Tools::new().with(cashier(&paid));
            Agent::new(model(), tools).max_iterations(2 + replies)
        };
        let mut waiting = paused(agent().extract::<u8>("Pay Ada.").await.unwrap_err());
        approve_all(&mut waiting);
        let (agent, output) = with_recorder(agent());
        let value = agent.resume(waiting).extract::<u8>().await.unwrap();
        assert_eq!((value.value, value.usage), (7, Usage::new(50, 5)));
        assert_complete(&value.transcript);
        let output = output.lock().unwrap();
        let ends = |event: &&Event| {
            event.origin.depth == 0
                && matches!(event.kind, EventKind::Run(RunEvent::Finished { .. }))
        };
        assert_eq!(output.iter().filter(ends).count(), 1);
    }
}

/// A run that has stopped without an answer has no value.
#[tokio::test]
async fn stopped_run_is_not_asked_for_a_value() {
    let agent = caller_of(cashier(&Paid::default()), "cashier").max_iterations(1);
    let mut run = agent.start("Go");
    while run.next().await.is_some() {}
    let stopped = run.extract::<u8>().await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::IterationLimit(1)), "{stopped}");
    assert_complete(&stopped.transcript);
}
