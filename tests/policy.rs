//! What stands between a call and its tool, and what goes along with its result.

#[path = "support/conversation.rs"]
#[allow(dead_code, reason = "shared with tests that use the rest")]
mod conversation;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conversation::{assert_complete, results};
use serde_json::json;
use tokio::time::Instant;
use tool_runtime::dispatch::{
    Approval, ApprovalRequest, Approver, Before, Concurrency, Interceptor, Permissions,
};
use tool_runtime::{
    Agent, ChatReply, Dispatcher, EffectRecord, Extensions, Image, Permission, Registry,
    ScriptedModel, ScriptedTurn, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolExecution,
    ToolOutput, Tools, async_trait, tool, tools,
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
    dispatcher.offered(&tools).iter().map(|tool| tool.name.clone()).collect()
}

fn code(done: &ToolExecution) -> &str {
    done.result.error.as_deref().unwrap_or("-")
}

/// Runs.
#[tool]
async fn allowed() {}

/// Doesn't run.
#[tool(permission = "deny")]
async fn denied() {
    unreachable!("it is denied")
}

/// Runs where somebody says so.
#[tool(permission = "ask")]
async fn asked() {
    unreachable!("there is nobody to ask")
}

/// Needs two things.
#[tool(requires("filesystem", "network"))]
async fn needy() {}

#[tokio::test]
async fn what_is_not_allowed_is_neither_offered_nor_run() {
    let dispatcher = dispatcher(tools![allowed, denied, asked]);
    assert_eq!(offered(&dispatcher), ["allowed"]);
    let done = run(&dispatcher, &["allowed", "denied", "asked"]).await;
    for (done, (code_, attempts, text)) in done.iter().zip([
        ("-", 1, "ok"),
        ("TOOL_DENIED", 0, "`denied` is not allowed here."),
        ("TOOL_DENIED", 0, "`asked` needs approval, and there is nobody to ask."),
    ]) {
        assert_eq!((code(done), done.attempts, done.result.text.as_str()), (code_, attempts, text));
    }
}

#[tokio::test]
async fn what_a_tool_needs_has_to_be_granted() {
    for (granted, missing) in [
        (&[][..], Some("filesystem")),
        (&["filesystem"], Some("network")),
        (&["network", "other"], Some("filesystem")),
        (&["network", "filesystem"], None),
    ] {
        let dispatcher = dispatcher(tools![needy]).grant(granted.iter().copied());
        assert_eq!(offered(&dispatcher).is_empty(), missing.is_some());
        let done = run(&dispatcher, &["needy"]).await.remove(0);
        let text = match missing {
            Some(missing) => format!("`needy` needs `{missing}`, which is not granted here."),
            None => "ok".into(),
        };
        assert_eq!((done.attempts, done.result.text), (u32::from(missing.is_none()), text));
    }
    // What is granted twice adds up.
    let dispatcher = dispatcher(tools![needy]).grant(["network"]).grant(["filesystem"]);
    assert_eq!(code(&run(&dispatcher, &["needy"]).await[0]), "-");
}

#[tokio::test]
async fn an_agent_offers_what_it_grants() {
    for (granted, tools, text) in [
        (&[][..], &["allowed"][..], "not granted"),
        (&["filesystem", "network"], &["allowed", "needy"], "ok"),
    ] {
        let model = ScriptedModel::new([
            ScriptedTurn::new(ChatReply::default().call("needy", "{}"))
                .expect_tools(tools.iter().copied()),
            ScriptedTurn::new(ChatReply::text("Done.")).expect_last(text),
        ]);
        let agent =
            Agent::new(model, tools![allowed, needy, denied]).grant(granted.iter().copied());
        agent.run("Go").await.unwrap();
    }
}

/// How often a flaky tool has run, and how it fails until it has run often enough.
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
#[tool(idempotent, retries = 3)]
async fn flaky(ctx: &ToolContext) -> Result<u32, ToolError> {
    ctx.get::<Flaky>().ok_or("no state")?.run()
}

/// Is not tried again.
#[tool(idempotent)]
async fn once(ctx: &ToolContext) -> Result<u32, ToolError> {
    ctx.get::<Flaky>().ok_or("no state")?.run()
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again() {
    use ToolErrorKind::{Failed, Transient, Validation};
    for (tool, failure, works_at, attempts, works, millis) in [
        ("flaky", Transient, 1, 1, true, 0),
        ("flaky", Transient, 2, 2, true, 100),
        ("flaky", Transient, 4, 4, true, 100 + 200 + 400),
        ("flaky", Transient, 5, 4, false, 100 + 200 + 400),
        ("flaky", Failed, 2, 1, false, 0),
        ("flaky", Validation, 2, 1, false, 0),
        ("once", Transient, 2, 1, false, 0),
    ] {
        let state = Flaky { ran: AtomicU32::new(0), works_at, failure };
        let dispatcher =
            dispatcher(tools![flaky, once]).extensions(Extensions::default().with(state));
        let done = run(&dispatcher, &[tool]).await.remove(0);
        assert_eq!(done.attempts, attempts);
        assert_eq!(done.result.is_success(), works);
        assert_eq!(done.took, Duration::from_millis(millis));
        assert_eq!(done.result.text, if works { works_at.to_string() } else { "not yet".into() });
    }
}

/// Hangs, each time.
#[tool(idempotent, retries = 2, timeout = "1s")]
async fn hang() {
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_its_own_time() {
    let done = run(&dispatcher(tools![hang]), &["hang"]).await.remove(0);
    assert_eq!((code(&done), done.attempts), ("TOOL_TIMEOUT", 3));
    assert_eq!(done.took, Duration::from_millis(1_000 + 100 + 1_000 + 200 + 1_000));
}

/// When tools began and ended.
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
async fn beside(ctx: &ToolContext) {
    Log::take_a_second(ctx, "(", ")").await;
}

/// Runs alone.
#[tool(sequential)]
async fn alone(ctx: &ToolContext) {
    Log::take_a_second(ctx, "[", "]").await;
}

#[tokio::test(start_paused = true)]
async fn a_sequential_call_waits_and_is_waited_for() {
    for (names, order, seconds) in [
        (&["beside", "beside", "beside"][..], "((()))", 1),
        (&["alone", "alone"], "[][]", 2),
        (&["beside", "beside", "alone", "beside", "beside"], "(())[](())", 3),
        (&["alone", "beside", "missing", "beside"], "[](())", 2),
    ] {
        let log = Log::default();
        let dispatcher =
            dispatcher(tools![beside, alone]).extensions(Extensions::default().with(log.clone()));
        let started = Instant::now();
        let done = run(&dispatcher, names).await;
        assert_eq!(log.0.lock().unwrap().concat(), order);
        assert_eq!(started.elapsed(), Duration::from_secs(seconds));
        let answered: Vec<_> = done.iter().map(|done| done.call.name.as_str()).collect();
        assert_eq!(answered, names);
    }
}

/// Draws a chart.
#[tool(effect = "write")]
async fn chart(ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let folder: &String = ctx.get().ok_or("there is no folder")?;
    Ok(ToolOutput::text("drawn")
        .with_image(Image { media_type: "image/png".into(), base64: "AAAA".into() })
        .with_effect(EffectRecord::FileWritten { path: format!("{folder}/chart.png") })
        .with_effect(EffectRecord::Other { name: "cost".into(), data: json!(3) }))
}

#[tokio::test]
async fn an_agent_gives_values_and_passes_on_images_and_effects() {
    let reply = ChatReply::default().call("chart", "{}").call("chart", "{}");
    let model = ScriptedModel::new([reply, ChatReply::text("Done.")]);
    let told = Arc::<Mutex<Vec<ToolExecution>>>::default();
    let kept = Arc::clone(&told);
    let answer = Agent::new(model, tools![chart])
        .extension("first".to_owned())
        .extension(7_u32)
        // The last of a type counts.
        .extension("out".to_owned())
        .on_tool_result(move |done| kept.lock().unwrap().push(done.clone()))
        .run("Go")
        .await
        .unwrap();

    assert_complete(&answer.transcript);
    for result in results(&answer.transcript[2]) {
        assert_eq!(result.images[0].media_type, "image/png");
    }
    let effects = [
        EffectRecord::FileWritten { path: "out/chart.png".into() },
        EffectRecord::Other { name: "cost".into(), data: json!(3) },
    ];
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2);
    for done in told.iter() {
        assert_eq!(done.effects, effects);
        let read: ToolExecution =
            serde_json::from_value(serde_json::to_value(done).unwrap()).unwrap();
        assert_eq!(read, *done);
    }
}

#[tokio::test]
async fn without_its_value_a_tool_says_so() {
    let done = run(&dispatcher(tools![chart]), &["chart"]).await.remove(0);
    assert_eq!(done.result.text, "there is no folder");
    assert!(done.effects.is_empty() && done.result.images.is_empty());
}

/// Pays somebody.
#[tool(permission = "ask", effect = "write")]
async fn pay(to: String, amount: u32) -> String {
    format!("{to} has {amount} more")
}

/// Approves what it is told to, and remembers what it was asked.
#[derive(Clone)]
struct Clerk {
    says: Approval,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Clerk {
    fn new(says: Approval) -> Self {
        Self { says, asked: Arc::default() }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Approver for Clerk {
    async fn approve(&self, request: &ApprovalRequest) -> Approval {
        let name = &request.tool.name;
        self.asked.lock().unwrap().push(format!("{name} {}", request.arguments));
        assert_ne!(request.arguments["to"], "nobody", "cannot decide");
        self.says.clone()
    }
}

fn payments(amounts: &[&str]) -> Vec<ToolCall> {
    let call = |amount: &&str| {
        ToolCall::new(*amount, "pay", format!(r#"{{"to": "Ada", "amount": {amount}}}"#))
    };
    amounts.iter().map(call).collect()
}

fn texts(done: &[ToolExecution]) -> Vec<&str> {
    done.iter().map(|done| done.result.text.as_str()).collect()
}

#[tokio::test]
async fn what_is_approved_is_what_runs() {
    let clerk = Clerk::new(Approval::Once);
    let dispatcher = dispatcher(tools![pay]).approver(clerk.clone());
    assert_eq!(offered(&dispatcher), ["pay"]);
    // Repaired and brought into what the schema wants before anybody is asked.
    let odd = ToolCall::new("odd", "pay", r#"{to: 'Ada', "Amount": "7",}"#);
    let done = dispatcher.dispatch(vec![odd]).await;
    assert_eq!(texts(&done), ["Ada has 7 more"]);
    assert!(!done[0].fixes.is_empty());
    assert_eq!(clerk.asked(), [r#"pay {"amount":7,"to":"Ada"}"#]);

    // What is wrong never reaches the one who decides.
    let done = dispatcher.dispatch(payments(&["-5", "\"many\"", "5 or 6"])).await;
    let wrong = ToolErrorKind::Validation.code();
    assert!(done.iter().all(|done| code(done) == wrong), "{:?}", texts(&done));
    assert_eq!(clerk.asked().len(), 1);

    dispatcher.dispatch(payments(&["1", "2"])).await;
    assert_eq!(clerk.asked().len(), 3, "once is once");
}

#[tokio::test]
async fn an_approval_for_the_run_asks_no_more() {
    let clerk = Clerk::new(Approval::ForRun);
    let dispatcher = dispatcher(tools![pay]).approver(clerk.clone());
    dispatcher.dispatch(payments(&["1"])).await;
    let done = dispatcher.dispatch(payments(&["2", "3"])).await;
    assert_eq!(texts(&done), ["Ada has 2 more", "Ada has 3 more"]);
    assert_eq!(clerk.asked().len(), 1);
}

#[tokio::test]
async fn a_refusal_and_a_panic_both_mean_no() {
    let clerk = Clerk::new(Approval::Deny("not today".into()));
    let dispatcher = dispatcher(tools![pay]).approver(clerk);
    let nobody = ToolCall::new("n", "pay", r#"{"to": "nobody", "amount": 1}"#);
    let done = dispatcher.dispatch([payments(&["1"]), vec![nobody]].concat()).await;
    assert_eq!(
        texts(&done),
        [
            "`pay` was not approved: not today",
            "`pay` was not approved: whoever was asked could not answer",
        ]
    );
    assert!(done.iter().all(|done| code(done) == "TOOL_DENIED" && done.attempts == 0));
}

#[tokio::test]
async fn permissions_of_the_program_go_before_the_tools_own() {
    let registry = Registry::try_from(tools![allowed, denied, pay]).unwrap();
    registry.register_all_from("p", tools![needy]).unwrap();
    let permissions = Permissions::default()
        .tool("allowed", Permission::Deny)
        .provider("p", Permission::Deny)
        .when(|request| match request.arguments["amount"].as_u64()? {
            0..=9 => Some(Permission::Allow),
            10..=99 => None,
            _ => Some(Permission::Deny),
        });
    let dispatcher =
        Dispatcher::new(registry).permissions(permissions).grant(["filesystem", "network"]);
    assert_eq!(offered(&dispatcher), ["pay"]);
    let done = run(&dispatcher, &["allowed", "denied", "needy"]).await;
    assert!(done.iter().all(|done| code(done) == "TOOL_DENIED"));
    let done = dispatcher.dispatch(payments(&["5", "50", "500"])).await;
    assert_eq!(
        texts(&done),
        [
            "Ada has 5 more",
            "`pay` needs approval, and there is nobody to ask.",
            "`pay` is not allowed here.",
        ]
    );
}

/// Says a lot.
#[tool]
async fn talk(bytes: usize) -> Result<String, ToolError> {
    let said = format!("begin {} end", "x".repeat(bytes));
    if bytes == 50 { Err(said.into()) } else { Ok(said) }
}

#[tokio::test]
async fn a_model_is_told_the_head_and_the_tail_of_a_long_output() {
    let dispatcher = dispatcher(tools![talk]).output_limit(20);
    let calls = ["1", "50", "90"].map(|n| ToolCall::new(n, "talk", format!(r#"{{"bytes": {n}}}"#)));
    let done = dispatcher.dispatch(calls.into()).await;
    assert_eq!((texts(&done)[0], &done[0].full_text), ("begin x end", &None));
    for (done, cut) in done[1..].iter().zip([40, 80]) {
        let all = cut + 20;
        let told = format!("begin xxxx\n[… {cut} of {all} bytes left out …]\nxxxxxx end");
        assert_eq!(done.result.text, told);
        assert_eq!(done.full_text.as_ref().unwrap().len(), all);
    }
}

/// Notes each call that it sees, and does with it what its name says.
struct Watch(&'static str, Arc<Mutex<Vec<String>>>);

impl Watch {
    fn note(&self, what: &str, name: &str) {
        self.1.lock().unwrap().push(format!("{} {what} {name}", self.0));
    }
}

#[async_trait]
impl Interceptor for Watch {
    async fn before(&self, call: &mut ToolCall) -> Before {
        self.note("before", &call.name);
        call.id = "changed".into();
        match (self.0, call.name.as_str()) {
            ("outer", "renamed") => call.name = "allowed".into(),
            ("outer", "blocked") => return Before::Block("so it is".into()),
            ("inner", "answered") => return Before::Answer(ToolOutput::text("42")),
            ("inner", "crash") => panic!("in before"),
            _ => {}
        }
        Before::Run
    }

    async fn after(&self, execution: &mut ToolExecution) {
        self.note("after", &execution.call.name);
        execution.result.call = "changed".into();
        assert_ne!((self.0, execution.call.name.as_str()), ("outer", "allowed"), "in after");
    }
}

#[tokio::test]
async fn interceptors_change_answer_and_block() {
    let notes = Arc::default();
    let dispatcher = dispatcher(tools![allowed])
        .interceptor(Watch("outer", Arc::clone(&notes)))
        .interceptor(Watch("inner", Arc::clone(&notes)));
    for (name, text, code_, seen) in [
        ("allowed", "ok", "-", "outer inner inner outer"),
        ("renamed", "ok", "-", "outer inner inner outer"),
        ("answered", "42", "-", "outer inner inner outer"),
        ("blocked", "The call was blocked: so it is", "TOOL_DENIED", "outer inner outer"),
        (
            "crash",
            "The call was blocked: what looks after calls has crashed",
            "TOOL_DENIED",
            "outer inner inner outer",
        ),
    ] {
        let done = run(&dispatcher, &[name]).await.remove(0);
        assert_eq!((done.result.text.as_str(), code(&done)), (text, code_), "{name}");
        // The ids are the model's.
        assert_eq!((done.call.id.as_str(), done.result.call.as_str()), ("call_0", "call_0"));
        assert_eq!(done.call.name, name);
        let ran_as = done.changed.map(|call| call.name.clone());
        assert_eq!(ran_as.as_deref(), (name == "renamed").then_some("allowed"));
        let notes: Vec<_> = notes.lock().unwrap().drain(..).collect();
        let who: Vec<_> = notes.iter().filter_map(|note| note.split(' ').next()).collect();
        assert_eq!(who.join(" "), seen, "{name}: {notes:?}");
    }
}

static RUNNING: AtomicU32 = AtomicU32::new(0);
static MOST: AtomicU32 = AtomicU32::new(0);

async fn take_a_second() {
    let now = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
    MOST.fetch_max(now, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(1)).await;
    RUNNING.fetch_sub(1, Ordering::SeqCst);
}

/// Takes a second.
#[tool(timeout = "1500ms")]
async fn slow() {
    take_a_second().await;
}

/// Takes a second as well.
#[tool(name = "other")]
async fn slow_too() {
    take_a_second().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_at_once_than_may() {
    for (limits, seconds, most) in [
        (Concurrency::default(), 1, 12),
        (Concurrency::default().all(4), 3, 4),
        (Concurrency::default().all(0), 12, 1),
        (Concurrency::default().tool("slow", 2), 3, 8),
        (Concurrency::default().provider("p", 3), 2, 9),
        (Concurrency::default().provider("p", 3).tool("slow", 1), 6, 4),
        (Concurrency::default().tool("nobody", 1).all(100), 1, 12),
    ] {
        let registry = Registry::try_from(tools![slow]).unwrap();
        registry.register_all_from("p", tools![slow_too]).unwrap();
        let dispatcher = Dispatcher::new(registry).concurrency(limits.clone());
        MOST.store(0, Ordering::SeqCst);
        let started = Instant::now();
        let done = run(&dispatcher, &["slow", "other"].repeat(6)).await;
        // The timeout of a tool is not spent on waiting for a place.
        assert!(done.iter().all(|done| code(done) == "-"), "{limits:?}: {:?}", texts(&done));
        let took = (started.elapsed().as_secs(), MOST.load(Ordering::SeqCst));
        assert_eq!(took, (seconds, most), "{limits:?}");
    }
}
