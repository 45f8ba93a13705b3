//! Work that goes on elsewhere is taken over by the run that resumes, or stopped with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tool_runtime::agent::session::MemorySessions;
use tool_runtime::dispatch::CallEnd;
use tool_runtime::event::{Recorder, ToolEvent};
use tool_runtime::{
    Agent, Arguments, ChatModel, ChatReply, ChatRequest, Message, ModelError, Tool, ToolContext,
    ToolDefinition, ToolError, ToolOutput, Tools, async_trait,
};

/// A service that runs each job once, under its key, whether or not anything waits for it.
#[derive(Clone, Default)]
pub(super) struct Service {
    jobs: Arc<Mutex<BTreeMap<String, Job>>>,
    ended: Arc<Notify>,
}

#[derive(Default)]
struct Job {
    requests: u32,
    runs: u32,
    is_done: bool,
    is_stopped: bool,
}

impl Service {
    async fn result_of(&self, key: String) {
        let is_new = {
            let mut jobs = self.jobs.lock().unwrap();
            let job = jobs.entry(key.clone()).or_default();
            job.requests += 1;
            job.requests == 1
        };
        if is_new {
            let (jobs, ended, key) = (Arc::clone(&self.jobs), Arc::clone(&self.ended), key.clone());
            tokio::spawn(async move {
                sleep(Duration::from_secs(60)).await;
                let mut jobs = jobs.lock().unwrap();
                let job = jobs.get_mut(&key).unwrap();
                job.runs += u32::from(!job.is_stopped);
                job.is_done = true;
                ended.notify_waiters();
            });
        }
        loop {
            let ended = self.ended.notified();
            if self.jobs.lock().unwrap()[&key].is_done {
                return;
            }
            ended.await;
        }
    }

    fn stop(&self, key: &str) {
        if let Some(job) = self.jobs.lock().unwrap().get_mut(key) {
            job.is_stopped = true;
        }
    }

    /// Returns how often each job was requested and run, and whether it was stopped.
    pub(super) fn jobs(&self) -> Vec<(u32, u32, bool)> {
        let jobs = self.jobs.lock().unwrap();
        jobs.values().map(|job| (job.requests, job.runs, job.is_stopped)).collect()
    }
}

/// Pays by the service. Neither idempotent nor read-only.
pub(super) struct Pay(pub(super) ToolDefinition, pub(super) Service, pub(super) Abandon);

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Abandon {
    Stops,
    Fails,
    Hangs,
    Panics,
}

/// Stops the job if the call is cancelled, and leaves it alone if its run was dropped.
struct StopIfCancelled<'c>(&'c ToolContext, &'c Service);

impl Drop for StopIfCancelled<'_> {
    fn drop(&mut self) {
        if let Some(CallEnd::Cancelled | CallEnd::TimedOut) = self.0.end_reason() {
            self.1.stop(&self.0.idempotency_key());
        }
    }
}

#[async_trait]
impl Tool for Pay {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn call(&self, _: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let _stop = StopIfCancelled(ctx, &self.1);
        self.1.result_of(ctx.idempotency_key()).await;
        Ok(ToolOutput::text("paid"))
    }

    async fn abandon(&self, key: &str) -> Result<(), ToolError> {
        match self.2 {
            Abandon::Stops => self.1.stop(key),
            Abandon::Fails => return Err(ToolError::failed("busy").with_source("no connection")),
            Abandon::Hangs => std::future::pending().await,
            Abandon::Panics => panic!("no connection, on purpose"),
        }
        Ok(())
    }
}

/// Pays twice, then answers.
pub(super) struct PaysTwice;

#[async_trait]
impl ChatModel for PaysTwice {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(if request.messages.len() == 1 {
            ChatReply::default().call("pay", "{}").call("pay", r#"{"second": 1}"#)
        } else {
            ChatReply::text("Done.")
        })
    }
}

pub(super) fn agent(service: &Service, reattaches: bool, abandon: Abandon) -> (Agent, Recorder) {
    let mut definition = ToolDefinition::new("pay", "Pays.", json!({ "type": "object" }));
    definition.reattaches = reattaches;
    let recorder = Recorder::new(1_000);
    let tools = Tools::new().with(Pay(definition, service.clone(), abandon));
    (Agent::new(PaysTwice, tools).observer(recorder.clone()), recorder)
}

/// Returns a store whose run was dropped, as by a crash, while its two calls were in flight.
pub(super) async fn interrupted(service: &Service, reattaches: bool) -> Arc<MemorySessions> {
    let store = Arc::new(MemorySessions::default());
    let session = agent(service, reattaches, Abandon::Stops).0.session(Arc::clone(&store), "ada");
    assert!(timeout(Duration::from_secs(10), session.run("Pay twice.")).await.is_err());
    store
}

#[tokio::test(start_paused = true)]
async fn resumed_run_takes_over_calls_that_reattach() {
    for (reattaches, expected, requests) in
        [(true, [None, None], 2), (false, [Some("TOOL_INDETERMINATE"); 2], 1)]
    {
        let service = Service::default();
        let store = interrupted(&service, reattaches).await;
        let session = agent(&service, reattaches, Abandon::Stops).0.session(store, "ada");
        let answer = session.resume().await.unwrap().unwrap().finish().await.unwrap();
        let Message::Tool { results } = &answer.transcript[2] else { panic!() };
        let codes: Vec<_> = results.iter().map(|result| result.error.as_deref()).collect();
        assert_eq!(codes, expected);
        sleep(Duration::from_secs(3_600)).await;
        assert_eq!(service.jobs(), [(requests, 1, false); 2], "each job runs once");
    }
}

#[tokio::test(start_paused = true)]
async fn step_that_is_made_again_takes_over_calls_that_reattach() {
    let service = Service::default();
    let mut run = agent(&service, true, Abandon::Stops).0.start("Pay twice.");
    run.next().await.unwrap();
    assert!(timeout(Duration::from_secs(10), run.next()).await.is_err());
    let answer = run.finish().await.unwrap();
    let Message::Tool { results } = &answer.transcript[2] else { panic!() };
    assert!(results.iter().all(|result| result.is_success()), "{results:?}");
    assert_eq!(service.jobs(), [(2, 1, false); 2]);
}

#[tokio::test(start_paused = true)]
async fn abandoned_run_stops_what_it_has_started_elsewhere() {
    support::panics::silence_panics_on_purpose();
    let cases = [
        (Abandon::Stops, None, true),
        (Abandon::Fails, Some("no connection"), false),
        (Abandon::Hangs, Some("`Tool::abandon` timed out after 10s"), false),
        (Abandon::Panics, Some("the tool panicked: no connection, on purpose"), false),
    ];
    for (abandon, expected, is_stopped) in cases {
        let service = Service::default();
        let store = interrupted(&service, true).await;
        let (agent, recorder) = agent(&service, true, abandon);
        let answer = agent.session(store, "ada").run("Never mind.").await.unwrap();
        let Message::Tool { results } = &answer.transcript[2] else { panic!() };
        assert!(results.iter().all(|it| it.error.as_deref() == Some("TOOL_INDETERMINATE")));
        let events = recorder.events();
        let errors = events.iter().filter_map(|event| match event.tool_event()? {
            ToolEvent::Abandoned { error, .. } => Some(error.as_deref()),
            _ => None,
        });
        assert_eq!(errors.collect::<Vec<_>>(), [expected; 2]);
        sleep(Duration::from_secs(3_600)).await;
        assert_eq!(service.jobs(), [(1, u32::from(!is_stopped), is_stopped); 2]);
    }
}

/// The process ends after it has stopped the work and before it saves its own run.
#[tokio::test(start_paused = true)]
async fn abandonment_that_is_interrupted_is_repeated() {
    let service = Service::default();
    let store = interrupted(&service, true).await;
    let (hanging, _) = agent(&service, true, Abandon::Hangs);
    let session = hanging.session(Arc::clone(&store), "ada");
    assert!(timeout(Duration::from_secs(5), session.run("Never mind.")).await.is_err());
    let (agent, recorder) = agent(&service, true, Abandon::Stops);
    agent.session(store, "ada").run("Never mind.").await.unwrap();
    let events = recorder.events();
    let is_abandoned = |event: &&ToolEvent| matches!(event, ToolEvent::Abandoned { .. });
    assert_eq!(events.iter().filter_map(|it| it.tool_event()).filter(is_abandoned).count(), 2);
    assert!(service.jobs().iter().all(|(_, _, is_stopped)| *is_stopped));
}

#[tokio::test(start_paused = true)]
async fn cancelled_run_stops_its_calls_itself() {
    let service = Service::default();
    let (agent, _) = agent(&service, true, Abandon::Fails);
    let token = tool_runtime::CancellationToken::new();
    let agent = agent.cancellation(token.clone());
    let (stopped, ()) = tokio::join!(agent.run("Pay twice."), async {
        sleep(Duration::from_secs(10)).await;
        token.cancel();
    });
    assert_eq!(stopped.unwrap_err().reason.code(), "CANCELLED");
    assert!(service.jobs().iter().all(|(_, _, is_stopped)| *is_stopped));
}
