//! An event: its origin, its time and its kind.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{LogEvent, ModelEvent, Origin, RunEvent, ToolEvent, ToolExecution, micros};
use crate::message::CallId;

/// Something that happened during a run: where, when and what.
///
/// The JSON form is one flat object: `run`, `turn` and, for nested calls, `parent` and `depth`;
/// `at`, in microseconds since 1970; `event`, the [name](Self::name) such as `tool.finished`; and
/// the fields of the event, such as `call`.
///
/// ```
/// use std::time::UNIX_EPOCH;
/// use tool_runtime::Event;
/// use tool_runtime::event::{ModelEvent, Origin, RunId};
///
/// let requested = ModelEvent::Requested { message: None };
/// let event = Event::new(Origin::new(RunId::from(1), 2), UNIX_EPOCH, requested);
/// assert_eq!(event.name(), "model.requested");
/// let json = serde_json::to_string(&event)?;
/// assert!(json.ends_with(r#""turn":2,"at":0,"event":"model.requested"}"#));
/// assert_eq!(serde_json::from_str::<Event>(&json)?, event);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// The run, turn and parent call that emitted the event.
    #[serde(flatten)]
    pub origin: Origin,
    /// The time at which the event was emitted.
    #[serde(with = "micros::since_1970")]
    pub at: SystemTime,
    /// The kind of event, with its data.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kind of an event, by the layer that emitted it.
///
/// ```
/// use tool_runtime::event::{EventKind, Recorder};
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let recorder = Recorder::new(100);
/// let model = ScriptedModel::new([ChatReply::text("Hello!")]);
/// Agent::new(model, Tools::new()).observer(recorder.clone()).run("Hello").await?;
/// let events = recorder.events();
/// let of_model = events.iter().filter(|event| matches!(event.kind, EventKind::Model(_)));
/// assert_eq!(of_model.count(), 2, "the request and the reply");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum EventKind {
    /// An event of a run as a whole.
    Run(RunEvent),
    /// An event between the agent loop and the model.
    Model(ModelEvent),
    /// An event of a tool call.
    Tool(ToolEvent),
    /// An event about the delivery of events.
    Log(LogEvent),
}

impl Event {
    /// Creates an event that was emitted at this time.
    ///
    /// ```
    /// use std::time::SystemTime;
    ///
    /// use tool_runtime::Event;
    /// use tool_runtime::event::{ModelEvent, Origin, RunId};
    ///
    /// let origin = Origin::new(RunId::from(1), 1);
    /// let event = Event::new(origin, SystemTime::now(), ModelEvent::Requested { message: None });
    /// assert_eq!(event.name(), "model.requested");
    /// ```
    pub fn new(origin: Origin, at: SystemTime, kind: impl Into<EventKind>) -> Self {
        Self { origin, at, kind: kind.into() }
    }

    /// Returns the name of the event as in JSON: the layer that emitted it and the action, such as
    /// `tool.finished`. The layers are `run`, `model`, `tool` and `log`.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            EventKind::Run(RunEvent::Started { .. }) => "run.started",
            EventKind::Run(RunEvent::MessageAdded { .. }) => "run.message_added",
            EventKind::Run(RunEvent::RuleUnmatched(_)) => "run.rule_unmatched",
            EventKind::Run(RunEvent::StateEvicted) => "run.state_evicted",
            EventKind::Run(RunEvent::LeaseRenewalFailed { .. }) => "run.lease_renewal_failed",
            EventKind::Run(RunEvent::LeaseReleaseFailed { .. }) => "run.lease_release_failed",
            EventKind::Run(RunEvent::InboxFailed { .. }) => "run.inbox_failed",
            EventKind::Run(RunEvent::Finished { .. }) => "run.finished",
            EventKind::Model(ModelEvent::Requested { .. }) => "model.requested",
            EventKind::Model(ModelEvent::Replied { .. }) => "model.replied",
            EventKind::Model(ModelEvent::Failed { .. }) => "model.failed",
            EventKind::Model(ModelEvent::ReplyReplaced { .. }) => "model.reply_replaced",
            EventKind::Model(ModelEvent::SummaryFailed { .. }) => "model.summary_failed",
            EventKind::Model(ModelEvent::ClientWarning { .. }) => "model.client_warning",
            EventKind::Model(ModelEvent::HookWarning { .. }) => "model.hook_warning",
            EventKind::Model(ModelEvent::ExtractionFailed { .. }) => "model.extraction_failed",
            EventKind::Model(ModelEvent::ValidationFailed { .. }) => "model.validation_failed",
            EventKind::Tool(ToolEvent::Started { .. }) => "tool.started",
            EventKind::Tool(ToolEvent::ApprovalRequested { .. }) => "tool.approval_requested",
            EventKind::Tool(ToolEvent::QuestionAsked { .. }) => "tool.question_asked",
            EventKind::Tool(ToolEvent::Running { .. }) => "tool.running",
            EventKind::Tool(ToolEvent::OutputEmitted { .. }) => "tool.output_emitted",
            EventKind::Tool(ToolEvent::DataEmitted { .. }) => "tool.data_emitted",
            EventKind::Tool(ToolEvent::Approved { .. }) => "tool.approved",
            EventKind::Tool(ToolEvent::Blocked { .. }) => "tool.blocked",
            EventKind::Tool(ToolEvent::Retried { .. }) => "tool.retried",
            EventKind::Tool(ToolEvent::Progress { .. }) => "tool.progress",
            EventKind::Tool(ToolEvent::Cancelled { .. }) => "tool.cancelled",
            EventKind::Tool(ToolEvent::Abandoned { .. }) => "tool.abandoned",
            EventKind::Tool(ToolEvent::Finished(_)) => "tool.finished",
            EventKind::Log(LogEvent::Dropped { .. }) => "log.dropped",
        }
    }

    /// Returns the event of a tool call, if this is one.
    pub fn tool_event(&self) -> Option<&ToolEvent> {
        match &self.kind {
            EventKind::Tool(event) => Some(event),
            _ => None,
        }
    }

    /// Returns the execution of a call, if this event is its end.
    pub fn execution(&self) -> Option<&ToolExecution> {
        match self.tool_event()? {
            ToolEvent::Finished(execution) => Some(execution),
            _ => None,
        }
    }

    /// Returns the id of the call that this event belongs to, if any.
    pub fn call_id(&self) -> Option<&CallId> {
        match self.tool_event()? {
            ToolEvent::Started { call, .. } => Some(&call.id),
            ToolEvent::Finished(execution) => Some(&execution.call.id),
            ToolEvent::ApprovalRequested { call, .. }
            | ToolEvent::Approved { call, .. }
            | ToolEvent::Blocked { call, .. }
            | ToolEvent::Retried { call, .. }
            | ToolEvent::QuestionAsked { call, .. }
            | ToolEvent::Running { call, .. }
            | ToolEvent::Progress { call, .. }
            | ToolEvent::OutputEmitted { call, .. }
            | ToolEvent::DataEmitted { call, .. }
            | ToolEvent::Abandoned { call, .. }
            | ToolEvent::Cancelled { call } => Some(call),
        }
    }
}

impl From<RunEvent> for EventKind {
    fn from(event: RunEvent) -> Self {
        Self::Run(event)
    }
}

impl From<ModelEvent> for EventKind {
    fn from(event: ModelEvent) -> Self {
        Self::Model(event)
    }
}

impl From<LogEvent> for EventKind {
    fn from(event: LogEvent) -> Self {
        Self::Log(event)
    }
}

impl From<ToolEvent> for EventKind {
    fn from(event: ToolEvent) -> Self {
        Self::Tool(event)
    }
}
