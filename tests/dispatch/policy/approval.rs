//! Approvals and permissions of calls.

use tool_runtime::dispatch::{
    Approval, ApprovalRequest, Approver, Batch, Dispatch, Permissions, Previewer,
};
use tool_runtime::event::Origin;
use tool_runtime::{Arguments, Permission, Policy, RunContext, async_trait};

use super::*;

/// Pays a person.
#[tool(permission = "ask", effect = "write")]
async fn pay(to: String, amount: u32) -> String {
    format!("{to} has {amount} more")
}

/// Approves as configured, and records the requests.
#[derive(Clone)]
struct Clerk {
    decision: Approval,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Clerk {
    fn new(decision: Approval) -> Self {
        Self { decision, requests: Arc::default() }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

#[async_trait]
impl Approver for Clerk {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        let name = &request.tool.name;
        self.requests.lock().unwrap().push(format!("{name} {}", request.arguments));
        assert_ne!(request.arguments["to"], "nobody", "cannot decide");
        self.decision.clone()
    }
}

fn payments(amounts: &[&str]) -> Vec<ToolCall> {
    let call = |amount: &&str| {
        ToolCall::new(*amount, "pay", format!(r#"{{"to": "Ada", "amount": {amount}}}"#))
    };
    amounts.iter().map(call).collect()
}

#[tokio::test]
async fn approved_arguments_are_what_runs() {
    let clerk = Clerk::new(Approval::Once);
    let dispatcher = dispatcher(tools![pay]).policy(Policy::new().approver(clerk.clone()));
    assert_eq!(offered(&dispatcher), ["pay"]);
    // The arguments are repaired and coerced before the approver is asked.
    let odd = ToolCall::new("odd", "pay", r#"{to: 'Ada', "Amount": "7",}"#);
    let executions = dispatcher.dispatch(vec![odd]).await;
    assert_eq!(texts(&executions), ["Ada has 7 more"]);
    assert!(!executions[0].fixes.is_empty());
    assert_eq!(clerk.requests(), [r#"pay {"amount":7,"to":"Ada"}"#]);

    // Invalid arguments never reach the approver.
    let executions = dispatcher.dispatch(payments(&["-5", "\"many\"", "5 or 6"])).await;
    let wrong = ToolErrorKind::InvalidArguments.code();
    assert!(
        executions.iter().all(|execution| code(execution) == wrong),
        "{:?}",
        texts(&executions)
    );
    assert_eq!(clerk.requests().len(), 1);

    dispatcher.dispatch(payments(&["1", "2"])).await;
    assert_eq!(clerk.requests().len(), 3, "once is once");
}

#[tokio::test]
async fn approval_for_the_run_is_asked_once() {
    let clerk = Clerk::new(Approval::ForRun);
    let dispatcher = dispatcher(tools![pay]).policy(Policy::new().approver(clerk.clone()));
    dispatcher.dispatch(payments(&["1"])).await;
    let executions = dispatcher.dispatch(payments(&["2", "3"])).await;
    assert_eq!(texts(&executions), ["Ada has 2 more", "Ada has 3 more"]);
    assert_eq!(clerk.requests().len(), 1);
}

/// An amount that the type limits, and its schema does not.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(try_from = "u32")]
#[schemars(with = "u32")]
struct Amount(u32);

impl TryFrom<u32> for Amount {
    type Error = String;

    fn try_from(amount: u32) -> Result<Self, String> {
        match amount {
            0 => Err("an amount is at least 1".into()),
            amount => Ok(Self(amount)),
        }
    }
}

/// Sends an amount.
#[tool(permission = "ask")]
async fn transfer(amount: Amount) -> u32 {
    amount.0
}

/// Accepts only the amount 1.
fn check_order(amount: u32, _: &ToolContext) -> Result<(), ToolError> {
    match amount {
        1 => Ok(()),
        2 => panic!("on purpose"),
        _ => Err(ToolError::invalid_arguments("send at least 1")),
    }
}

/// Orders an amount.
#[tool(permission = "ask", check = check_order)]
async fn order(amount: u32, _ctx: &ToolContext) -> u32 {
    amount
}

struct Shop {
    least: u32,
}

#[tool]
impl Shop {
    fn check(&self, amount: u32) -> Result<(), ToolError> {
        let is_enough = amount >= self.least;
        is_enough.then_some(()).ok_or_else(|| ToolError::invalid_arguments("send at least 1"))
    }

    /// Sells an amount.
    #[tool(permission = "ask", check = Self::check)]
    async fn sell(&self, #[arg(default = 1)] amount: u32) -> u32 {
        amount
    }

    /// Sells an amount without asking.
    #[tool(check = Self::check)]
    async fn sell_freely(&self, amount: u32) -> u32 {
        amount
    }
}

/// Accepts only the amount 1.
struct Picky(tool_runtime::ToolDefinition);

#[async_trait]
impl tool_runtime::Tool for Picky {
    fn definition(&self) -> &tool_runtime::ToolDefinition {
        &self.0
    }

    fn check_arguments(&self, args: &Arguments, _: &ToolContext) -> Result<(), ToolError> {
        match serde_json::from_str::<serde_json::Value>(&args.to_text()).unwrap()["amount"].as_u64()
        {
            Some(1) => Ok(()),
            Some(2) => panic!("on purpose"),
            _ => Err(ToolError::invalid_arguments("send 1")),
        }
    }

    async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("1"))
    }
}

#[tokio::test]
async fn approver_receives_no_arguments_that_the_tool_refuses() {
    support::panics::silence_panics_on_purpose();
    let schema = json!({ "type": "object", "properties": { "amount": { "type": "integer" } } });
    let mut picky = tool_runtime::ToolDefinition::new("picky", "Picky.", schema);
    picky.permission = Permission::Ask;
    let clerk = Clerk::new(Approval::Once);
    let asks = Permissions::default()
        .when(|request, _| (request.call.name == "examined").then_some(Permission::Ask));
    /// Is asked about by a predicate alone.
    #[tool]
    async fn examined(amount: Amount) -> u32 {
        amount.0
    }
    let tools = tools![transfer, order, examined, ..Shop { least: 1 }].with(Picky(picky));
    let dispatcher =
        dispatcher(tools).policy(Policy::new().approver(clerk.clone()).permissions(asks));
    let (invalid, failed) = ("TOOL_INVALID_ARGUMENTS", "TOOL_PANICKED");
    for (name, amount, code_) in [
        ("transfer", 0, invalid),
        ("examined", 0, invalid),
        ("picky", 0, invalid),
        ("picky", 2, failed),
        ("order", 0, invalid),
        ("order", 2, failed),
        ("sell", 0, invalid),
        ("sell_freely", 0, invalid),
        ("sell_freely", 1, "-"),
        ("order", 1, "-"),
        ("sell", 1, "-"),
        ("transfer", 1, "-"),
        ("examined", 1, "-"),
        ("picky", 1, "-"),
    ] {
        let call = ToolCall::new("1", name, json!({ "amount": amount }));
        let execution = dispatcher.dispatch(vec![call]).await.remove(0);
        assert_eq!(code(&execution), code_, "{name} {amount}");
        assert_eq!(execution.attempts, u32::from(code_ == "-"));
        let is_amount = code_ != invalid || name == "picky";
        assert!(is_amount || execution.result.text.contains("at least 1"), "{execution:?}");
    }
    assert_eq!(clerk.requests().len(), 5, "only about valid calls");
}

/// Several agents may share one dispatcher.
#[tokio::test]
async fn approval_for_the_run_does_not_cover_another_run() {
    let clerk = Clerk::new(Approval::ForRun);
    let dispatcher = dispatcher(tools![pay]).policy(Policy::new().approver(clerk.clone()));
    for (run, requests) in [(1, 1), (1, 1), (2, 2), (1, 2), (2, 2)] {
        let mut batch = Batch::from(payments(&["1"]));
        batch.origin = Origin::new(run.into(), 1);
        let executions = Dispatch::dispatch(&dispatcher, batch).await;
        assert_eq!((code(&executions[0]), clerk.requests().len()), ("-", requests), "{run}");
    }
}

#[tokio::test]
async fn denial_and_panic_of_an_approver_both_block() {
    let clerk = Clerk::new(Approval::Deny("not today".into()));
    let dispatcher = dispatcher(tools![pay]).policy(Policy::new().approver(clerk));
    let unknown_payee = ToolCall::new("n", "pay", r#"{"to": "nobody", "amount": 1}"#);
    let executions = dispatcher.dispatch([payments(&["1"]), vec![unknown_payee]].concat()).await;
    assert_eq!(
        texts(&executions),
        [
            "`pay` was not approved: not today",
            "`pay` was not approved: the approver failed to decide",
        ]
    );
    assert!(executions.iter().all(|it| code(it) == "TOOL_DENIED" && it.attempts == 0));
}

#[tokio::test]
async fn permissions_of_the_policy_override_those_of_tools() {
    let registry = Registry::try_from(tools![allowed, denied, pay]).unwrap();
    registry.register_all_from("p", tools![needy]).unwrap();
    let permissions = Permissions::default()
        .tool("allowed", Permission::Deny)
        .provider("p", Permission::Deny)
        .when(|request, _| match request.arguments["amount"].as_u64()? {
            0..=9 => Some(Permission::Allow),
            10..=99 => None,
            _ => Some(Permission::Deny),
        });
    let dispatcher = Dispatcher::new(registry)
        .policy(Policy::new().permissions(permissions).grant(["filesystem", "network"]));
    assert_eq!(offered(&dispatcher), ["pay"]);
    let executions = run(&dispatcher, &["allowed", "denied", "needy"]).await;
    assert!(executions.iter().all(|execution| code(execution) == "TOOL_DENIED"));
    let executions = dispatcher.dispatch(payments(&["5", "50", "500"])).await;
    assert_eq!(
        texts(&executions),
        [
            "Ada has 5 more",
            "`pay` needs approval, but no approver is configured.",
            "`pay` is not allowed here.",
        ]
    );
}

/// Reads.
#[tool(effect = "read")]
async fn read() {}

#[tokio::test]
async fn rule_for_a_shared_name_denies_both_and_allows_neither() {
    let registry = Registry::new();
    registry.register_all_from("a", tools![read]).unwrap();
    for (preferred, name, codes) in [
        (Permission::Deny, "read", ["TOOL_DENIED", "TOOL_DENIED"]),
        (Permission::Deny, "a__read", ["TOOL_DENIED", "-"]),
        (Permission::Ask, "read", ["TOOL_DENIED", "TOOL_DENIED"]),
    ] {
        let dispatcher = Dispatcher::new(registry.clone())
            .policy(Policy::new().permissions(Permissions::default().tool(name, preferred)));
        let executions = run(&dispatcher, &["read"]).await;
        assert_eq!(code(&executions[0]), codes[0]);
        // Another tool of that name is registered: the rule still covers the same tools.
        registry.register_all_from("b", tools![read]).unwrap();
        let executions = run(&dispatcher, &["a__read", "b__read"]).await;
        assert_eq!([code(&executions[0]), code(&executions[1])], codes, "{name}");
        let _ = registry.unregister_provider("b");
    }
    let allowing = Permissions::default().provider("a", Permission::Deny);
    let allowing = allowing.provider("b", Permission::Deny).tool("read", Permission::Allow);
    let dispatcher = Dispatcher::new(registry.clone()).policy(Policy::new().permissions(allowing));
    assert_eq!(code(&run(&dispatcher, &["read"]).await[0]), "-");
    registry.register_all_from("b", tools![read]).unwrap();
    let executions = run(&dispatcher, &["a__read", "b__read"]).await;
    assert_eq!([code(&executions[0]), code(&executions[1])], ["TOOL_DENIED"; 2]);
}

#[tokio::test]
async fn approval_for_the_run_covers_one_tool_under_all_its_names() {
    let registry = Registry::new();
    registry.register_all_from("bank", tools![pay]).unwrap();
    let clerk = Clerk::new(Approval::ForRun);
    let dispatcher =
        Dispatcher::new(registry.clone()).policy(Policy::new().approver(clerk.clone()));
    dispatcher.dispatch(payments(&["1"])).await;
    registry.register_all_from("shop", tools![pay]).unwrap();
    let mut calls = payments(&["2"]);
    calls[0].name = "bank__pay".into();
    dispatcher.dispatch(calls).await;
    assert_eq!(clerk.requests().len(), 1);
    // The name belongs to another tool by now.
    let _ = registry.unregister_provider("bank");
    let executions = dispatcher.dispatch(payments(&["3"])).await;
    assert_eq!((executions[0].is_success(), clerk.requests().len()), (true, 2));
}

/// Returns the text of its arguments.
struct Echo(tool_runtime::ToolDefinition);

#[async_trait]
impl tool_runtime::Tool for Echo {
    fn definition(&self) -> &tool_runtime::ToolDefinition {
        &self.0
    }

    async fn call(
        &self,
        arguments: tool_runtime::Arguments,
        _: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(arguments.to_text()))
    }
}

/// A program that parses the text in another way gets the same arguments.
#[tokio::test]
async fn tool_receives_only_approved_arguments() {
    let text = json!({ "type": "string" });
    let schema = json!({ "type": "object", "properties": { "to": text }, "required": ["to"] });
    let mut definition = tool_runtime::ToolDefinition::new("echo", "Says it back.", schema);
    definition.permission = Permission::Ask;
    let clerk = Clerk::new(Approval::Once);
    let dispatcher = dispatcher(Tools::new().with(Echo(definition)))
        .policy(Policy::new().approver(clerk.clone()));
    for (arguments, runs) in [
        (r#"{"to": "Ada", "to": "Eve"}"#, false),
        (r#"{"to": "Ada", "t\u006f": "Eve"}"#, false),
        (r#"{"to": "Ada", "more": {"to": 1, "to": 2}}"#, false),
        (r#"{"to": "Ada"} {"to": "Eve"}"#, false),
        (r#"{"to": "Ada", "To": "Eve"}"#, true),
        (r#"{"to": "Ada" /* , "to": "Eve" */}"#, true),
    ] {
        let execution =
            dispatcher.dispatch(vec![ToolCall::new("c", "echo", arguments)]).await.remove(0);
        let requests = std::mem::take(&mut *clerk.requests.lock().unwrap());
        assert_eq!((execution.did_run(), requests.len()), (runs, usize::from(runs)), "{arguments}");
        if runs {
            let ran: serde_json::Value = serde_json::from_str(&execution.result.text).unwrap();
            assert_eq!(requests, [format!("echo {ran}")]);
        }
    }
}

/// A pure tool that is denied.
#[tool(pure, permission = "deny")]
async fn denied_pure() -> &'static str {
    "ran"
}

#[tokio::test]
async fn predicate_can_not_lift_a_denial() {
    let ask = Permissions::default().when(|_, _| Some(Permission::Ask));
    let policy = Policy::new().permissions(ask).approver(Clerk::new(Approval::Once));
    let dispatcher = dispatcher(tools![denied_pure]).policy(policy);
    let call = ToolCall::new("1", "denied_pure", "{}");
    let execution = dispatcher.dispatch(vec![call]).await.remove(0);
    assert_eq!(execution.result.text, "`denied_pure` is not allowed here.");
    assert!(!execution.did_run());
}

/// Describes payments of at least this amount, and panics for others.
struct Describes(u64);

#[async_trait]
impl Previewer for Describes {
    async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
        let amount = request.arguments["amount"].as_u64()?;
        assert!(amount >= self.0, "too little");
        (amount < 100).then(|| format!("{} of {}: \u{202e}k3y-0f-th3-h0us3", amount, self.0))
    }
}

/// Denies every call with its preview as the reason.
struct DeniesWithPreview;

#[async_trait]
impl Approver for DeniesWithPreview {
    async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        Approval::Deny(format!("{:?}", request.preview))
    }
}

#[tokio::test]
async fn first_preview_is_shown_without_secrets() {
    let policy = Policy::new()
        .approver(DeniesWithPreview)
        .previewer(Describes(50))
        .previewer(Describes(5))
        .secrets(["k3y-0f-th3-h0us3"]);
    let dispatcher = dispatcher(tools![pay]).policy(policy);
    let executions = dispatcher.dispatch(payments(&["7", "60", "100", "1"])).await;
    let previews = [
        r#"Some("7 of 5: <U+202E>[redacted]")"#,
        r#"Some("60 of 50: <U+202E>[redacted]")"#,
        "None",
        r#"Some("There is no preview: a previewer panicked: too little")"#,
    ];
    let expected = previews.map(|preview| format!("`pay` was not approved: {preview}"));
    assert_eq!(texts(&executions), expected);
}

#[tokio::test]
async fn predicate_gives_the_reason_that_the_model_reads() {
    let limit = |reason: &'static str| {
        Permissions::default().deny_when(move |request, _| {
            let amount = request.arguments["amount"].as_u64()?;
            (amount > 9).then(|| reason.to_owned())
        })
    };
    let allows = |permissions: Permissions| permissions.when(|_, _| Some(Permission::Allow));
    let ignores = |permissions: Permissions| permissions.when(|_, _| None).deny_when(|_, _| None);
    let denies = |permissions: Permissions| permissions.when(|_, _| Some(Permission::Deny));
    let reason = "at most 9 at a time.";
    let with_reason = "`pay` is not allowed here: at most 9 at a time.";
    let without = "`pay` is not allowed here.";
    for (permissions, expected) in [
        (limit(reason), ["`pay` needs approval, but no approver is configured.", with_reason]),
        (allows(limit(reason)), ["Ada has 9 more", with_reason]),
        // A denial without a reason does not hide the reason of another one.
        (denies(limit(reason)), [without, with_reason]),
        (denies(Permissions::default()), [without, without]),
        (ignores(allows(limit(reason))), ["Ada has 9 more", with_reason]),
        (limit(reason).tool("pay", Permission::Allow), ["Ada has 9 more", with_reason]),
        // The predicates examine no call that is denied already.
        (limit(reason).tool("pay", Permission::Deny), [without, without]),
    ] {
        let policy = Policy::new().permissions(permissions);
        let dispatcher = dispatcher(tools![pay]).policy(policy);
        let executions = dispatcher.dispatch(payments(&["9", "10"])).await;
        assert_eq!(texts(&executions), expected);
    }
    // The reason may repeat an argument.
    let policy =
        Policy::new().permissions(limit("use k3y-0f-th3-h0us3")).secrets(["k3y-0f-th3-h0us3"]);
    let executions = dispatcher(tools![pay]).policy(policy).dispatch(payments(&["10"])).await;
    assert_eq!(texts(&executions), ["`pay` is not allowed here: use [redacted]"]);
}
