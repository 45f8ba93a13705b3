//! The state that a dispatcher keeps of the runs whose batches it receives.

use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver, Batch, Dispatch};
use tool_runtime::event::{EventKind, Origin, Recorder, RunEvent, RunId};
use tool_runtime::{RunContext, async_trait};

use super::*;

/// Counts the requests, and approves each tool for the run.
#[derive(Clone, Default)]
struct Counts(Arc<AtomicU32>);

#[async_trait]
impl Approver for Counts {
    async fn approve(&self, _: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        self.0.fetch_add(1, Ordering::SeqCst);
        Approval::ForRun
    }
}

/// Runs after an approval.
#[tool(permission = "ask", effect = "none")]
async fn sign() {}

/// Logs in.
#[tool(effect = "none")]
async fn login(#[arg(secret)] password: String) -> usize {
    password.len()
}

/// Repeats a text.
#[tool(effect = "none")]
async fn repeat(text: String) -> String {
    text
}

async fn call(dispatcher: &Dispatcher, run: RunId, name: &str, arguments: &str) -> ToolExecution {
    let mut batch = Batch::from(vec![ToolCall::new("1", name, arguments)]);
    batch.origin = Origin::new(run, 1);
    Dispatch::dispatch(dispatcher, batch).await.remove(0)
}

async fn log_in(dispatcher: &Dispatcher, run: RunId, number: u64) {
    let arguments = json!({ "password": format!("pass-{number:06}") }).to_string();
    assert!(call(dispatcher, run, "login", &arguments).await.is_success());
}

/// Whether the password with this number is redacted in the run.
async fn is_redacted(dispatcher: &Dispatcher, run: RunId, number: u64) -> bool {
    let arguments = json!({ "text": format!("It is pass-{number:06}.") }).to_string();
    let text = call(dispatcher, run, "repeat", &arguments).await.result.text;
    match text.as_str() {
        "It is [redacted]." => true,
        text => {
            assert_eq!(text, format!("It is pass-{number:06}."));
            false
        }
    }
}

fn secretive() -> Dispatcher {
    dispatcher(tools![login, repeat])
}

#[tokio::test]
async fn approvals_and_secrets_of_a_run_end_with_it() {
    let counts = Counts::default();
    let dispatcher =
        dispatcher(tools![sign, login, repeat]).policy(Policy::new().approver(counts.clone()));
    for run in [1.into(), 2.into(), RunId::default()] {
        let requests = counts.0.load(Ordering::SeqCst);
        for _ in 0..2 {
            call(&dispatcher, run, "sign", "{}").await;
        }
        log_in(&dispatcher, run, 1).await;
        assert!(is_redacted(&dispatcher, run, 1).await);
        assert_eq!(counts.0.load(Ordering::SeqCst), requests + 1);

        dispatcher.end_run(run);
        call(&dispatcher, run, "sign", "{}").await;
        assert_eq!(counts.0.load(Ordering::SeqCst), requests + 2);
        assert!(!is_redacted(&dispatcher, run, 1).await);
    }
    // A run has the secrets of its own calls alone.
    log_in(&dispatcher, 1.into(), 7).await;
    assert!(!is_redacted(&dispatcher, 2.into(), 7).await);
}

#[tokio::test]
async fn eviction_of_secrets_and_approvals_is_reported() {
    let recorder = Recorder::new(10_000);
    let evicted = || -> Vec<RunId> {
        let events =
            recorder.filter(|event| matches!(event.kind, EventKind::Run(RunEvent::StateEvicted)));
        events.iter().map(|event| event.origin.run).collect()
    };
    let dispatcher = secretive().observer(recorder.clone());
    // The run without a secret loses nothing.
    call(&dispatcher, 1.into(), "repeat", r#"{"text": "So."}"#).await;
    for run in 2..=1_024 {
        log_in(&dispatcher, run.into(), 1).await;
    }
    assert_eq!(evicted(), []);
    log_in(&dispatcher, 1_025.into(), 1).await;
    assert_eq!(evicted(), []);
    log_in(&dispatcher, 1_026.into(), 1).await;
    assert_eq!(evicted(), [2.into()]);

    let recorder = Recorder::new(100_000);
    let policy = Policy::new().approver(Counts::default());
    let signing = super::dispatcher(tools![sign]).policy(policy).observer(recorder.clone());
    for run in 1..=1_026 {
        call(&signing, run.into(), "sign", "{}").await;
    }
    let events =
        recorder.filter(|event| matches!(event.kind, EventKind::Run(RunEvent::StateEvicted)));
    let evicted: Vec<_> = events.iter().map(|event| event.origin.run).collect();
    assert_eq!(evicted, [1.into(), 2.into()]);
}

/// Waits until it is released.
#[tool(effect = "none")]
async fn wait(#[arg(secret)] password: String, ctx: &ToolContext) -> String {
    ctx.get::<Arc<tokio::sync::Notify>>().unwrap().notified().await;
    password
}

#[tokio::test]
async fn secrets_of_a_batch_in_flight_are_not_evicted() {
    let release = Arc::new(tokio::sync::Notify::new());
    let dispatcher = dispatcher(tools![login, repeat, wait]).extension(Arc::clone(&release));
    let waiting = call(&dispatcher, 7.into(), "wait", r#"{"password": "pass-000007"}"#);
    let others = async {
        for run in 100..1_300 {
            log_in(&dispatcher, run.into(), 1).await;
        }
        assert!(is_redacted(&dispatcher, 7.into(), 7).await);
        release.notify_one();
    };
    let (execution, ()) = tokio::join!(waiting, others);
    assert_eq!(execution.result.text, "[redacted]");
}

#[tokio::test]
async fn run_that_was_used_least_recently_is_evicted() {
    let (dispatcher, counts) = (secretive(), Counts::default());
    let signing = super::dispatcher(tools![sign]).policy(Policy::new().approver(counts.clone()));
    let runs = 1_024;
    for run in 1..=runs {
        log_in(&dispatcher, run.into(), 1).await;
        call(&signing, run.into(), "sign", "{}").await;
    }
    // The first run is used again, so the second is evicted.
    assert!(is_redacted(&dispatcher, 1.into(), 1).await);
    call(&signing, 1.into(), "sign", "{}").await;
    assert_eq!(counts.0.load(Ordering::SeqCst), 1_024);
    log_in(&dispatcher, (runs + 1).into(), 1).await;
    call(&signing, (runs + 1).into(), "sign", "{}").await;
    for (run, is_present) in [(1, true), (3, true), (runs + 1, true), (2, false)] {
        assert_eq!(is_redacted(&dispatcher, run.into(), 1).await, is_present, "{run}");
        let requests = counts.0.load(Ordering::SeqCst);
        call(&signing, run.into(), "sign", "{}").await;
        assert_eq!(counts.0.load(Ordering::SeqCst) == requests, is_present, "{run}");
    }
}

/// They share an entry that never ends by itself.
#[tokio::test]
async fn secrets_outside_of_a_run_are_kept_for_a_limited_number_of_batches() {
    let (recorder, outside) = (Recorder::new(100_000), RunId::default());
    let dispatcher = secretive().observer(recorder.clone());
    for batch in 1..=3_000 {
        log_in(&dispatcher, outside, batch).await;
    }
    for (number, is_present) in
        [(3_000, true), (2_500, true), (1_990, true), (900, false), (1, false)]
    {
        assert_eq!(is_redacted(&dispatcher, outside, number).await, is_present, "{number}");
    }
    let evicted =
        recorder.filter(|event| matches!(event.kind, EventKind::Run(RunEvent::StateEvicted)));
    assert_eq!(evicted.len(), 1);
}
