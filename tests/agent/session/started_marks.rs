//! A run that resumes and stops again does not forget which calls have started.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::sessions::{Intercepted, OnSave};
use tokio::time::{sleep, timeout};
use tool_runtime::agent::session::{MemorySessions, SessionError, SessionStore, SessionWrite};
use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
use tool_runtime::event::{Recorder, ToolEvent};
use tool_runtime::{
    Agent, CancellationToken, Message, Permission, Policy, RunContext, ToolDefinition, Tools,
    async_trait,
};

use super::reattach::{Abandon, Pay, PaysTwice, Service, agent, interrupted};

/// Fails one of the writes.
#[derive(Clone, Debug)]
struct FailsWrite {
    count: Arc<AtomicUsize>,
    number: usize,
}

#[async_trait]
impl OnSave for FailsWrite {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        if self.count.fetch_add(1, Ordering::SeqCst) == self.number {
            return Err(SessionError::unavailable("the connection is lost"));
        }
        store.save(session, write).await
    }
}

/// Ways in which a resumed run stops before its calls are made again.
#[derive(Clone, Copy, Debug)]
enum Stop {
    Cancelled,
    TimeLimit,
    FailedWrite(usize),
}

#[tokio::test(start_paused = true)]
async fn run_that_stops_as_it_resumes_keeps_the_marks_of_its_calls() {
    let stops = [Stop::Cancelled, Stop::TimeLimit, Stop::FailedWrite(0), Stop::FailedWrite(1)];
    for stop in stops {
        let service = Service::default();
        let store = interrupted(&service, true).await;
        let number = if let Stop::FailedWrite(number) = stop { number } else { usize::MAX };
        let on_save = FailsWrite { count: Arc::default(), number };
        let failing = Arc::new(Intercepted { store: MemorySessions::clone(&store), on_save });
        let stopping = agent(&service, true, Abandon::Stops).0;
        let stopping = match stop {
            Stop::Cancelled => {
                let token = CancellationToken::new();
                token.cancel();
                stopping.cancellation(token)
            }
            Stop::TimeLimit => stopping.run_timeout(Duration::ZERO),
            Stop::FailedWrite(_) => stopping,
        };
        match stopping.session(failing, "ada").resume().await {
            Ok(run) => _ = run.unwrap().finish().await.unwrap_err(),
            Err(stopped) => assert_eq!(stopped.reason.code(), "CANCELLED", "{stop:?}"),
        }
        let (agent, recorder) = agent(&service, true, Abandon::Stops);
        let answer = agent.session(store, "ada").run("Never mind.").await.unwrap();
        let Message::Tool { results } = &answer.transcript[2] else { panic!() };
        let is_unknown = |code: Option<&str>| code == Some("TOOL_INDETERMINATE");
        assert!(results.iter().all(|it| is_unknown(it.error.as_deref())), "{stop:?} {results:?}");
        assert_eq!(abandoned(&recorder), [None, None], "{stop:?}");
        sleep(Duration::from_secs(3_600)).await;
        assert_eq!(service.jobs(), [(1, 0, true); 2], "{stop:?}");
    }
}

/// Returns the errors of the calls that were abandoned.
fn abandoned(recorder: &Recorder) -> Vec<Option<String>> {
    let events = recorder.events();
    let errors = events.iter().filter_map(|event| match event.tool_event()? {
        ToolEvent::Abandoned { error, .. } => Some(error.clone()),
        _ => None,
    });
    errors.collect()
}

/// The engine of a remote tool keeps results from the first start on.
#[tokio::test(start_paused = true)]
async fn call_that_is_taken_over_keeps_the_time_of_its_first_start() {
    let service = Service::default();
    let store = interrupted(&service, true).await;
    let starts = |state: &str| {
        let state: Value = serde_json::from_str(state).unwrap();
        state["turn"]["started_calls"].clone()
    };
    let first = starts(&store.load("ada").await.unwrap().unwrap().state);
    assert_eq!(first.as_object().unwrap().len(), 2);
    let session = agent(&service, true, Abandon::Stops).0.session(Arc::clone(&store), "ada");
    let run = session.resume().await.unwrap().unwrap();
    assert!(timeout(Duration::from_secs(5), run.finish()).await.is_err());
    assert_eq!(starts(&store.load("ada").await.unwrap().unwrap().state), first);
}

/// Decides in this way, or not at all.
struct Decides(Option<Approval>);

#[async_trait]
impl Approver for Decides {
    async fn approve(&self, _: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        match &self.0 {
            Some(approval) => approval.clone(),
            None => pending().await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn started_call_that_is_not_made_again_is_not_reported_as_refused() {
    let agent = |service: &Service, approval| {
        let mut definition = ToolDefinition::new("pay", "Pays.", json!({ "type": "object" }));
        (definition.reattaches, definition.permission) = (true, Permission::Ask);
        let tools = Tools::new().with(Pay(definition, service.clone(), Abandon::Stops));
        let policy = Policy::new().approver(Decides(approval));
        Agent::new(PaysTwice, tools).policy(policy).run_timeout(Duration::from_secs(600))
    };
    for second in [Some(Approval::Deny("no".into())), None] {
        let (service, store) = (Service::default(), Arc::new(MemorySessions::default()));
        let session = agent(&service, Some(Approval::Once)).session(Arc::clone(&store), "ada");
        assert!(timeout(Duration::from_secs(10), session.run("Pay twice.")).await.is_err());
        let session = agent(&service, second.clone()).session(store, "ada");
        let _ = session.resume().await.unwrap().unwrap().finish().await;
        let messages = session.messages().await.unwrap();
        let Message::Tool { results } = &messages[2] else { panic!("{messages:?}") };
        for result in results {
            assert_eq!(result.error.as_deref(), Some("TOOL_INDETERMINATE"), "{second:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn abandoned_call_of_an_unknown_tool_is_reported() {
    let service = Service::default();
    let store = interrupted(&service, true).await;
    let recorder = Recorder::new(100);
    let agent = Agent::new(PaysTwice, Tools::new()).observer(recorder.clone());
    agent.session(store, "ada").run("Never mind.").await.unwrap();
    let error = Some("the tool is not registered".to_owned());
    assert_eq!(abandoned(&recorder), [error.clone(), error]);
}
