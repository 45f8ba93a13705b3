//! A session has one owner at a time, among processes that live, are killed, or are cut off.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tool_runtime::agent::session::{MemorySessions, SessionError, SessionOwner, SessionStore};
use tool_runtime::event::{EventKind, Recorder, RunEvent, RunId};
use tool_runtime::{
    Agent, ChatReply, Registry, ScriptedModel, ScriptedTurn, StopReason, Stopped, ToolContext,
    tool, tools,
};

use super::process::Process;
use super::runs::{Log, agent};

/// Counts the calls of each tool; the first ones are slow.
#[derive(Clone, Default)]
struct CallCounts(Arc<[AtomicU32; 2]>, Arc<Notify>, Arc<Mutex<Vec<String>>>);

impl CallCounts {
    async fn run_call(&self, worker: usize, ctx: &ToolContext) {
        self.2.lock().unwrap().push(ctx.idempotency_key());
        if self.0[worker].fetch_add(1, Ordering::SeqCst) == 0 {
            self.1.notified().await;
        }
    }

    fn times(&self) -> [u32; 2] {
        [0, 1].map(|worker| self.0[worker].load(Ordering::SeqCst))
    }
}

/// Pays Ada.
#[tool(effect = "external")]
async fn pay(ctx: &ToolContext) -> &'static str {
    ctx.get::<CallCounts>().unwrap().run_call(0, ctx).await;
    "paid"
}

/// Requests a receipt.
#[tool(effect = "external", idempotent)]
async fn receipt(ctx: &ToolContext) -> &'static str {
    ctx.get::<CallCounts>().unwrap().run_call(1, ctx).await;
    "there"
}

/// A process whose lease can't be renewed stops its calls before another process continues.
#[tokio::test(start_paused = true)]
async fn run_that_lost_its_lease_stops_and_writes_nothing() {
    let (counts, store) = (CallCounts::default(), MemorySessions::default());
    let agent = |replies: Vec<ScriptedTurn>| {
        Agent::new(ScriptedModel::new(replies), tools![pay, receipt]).extension(counts.clone())
    };
    let calls = || ChatReply::default().call("pay", "{}").call("receipt", "{}");
    let first = agent(vec![calls().into(), ChatReply::text("Here goes.").into()]);
    let process = Process::of(&store);
    process.is_cut_off.store(true, Ordering::SeqCst);
    let first = first.session(process, "ada");
    let run = tokio::spawn(async move { first.run("Pay Ada.").await });
    while counts.times() != [1, 1] {
        tokio::task::yield_now().await;
    }

    let second = agent(vec![ScriptedTurn::new(ChatReply::text("I do not know."))]);
    let second = second.session(Process::of(&store), "ada");
    let started = Instant::now();
    let answer = second.resume().await.unwrap().unwrap().finish().await.unwrap();
    assert!(started.elapsed() < LIFETIME + Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(counts.times(), [1, 2], "the call that is not repeatable is not repeated");
    assert_eq!(answer.text, "I do not know.");

    let stopped = run.await.unwrap().unwrap_err();
    let StopReason::Session(error) = &stopped.reason else { panic!("{stopped}") };
    assert!(matches!(error, SessionError::LeaseLost { .. }), "{error}");
    assert_eq!(second.messages().await.unwrap(), answer.transcript, "nothing of it is kept");
    let keys = counts.2.lock().unwrap();
    assert_eq!(keys[1], keys[2], "a service takes the second call for the first");
}

const LIFETIME: Duration = Duration::from_secs(30);

/// A process that resumes sessions when it starts does not resume a run of a live process.
#[tokio::test(start_paused = true)]
async fn live_run_is_not_resumed_by_another_process() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let session = agent(&log).session(store.clone(), "s");
    let mut run = session.start("Go").await.unwrap();
    run.next().await;
    let other = || agent(&log).session(Process::of(&store), "s");
    let label = store.locks().owner().label.clone();
    let is_busy = |stopped: Stopped| matches!(stopped.reason, StopReason::Session(SessionError::Busy { owner, .. }) if owner == label);

    let started = Instant::now();
    assert!(is_busy(other().resume_now().await.unwrap_err()));
    assert!(is_busy(other().fail_if_busy().run("Wait!").await.unwrap_err()));
    assert!(matches!(other().fail_if_busy().truncate(0).await, Err(SessionError::Busy { .. })));
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert!(is_busy(other().resume().await.unwrap_err()));
    assert!((LIFETIME..LIFETIME * 2).contains(&started.elapsed()), "{:?}", started.elapsed());

    // A prompt waits until the run has ended, however long that takes.
    let waiting = other();
    let waiting = tokio::spawn(async move { waiting.run("And now?").await });
    sleep(LIFETIME * 10).await;
    assert!(!waiting.is_finished());
    let answer = run.finish().await.unwrap();
    let next = waiting.await.unwrap().unwrap();
    assert_eq!(next.transcript[..answer.transcript.len()], answer.transcript);
}

/// However a run ends, another process has the session at once.
#[tokio::test(start_paused = true)]
async fn run_that_ends_or_is_dropped_releases_its_session() {
    let (log, store) = (Log::default(), MemorySessions::default());
    let other = || agent(&log).session(Process::of(&store), "s").fail_if_busy();
    let session = agent(&log).session(store.clone(), "s");
    let started = Instant::now();

    // Before its first step, and between two.
    drop(session.start("Go").await.unwrap());
    tokio::task::yield_now().await;
    let mut run = other().start("Go").await.unwrap();
    run.next().await;
    drop(run);
    tokio::task::yield_now().await;
    // Its end releases the session before the answer is returned.
    let mut run = session.resume_now().await.unwrap().unwrap();
    while run.next().await.is_some() {}
    other().truncate(1).await.unwrap();
    session.truncate(1).await.unwrap();
    drop(run);
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert!(store.acquire("s", &SessionOwner::random(), LIFETIME).await.is_ok());
}

/// The second failure of a renewal does not lose the lease, which lasts three times as long.
#[tokio::test(start_paused = true)]
async fn renewals_that_fail_for_a_while_do_not_stop_the_run() {
    let (counts, store) = (CallCounts::default(), MemorySessions::default());
    let replies = [ChatReply::default().call("pay", "{}"), ChatReply::text("Here goes.")];
    let recorder = Recorder::new(1_000);
    let agent = Agent::new(ScriptedModel::new(replies), tools![pay])
        .extension(counts.clone())
        .observer(recorder.clone());
    let process = Process::of(&store);
    let session = agent.session(process.clone(), "ada");
    let run = tokio::spawn(async move { session.run("Pay Ada.").await });
    while counts.times() != [1, 0] {
        tokio::task::yield_now().await;
    }
    for _ in 0..10 {
        process.is_cut_off.store(true, Ordering::SeqCst);
        sleep(LIFETIME * 3 / 5).await;
        process.is_cut_off.store(false, Ordering::SeqCst);
        sleep(LIFETIME / 2).await;
    }
    assert_eq!(lease_events(&recorder), ["run.lease_renewal_failed"; 10]);
    process.is_cut_off.store(true, Ordering::SeqCst);
    counts.1.notify_waiters();
    assert_eq!(run.await.unwrap().unwrap().text, "Here goes.");
    let [.., last] = &lease_events(&recorder)[..] else { panic!() };
    assert_eq!(last, "run.lease_release_failed");
    let unreleased = other_agent().session(Process::of(&store), "ada").fail_if_busy();
    assert!(unreleased.run("Thanks.").await.is_err());
}

/// A prompt after a dropped one gets a lease that the dropped request does not replace.
#[tokio::test(start_paused = true)]
async fn dropped_request_for_a_lease_does_not_replace_that_of_the_next_prompt() {
    let store = MemorySessions::default();
    let mut process = Process::of(&store);
    process.acquire_delay = Duration::from_secs(2);
    let session = other_agent().session(process, "ada");
    assert!(timeout(Duration::from_secs(1), session.run("Hi.")).await.is_err());
    let run = session.start("Hi.").await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let other = other_agent().session(Process::of(&store), "ada").fail_if_busy();
    assert!(other.run("Hi.").await.is_err(), "the run holds the session");
    assert_eq!(run.finish().await.unwrap().text, "You're welcome.");
}

/// A release that hangs delays the result of a run until the lease expires.
#[tokio::test(start_paused = true)]
async fn release_that_hangs_ends_with_the_lease() {
    let recorder = Recorder::new(100);
    let mut process = Process::of(&MemorySessions::default());
    process.release_delay = Duration::MAX;
    let started = Instant::now();
    let session = other_agent().observer(recorder.clone()).session(process, "ada");
    let session = session.lease_lifetime(LIFETIME);
    assert_eq!(session.run("Hi.").await.unwrap().text, "You're welcome.");
    assert_eq!(started.elapsed(), LIFETIME);
    let events = recorder.filter(|event| event.name() == "run.lease_release_failed");
    assert!(format!("{events:?}").contains("timed out"), "{events:?}");
}

/// A prompt does not wait for a store that hangs, and neither does the next one.
#[tokio::test(start_paused = true)]
async fn request_for_a_lease_that_hangs_fails_after_the_lifetime() {
    let mut process = Process::of(&MemorySessions::default());
    process.acquire_delay = Duration::MAX;
    let session = other_agent().session(process, "ada").lease_lifetime(LIFETIME);
    for _ in 0..2 {
        let started = Instant::now();
        let stopped = session.run("Hi.").await.unwrap_err();
        assert_eq!(started.elapsed(), LIFETIME);
        let StopReason::Session(error) = &stopped.reason else { panic!("{stopped}") };
        assert!(matches!(error, SessionError::Unavailable { .. }), "{error}");
    }
}

/// A lifetime that no clock can represent is a year.
#[tokio::test(start_paused = true)]
async fn lease_may_have_any_lifetime() {
    let store = MemorySessions::default();
    let session = |lifetime| other_agent().session(store.clone(), "ada").lease_lifetime(lifetime);
    for lifetime in [Duration::MAX, Duration::from_secs(u64::MAX / 2), Duration::from_millis(1)] {
        assert_eq!(session(lifetime).run("Hi.").await.unwrap().text, "You're welcome.");
    }
    let run = session(Duration::MAX).start("Hi.").await.unwrap();
    sleep(Duration::from_secs(360 * 24 * 3_600)).await;
    let other = other_agent().session(Process::of(&store), "ada").fail_if_busy();
    assert!(other.run("Hi.").await.is_err(), "the run holds the session for 360 days");
    drop(run);
    tokio::task::yield_now().await;
    assert!(other.run("Hi.").await.is_ok());
}

fn other_agent() -> Agent {
    Agent::new(ScriptedModel::new([ChatReply::text("You're welcome.")]), Registry::new())
}

/// Returns the names of the events of leases, each with its session and error checked.
fn lease_events(recorder: &Recorder) -> Vec<String> {
    let events = recorder.events();
    let names = events.iter().filter_map(|event| match &event.kind {
        EventKind::Run(
            RunEvent::LeaseRenewalFailed { session, error }
            | RunEvent::LeaseReleaseFailed { session, error },
        ) => {
            assert_eq!((event.origin.run, session.as_str()), (RunId::default(), "ada"));
            assert!(error.ends_with("connection lost"), "{error}");
            Some(event.name().to_owned())
        }
        _ => None,
    });
    names.collect()
}

/// A prompt that is dropped while it waits for the store leaves no lease behind.
#[tokio::test(start_paused = true)]
async fn dropped_request_for_a_lease_leaves_the_session_free() {
    let store = MemorySessions::default();
    let mut process = Process::of(&store);
    process.acquire_delay = Duration::from_secs(2);
    let slow = other_agent().session(process, "ada");
    assert!(timeout(Duration::from_secs(1), slow.run("Hi.")).await.is_err());
    let other = other_agent().session(Process::of(&store), "ada").fail_if_busy();
    assert!(other.run("Hi.").await.is_err(), "the store has granted the lease");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(other.run("Hi.").await.unwrap().text, "You're welcome.");
}
