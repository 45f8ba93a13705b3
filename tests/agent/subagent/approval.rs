//! Runs that pause for decisions on calls of nested runs, and resume from there.

use tool_runtime::agent::PendingCallError;
use tool_runtime::event::RunId;
use tool_runtime::{
    CancellationToken, Dispatcher, EffectRecord, Policy, Registry, RunContext, ToolOutput,
};

use super::*;

/// Three runs, each nested in a call of the one before. The calls of all runs have the same ids.
fn chief(paid: &Paid) -> Agent {
    caller_of(caller_of(cashier(paid), "cashier").into_tool("foreman", "Sees to all."), "foreman")
}

/// Returns the runs that started, with their depth.
fn runs(events: &[Event]) -> Vec<(u32, RunId)> {
    let started_runs = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Run(RunEvent::Started { .. })));
    started_runs.map(|event| (event.origin.depth, event.origin.run)).collect()
}

#[tokio::test]
async fn decision_on_a_call_nested_three_deep_resumes_in_another_process() {
    let paid = Paid::default();
    let (agent, before) = with_recorder(chief(&paid));
    let stopped = agent.run("Pay Ada.").await.unwrap_err();
    let words = "1 call awaits approval: pay within cashier within foreman";
    assert_eq!(stopped.reason.to_string(), words);
    let output = &results(&stopped.transcript[2])[0];
    assert_eq!(output.error.as_deref(), Some("TOOL_AWAITING_APPROVAL"));
    assert_eq!(output.text, "The agent has paused: its own calls await approval.");
    let mut waiting = paused(stopped);

    let call = waiting.pending()[0].call.id.clone();
    let foreman = waiting.nested_run_mut(&call).unwrap();
    assert_eq!(foreman.pending()[0].call.id, call, "ids are of one run alone");
    let cashier = foreman.nested_run_mut(&call).unwrap();
    assert_eq!(cashier.pending()[0].call.id, call);
    assert_eq!(cashier.pending()[0].arguments, json!({ "to": "Ada" }));
    assert!(cashier.pending()[0].nested_run().is_none() && cashier.nested_run_mut(&call).is_none());
    cashier.decide(&call, Approval::Once, "Grace").unwrap();
    // The outer runs have no pending call of their own tools.
    let foreman = waiting.nested_run_mut(&call).unwrap();
    let output = foreman.decide(&call, Approval::Once, "Grace").unwrap_err().to_string();
    assert!(
        output.ends_with("decide on the calls of that run, with `nested_run_mut` or `decide_each`"),
        "{output}"
    );
    waiting.decide(&call, Approval::Once, "Grace").unwrap_err();
    assert!(paid.all().is_empty());

    let waiting = serde_json::from_value::<Paused>(json!(waiting)).unwrap();
    let (agent, after) = with_recorder(chief(&paid));
    let answer = agent.resume(waiting).finish().await.unwrap();
    assert_eq!(answer.text, "Done.");
    assert_complete(&answer.transcript);
    assert_eq!(results(&answer.transcript[2])[0].text, "Done.");
    assert_eq!(paid.all(), ["Ada"]);

    // The same runs resume in the same calls, and no request is sent or counted twice.
    let (before, after) = (before.lock().unwrap(), after.lock().unwrap());
    assert_eq!(runs(&before), runs(&after));
    assert_eq!(runs(&before).iter().map(|(depth, _)| *depth).collect::<Vec<_>>(), [0, 1, 2]);
    for event in before.iter().chain(after.iter()) {
        let parent = (event.origin.depth > 0).then_some(&call);
        assert_eq!(event.origin.parent.as_ref(), parent);
    }
    let mut all = reported_usage(&before);
    assert_eq!(all, Usage::new(30, 3));
    all += reported_usage(&after);
    assert_eq!(all, Usage::new(60, 6));
    assert_eq!(answer.usage, all);
    let executions: Vec<_> = after.iter().filter_map(Event::execution).collect();
    assert_eq!(executions[0].decided_by(), Some("Grace"));
    // The suspended state of a tool is in no event.
    let output = |event: &Event| serde_json::to_string(event).unwrap().contains("suspended");
    assert!(!before.iter().any(output));
}

#[tokio::test]
async fn nested_call_without_a_decision_stays_pending() {
    let paid = Paid::default();
    let agent = || {
        let two_payments = pay_call("Ada").call("pay", json!({ "to": "Bob" }));
        let model = story([two_payments, ChatReply::text("Both have their money.")]);
        let cashier = Agent::new(model, tools![pay])
            .extension(paid.clone())
            .policy(Policy::new().approver(AskLater));
        caller_of(cashier.into_tool("cashier", "Sees to money."), "cashier")
    };
    let mut waiting = paused(agent().run("Pay both.").await.unwrap_err());
    let call = waiting.pending()[0].call.id.clone();
    for decided in [0, 1] {
        let nested_run = waiting.nested_run_mut(&call).unwrap();
        assert_eq!(nested_run.pending().len(), 2);
        let first = nested_run.pending()[0].call.id.clone();
        if decided > 0 {
            nested_run.decide(&first, Approval::Once, "Grace").unwrap();
        }
        waiting = paused(agent().resume(waiting).finish().await.unwrap_err());
    }
    let nested_run = waiting.pending()[0].nested_run().unwrap();
    assert_eq!(nested_run.pending().len(), 1);
    assert_eq!(nested_run.pending()[0].arguments, json!({ "to": "Bob" }));
    assert_eq!(paid.all(), ["Ada"]);
    waiting.decide_each(|call| Approval::Deny(format!("no {}", call.arguments["to"])), "Grace");
    let answer = agent().resume(waiting).finish().await.unwrap();
    assert_eq!(paid.all(), ["Ada"]);
    assert_eq!(answer.usage, Usage::new(40, 4));
}

#[tokio::test]
async fn two_sub_agents_of_one_batch_pause_and_other_calls_run_once() {
    let paid = Paid::default();
    let agent = || {
        let sub_agent = |to: &str, name: &str| {
            let model = story([pay_call(to), ChatReply::text(format!("{name} is done."))]);
            let agent = Agent::new(model, tools![pay])
                .extension(paid.clone())
                .policy(Policy::new().approver(AskLater));
            agent.into_tool(name, "Sees to money.")
        };
        let all = ask("one").call("note", "{}").call("two", r#"{"task": "Go on."}"#);
        let tools = tools![note].with(sub_agent("Ada", "one")).with(sub_agent("Bob", "two"));
        Agent::new(story([all, ChatReply::text("Done.")]), tools).extension(paid.clone())
    };
    let stopped = agent().run("Pay both.").await.unwrap_err();
    let words = "2 calls await approval: pay within one, pay within two";
    assert_eq!(stopped.reason.to_string(), words);
    let mut waiting = paused(stopped);
    assert_eq!(waiting.pending().len(), 2);
    assert_eq!(paid.all(), ["noted"]);
    // One of them resumes, the other stays pending.
    let two = waiting.pending()[1].call.id.clone();
    approve_all(waiting.nested_run_mut(&two).unwrap());
    let mut waiting = paused(agent().resume(waiting).finish().await.unwrap_err());
    assert_eq!(waiting.pending().len(), 1);
    assert_eq!(waiting.pending()[0].tool, "one");
    assert_eq!(paid.all(), ["Bob", "noted"]);
    approve_all(&mut waiting);
    let answer = agent().resume(waiting).finish().await.unwrap();
    let texts: Vec<_> =
        results(&answer.transcript[2]).iter().map(|result| result.text.as_str()).collect();
    assert_eq!(texts, ["one is done.", "noted", "two is done."]);
    assert_eq!(paid.all(), ["Ada", "Bob", "noted"]);
    assert_eq!(answer.usage, Usage::new(60, 6));
}

/// Writes a note.
#[tool]
async fn note(ctx: &ToolContext) -> &'static str {
    ctx.get::<Paid>().unwrap().0.lock().unwrap().push("noted".into());
    "noted"
}

#[tokio::test]
async fn approval_of_the_sub_agent_call_is_not_requested_again() {
    let paid = Paid::default();
    let agent = || {
        let cashier = cashier(&paid).map_definition(|mut definition| {
            definition.permission = tool_runtime::Permission::Ask;
            definition
        });
        caller_of(cashier, "cashier").policy(Policy::new().approver(AskLater))
    };
    let mut waiting = paused(agent().run("Pay Ada.").await.unwrap_err());
    assert!(waiting.pending()[0].nested_run().is_none());
    approve_all(&mut waiting);
    let mut waiting = paused(agent().resume(waiting).finish().await.unwrap_err());
    assert!(waiting.pending()[0].nested_run().is_some());
    // Resuming without decisions requests no approval for what was decided before.
    waiting = paused(agent().resume(waiting).finish().await.unwrap_err());
    assert!(waiting.pending()[0].nested_run().is_some());
    approve_all(&mut waiting);
    assert_eq!(agent().resume(waiting).finish().await.unwrap().text, "Done.");
    assert_eq!(paid.all(), ["Ada"]);
}

/// Gives a thing away.
#[tool(permission = "ask")]
async fn give() -> &'static str {
    "given"
}

#[tokio::test]
async fn approval_for_a_run_does_not_cover_nested_or_later_runs() {
    let paid = Paid::default();
    let give = ChatReply::default().call("give", "{}");
    let model = story([pay_call("Ada"), give, pay_call("Bob"), ChatReply::text("Paid.")]);
    let cashier = Agent::new(model, tools![pay, give])
        .extension(paid.clone())
        .policy(Policy::new().approver(AskLater));
    let cashier = cashier.into_tool("cashier", "Sees to money.");
    let replies = [ask("cashier"), pay_call("Eve"), ask("cashier"), ChatReply::text("Done.")];
    let agent = Agent::new(story(replies), tools![pay].with(cashier));
    let agent = agent.extension(paid.clone()).policy(Policy::new().approver(AskLater));
    let for_run = async |mut waiting: Paused| {
        waiting.decide_each(|_| Approval::ForRun, "Grace");
        agent.resume(waiting).finish().await
    };
    let first_pending = |waiting: &Paused| match waiting.pending()[0].nested_run() {
        Some(nested_run) => (1, nested_run.pending()[0].tool.clone()),
        None => (0, waiting.pending()[0].tool.clone()),
    };
    let waiting = paused(agent.run("Pay.").await.unwrap_err());
    assert_eq!(first_pending(&waiting), (1, "pay".into()));
    let waiting = paused(for_run(waiting).await.unwrap_err());
    assert_eq!(first_pending(&waiting), (1, "give".into()));
    assert_eq!(paid.all(), ["Ada"]);
    // No approval is requested for Bob, but one is for the same tool in the outer run.
    let waiting = paused(for_run(waiting).await.unwrap_err());
    assert_eq!(first_pending(&waiting), (0, "pay".into()));
    assert_eq!(paid.all(), ["Ada", "Bob"]);
    // And one is in the next nested run.
    let waiting = paused(for_run(waiting).await.unwrap_err());
    assert_eq!(first_pending(&waiting), (1, "pay".into()));
    assert_eq!(paid.all(), ["Ada", "Bob", "Eve"]);
}

#[tokio::test]
async fn suspended_state_is_not_passed_to_another_tool_of_the_same_name() {
    let paid = Paid::default();
    let registry = Registry::new();
    registry.register_all_from("bank", Tools::new().with(cashier(&paid))).unwrap();
    let model = || story([ask("cashier"), ChatReply::text("Done.")]);
    let agent = || Agent::new(model(), registry.clone());
    let mut waiting = paused(agent().run("Pay.").await.unwrap_err());
    assert_eq!(waiting.pending()[0].tool, "bank__cashier");
    approve_all(&mut waiting);
    let _ = registry.unregister_provider("bank");
    let other = Agent::new(story([ChatReply::text("There is no money here.")]), Tools::new());
    let other = other.into_tool("cashier", "Sees to money.");
    registry.register_all_from("shop", Tools::new().with(other)).unwrap();
    let answer = agent().resume(waiting).finish().await.unwrap();
    let output = &results(&answer.transcript[2])[0];
    assert_eq!(output.error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert!(!output.text.contains("There is no money here."));
    assert!(paid.all().is_empty());
}

#[tokio::test]
async fn remote_calls_pause_and_resume_remotely() {
    let paid = Paid::default();
    let agent = || {
        let other_registry = Registry::try_from(Tools::new().with(cashier(&paid))).unwrap();
        caller_of(cashier(&Paid::default()), "cashier")
            .dispatch_with(Dispatcher::new(other_registry))
    };
    let mut waiting = paused(agent().run("Pay Ada.").await.unwrap_err());
    approve_all(&mut waiting);
    assert_eq!(agent().resume(waiting).finish().await.unwrap().usage, Usage::new(40, 4));
    assert_eq!(paid.all(), ["Ada"]);
}

#[tokio::test]
async fn approver_of_the_sub_agent_decides_at_once() {
    struct Yes;
    #[async_trait]
    impl tool_runtime::dispatch::Approver for Yes {
        async fn approve(
            &self,
            _: &tool_runtime::dispatch::ApprovalRequest,
            _: &RunContext<'_>,
        ) -> Approval {
            Approval::Once
        }
    }
    let paid = Paid::default();
    let model = story([pay_call("Ada"), ChatReply::text("Ada has her money.")]);
    let cashier =
        Agent::new(model, tools![pay]).extension(paid.clone()).policy(Policy::new().approver(Yes));
    let agent = caller_of(cashier.into_tool("cashier", "Sees to money."), "cashier");
    assert_eq!(
        agent.policy(Policy::new().approver(AskLater)).run("Pay Ada.").await.unwrap().text,
        "Done."
    );
    assert_eq!(paid.all(), ["Ada"]);
}

#[tokio::test]
async fn paused_run_without_nested_runs_has_no_other_members() {
    let paid = Paid::default();
    let agent = || {
        let model = story([pay_call("Ada"), ChatReply::text("Done.")]);
        Agent::new(model, tools![pay])
            .extension(paid.clone())
            .policy(Policy::new().approver(AskLater))
    };
    let waiting = json!(paused(agent().run("Pay Ada.").await.unwrap_err()));
    let members = |value: &serde_json::Value| {
        value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(members(&waiting), "approved decisions pending prompt_index run turn window");
    assert_eq!(members(&waiting["pending"][0]), "arguments call fingerprint tool");
    let mut waiting: Paused = serde_json::from_value(waiting).unwrap();
    approve_all(&mut waiting);
    assert_eq!(agent().resume(waiting).finish().await.unwrap().text, "Done.");
    assert_eq!(paid.all(), ["Ada"]);
}

#[tokio::test]
async fn unreadable_suspended_state_fails_only_its_call() {
    let paid = Paid::default();
    let agent = || caller_of(cashier(&paid), "cashier");
    let mut waiting = json!(paused(agent().run("Pay Ada.").await.unwrap_err()));
    waiting["pending"][0]["state"] = json!({ "of": "another version" });
    let mut waiting: Paused = serde_json::from_value(waiting).unwrap();
    assert!(waiting.pending()[0].nested_run().is_none());
    approve_all(&mut waiting);
    let answer = agent().resume(waiting).finish().await.unwrap();
    let output = &results(&answer.transcript[2])[0];
    // It is unknown what the call did before.
    assert_eq!(output.error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert!(output.text.contains("saved state is unreadable"), "{}", output.text);
    assert!(paid.all().is_empty());
}

/// Ends the run.
#[tool]
async fn finish() -> ToolOutput {
    let stop = EffectRecord::stop("all is done");
    ToolOutput::text("bye").with_effect(stop)
}

/// A suspended call that is not resumed is not reported as never run.
#[tokio::test]
async fn suspended_call_of_a_stopped_run_is_not_reported_as_never_run() {
    let paid = Paid::default();
    let tools = tools![finish].with(cashier(&paid));
    let model = story([ask("cashier").call("finish", "{}")]);
    let stopped = Agent::new(model, tools).run("Go").await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::StopRequested { .. }), "{stopped}");
    let output = &results(&stopped.transcript[2])[0];
    assert_eq!(output.error.as_deref(), Some("TOOL_AWAITING_APPROVAL"));

    let agent = || caller_of(cashier(&paid), "cashier");
    let mut waiting = paused(agent().run("Go").await.unwrap_err());
    approve_all(&mut waiting);
    let stop = CancellationToken::new();
    stop.cancel();
    let stopped = agent().cancellation(stop).resume(waiting).finish().await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::Cancelled), "{stopped}");
    let output = &results(&stopped.transcript[2])[0];
    assert_eq!(output.error.as_deref(), Some("TOOL_INDETERMINATE"));
}

#[tokio::test]
async fn nested_calls_are_listed_and_decided_by_the_id_of_their_run() {
    let paid = Paid::default();
    let agent = chief(&paid);
    let mut waiting = paused(agent.run("Pay Ada.").await.unwrap_err());
    let [(run, pending)] = waiting.pending_all()[..] else { panic!("{waiting:?}") };
    let call = pending.call.id.clone();
    assert_eq!(pending.tool, "pay");
    assert_ne!(run, waiting.run_id());
    // The outer calls have the same id, but wait for their nested runs.
    let outer = waiting.decide_at(waiting.run_id(), &call, Approval::Once, "Ada");
    assert_eq!(outer, Err(PendingCallError::HasNestedRun(call.clone())));
    let unknown = RunId::from(7);
    let decided = waiting.decide_at(unknown, &call, Approval::Once, "Ada");
    assert_eq!(decided, Err(PendingCallError::UnknownRun(unknown)));
    let answered = waiting.answer_at(run, &call, "yes", "Ada");
    assert_eq!(answered, Err(PendingCallError::NoQuestion(call.clone())));
    waiting.decide_at(run, &call, Approval::Once, "Ada").unwrap();
    agent.resume(waiting).finish().await.unwrap();
    assert_eq!(paid.0.lock().unwrap().len(), 1);
}
