//! Attempt hooks: what they see, what they decide, and that they receive each result once.

use tokio::sync::Notify;
use tool_runtime::dispatch::{
    Approval, ApprovalRequest, Approver, Attempt, AttemptAction, AttemptHook, Batch, Dispatch,
};
use tool_runtime::event::BlockReason;
use tool_runtime::{CancellationToken, RunContext, async_trait};

use super::*;

type Log = Arc<Mutex<Vec<String>>>;

/// Records each attempt and its result, and decides by a script: one entry for each attempt.
struct Scripted {
    name: &'static str,
    log: Log,
    actions: Mutex<Vec<AttemptAction>>,
}

fn hook(name: &'static str, log: &Log, actions: impl Into<Vec<AttemptAction>>) -> Scripted {
    let mut actions = actions.into();
    actions.reverse();
    Scripted { name, log: Arc::clone(log), actions: Mutex::new(actions) }
}

impl Scripted {
    fn log(&self, entry: String) {
        self.log.lock().unwrap().push(format!("{} {entry}", self.name));
    }
}

#[async_trait]
impl AttemptHook for Scripted {
    async fn before_attempt(&self, attempt: &Attempt<'_>) -> AttemptAction {
        let json = attempt.arguments().json().to_text().into_owned();
        self.log(format!("before {} {json}", attempt.number()));
        self.actions.lock().unwrap().pop().unwrap_or(AttemptAction::Run)
    }

    async fn after_attempt(&self, attempt: &Attempt<'_>, result: Result<&ToolOutput, &ToolError>) {
        let result = match result {
            Ok(output) => output.as_text().to_string(),
            Err(error) => error.kind().code().to_owned(),
        };
        self.log(format!("after {} {result}", attempt.number()));
    }
}

#[derive(Clone, Default)]
struct Calls(Arc<AtomicU32>);

/// Fails the first two times.
#[tool(idempotent, max_retries = 5)]
async fn flaky(n: u64, ctx: &ToolContext) -> Result<u64, ToolError> {
    match ctx.get::<Calls>().unwrap().0.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => Err(ToolError::transient("Busy.")),
        _ => Ok(n),
    }
}

/// Returns its argument.
#[tool(effect = "none", pure)]
async fn same(n: u64) -> u64 {
    n
}

/// Never returns.
#[tool(timeout = "1s")]
async fn hang(ctx: &ToolContext) {
    ctx.get::<Arc<Notify>>().unwrap().notify_one();
    std::future::pending::<()>().await;
}

/// Panics.
#[tool]
async fn crash() {
    panic!("on purpose");
}

/// Needs an approval.
#[tool(permission = "ask")]
async fn guarded() {}

fn hooked(policy: Policy) -> (Dispatcher, Calls) {
    let calls = Calls::default();
    let dispatcher = dispatcher(tools![flaky, same, hang, crash, guarded])
        .policy(policy)
        .extension(calls.clone())
        .extension(Arc::new(Notify::new()));
    (dispatcher, calls)
}

async fn call(dispatcher: &Dispatcher, name: &str, arguments: &str) -> ToolExecution {
    dispatcher.dispatch(vec![ToolCall::new("1", name, arguments)]).await.remove(0)
}

fn entries(log: &Log) -> Vec<String> {
    log.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn hooks_enclose_each_attempt_in_order() {
    let log = Log::default();
    let policy = Policy::new().attempt_hook(hook("a", &log, [])).attempt_hook(hook("b", &log, []));
    let (dispatcher, _) = hooked(policy);
    // The hooks see the repaired text.
    let execution = call(&dispatcher, "flaky", "{n: '7'}").await;
    assert_eq!((execution.result.text.as_str(), execution.attempts), ("7", 3));
    let of_attempt = |number: u32, result: &str| {
        [
            format!("a before {number} {{\"n\":7}}"),
            format!("b before {number} {{\"n\":7}}"),
            format!("b after {number} {result}"),
            format!("a after {number} {result}"),
        ]
    };
    let all = [(1, "TOOL_TRANSIENT_FAILURE"), (2, "TOOL_TRANSIENT_FAILURE"), (3, "7")];
    let expected: Vec<_> = all.iter().flat_map(|(n, result)| of_attempt(*n, result)).collect();
    assert_eq!(entries(&log), expected);
}

#[tokio::test]
async fn cached_invalid_and_blocked_calls_have_no_attempt() {
    struct Denies;
    #[async_trait]
    impl Approver for Denies {
        async fn approve(&self, _: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
            Approval::Deny("no".into())
        }
    }
    let log = Log::default();
    let policy = Policy::new().attempt_hook(hook("a", &log, [])).approver(Denies);
    let (dispatcher, _) = hooked(policy);
    for (name, arguments) in [("guarded", "{}"), ("same", "{}"), ("unknown", "{}")] {
        assert!(!call(&dispatcher, name, arguments).await.is_success());
    }
    assert!(entries(&log).is_empty());
    // A number keeps all its digits.
    let digits = u64::MAX.to_string();
    let calls = ["1", "2"].map(|id| ToolCall::new(id, "same", format!("{{\"n\":{digits}}}")));
    let executions = dispatcher.dispatch(calls.into()).await;
    assert!(executions.iter().all(|it| it.result.text == digits));
    let expected = [format!("a before 1 {{\"n\":{digits}}}"), format!("a after 1 {digits}")];
    assert_eq!(entries(&log), expected);
}

#[tokio::test(start_paused = true)]
async fn refused_attempt_invokes_no_tool_and_is_not_tried_again() {
    let log = Log::default();
    let refuse = || AttemptAction::Refuse("the journal is full".into());
    let policy = Policy::new()
        .attempt_hook(hook("a", &log, []))
        .attempt_hook(hook("b", &log, [refuse()]))
        .attempt_hook(hook("c", &log, []));
    let (dispatcher, calls) = hooked(policy);
    let execution = call(&dispatcher, "flaky", r#"{"n":1}"#).await;
    assert_eq!(execution.result.text, "The call was refused: the journal is full");
    assert_eq!(execution.result.error.as_deref(), Some("TOOL_DENIED"));
    assert_eq!((execution.blocked_by, execution.attempts), (Some(BlockReason::AttemptHook), 0));
    assert_eq!(calls.0.load(Ordering::SeqCst), 0);
    // The hook that let it run receives the refusal.
    let expected = [r#"a before 1 {"n":1}"#, r#"b before 1 {"n":1}"#, "a after 1 TOOL_DENIED"];
    assert_eq!(entries(&log), expected);

    // The second attempt is refused: the call has run once.
    let log = Log::default();
    let policy = Policy::new().attempt_hook(hook("a", &log, [AttemptAction::Run, refuse()]));
    let (dispatcher, calls) = hooked(policy);
    let execution = call(&dispatcher, "flaky", r#"{"n":1}"#).await;
    assert_eq!(execution.result.text, "The call was not tried again: the journal is full");
    assert_eq!((execution.blocked_by, execution.attempts), (None, 1));
    assert_eq!(calls.0.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn hook_makes_the_attempt_elsewhere() {
    let log = Log::default();
    let actions = [
        AttemptAction::Return(Err(ToolError::transient("The worker is busy."))),
        AttemptAction::Return(Ok(ToolOutput::text("from a worker"))),
    ];
    let policy =
        Policy::new().attempt_hook(hook("a", &log, [])).attempt_hook(hook("b", &log, actions));
    let (dispatcher, calls) = hooked(policy);
    let execution = call(&dispatcher, "flaky", r#"{"n":1}"#).await;
    assert_eq!((execution.result.text.as_str(), execution.attempts), ("from a worker", 2));
    assert_eq!(calls.0.load(Ordering::SeqCst), 0);
    let after: Vec<_> = entries(&log).into_iter().filter(|it| it.contains("after")).collect();
    assert_eq!(after, ["a after 1 TOOL_TRANSIENT_FAILURE", "a after 2 from a worker"]);
}

/// Panics before or after an attempt.
struct Panics {
    before: bool,
}

#[async_trait]
impl AttemptHook for Panics {
    async fn before_attempt(&self, _: &Attempt<'_>) -> AttemptAction {
        assert!(!self.before, "on purpose");
        AttemptAction::Run
    }

    async fn after_attempt(&self, _: &Attempt<'_>, _: Result<&ToolOutput, &ToolError>) {
        panic!("on purpose");
    }
}

#[tokio::test]
async fn panic_before_an_attempt_refuses_it_and_one_after_it_is_a_cause() {
    support::panics::silence_panics_on_purpose();
    for before in [true, false] {
        let log = Log::default();
        let policy =
            Policy::new().attempt_hook(hook("a", &log, [])).attempt_hook(Panics { before });
        let (dispatcher, _) = hooked(policy);
        let execution = call(&dispatcher, "same", r#"{"n":1}"#).await;
        assert_eq!(execution.is_success(), !before);
        assert_eq!(execution.blocked_by, before.then_some(BlockReason::AttemptHook));
        assert_eq!(entries(&log)[1], if before { "a after 1 TOOL_DENIED" } else { "a after 1 1" });
        let cause = if before {
            "an attempt hook panicked: on purpose"
        } else {
            "an attempt hook panicked: on purpose after the attempt"
        };
        assert_eq!(execution.cause.as_deref(), Some(cause));
    }
}

/// Never ends after an attempt.
struct HangsAfter;

#[async_trait]
impl AttemptHook for HangsAfter {
    async fn before_attempt(&self, _: &Attempt<'_>) -> AttemptAction {
        AttemptAction::Run
    }

    async fn after_attempt(&self, _: &Attempt<'_>, _: Result<&ToolOutput, &ToolError>) {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn hook_that_is_cut_off_after_an_attempt_is_a_cause() {
    let (dispatcher, _) = hooked(Policy::new().attempt_hook(HangsAfter));
    // The deadline passes while the hook follows an attempt that has ended, and one that has not.
    for (name, arguments) in [("same", r#"{"n":1}"#), ("hang", "{}")] {
        let mut batch = Batch::from(vec![ToolCall::new("1", name, arguments)]);
        batch.timeout = Some(Duration::from_millis(50));
        let executions = Dispatch::dispatch(&dispatcher, batch).await;
        assert!(executions[0].failed_with("TOOL_TIMEOUT"), "{name}");
        let cause = "an attempt hook did not end after the attempt";
        assert_eq!(executions[0].cause.as_deref(), Some(cause), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn attempt_that_crashes_times_out_or_is_cancelled_has_its_result() {
    support::panics::silence_panics_on_purpose();
    let log = Log::default();
    let (dispatcher, _) = hooked(Policy::new().attempt_hook(hook("a", &log, [])));
    assert!(call(&dispatcher, "crash", "{}").await.failed_with("TOOL_PANICKED"));
    assert!(call(&dispatcher, "hang", "{}").await.failed_with("TOOL_TIMEOUT"));

    let stop = CancellationToken::new();
    let mut batch = Batch::from(vec![ToolCall::new("1", "hang", "{}")]);
    batch.cancellation = Some(stop.clone());
    let started = Arc::new(Notify::new());
    let dispatcher = dispatcher.extension(Arc::clone(&started));
    let cancel = async {
        started.notified().await;
        stop.cancel();
    };
    let (executions, ()) = tokio::join!(Dispatch::dispatch(&dispatcher, batch), cancel);
    assert!(executions[0].failed_with("TOOL_CANCELLED"));
    let after: Vec<_> = entries(&log).into_iter().filter(|it| it.contains("after")).collect();
    assert_eq!(
        after,
        ["a after 1 TOOL_PANICKED", "a after 1 TOOL_TIMEOUT", "a after 1 TOOL_CANCELLED"]
    );
}

/// A write-ahead journal: one line before each attempt, one after it.
#[derive(Clone, Default)]
struct Journal(Log);

impl Journal {
    /// Returns the keys of the attempts that have started and not ended.
    fn in_doubt(&self) -> Vec<String> {
        let lines = entries(&self.0);
        let key = |line: &String, state: &str| line.strip_suffix(state).map(ToOwned::to_owned);
        let ended: Vec<_> = lines.iter().filter_map(|line| key(line, " ended")).collect();
        let started = lines.iter().filter_map(|line| key(line, " started"));
        started.filter(|key| !ended.contains(key)).collect()
    }
}

#[async_trait]
impl AttemptHook for Journal {
    async fn before_attempt(&self, attempt: &Attempt<'_>) -> AttemptAction {
        let key = attempt.idempotency_key();
        if self.in_doubt().iter().any(|open| open == key) {
            return AttemptAction::Refuse("an earlier attempt may have had effects".into());
        }
        self.0.lock().unwrap().push(format!("{key} started"));
        AttemptAction::Run
    }

    async fn after_attempt(&self, attempt: &Attempt<'_>, _: Result<&ToolOutput, &ToolError>) {
        self.0.lock().unwrap().push(format!("{} ended", attempt.idempotency_key()));
    }
}

#[tokio::test]
async fn crash_leaves_a_started_record_in_a_journal() {
    let journal = Journal::default();
    let batch = |name: &str, arguments: &str| {
        let mut batch = Batch::from(vec![ToolCall::new("1", name, arguments)]);
        batch.origin.run = "00000000000000000000000000000007".parse().unwrap();
        batch
    };
    let (dispatcher, _) = hooked(Policy::new().attempt_hook(journal.clone()));
    let started = Arc::new(Notify::new());
    let dispatcher = dispatcher.extension(Arc::clone(&started));
    tokio::select! {
        _ = Dispatch::dispatch(&dispatcher, batch("hang", "{}")) => panic!("never ends"),
        () = started.notified() => {} // the process ends here
    }
    let in_doubt = journal.in_doubt();
    assert_eq!(in_doubt.len(), 1);
    // The same call of the same run is not made again.
    let executions = Dispatch::dispatch(&dispatcher, batch("hang", "{}")).await;
    assert_eq!(executions[0].blocked_by, Some(BlockReason::AttemptHook));
    assert_eq!(journal.in_doubt(), in_doubt);
}
