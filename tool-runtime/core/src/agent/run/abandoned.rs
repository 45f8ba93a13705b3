//! Ends a run that another prompt has replaced: stops the work of its calls, and emits its end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Run;
use crate::agent::StopReason;
use crate::agent::config::AgentConfig;
use crate::agent::state::RunState;
use crate::event::{Origin, RunEvent, ToolEvent};
use crate::guard::{Panic, await_guarded, error_chain};
use crate::message::{CallId, ModelUsage, ToolCall, ToolResult, Usage};
use crate::registry::{Registry, Snapshot};
use crate::tool::{Tool, ToolError};

/// How long a tool may take to stop the work of an abandoned call.
const ABANDON_TIMEOUT: Duration = Duration::from_secs(10);

/// An unfinished run of a session that another prompt has replaced.
pub(in crate::agent) struct AbandonedRun {
    origin: Origin,
    calls: AbandonedCalls,
    /// `None` if the end of the run was emitted before.
    end: Option<RunEnd>,
}

struct RunEnd {
    metadata: Map<String, Value>,
    answered_calls: Vec<(ToolCall, ToolResult)>,
    usage: Usage,
    usage_by_model: Vec<ModelUsage>,
    cost: Option<f64>,
}

/// The calls of a run whose work may go on elsewhere.
enum AbandonedCalls {
    Running(Vec<RunningCall>),
    /// Asked to stop, with the events that report it.
    Stopped(Vec<ToolEvent>),
}

struct RunningCall {
    call: ToolCall,
    key: String,
    /// `None` if the tool is not registered now.
    tool: Option<Arc<dyn Tool>>,
}

impl AbandonedRun {
    /// Abandons the run and records results for its open calls. Returns `None` if nothing of it
    /// runs and its end was emitted before.
    pub(in crate::agent) fn take_from(state: &mut RunState, agent: &AgentConfig) -> Option<Self> {
        let is_open = state.is_unfinished() && !state.is_end_emitted;
        let tools = agent.registry.as_ref().map(Registry::snapshot).unwrap_or_default();
        let origin = Origin::new(state.run, state.turn.iterations());
        let running = running_calls(state, &origin, &tools);
        let answered_calls = state.abandon(|call| tools.is_retry_safe(&call.name));
        if !is_open && running.is_empty() {
            return None;
        }
        let end = is_open.then(|| RunEnd {
            metadata: std::mem::take(&mut state.metadata),
            answered_calls,
            usage: state.turn.usage(),
            usage_by_model: state.turn.usage_by_model(),
            cost: state.turn.cost(),
        });
        Some(Self { origin, calls: AbandonedCalls::Running(running), end })
    }
}

/// Returns the started calls of tools whose work outlives the process.
fn running_calls(state: &RunState, origin: &Origin, tools: &Snapshot) -> Vec<RunningCall> {
    let started: Vec<&CallId> = state.turn.started_calls().map(|(call, _)| call).collect();
    let calls = state.turn.transcript().last().into_iter().flat_map(|reply| reply.calls());
    let started = calls.filter(|call| started.contains(&&call.id));
    let running = started.filter_map(|call| {
        let entry = tools.entry(&call.name);
        if entry.is_some_and(|entry| !entry.definition().reattaches) {
            return None;
        }
        let suspended = state.pending.iter().find(|pending| pending.call.id == call.id);
        let resumptions = suspended.and_then(|it| it.to_suspended()).map_or(0, |it| it.resumptions);
        let key = origin.call_key(&call.id, resumptions);
        Some(RunningCall { call: call.clone(), key, tool: entry.map(|it| Arc::clone(it.tool())) })
    });
    running.collect()
}

impl RunningCall {
    /// Asks the tool to stop the work, and returns the event that reports it.
    async fn stop(self) -> ToolEvent {
        let Self { call, key, tool } = self;
        let Some(tool) = tool else {
            let error = Some("the tool is not registered".to_owned());
            return ToolEvent::Abandoned { call: call.id, tool: call.name, error };
        };
        let stopped = await_guarded(|| Box::pin(async { tool.abandon(&key).await }));
        let error = match timeout(ABANDON_TIMEOUT, stopped).await {
            Ok(Ok(Ok(()))) => None,
            Ok(Ok(Err(error))) => Some(operator_text(&error)),
            Ok(Err(Panic(message))) => Some(format!("the tool panicked: {message}")),
            Err(_) => Some(format!("`Tool::abandon` timed out after {ABANDON_TIMEOUT:?}")),
        };
        ToolEvent::Abandoned { call: call.id, tool: call.name, error }
    }
}

fn operator_text(error: &ToolError) -> String {
    error.source().map_or_else(|| error.text().to_owned(), |source| error_chain(source))
}

impl Run {
    /// Saves that the run ended with an answer in words, so that a run whose extraction is
    /// unfinished does not count as abandoned.
    pub(super) async fn save_end(&mut self) -> Result<(), StopReason> {
        if !self.state.owes_value() {
            return Ok(());
        }
        self.state.is_end_emitted = true;
        self.save().await
    }

    /// Stops the work of the calls of the run that this one replaces, if any.
    ///
    /// Called before this run is saved: if this process ends, the next prompt stops them again.
    pub(super) async fn stop_abandoned_calls(&mut self) {
        let Some(abandoned) = self.session.abandoned() else { return };
        let AbandonedCalls::Running(running) = &mut abandoned.calls else { return };
        let stops: JoinSet<ToolEvent> =
            std::mem::take(running).into_iter().map(RunningCall::stop).collect();
        abandoned.calls = AbandonedCalls::Stopped(stops.join_all().await);
    }

    /// Emits start and end of the run that this one replaces, if any.
    pub(super) fn emit_abandoned(&mut self) {
        let Some(abandoned) = self.session.take_abandoned() else { return };
        let AbandonedRun { origin, calls, end } = abandoned;
        if let AbandonedCalls::Stopped(events) = calls {
            events.into_iter().for_each(|event| self.dispatcher.emit(&origin, || event));
        }
        let Some(RunEnd { metadata, answered_calls, usage, usage_by_model, cost }) = end else {
            return;
        };
        let agent = self.agent.name.clone();
        let session = self.session.name();
        self.dispatcher.emit(&origin, || RunEvent::Started {
            parent_run: None,
            agent,
            session,
            metadata,
        });
        self.emit_answered(&origin, answered_calls);
        self.dispatcher.emit(&origin, || RunEvent::Finished {
            code: Some("ABANDONED".to_owned()),
            error: Some("another prompt replaced the run before it ended".to_owned()),
            usage,
            usage_by_model,
            cost,
            duration: Duration::ZERO,
        });
        self.dispatcher.release_ends(origin.run);
    }

    /// Emits the end of calls that got a result without being run, unless it was emitted before.
    pub(super) fn emit_answered(&self, origin: &Origin, calls: Vec<(ToolCall, ToolResult)>) {
        for (call, result) in calls {
            self.dispatcher.emit_answered(origin, call, result);
        }
    }
}
