//! Performs actions with the rights of a principal.

use std::fmt;
use std::sync::Arc;

use tool_core::agent::Steering;
use tool_core::agent::session::SessionStore;
use tool_core::dispatch::{Batch, RunInfo};
use tool_core::{Agent, Dispatcher, ToolCall, ToolErrorKind};

use super::attempt::{failed, fired, metadata};
use super::plan::AttemptResult;
use super::prompt;
use crate::definition::{Action, Schedule};
use crate::record::Claim;

/// Performs actions with the rights of a principal, by its agent, its dispatcher and its steering
/// handle.
///
/// A [`Scheduler`](crate::Scheduler) requests the executor of the principal each time a schedule
/// fires, so that revoked rights no longer apply. An action fails if the executor lacks the agent,
/// the sessions, the dispatcher or the steering handle that it needs.
///
/// The runs and calls have the metadata `principal`, `schedule` (its name) and `occurrence` (its
/// time). A policy that all principals share can decide by them:
///
/// ```
/// use tool_runtime::dispatch::Permissions;
/// use tool_runtime::schedule::{Executor, PRINCIPAL};
/// use tool_runtime::{Agent, ChatReply, Dispatcher, Permission, Policy, Registry, ScriptedModel};
///
/// let permissions = Permissions::default().when(|request, run| {
///     let is_admin = run.metadata().get(PRINCIPAL).is_some_and(|principal| principal == "root");
///     (request.tool.name == "shutdown" && !is_admin).then_some(Permission::Deny)
/// });
/// let policy = Policy::new().permissions(permissions);
/// let registry = Registry::new();
/// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), registry.clone())
///     .policy(policy.clone());
/// let executor = Executor::new()
///     .agent(agent)
///     .dispatcher(Dispatcher::new(registry).policy(policy));
/// ```
#[derive(Clone, Default)]
pub struct Executor {
    agent: Option<Agent>,
    sessions: Option<Arc<dyn SessionStore>>,
    dispatcher: Option<Dispatcher>,
    steering: Option<Steering>,
}

impl Executor {
    /// Creates an executor that can't perform any action yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the agent that runs prompts.
    #[must_use]
    pub fn agent(self, agent: Agent) -> Self {
        Self { agent: Some(agent), ..self }
    }

    /// Sets the store of the sessions that prompts name. Prompts without a session do not need it.
    #[must_use]
    pub fn sessions(self, sessions: impl SessionStore + 'static) -> Self {
        Self { sessions: Some(Arc::new(sessions)), ..self }
    }

    /// Sets the dispatcher that runs tool calls. Its registry and its policy decide which calls
    /// are possible. A scheduled call can't wait for a person: a tool with the permission `ask`
    /// needs an approver that decides at once, or a rule that allows it.
    #[must_use]
    pub fn dispatcher(self, dispatcher: Dispatcher) -> Self {
        Self { dispatcher: Some(dispatcher), ..self }
    }

    /// Sets the steering handle by which messages reach the running agent of this process. If no
    /// run is in progress, a message waits for the next one.
    ///
    /// A message without a session reaches any run with this handle. If runs without sessions
    /// create schedules, use one handle for each principal.
    #[must_use]
    pub fn steering(self, steering: &Steering) -> Self {
        Self { steering: Some(steering.clone()), ..self }
    }

    /// Returns whether an action may be repeated although it may have been performed already.
    pub(crate) fn is_repeatable(&self, action: &Action) -> bool {
        let (Action::Call { tool, .. }, Some(dispatcher)) = (action, &self.dispatcher) else {
            return false;
        };
        let tools = dispatcher.registry().snapshot();
        tools.definition(tool).is_some_and(|definition| definition.is_retry_safe())
    }

    /// Performs the action of a schedule.
    pub(crate) async fn perform(&self, schedule: &Schedule, firing: &Claim) -> AttemptResult {
        match &schedule.action {
            Action::Prompt { session, text } => {
                let Some(agent) = &self.agent else { return lacks(schedule, "agent") };
                let Some(name) = session else {
                    return prompt::without_session(agent, schedule, firing, text).await;
                };
                let Some(sessions) = &self.sessions else { return lacks(schedule, "sessions") };
                let session = agent.session(Arc::clone(sessions), name);
                prompt::in_session(&session, schedule, firing, text).await
            }
            Action::Call { tool, arguments } => {
                let Some(dispatcher) = &self.dispatcher else {
                    return lacks(schedule, "dispatcher");
                };
                let id = format!("{}@{}", schedule.name, firing.at);
                let call = ToolCall::new(id, tool, arguments.clone());
                self.call(dispatcher, call, schedule, firing).await
            }
            Action::Message { session, text } => {
                let Some(steering) = &self.steering else { return lacks(schedule, "steering") };
                let steering = match session {
                    Some(session) => steering.for_session(session),
                    None => steering.clone(),
                };
                match steering.push(text) {
                    Ok(()) => fired("the message was sent"),
                    Err(full) => {
                        let may_fit = full.message_bytes <= full.max_bytes;
                        failed(full, may_fit)
                    }
                }
            }
        }
    }

    async fn call(
        &self,
        dispatcher: &Dispatcher,
        call: ToolCall,
        schedule: &Schedule,
        firing: &Claim,
    ) -> AttemptResult {
        let mut batch = Batch::from(vec![call]);
        let run_info = metadata(schedule, firing)
            .into_iter()
            .fold(RunInfo::default(), |info, (key, value)| info.metadata(key, value));
        batch.run_info = Some(Arc::new(run_info));
        let tools = dispatcher.registry().snapshot();
        let mut executions = dispatcher.dispatch_on(&tools, batch).await;
        let Some(execution) = executions.pop() else { return failed("no execution", false) };
        if execution.is_pending() {
            return failed(
                "the call needs an approval, and a schedule can't wait for it: allow the tool",
                false,
            );
        }
        let Some(code) = &execution.result.error else { return fired(&execution.result.text) };
        let is_transient = matches!(
            ToolErrorKind::from_code(code),
            Some(
                ToolErrorKind::TransientFailure
                    | ToolErrorKind::Timeout
                    | ToolErrorKind::Unavailable
            )
        );
        let is_safe = !execution.did_run() || self.is_repeatable(&schedule.action);
        failed(&execution.result.text, is_transient && is_safe)
    }
}

impl From<Agent> for Executor {
    fn from(agent: Agent) -> Self {
        Self::new().agent(agent)
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("has_agent", &self.agent.is_some())
            .field("has_sessions", &self.sessions.is_some())
            .field("has_dispatcher", &self.dispatcher.is_some())
            .field("has_steering", &self.steering.is_some())
            .finish()
    }
}

fn lacks(schedule: &Schedule, part: &str) -> AttemptResult {
    failed(
        format!(
            "the executor of the principal `{}` has no {part}: set `Executor::{part}`",
            schedule.principal
        ),
        false,
    )
}
