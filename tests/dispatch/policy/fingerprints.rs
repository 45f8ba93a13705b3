//! Approvals are bound to the definition of the tool and to the exact arguments.

use serde_json::Value;
use tool_runtime::agent::Paused;
use tool_runtime::agent::session::MemorySessions;
use tool_runtime::dispatch::{
    Approval, ApprovalRequest, Approver, AskLater, Batch, Decision, Dispatch,
};
use tool_runtime::event::{EventKind, Recorder, ToolEvent};
use tool_runtime::{
    Arguments, Effect, Fingerprint, Message, Permission, RateLimit, RunContext, StopReason,
    Stopped, Tool, ToolDefinition, ToolPreference, async_trait,
};

use super::*;

/// Returns its name of the world and the exact text of its arguments.
struct Versioned(ToolDefinition, &'static str);

#[async_trait]
impl Tool for Versioned {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("{} {args}", self.1)))
    }
}

fn pay() -> ToolDefinition {
    let schema = json!({
        "type": "object",
        "properties": { "amount": { "type": "integer" }, "pin": { "type": "string" } },
        "required": ["amount"],
    });
    let mut definition = ToolDefinition::new("pay", "Pays an amount.", schema);
    definition.permission = Permission::Ask;
    definition.requires = vec!["money".into()];
    definition
}

/// Changes that make another tool of it for the person who approves.
fn relevant_changes() -> [(&'static str, ToolDefinition); 13] {
    let change = |edit: fn(&mut ToolDefinition)| {
        let mut definition = pay();
        edit(&mut definition);
        definition
    };
    [
        ("title", change(|it| it.title = Some("Refund".into()))),
        ("description", change(|it| it.description = "Pays twice the amount.".into())),
        ("parameters", change(|it| it.parameters = json!({ "type": "object" }).into())),
        ("effect", change(|it| it.effect = Effect::Write)),
        ("capabilities", change(|it| it.requires = vec!["money".into(), "network".into()])),
        ("permission", change(|it| it.permission = Permission::Allow)),
        ("output", change(|it| it.output = Some(json!({ "type": "string" }).into()))),
        ("idempotence", change(|it| it.idempotent = true)),
        ("reattaches", change(|it| it.reattaches = true)),
        (
            "retries",
            change(|it| {
                it.idempotent = true;
                it.max_retries = 3;
            }),
        ),
        ("timeout", change(|it| it.timeout = Some(Duration::from_secs(1)))),
        ("shorter timeout", change(|it| it.timeout = Some(Duration::from_nanos(1)))),
        ("version", change(|it| it.version = Some("2".into()))),
    ]
}

#[test]
fn fingerprint_covers_what_an_approval_relies_on() {
    let of_pay = pay().fingerprint();
    let mut aspects = std::collections::HashMap::from([(of_pay, "nothing")]);
    for (aspect, changed) in relevant_changes() {
        let same = aspects.insert(changed.fingerprint(), aspect);
        assert_eq!(same, None, "{aspect}");
    }
    let mut same = pay();
    same.name = "give".into();
    same.rate_limit = Some(RateLimit::per_second(1));
    same.preference = ToolPreference::default().weight(2.0);
    same.parameters = serde_json::from_str::<Value>(
        r#"{
            "required": ["amount"],
            "properties": { "pin": { "type": "string" }, "amount": { "type": "integer" } },
            "type": "object"
        }"#,
    )
    .unwrap()
    .into();
    assert_eq!(same.fingerprint(), of_pay);
    // It is the same in every process and version: it is stored with approvals.
    let stored = "c3a74fea58662a6d10105b6e81194707b2e4011ac5397aae74d0f743c53cf72f";
    assert_eq!(of_pay.to_string(), stored);
    assert_eq!(serde_json::from_value::<Fingerprint>(json!(stored)).unwrap(), of_pay);
    for wrong in ["", "abc", &"g".repeat(64), &"é".repeat(32), &stored.repeat(2)] {
        assert_eq!(Fingerprint::from_hex(wrong), None, "{wrong}");
        assert!(serde_json::from_value::<Fingerprint>(json!(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn definition_is_read_back_as_it_was_written() {
    let mut full =
        pay().idempotent().reattaches().finds_tools().timeout(Duration::from_millis(1_500));
    full.title = Some("Pay".into());
    full.version = Some("2.1".into());
    full.output = Some(json!({ "type": "string" }).into());
    full.kind = tool_runtime::ToolKind::Remote("bank".into());
    full.pure = true;
    full.sequential = true;
    full.blocking = true;
    full.repair = tool_runtime::Repair::Lossless;
    full.max_retries = 2;
    full.rate_limit = Some(RateLimit::per_minute(3));
    full.preference = ToolPreference::default().always().with_override("amount", 5);
    for definition in [pay(), full] {
        let json = serde_json::to_string(&definition).unwrap();
        assert_eq!(serde_json::from_str::<ToolDefinition>(&json).unwrap(), definition);
    }
    let least = json!({ "name": "n", "description": "d", "parameters": { "type": "object" } });
    let read: ToolDefinition = serde_json::from_value(least).unwrap();
    assert_eq!(read, ToolDefinition::new("n", "d", json!({ "type": "object" })));
    let short = json!({
        "name": "n", "description": "d", "parameters": { "type": "object" },
        "timeout": "500ms", "rate_limit": "1000/day",
    });
    let read: ToolDefinition = serde_json::from_value(short).unwrap();
    assert_eq!(read.timeout, Some(Duration::from_millis(500)));
    let day = Duration::from_secs(86_400);
    assert_eq!(read.rate_limit, Some(RateLimit { times: 1_000, per: day }));
    let reads = json!({
        "name": "n", "description": "d", "parameters": { "type": "object" }, "effect": "read",
    });
    let read: ToolDefinition = serde_json::from_value(reads).unwrap();
    assert_eq!(read.repair, tool_runtime::Repair::Lossy);
}

#[test]
fn malformed_duration_or_rate_of_a_definition_is_an_error_that_names_it() {
    let read = |member: &str, value: Value| {
        let json = json!({
            "name": "n", "description": "d", "parameters": { "type": "object" }, member: value,
        });
        serde_json::from_value::<ToolDefinition>(json).unwrap_err().to_string()
    };
    for text in ["5", "s", "", "0s", "-1s", "1.5s", "5 s", "5d", "99999999999999999999h", "é"] {
        let error = read("timeout", json!(text));
        assert!(error.starts_with(&format!("invalid duration {text:?}: expected a")), "{error}");
    }
    for text in ["10", "10/", "/min", "0/s", "+1/s", "10/minute", "1.5/s", "4294967296/s"] {
        let error = read("rate_limit", json!(text));
        assert!(error.starts_with(&format!("invalid rate {text:?}: expected a")), "{error}");
    }
    let error = read("timeout", json!(5));
    assert!(error.starts_with("expected a text such as \"5s\""), "{error}");
}

/// A registry whose tool `pay` can be replaced.
fn registry() -> Registry {
    let registry = Registry::new();
    registry.register(Arc::new(Versioned(pay(), "first"))).unwrap();
    registry
}

fn agent(registry: &Registry, policy: Policy, calls: usize) -> Agent {
    let call = |_| ChatReply::default().call("pay", r#"{"amount": 5}"#);
    let replies = (0..calls).map(call).chain([ChatReply::text("Done.")]);
    Agent::new(ScriptedModel::new(replies), registry.clone())
        .policy(policy.grant(["money", "network"]))
}

fn paused(stopped: Stopped) -> Box<Paused> {
    match stopped.reason {
        StopReason::AwaitingApproval(paused) => paused,
        reason => panic!("{reason}"),
    }
}

#[tokio::test]
async fn approval_of_a_replaced_tool_is_void() {
    for (aspect, replacement) in relevant_changes() {
        let registry = registry();
        let agent = agent(&registry, Policy::new().approver(AskLater), 1);
        let mut waiting = paused(agent.run("Pay").await.unwrap_err());
        waiting.decide_each(|_| Approval::ForRun, "Ada");
        let saved = serde_json::to_string(&waiting).unwrap();
        let waiting: Paused = serde_json::from_str(&saved).unwrap();

        let permission = replacement.permission;
        registry.register(Arc::new(Versioned(replacement, "second"))).unwrap();
        let resumed = agent.resume(waiting.clone()).finish().await;
        match permission {
            // A tool that needs no approval runs without one.
            Permission::Allow => {
                assert_eq!(resumed.unwrap().text, "Done.");
                continue;
            }
            _ => {
                let stopped = resumed.unwrap_err();
                let text = stopped.reason.to_string();
                let reason = "decision of Ada is void: the definition of `pay` changed";
                let expected = format!("1 call awaits approval: pay; {reason}");
                assert_eq!(text, expected, "{aspect}");
                let saved = serde_json::to_string(&paused(stopped)).unwrap();
                let restored: Paused = serde_json::from_str(&saved).unwrap();
                assert_eq!(restored.pending().len(), 1, "{aspect}");
                assert_eq!(
                    restored.pending()[0].void_decision.as_deref(),
                    Some(reason),
                    "{aspect}"
                );
            }
        }

        // The first version is back: what was approved is what runs.
        registry.register(Arc::new(Versioned(pay(), "third"))).unwrap();
        let answer = agent.resume(waiting).finish().await.unwrap();
        let Message::Tool { results } = &answer.transcript[2] else { panic!() };
        assert_eq!(results[0].text, r#"third {"amount": 5}"#, "{aspect}");
    }
}

/// Approves for the rest of the run, and counts how often it was asked.
#[derive(Clone, Default)]
struct ForRun(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Approver for ForRun {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        self.0.lock().unwrap().push(request.tool.description.clone());
        Approval::ForRun
    }
}

#[tokio::test]
async fn permission_for_the_run_ends_when_the_tool_is_replaced() {
    let (registry, approver) = (registry(), ForRun::default());
    let agent = agent(&registry, Policy::new().approver(approver.clone()), 4);
    let session = agent.session(MemorySessions::default(), "chat");
    let mut run = session.start("Pay").await.unwrap();
    for replacement in [None, Some("Pays twice."), None] {
        if let Some(description) = replacement {
            let mut other = pay();
            other.description = description.into();
            registry.register(Arc::new(Versioned(other, "second"))).unwrap();
        }
        // A request and its calls.
        run.next().await.unwrap();
        run.next().await.unwrap();
    }
    drop(run);
    // The permission is saved with the session, bound to the definition.
    let last = session.resume().await.unwrap().unwrap();
    last.finish().await.unwrap();
    assert_eq!(*approver.0.lock().unwrap(), ["Pays an amount.", "Pays twice."]);
}

/// A number that only its exact text tells from its neighbors.
const BIG: &str = "123456789012345678901234567890";
const NEIGHBOR: &str = "123456789012345678901234567891";

#[tokio::test]
async fn decision_holds_for_the_exact_digits_alone() {
    let registry = registry();
    let policy = || Policy::new().approver(AskLater).grant(["money"]).secrets(["hunter22"]);
    let recorder = Recorder::new(100);
    let dispatcher = Dispatcher::new(registry).policy(policy()).observer(recorder.clone());
    let call = || {
        let arguments = format!(r#"{{"amount": {BIG}, "pin": "hunter22"}}"#);
        vec![ToolCall::new("1", "pay", arguments)]
    };
    let pending = dispatcher.dispatch(call()).await.remove(0);
    let events = recorder
        .filter(|event| matches!(event.kind, EventKind::Tool(ToolEvent::ApprovalRequested { .. })));
    let Some(ToolEvent::ApprovalRequested { arguments: json, .. }) = events[0].tool_event() else {
        panic!()
    };
    assert_eq!(*json, format!(r#"{{"amount":{BIG},"pin":"[redacted]"}}"#));
    let json = pending.decoded_arguments.clone().unwrap();
    assert!(pending.is_pending() && json.contains(BIG), "{json}");

    let spaced = json.replace(':', " :\n");
    let (other_digits, other_pin) = (json.replace(BIG, NEIGHBOR), json.replace("22", "23"));
    for (text, runs) in
        [(&json, true), (&spaced, true), (&other_digits, false), (&other_pin, false)]
    {
        let mut batch = Batch::from(call());
        batch.decisions =
            vec![Decision::new("1".into(), &pay(), text.as_str(), Approval::Once, "Ada")];
        recorder.clear();
        let execution = Dispatch::dispatch(&dispatcher, batch).await.remove(0);
        assert_eq!(execution.did_run(), runs, "{text}");
        let reason = "decision of Ada is void: the arguments of `pay` changed";
        let expected = (!runs).then(|| reason.to_owned());
        assert_eq!(execution.void_decision(), expected.as_deref(), "{text}");
        let requests = recorder.filter(|event| {
            matches!(event.kind, EventKind::Tool(ToolEvent::ApprovalRequested { .. }))
        });
        let reasons = requests.iter().filter_map(|event| match event.tool_event()? {
            ToolEvent::ApprovalRequested { void_decision, .. } => Some(void_decision.clone()),
            _ => None,
        });
        assert_eq!(reasons.collect::<Vec<_>>(), Vec::from_iter(expected.map(Some)), "{text}");
        assert_eq!(execution.result.text.contains(BIG), runs, "{text}");
    }
}

#[tokio::test]
async fn pending_call_shows_the_exact_digits_without_secrets() {
    let policy = Policy::new().approver(AskLater).grant(["money"]).secrets(["hunter22"]);
    let call =
        ChatReply::default().call("pay", format!(r#"{{"amount": {BIG}, "pin": "hunter22"}}"#));
    let model = ScriptedModel::new([call, ChatReply::text("Done.")]);
    let agent = Agent::new(model, registry()).policy(policy);
    let waiting = paused(agent.run("Pay").await.unwrap_err());
    let saved = serde_json::to_string(&waiting).unwrap();
    let mut waiting: Paused = serde_json::from_str(&saved).unwrap();
    let pending = &waiting.pending()[0];
    assert_eq!(pending.fingerprint, Some(pay().fingerprint()));
    assert!(
        pending.arguments_json().contains(BIG) && pending.arguments_json().contains("hunter22")
    );
    assert_eq!(
        pending.redacted_arguments_json(),
        format!(r#"{{"amount":{BIG},"pin":"[redacted]"}}"#)
    );
    waiting.decide_each(|_| Approval::Once, "Ada");
    let answer = agent.resume(waiting).finish().await.unwrap();
    let Message::Tool { results } = &answer.transcript[2] else { panic!() };
    assert!(results[0].text.contains(BIG), "{}", results[0].text);
}

/// Returns a number.
#[tool(pure)]
async fn identity(number: u128) -> String {
    number.to_string()
}

#[tokio::test]
async fn memo_tells_numbers_apart_that_differ_in_one_digit() {
    let dispatcher = Dispatcher::new(Registry::try_from(tools![identity]).unwrap());
    let calls = [BIG, NEIGHBOR]
        .map(|number| ToolCall::new(number, "identity", format!(r#"{{"number": {number}}}"#)));
    let executions = dispatcher.dispatch(calls.into()).await;
    let texts: Vec<_> = executions.iter().map(|it| it.result.text.as_str()).collect();
    assert_eq!(texts, [BIG, NEIGHBOR]);
}
