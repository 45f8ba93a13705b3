//! Redaction of secrets, one case at a time.

use serde_json::json;
use tool_runtime::agent::Paused;
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver, AskLater, Permissions};
use tool_runtime::event::{EventKind, ModelEvent, Recorder, ToolEvent};
use tool_runtime::{
    Agent, Arguments, AssistantPart, ChatReply, Message, Policy, Reasoning, RunContext,
    ScriptedModel, StopReason, Tool, ToolCall, ToolContext, ToolDefinition, ToolError,
    ToolExecution, ToolOutput, args, async_trait, tool, tools,
};

use super::dispatcher;

/// The credentials of a login.
#[args]
struct Pass {
    /// The name of the user.
    user: String,
    /// The password.
    #[arg(secret)]
    word: Option<String>,
    /// Others'.
    #[serde(default)]
    more: Vec<Pass>,
}

/// Logs a user in.
#[tool(effect = "read")]
async fn enter(args: Pass) -> String {
    let words: Vec<_> = args.more.iter().chain([&args]).flat_map(|pass| &pass.word).collect();
    format!("{}: {words:?}", args.user)
}

/// Opens a lock.
#[tool(effect = "read")]
async fn unlock(
    /// The number of the door.
    door: u32,
    /// The code of the lock.
    #[arg(secret)]
    code: u32,
    /// Whether to knock.
    #[arg(secret, default = false)]
    knock: bool,
) -> String {
    format!("{door} opens by {code}, {knock}")
}

#[test]
fn secret_arguments_are_marked_in_the_schema() {
    let (pass, lock) = (enter {}, unlock {});
    let of_pass = pass.definition().parameters.as_value();
    assert_eq!(of_pass["properties"]["word"]["writeOnly"], json!(true));
    assert_eq!(of_pass["properties"]["user"].get("writeOnly"), None);
    let of_lock = lock.definition().parameters.as_value();
    assert_eq!(of_lock["properties"]["code"]["writeOnly"], json!(true));
    assert_eq!(of_lock["properties"]["knock"]["default"], json!(false));
    assert!(pass.definition().parameters.has_secrets());
}

/// Returns the arguments in the start event of a call, and the result for the model.
async fn event_and_result(name: &str, arguments: &str) -> (String, String) {
    let recorder = Recorder::new(100);
    let dispatcher = dispatcher(tools![enter, unlock]).observer(recorder.clone());
    let executions = dispatcher.dispatch(vec![ToolCall::new("1", name, arguments)]).await;
    let events = recorder.events();
    let Some(ToolEvent::Started { call, .. }) = events[0].tool_event() else {
        panic!("{events:?}")
    };
    // The execution has the call as the model sent it.
    assert_eq!(executions[0].call.arguments.to_text(), arguments);
    (call.arguments.to_text().into_owned(), executions[0].result.text.clone())
}

#[tokio::test]
async fn secret_arguments_are_redacted_in_events_and_their_echoes_in_results() {
    for (name, arguments, redacted, text) in [
        (
            "enter",
            r#"{"user": "ada", "word": "hunter22"}"#,
            r#"{"user":"ada","word":"[redacted]"}"#,
            r#"ada: ["[redacted]"]"#,
        ),
        // Without a secret argument, the text is unchanged.
        ("enter", r#"{"user": "ada"}"#, r#"{"user": "ada"}"#, "ada: []"),
        (
            "enter",
            r#"{"user": "ada", "more": [{"user": "g", "word": "sesame!"}]}"#,
            r#"{"user":"ada","more":[{"user":"g","word":"[redacted]"}]}"#,
            r#"ada: ["[redacted]"]"#,
        ),
        // Repaired.
        (
            "enter",
            "{user: 'ada', word: 'hunter22'",
            r#"{"user":"ada","word":"[redacted]"}"#,
            r#"ada: ["[redacted]"]"#,
        ),
        // Numbers and booleans are redacted in place; short values are not searched for elsewhere.
        (
            "unlock",
            r#"{"door": 7, "code": 90210, "knock": true}"#,
            r#"{"door":7,"code":"[redacted]","knock":"[redacted]"}"#,
            "7 opens by [redacted], true",
        ),
        (
            "unlock",
            r#"{"door": 7, "code": 12}"#,
            r#"{"door":7,"code":"[redacted]"}"#,
            "7 opens by 12, false",
        ),
    ] {
        let actual = event_and_result(name, arguments).await;
        assert_eq!(actual, (redacted.to_owned(), text.to_owned()), "{arguments}");
    }
}

#[tokio::test]
async fn possible_secrets_are_redacted() {
    for (name, arguments, redacted) in [
        // Unknown members, other shapes, and unparsable text.
        (
            "enter",
            r#"{"user": "ada", "pasword": "hunter22"}"#,
            r#"{"user":"ada","pasword":"[redacted]"}"#,
        ),
        ("enter", r#"{"user": {"word": "hunter22"}}"#, r#"{"user":"[redacted]"}"#),
        ("enter", r#"["ada", "hunter22"]"#, "\"[redacted]\""),
        ("enter", r#"{"word" "hunter22" ] } {"#, "[redacted]"),
        ("unlock", r#"{"door": 1, "code": "hunter22"}"#, r#"{"door":1,"code":"[redacted]"}"#),
        // An unknown tool: the call may have been meant for one with secret arguments.
        ("login", r#"{"user": "ada", "word": "hunter22"}"#, "[redacted]"),
    ] {
        let (event_arguments, text) = event_and_result(name, arguments).await;
        assert_eq!(event_arguments, redacted, "{arguments}");
        assert!(!text.contains("hunter"), "{text}");
    }
}

#[tokio::test]
async fn truncated_output_contains_no_half_secret() {
    let long = "s3cr3t".repeat(30);
    let arguments = json!({"door": "none", "code": long}).to_string();
    let (_, text) = event_and_result("unlock", &arguments).await;
    assert!(!text.contains("s3cr3t") && text.contains("`code`: expected an integer"), "{text}");
}

/// Adds two numbers.
#[tool(effect = "none")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::test]
async fn configured_secret_is_redacted_in_quoted_arguments() {
    let recorder = Recorder::new(100);
    let key = "k3y-0f-th3-h0us3-".repeat(20);
    let policy = Policy::new().secrets([key.clone()]);
    let ask = Permissions::default().when(|_, _| None::<tool_runtime::Permission>);
    for policy in [policy.clone(), policy.permissions(ask)] {
        let dispatcher = dispatcher(tools![add]).policy(policy).observer(recorder.clone());
        for arguments in [
            json!({ "a": key, "b": 1 }).to_string(),
            json!({ "a": [{ "c": key }], "b": 1 }).to_string(),
            format!(r#"{{"a" "{key}" ] "b": {{ "#),
            format!(r#"{{"a": 1, "b": "{key}", }} x"#),
        ] {
            let executions =
                dispatcher.dispatch(vec![ToolCall::new("1", "add", &*arguments)]).await;
            let text = &executions[0].result.text;
            assert!(!text.contains("k3y") && text.starts_with("`add` was not called"), "{text}");
            assert!(!format!("{:?}", recorder.events()).contains("k3y"), "{arguments}");
        }
    }
}

/// A hand-written tool that returns its arguments as the model wrote them.
struct Echo(ToolDefinition);

#[async_trait]
impl Tool for Echo {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn decodes_arguments(&self) -> bool {
        true
    }

    async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(args.to_text()))
    }
}

#[tokio::test]
async fn unparsable_arguments_are_redacted_in_fragments() {
    let word = json!({"type": "string", "writeOnly": true});
    let schema = json!({"type": "object", "properties": {"word": word}});
    let echo = Echo(ToolDefinition::new("echo", "Says it back.", schema));
    let dispatcher = dispatcher(tools![].with(echo));
    for (arguments, text) in [
        (r#"{"word": "hunter22"}"#, r#"{"word": "[redacted]"}"#),
        (r#"{"word" hunter22 ] "tiny" { "#, r#"{"word" [redacted] ] "tiny" { "#),
    ] {
        let executions = dispatcher.dispatch(vec![ToolCall::new("1", "echo", arguments)]).await;
        assert_eq!(executions[0].result.text, text);
    }
}

#[tokio::test]
async fn transcript_keeps_arguments_and_redacts_results() {
    let arguments = r#"{ "user": "ada", "word": "hunter22" }"#;
    let model = ScriptedModel::new([
        ChatReply::text("I try hunter22").call("enter", arguments),
        ChatReply::text("Never say hunter22 or topsecret."),
        ChatReply::new(vec![
            AssistantPart::Reasoning(Reasoning::new("", "hunter22?", json!(null))),
            AssistantPart::Text { text: "hunter22 it was".into() },
        ]),
    ]);
    let recorder = Recorder::new(100);
    let agent = Agent::new(model, tools![enter])
        .policy(Policy::new().secrets(["topsecret"]))
        .observer(recorder.clone());
    let answer = agent.run("Enter.").await.unwrap();

    let Message::Assistant { parts, .. } = &answer.transcript[1] else { panic!() };
    let call = parts.iter().find_map(|part| match part {
        AssistantPart::Call(call) => Some(call),
        _ => None,
    });
    assert_eq!(call.unwrap().arguments.to_text(), arguments);
    let Message::Tool { results } = &answer.transcript[2] else { panic!() };
    assert_eq!(results[0].text, r#"ada: ["[redacted]"]"#);
    // A run that continues the conversation knows the secrets of earlier calls.
    agent.run(answer.then("And?")).await.unwrap();
    let replies: Vec<_> = recorder
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::Model(ModelEvent::Replied { text, reasoning, .. }) => {
                Some(reasoning.unwrap_or_default() + &text)
            }
            _ => None,
        })
        .collect();
    let hidden =
        ["I try [redacted]", "Never say [redacted] or [redacted].", "[redacted]?[redacted] it was"];
    assert_eq!(replies, hidden);
}

/// Signs something.
#[tool(permission = "ask")]
async fn sign(
    /// With what.
    #[arg(secret)]
    key: String,
) -> usize {
    key.len()
}

struct InspectingApprover;

#[async_trait]
impl Approver for InspectingApprover {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        assert!(!format!("{request:?}").contains("k3yk3y"), "{request:?}");
        assert_eq!(request.redacted_arguments(), json!({"key": "[redacted]"}));
        match request.arguments["key"].as_str() {
            Some("k3yk3y") => Approval::Once,
            other => Approval::Deny(format!("not by {other:?}")),
        }
    }
}

#[tokio::test]
async fn approver_receives_secrets_and_observers_do_not() {
    let recorder = Recorder::new(100);
    let dispatcher = dispatcher(tools![sign])
        .policy(Policy::new().approver(InspectingApprover))
        .observer(recorder.clone());
    let call = |id, key| ToolCall::new(id, "sign", json!({ "key": key }));
    let executions = dispatcher.dispatch(vec![call("1", "k3yk3y"), call("2", "wr0ng0")]).await;
    assert_eq!(executions[0].result.text, "6");
    assert_eq!(executions[1].result.text, "`sign` was not approved: not by Some(\"[redacted]\")");
    let approval_requests = recorder
        .filter(|event| matches!(event.kind, EventKind::Tool(ToolEvent::ApprovalRequested { .. })));
    for event in approval_requests {
        let Some(ToolEvent::ApprovalRequested { arguments: json, .. }) = event.tool_event() else {
            panic!()
        };
        assert_eq!(json, r#"{"key":"[redacted]"}"#);
    }
}

/// Pays by a card.
#[tool(permission = "ask")]
async fn pay(to: String, #[arg(secret)] card: String) -> String {
    format!("{to} is paid by {card}")
}

#[tokio::test]
async fn pending_call_shows_no_secret() {
    let arguments = r#"{"to": "Ada by topsecret", "card": "4111 1111"}"#;
    let model = || ScriptedModel::new([ChatReply::default().call("pay", arguments)]);
    let cashier = || {
        Agent::new(model(), tools![pay])
            .policy(Policy::new().approver(AskLater).secrets(["topsecret"]))
    };
    let call = ChatReply::default().call("cashier", r#"{"task": "Pay Ada."}"#);
    let cashier_tool = cashier().into_tool("cashier", "Pays.");
    let chief = Agent::new(ScriptedModel::new([call]), tools![].with(cashier_tool));
    for agent in [cashier(), chief] {
        let stopped = agent.run("Pay Ada.").await.unwrap_err();
        let StopReason::AwaitingApproval(paused) = stopped.reason else { panic!("{stopped:?}") };
        // In another process as well.
        let mut paused: Paused = serde_json::from_value(json!(paused)).unwrap();
        paused.decide_each(
            |pending| {
                assert_eq!(pending.arguments["card"], "4111 1111");
                let redacted = json!({"to": "Ada by [redacted]", "card": "[redacted]"});
                assert_eq!(pending.redacted_arguments(), redacted);
                assert!(!has_secrets(&format!("{pending:?}")), "{pending:?}");
                Approval::Once
            },
            "Grace",
        );
        let printed = format!("{paused:?}");
        assert!(printed.contains("Ada by [redacted]") && !has_secrets(&printed), "{printed}");
    }
}

fn has_secrets(printed: &str) -> bool {
    // Hexadecimal ids have no space.
    ["4111 1", "topsecret"].iter().any(|secret| printed.contains(secret))
}

/// Says what it has.
#[tool(effect = "read")]
async fn show(ctx: &ToolContext) -> Result<String, ToolError> {
    // A tool receives the results of its nested calls unredacted.
    let executions = ctx.dispatch(vec![ToolCall::new("", "reveal", "{}")]).await;
    assert_eq!(executions[0].result.text, "topsecret");
    Ok(format!("{ctx:?} {}", executions[0].result.text))
}

/// Reveals a secret.
#[tool(effect = "read")]
async fn reveal() -> &'static str {
    "topsecret"
}

#[tokio::test]
async fn nested_results_are_redacted_for_the_model_only() {
    let recorder = Recorder::new(100);
    let dispatcher = dispatcher(tools![show, reveal]).policy(Policy::new().secrets(["topsecret"]));
    assert!(!format!("{dispatcher:?}").contains("topsecret"));
    let dispatcher = dispatcher.observer(recorder.clone());
    let executions = dispatcher.dispatch(vec![ToolCall::new("1", "show", "{}")]).await;
    assert!(executions[0].result.text.ends_with(" [redacted]"), "{:?}", executions[0]);
    assert!(!format!("{:?}", recorder.events()).contains("topsecret"));
}

#[tokio::test]
async fn secret_at_the_output_limit_is_redacted() {
    // The output limit falls within the secret.
    let dispatcher =
        dispatcher(tools![reveal]).policy(Policy::new().secrets(["topsecret"]).max_output_bytes(8));
    let executions = dispatcher.dispatch(vec![ToolCall::new("1", "reveal", "{}")]).await;
    assert!(!executions[0].result.text.contains("tops"), "{}", executions[0].result.text);
    assert_eq!(executions[0].full_text.as_deref(), Some("[redacted]"));
}

/// By calls that are parsed, and by calls that are not.
#[tokio::test]
async fn no_call_makes_a_run_forget_a_secret() {
    let dispatcher =
        dispatcher(tools![enter, echo_extension]).extension("hunter22 hunter33".to_owned());
    let call = |name, arguments: &str| vec![ToolCall::new("1", name, arguments)];
    dispatcher.dispatch(call("enter", r#"{"user": "ada", "word": "hunter22"}"#)).await;
    dispatcher.dispatch(call("enter", r#"{"word" hunter33 ] { "#)).await;
    let rubbish: String = (0..5_000).map(|n| format!("piece{n} ] ")).collect();
    dispatcher.dispatch(call("enter", &rubbish)).await;
    for n in 0..1_200 {
        let arguments = format!(r#"{{"user": "ada", "word": "another {n}"}}"#);
        dispatcher.dispatch(call("enter", &arguments)).await;
    }
    let more: Vec<_> =
        (0..1_200).map(|n| json!({"user": "g", "word": format!("more {n}")})).collect();
    let arguments = json!({"user": "ada", "more": more}).to_string();
    dispatcher.dispatch(call("enter", &arguments)).await;
    let executions = dispatcher.dispatch(call("echo_extension", "{}")).await;
    assert_eq!(executions[0].result.text, "[redacted] [redacted]");
}

/// Says what it was given.
#[tool(effect = "read")]
async fn echo_extension(ctx: &ToolContext) -> Result<String, ToolError> {
    Ok(ctx.get::<String>().ok_or("nothing")?.clone())
}

#[tokio::test]
async fn tool_registered_during_a_run_has_its_secrets_redacted() {
    let registry = tool_runtime::Registry::try_from(tools![unlock, echo_extension]).unwrap();
    let only = registry.only(["unlock"]);
    let recorder = Recorder::new(100);
    let dispatcher = tool_runtime::Dispatcher::new(registry.clone()).observer(recorder.clone());
    let open = ToolCall::new("1", "unlock", r#"{"door": 1, "code": 90210}"#);
    // A view is used first, then the whole registry; then another tool is registered.
    dispatcher.dispatch_on(&only.snapshot(), vec![open.clone()]).await;
    let login = ToolCall::new("2", "enter", r#"{"user": "ada", "word": "hunter22"}"#);
    dispatcher.dispatch(vec![open, login.clone()]).await;
    registry.register(std::sync::Arc::new(enter {})).unwrap();
    let executions = dispatcher.dispatch(vec![login]).await;
    assert_eq!(executions[0].result.text, r#"ada: ["[redacted]"]"#);
    let started =
        recorder.filter(|event| matches!(event.kind, EventKind::Tool(ToolEvent::Started { .. })));
    let started_arguments = |event: &tool_runtime::Event| match event.tool_event() {
        Some(ToolEvent::Started { call, .. }) => call.arguments.to_text().into_owned(),
        _ => unreachable!(),
    };
    let arguments: Vec<_> = started.iter().skip(2).map(started_arguments).collect();
    assert_eq!(arguments, ["[redacted]", r#"{"user":"ada","word":"[redacted]"}"#]);
    let events = format!("{:?}", recorder.events());
    assert!(!events.contains("hunter22") && !events.contains("90210"), "{events}");
}

/// Finds flights.
#[tool(effect = "read")]
async fn search_flights(destination: String) -> String {
    format!("Two flights to {destination}; the destination is cold.")
}

/// Tells what a country asks of visitors.
#[tool(effect = "read")]
async fn rules(country: String) -> String {
    format!("{country} is a country without visas.")
}

/// Arguments that no tool takes are no secrets: of a misspelled tool, and in events of another
/// agent.
#[tokio::test]
async fn harmless_words_are_not_redacted() {
    let inner = ScriptedModel::new([
        ChatReply::default().call("rules", r#"{"country": "Switzerland"}"#),
        ChatReply::text("Switzerland is a country without visas."),
    ]);
    let officer = Agent::new(inner, tools![rules]).into_tool("officer", "Knows visas.");
    let to = r#"{"destination": "Trondheim"}"#;
    let model = ScriptedModel::new([
        ChatReply::default().call("serch_flights", to),
        ChatReply::default().call("search_flights", to).call("officer", r#"{"task": "Look."}"#),
        ChatReply::text("Done."),
    ]);
    let recorder = Recorder::new(100);
    let agent = Agent::new(model, tools![enter, search_flights].with(officer));
    let answer = agent.observer(recorder.clone()).run("Go").await.unwrap();
    let Message::Tool { results } = &answer.transcript[4] else { panic!("{answer:?}") };
    assert_eq!(results[0].text, "Two flights to Trondheim; the destination is cold.");
    assert_eq!(results[1].text, "Switzerland is a country without visas.");
    let call_and_result = |name: &str| {
        let of_name = |execution: &ToolExecution| execution.call.name == name;
        let execution = recorder.executions().into_iter().find(of_name).unwrap();
        (execution.call.arguments.to_text().into_owned(), execution.result.text)
    };
    assert_eq!(call_and_result("serch_flights").0, "[redacted]");
    let expected = (r#"{"country": "Switzerland"}"#, "Switzerland is a country without visas.");
    assert_eq!(call_and_result("rules"), (expected.0.to_owned(), expected.1.to_owned()));
}
