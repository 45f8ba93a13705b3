//! Actions that fire, and their rights.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tool_runtime::agent::Steering;
use tool_runtime::agent::session::MemorySessions;
use tool_runtime::dispatch::{AskLater, Batch, Permissions, RunInfo};
use tool_runtime::schedule::jiff::SignedDuration;
use tool_runtime::schedule::{
    Action, Executor, PRINCIPAL, Schedule, ScheduleEvent, ScheduleQuery, ScheduleRecord,
    ScheduleState, ScheduleTools, Scheduler, Timing,
};
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Dispatcher, Message, ModelError, Permission, Policy,
    Registry, ScriptedModel, ToolCall, ToolContext, async_trait, tool, tools,
};

use super::fixture::{Clock, in_memory, time};

const START: &str = "2027-01-01T00:00:00Z";

/// Fires one action of a principal, and returns the text of its outcome.
async fn outcome(
    action: Action,
    principal: &str,
    executors: impl Fn(&str) -> Option<Executor> + Send + Sync + 'static,
) -> String {
    let (store, clock) = (in_memory(), Clock::at(START));
    let timing = Timing::once(time("2027-01-01T01:00:00Z"));
    let schedule = Schedule::new("s", timing, action, principal);
    store.save(&ScheduleRecord::new(schedule, clock.now()).unwrap()).await.unwrap();
    clock.set_time(clock.now() + SignedDuration::from_hours(1));
    assert_eq!(clock.scheduler(&store, executors).fire_due().await.unwrap(), 1);
    store.load(principal, "s").await.unwrap().unwrap().history[0].outcome.to_string()
}

/// Reports the metadata of the run.
#[tool(effect = "read")]
async fn whoami(ctx: &ToolContext) -> String {
    let metadata = ctx.metadata();
    format!("{} {} {}", metadata[PRINCIPAL], metadata["schedule"], metadata["occurrence"])
}

/// Shuts the server down.
#[tool(effect = "external")]
async fn shutdown() -> &'static str {
    "it is down"
}

/// Pays an invoice.
#[tool(effect = "external", permission = "ask")]
async fn pay() -> &'static str {
    "paid"
}

fn registry() -> Registry {
    Registry::try_from(tools![whoami, shutdown, pay]).unwrap()
}

/// Only `root` may shut the server down.
fn policy() -> Policy {
    let permissions = Permissions::default().when(|request, run| {
        let is_root = run.metadata().get(PRINCIPAL).is_some_and(|principal| principal == "root");
        (request.tool.name == "shutdown" && !is_root).then_some(Permission::Deny)
    });
    Policy::new().permissions(permissions)
}

fn executor(principal: &str) -> Option<Executor> {
    let executor = Executor::new().dispatcher(Dispatcher::new(registry()).policy(policy()));
    ["ada", "root"].contains(&principal).then_some(executor)
}

#[tokio::test]
async fn calls_have_the_rights_of_their_principal() {
    for (tool, principal, expected) in [
        ("whoami", "ada", r#"fired: "ada" "s" "2027-01-01T01:00:00Z""#),
        ("shutdown", "ada", "failed: `shutdown` is not allowed here."),
        ("shutdown", "root", "fired: it is down"),
        ("shutdown", "mallory", "failed: the principal `mallory` has no executor"),
        ("pay", "root", "failed: "),
    ] {
        let action = Action::call(tool, serde_json::json!({}));
        let outcome = outcome(action, principal, executor).await;
        assert!(outcome.starts_with(expected), "{tool} of {principal}: {outcome}");
    }
}

#[tokio::test]
async fn prompt_runs_the_agent_of_the_principal_in_its_session() {
    let sessions = MemorySessions::new();
    let model = ScriptedModel::new([
        ChatReply::default().call("whoami", "{}").call("shutdown", "{}"),
        ChatReply::text("It can't be shut down."),
    ]);
    let agent = Agent::new(model, registry()).policy(policy());
    let executor = Executor::new().agent(agent.clone()).sessions(sessions.clone());
    let action = Action::prompt("Shut down.").session("ada");
    let outcome = outcome(action, "ada", move |_| Some(executor.clone())).await;
    assert_eq!(outcome, "fired: It can't be shut down.");
    let messages = agent.session(sessions, "ada").messages().await.unwrap();
    let texts: Vec<_> = messages.iter().map(|message| message.text()).collect();
    assert_eq!(texts[0], "Shut down.");
    let Message::Tool { results } = &messages[2] else { panic!("{messages:?}") };
    assert_eq!(results[0].text, r#""ada" "s" "2027-01-01T01:00:00Z""#);
    assert_eq!(results[1].text, "`shutdown` is not allowed here.");
}

#[tokio::test]
async fn prompt_without_a_session_starts_a_new_conversation_each_time() {
    let (store, clock) = (in_memory(), Clock::at(START));
    let timing = Timing::cron("0 * * * *", "UTC").unwrap();
    let schedule = Schedule::new("s", timing, Action::prompt("News?"), "ada");
    store.save(&ScheduleRecord::new(schedule, clock.now()).unwrap()).await.unwrap();
    let agent = Agent::new(Flaky(AtomicU32::new(2)), registry());
    let scheduler = Scheduler::with_executor(store.clone(), agent);
    for hour in 1..=3 {
        let now = time(START) + SignedDuration::from_hours(hour);
        assert_eq!(scheduler.clone().clock(move || now).fire_due().await.unwrap(), 1);
    }
    let history = store.load("ada", "s").await.unwrap().unwrap().history;
    let outcomes: Vec<_> = history.iter().map(|entry| entry.outcome.to_string()).collect();
    assert_eq!(outcomes, ["fired: 1 prompts"; 3]);
}

/// Calls a tool, and is unavailable afterwards.
struct CallsOnce(&'static str);

#[async_trait]
impl ChatModel for CallsOnce {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        match request.messages.last() {
            Some(Message::Tool { .. }) => Err(ModelError::unavailable("the model is down")),
            _ if self.0.is_empty() => Err(ModelError::unavailable("the model is down")),
            _ => Ok(ChatReply::default().call(self.0, "{}")),
        }
    }
}

#[tokio::test]
async fn prompt_without_a_session_repeats_no_call_and_awaits_no_approval() {
    for (tool, is_retried, expected) in [
        ("", true, "the model is down"),
        ("whoami", false, "the model is down"),
        ("pay", false, "the run awaits an approval: allow the tool, or name a session"),
    ] {
        let (store, clock) = (in_memory(), Clock::at(START));
        let timing = Timing::once(time("2027-01-01T01:00:00Z"));
        let schedule = Schedule::new("s", timing, Action::prompt("News?"), "ada").max_retries(1);
        store.save(&ScheduleRecord::new(schedule, clock.now()).unwrap()).await.unwrap();
        let agent =
            Agent::new(CallsOnce(tool), registry()).policy(Policy::new().approver(AskLater));
        clock.set("2027-01-01T01:00:00Z");
        let scheduler = Scheduler::with_executor(store.clone(), agent);
        scheduler.clock(move || clock.now()).fire_due().await.unwrap();
        let record = store.load("ada", "s").await.unwrap().unwrap();
        assert_eq!(record.retry.is_some(), is_retried, "{tool}");
        let error = match record.retry {
            Some(retry) => retry.error,
            None => record.history[0].outcome.to_string(),
        };
        assert!(error.contains(expected), "{tool}: {error}");
    }
}

#[tokio::test]
async fn prompt_does_not_abandon_a_run_that_awaits_an_approval() {
    let sessions = MemorySessions::new();
    let model = ScriptedModel::new([ChatReply::default().call("pay", "{}")]);
    let agent = Agent::new(model, registry()).policy(Policy::new().approver(AskLater));
    let session = agent.session(sessions.clone(), "ada");
    session.run("Pay.").await.unwrap_err();
    let executor = Executor::new().agent(agent.clone()).sessions(sessions);
    let outcome =
        outcome(Action::prompt("News?").session("ada"), "ada", move |_| Some(executor.clone()))
            .await;
    assert_eq!(outcome, "failed: the session `ada` awaits an approval");
    assert!(session.paused().await.unwrap().is_some());
}

#[tokio::test]
async fn prompt_does_not_abandon_an_unfinished_run_of_a_user() {
    let sessions = MemorySessions::new();
    let model = ScriptedModel::new([
        ChatReply::default().call("shutdown", "{}"),
        ChatReply::text("It is down."),
        ChatReply::text("No news."),
    ]);
    let agent = Agent::new(model, registry());
    let executor = Executor::new().agent(agent.clone()).sessions(sessions.clone());
    let news = async || {
        let executor = executor.clone();
        outcome(Action::prompt("News?").session("ada"), "ada", move |_| Some(executor.clone()))
            .await
    };
    let session = agent.session(sessions, "ada");
    // As if the process of the run had ended.
    let mut run = session.start("Shut down.").await.unwrap();
    run.next().await.unwrap();
    drop(run);
    let busy = news().await;
    assert!(busy.starts_with("failed: the session `ada` has an unfinished run"), "{busy}");
    let run = session.resume().await.unwrap().unwrap();
    assert_eq!(run.finish().await.unwrap().text, "It is down.");
    assert_eq!(news().await, "fired: No news.");
}

/// Fails for the first two requests.
struct Flaky(AtomicU32);

#[async_trait]
impl ChatModel for Flaky {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let texts: String = request.messages.iter().map(|message| message.text()).collect();
        match self.0.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => Err(ModelError::unavailable("the model is down")),
            _ => Ok(ChatReply::text(format!("{} prompts", texts.matches("News?").count()))),
        }
    }
}

#[tokio::test]
async fn unfinished_run_of_a_schedule_is_resumed_by_retries_and_abandoned_by_others() {
    for (retries, expected) in [(2, "fired: 1 prompts"), (0, "fired: 3 prompts")] {
        let (store, clock) = (in_memory(), Clock::at(START));
        let timing = Timing::every(Duration::from_secs(3600), clock.now()).unwrap();
        let schedule = Schedule::new("s", timing, Action::prompt("News?").session("ada"), "ada");
        let schedule = schedule.max_retries(retries);
        store.save(&ScheduleRecord::new(schedule, clock.now()).unwrap()).await.unwrap();
        let agent = Agent::new(Flaky(AtomicU32::new(0)), registry());
        let executor = Executor::new().agent(agent).sessions(MemorySessions::new());
        for _ in 0..3 {
            let executor = executor.clone();
            let executors = move |_: &str| Some(executor.clone());
            clock.set_time(store.load("ada", "s").await.unwrap().unwrap().wake_at().unwrap());
            assert_eq!(clock.scheduler(&store, executors).fire_due().await.unwrap(), 1);
        }
        let record = store.load("ada", "s").await.unwrap().unwrap();
        assert_eq!(record.history.last().unwrap().outcome.to_string(), expected);
    }
}

#[tokio::test]
async fn message_reaches_the_running_agent_of_its_session() {
    let steering = Steering::bounded(1, 100);
    let executor = Executor::new().steering(&steering);
    let executors = move |_: &str| Some(executor.clone());
    let message = |session: &str| Action::message("It is nine.").session(session);
    let first = outcome(message("ada"), "ada", executors.clone()).await;
    assert_eq!(first, "fired: the message was sent");
    assert_eq!((steering.for_session("ada").len(), steering.for_session("bob").len()), (1, 0));
    let refused = outcome(message("ada"), "ada", executors).await;
    assert!(refused.starts_with("failed: steering queue is full"), "{refused}");
}

#[tokio::test]
async fn action_without_a_part_of_the_executor_fails() {
    for (action, part) in [
        (Action::prompt("Hi"), "agent"),
        (Action::prompt("Hi").session("ada"), "agent"),
        (Action::call("whoami", serde_json::json!({})), "dispatcher"),
        (Action::message("Hi"), "steering"),
    ] {
        let outcome = outcome(action, "ada", |_| Some(Executor::new())).await;
        assert_eq!(
            outcome,
            format!(
                "failed: the executor of the principal `ada` has no {part}: set `Executor::{part}`"
            )
        );
    }
}

#[tokio::test]
async fn schedule_without_an_executor_stops_until_it_is_resumed() {
    let (store, clock) = (in_memory(), Clock::at(START));
    for (name, timing) in [
        ("hourly", Timing::cron("0 * * * *", "UTC").unwrap()),
        ("once", Timing::once(time("2027-01-01T01:00:00Z"))),
    ] {
        let schedule = Schedule::new(name, timing, Action::call("whoami", json!({})), "ada");
        store.save(&ScheduleRecord::new(schedule, clock.now()).unwrap()).await.unwrap();
    }
    let events = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&events);
    let mut hour = 0;
    let mut fire = async |is_known: bool| {
        hour += 1;
        clock.set_time(time(START) + SignedDuration::from_hours(hour));
        let executors = move |principal: &str| executor(principal).filter(|_| is_known);
        let observed = Arc::clone(&observed);
        let scheduler = clock.scheduler(&store, executors).on_event(move |event| {
            if matches!(event, ScheduleEvent::Stopped { .. }) && event.is_warning() {
                observed.lock().unwrap().push(event.to_string());
            }
        });
        scheduler.fire_due().await.unwrap()
    };
    assert_eq!((fire(false).await, fire(true).await), (2, 0));
    let reason = "the principal `ada` has no executor: return one from the function of \
                  `Scheduler::new`, and resume the schedule";
    let expected = ["hourly", "once"]
        .map(|name| format!("schedule `{name}` of `ada` stopped: failed: {reason}"));
    let mut stopped = std::mem::take(&mut *events.lock().unwrap());
    stopped.sort();
    assert_eq!(stopped, expected);

    let query = ScheduleQuery::all().state(ScheduleState::Failed);
    let mut failed = store.list(query).await.unwrap().records;
    assert_eq!(failed[0].stop_reason.as_deref(), Some(reason));
    // A time that has passed needs a new one.
    assert!(failed[1].resume(clock.now()).is_err());
    failed[0].resume(clock.now()).unwrap();
    store.save(&failed[0]).await.unwrap();
    assert_eq!(fire(true).await, 1);
    let record = store.load("ada", "hourly").await.unwrap().unwrap();
    assert_eq!((record.counts.fired, record.failures, record.stop_reason), (1, 0, None));
}

#[tokio::test]
async fn prompt_in_a_session_needs_the_store_of_sessions() {
    let agent = Agent::new(ScriptedModel::default(), registry());
    let executors = move |_: &str| Some(Executor::from(agent.clone()));
    let outcome = outcome(Action::prompt("Hi").session("ada"), "ada", executors).await;
    let expected = "failed: the executor of the principal `ada` has no sessions: set \
                    `Executor::sessions`";
    assert_eq!(outcome, expected);
}

/// Calls a tool of the schedules in a run of `ada`.
async fn call(
    schedules: ScheduleTools,
    session: Option<&str>,
    tool: &str,
    arguments: serde_json::Value,
) -> String {
    let permissions = ["schedule_create", "schedule_update"]
        .into_iter()
        .fold(Permissions::default(), |it, name| it.tool(name, Permission::Allow));
    let registry = Registry::try_from(tools![..schedules]).unwrap();
    let policy = Policy::new().permissions(permissions);
    let dispatcher = Dispatcher::new(registry.clone()).policy(policy);
    let mut batch = Batch::from(vec![ToolCall::new("1", tool, arguments)]);
    let info = RunInfo::default().metadata(PRINCIPAL, "ada");
    batch.run_info = Some(Arc::new(match session {
        Some(session) => info.session(session),
        None => info,
    }));
    dispatcher.dispatch_on(&registry.snapshot(), batch).await.remove(0).result.text
}

#[tokio::test]
async fn model_cannot_schedule_into_sessions_of_others() {
    const REFUSED: &str = "`session`: `bob` is not available here";
    for kind in ["prompt", "message"] {
        let store = in_memory();
        let tools = || ScheduleTools::from_metadata(store.clone());
        let create = |session: &str| json!({ "name": session, "every": "1h", kind: "Hi", "session": session });
        let run = Some("ada");
        let refused = call(tools(), run, "schedule_create", create("bob")).await;
        assert!(refused.starts_with(REFUSED), "{refused}");
        let refused = call(tools(), None, "schedule_create", create("bob")).await;
        assert!(refused.starts_with(REFUSED), "{refused}");
        let created = call(tools(), run, "schedule_create", create("ada")).await;
        assert!(created.contains("session ada"), "{created}");
        // A schedule that exists is not moved either.
        let update = json!({ "name": "ada", kind: "Ho", "session": "bob" });
        let refused = call(tools(), run, "schedule_update", update).await;
        assert!(refused.starts_with(REFUSED), "{refused}");
        let allowing =
            tools().sessions(|principal, session| (principal, session) == ("ada", "bob"));
        let created = call(allowing, run, "schedule_create", create("bob")).await;
        assert!(created.contains("session bob"), "{created}");
    }
}

#[tokio::test]
async fn prompt_of_a_run_without_a_session_has_none_and_an_update_keeps_that() {
    let store = in_memory();
    let tools = || ScheduleTools::from_metadata(store.clone());
    let create = json!({ "name": "a", "every": "1h", "prompt": "Hi" });
    let created = call(tools(), None, "schedule_create", create).await;
    assert!(created.contains(r#" | action: "prompt \"Hi\"" | "#), "{created}");
    let update = json!({ "name": "a", "prompt": "Ho" });
    let updated = call(tools(), Some("ada"), "schedule_update", update).await;
    assert!(updated.contains(r#" | action: "prompt \"Ho\"" | "#), "{updated}");
}
