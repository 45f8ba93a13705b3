//! Calls that a tool suspends with a question, in a dispatcher without an agent.

use serde_json::Value;
use tool_runtime::dispatch::{
    Approval, ApprovalRequest, Approver, Batch, Dispatch, Permissions, SuspendedCall,
};
use tool_runtime::event::{BlockReason, Recorder};
use tool_runtime::{Fingerprint, Permission, RunContext, Snapshot, async_trait};

use super::*;

#[derive(Clone, Default)]
struct Bookings(Arc<Mutex<Vec<String>>>);

/// Books a seat. Holds it before it asks which one.
#[tool(max_retries = 3, idempotent)]
async fn book(
    train: String,
    #[arg(secret)] card: String,
    ctx: &ToolContext,
) -> Result<String, ToolError> {
    let bookings = &ctx.get::<Bookings>().unwrap().0;
    let Some(resumed) = ctx.resumed() else {
        bookings.lock().unwrap().push(format!("hold {train}"));
        let question = format!("Window or aisle, paid by {card}?");
        return Err(ToolError::suspended(question, json!({ "hold": 7, "card": card })));
    };
    assert_eq!(resumed.state["hold"], 7);
    let seat: String = resumed.answer_as()?;
    bookings.lock().unwrap().push(format!("book {seat}"));
    Ok(format!("{seat} on {train}"))
}

/// Returns a round number, once a person has named it.
#[tool(effect = "none", pure)]
async fn number(ctx: &ToolContext) -> Result<u32, ToolError> {
    match ctx.resumed() {
        None => Err(ToolError::suspended("Which number?", ())),
        Some(resumed) => resumed.answer_as(),
    }
}

struct Setup {
    dispatcher: Dispatcher,
    snapshot: Snapshot,
    bookings: Bookings,
    recorder: Recorder,
}

fn setup(tools: Tools, policy: Policy) -> Setup {
    let registry = Registry::try_from(tools).unwrap();
    let (snapshot, bookings) = (registry.snapshot(), Bookings::default());
    let recorder = Recorder::new(100);
    let dispatcher = Dispatcher::new(registry)
        .policy(policy)
        .extension(bookings.clone())
        .observer(recorder.clone());
    Setup { dispatcher, snapshot, bookings, recorder }
}

impl Setup {
    async fn call(&self, call: ToolCall, suspended: Vec<SuspendedCall>) -> ToolExecution {
        let mut batch = Batch::from(vec![call]);
        batch.suspended = suspended;
        Dispatch::dispatch(&self.dispatcher, batch).await.remove(0)
    }

    /// Returns the suspended call after a round trip through JSON, as another process has it.
    fn suspended(&self, execution: &ToolExecution) -> SuspendedCall {
        let definition = self.snapshot.definition(&execution.call.name).unwrap();
        let suspended = SuspendedCall::of(execution, definition).unwrap();
        let json = serde_json::to_string(&suspended).unwrap();
        assert_eq!(serde_json::from_str::<SuspendedCall>(&json).unwrap(), suspended);
        suspended
    }

    fn bookings(&self) -> Vec<String> {
        self.bookings.0.lock().unwrap().clone()
    }
}

fn book_call() -> ToolCall {
    ToolCall::new("1", "book", json!({ "train": "ICE 71", "card": "4111-1111" }))
}

#[tokio::test]
async fn suspended_call_resumes_with_its_state_and_the_answer() {
    let setup = setup(tools![book], Policy::new());
    let execution = setup.call(book_call(), Vec::new()).await;
    assert!(execution.is_pending() && execution.did_run() && !execution.was_retried());
    assert_eq!(execution.result.error.as_deref(), Some("TOOL_AWAITING_APPROVAL"));
    assert_eq!(execution.question(), Some("Window or aisle, paid by [redacted]?"));
    assert_eq!(execution.result.text, "Window or aisle, paid by [redacted]?");

    let suspended = setup.suspended(&execution).with_answer("aisle", "Ada");
    let execution = setup.call(book_call(), vec![suspended]).await;
    assert_eq!(execution.result.text, "aisle on ICE 71");
    assert_eq!(execution.answered_by(), Some("Ada"));
    assert_eq!((execution.question(), execution.suspended_state()), (None, None));
    assert_eq!(setup.bookings(), ["hold ICE 71", "book aisle"]);
    for event in setup.recorder.events() {
        let event = serde_json::to_string(&event).unwrap();
        assert!(!event.contains("4111") && !event.contains("suspended"), "{event}");
    }
}

#[tokio::test]
async fn call_without_an_answer_stays_pending_and_its_tool_is_not_called() {
    let setup = setup(tools![book], Policy::new());
    let first = setup.call(book_call(), Vec::new()).await;
    let suspended = setup.suspended(&first);
    let second = setup.call(book_call(), vec![suspended.clone()]).await;
    assert_eq!((second.is_pending(), second.did_run()), (true, false));
    assert_eq!(second.blocked_by, Some(BlockReason::Pending));
    assert_eq!((second.question(), &second.result), (first.question(), &first.result));
    // The state is the same, so that the call can still be answered.
    let resaved = setup.suspended(&second);
    assert_eq!((&resaved.state, &resaved.tool), (&suspended.state, &suspended.tool));
    assert_eq!(setup.bookings(), ["hold ICE 71"]);
    // `null` is an answer.
    let execution = setup.call(book_call(), vec![resaved.with_answer(Value::Null, "Ada")]).await;
    assert_eq!(execution.result.error.as_deref(), Some("TOOL_EXECUTION_FAILED"));
    assert!(execution.cause.unwrap().contains("String"));
}

#[tokio::test]
async fn answer_of_a_pure_tool_is_not_memoized() {
    let setup = setup(tools![number], Policy::new());
    for answer in [1, 2] {
        let call = ToolCall::new("1", "number", "{}");
        let execution = setup.call(call.clone(), Vec::new()).await;
        assert!(execution.is_pending());
        let suspended = setup.suspended(&execution).with_answer(answer, "Ada");
        let execution = setup.call(call, vec![suspended]).await;
        assert_eq!((execution.result.text, execution.cached), (answer.to_string(), false));
    }
}

#[tokio::test]
async fn state_is_not_passed_to_a_tool_of_another_provider() {
    let setup = setup(tools![book], Policy::new());
    let execution = setup.call(book_call(), Vec::new()).await;
    let mut suspended = setup.suspended(&execution).with_answer("aisle", "Ada");
    suspended.tool = "rail__book".into();
    let execution = setup.call(book_call(), vec![suspended]).await;
    assert_eq!(execution.result.error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert!(execution.result.text.contains("another tool"), "{}", execution.result.text);
    assert_eq!(setup.bookings(), ["hold ICE 71"]);
}

/// Counts the requests, approves the first, and gives this answer to the others.
#[derive(Clone)]
struct Counting(Arc<AtomicU32>, Approval);

#[async_trait]
impl Approver for Counting {
    async fn approve(&self, _: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => Approval::Once,
            _ => self.1.clone(),
        }
    }
}

/// Returns a suspended and answered call that an approver has approved, and the number of requests.
async fn approved(later: Approval) -> (Setup, SuspendedCall, Arc<AtomicU32>) {
    let requests = Arc::default();
    let permissions = Permissions::default().tool("book", Permission::Ask);
    let approver = Counting(Arc::clone(&requests), later);
    let setup = setup(tools![book], Policy::new().permissions(permissions).approver(approver));
    let execution = setup.call(book_call(), Vec::new()).await;
    let suspended = setup.suspended(&execution).with_answer("aisle", "Ada");
    (setup, suspended, requests)
}

/// Returns the call as if the tool had had another definition when it started.
fn changed(mut suspended: SuspendedCall) -> SuspendedCall {
    suspended.fingerprint = Fingerprint::from_hex(&"0".repeat(64));
    suspended
}

#[tokio::test]
async fn approved_call_is_asked_again_only_if_its_tool_has_changed() {
    let (setup, suspended, requests) = approved(Approval::Once).await;
    let execution = setup.call(book_call(), vec![suspended.clone()]).await;
    assert_eq!(execution.result.text, "aisle on ICE 71");
    assert_eq!(requests.load(Ordering::SeqCst), 1);

    let execution = setup.call(book_call(), vec![changed(suspended)]).await;
    assert_eq!((execution.is_pending(), execution.did_run()), (true, false));
    assert_eq!(requests.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn answer_to_a_tool_that_has_changed_is_asked_for_again() {
    let setup = setup(tools![book], Policy::new());
    let first = setup.call(book_call(), Vec::new()).await;
    let suspended = setup.suspended(&first).with_answer("aisle", "Ada");
    let mut unbound = suspended.clone();
    unbound.fingerprint = None;
    for suspended in [changed(suspended), unbound] {
        let second = setup.call(book_call(), vec![suspended]).await;
        assert_eq!((second.is_pending(), second.did_run()), (true, false));
        assert_eq!(second.question(), first.question());
        assert_eq!(setup.bookings(), ["hold ICE 71"]);
    }
    // The new answer is bound to the definition that is there now.
    let third = setup.call(book_call(), vec![changed(setup.suspended(&first))]).await;
    let suspended = setup.suspended(&third).with_answer("window", "Ada");
    let execution = setup.call(book_call(), vec![suspended]).await;
    assert_eq!(execution.result.text, "window on ICE 71");
}

#[tokio::test]
async fn started_call_of_a_changed_tool_does_not_wait_for_approval_and_start_again() {
    let (setup, suspended, requests) = approved(Approval::Defer).await;
    let execution = setup.call(book_call(), vec![changed(suspended)]).await;
    assert_eq!(requests.load(Ordering::SeqCst), 2);
    assert_eq!(execution.result.error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert_eq!(
        execution.result.text,
        "The call had started, may have had effects, and can't continue. `book` has changed since then, and needs \
         approval again."
    );
    assert_eq!(execution.blocked_by, Some(BlockReason::Approver));
    assert_eq!((execution.is_pending(), execution.did_run()), (false, false));
    assert_eq!(setup.bookings(), ["hold ICE 71"]);
}

/// Suspends with a state of this many levels.
#[tool]
async fn nest(levels: usize, ctx: &ToolContext) -> Result<String, ToolError> {
    if let Some(resumed) = ctx.resumed() {
        return resumed.state_as();
    }
    let state = (0..levels).fold(json!("inner"), |inner, _| json!([inner]));
    Err(ToolError::suspended("Well?", state))
}

#[tokio::test]
async fn state_that_cannot_be_saved_or_read_fails_its_call() {
    let setup = setup(tools![nest], Policy::new());
    let call = |levels: usize| ToolCall::new("1", "nest", json!({ "levels": levels }));
    let execution = setup.call(call(97), Vec::new()).await;
    assert_eq!(execution.result.error.as_deref(), Some("TOOL_EXECUTION_FAILED"));
    assert!(execution.suspended_state().is_none() && !execution.is_pending());
    let execution = setup.call(call(96), Vec::new()).await;
    assert!(execution.is_pending());
    let suspended = setup.suspended(&execution).with_answer("yes", "Ada");
    let execution = setup.call(call(96), vec![suspended]).await;
    assert_eq!(execution.result.error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert!(execution.result.text.contains("saved state is unreadable"));
}
