//! What happens during a run, as plain data: all that reporters ever see.
//!
//! Events are told as things happen, from whichever task they happen in. An observer reads them
//! and changes nothing; one that panics is left out of that event and harms no run. A closure is one;
//! [`Channel`], [`Recorder`] and [`JsonLines`] are others; and [`Background`] takes any of them off the
//! run's tasks.
//!
//! What is secret is taken out before anybody is told: the values of
//! [`Policy::secrets`](crate::Policy::secrets), and what stands at marked places of arguments, there and
//! wherever it turns up again. `[redacted]` stands in its place.

mod background;
mod channel;
pub(crate) mod clock;
mod effect;
mod execution;
mod json_lines;
pub(crate) mod micros;
pub(crate) mod money;
mod observers;
mod origin;
mod queue;
mod recorder;
mod redact;

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::message::{CallId, ToolCall, Usage};

pub use background::Background;
pub use channel::{Channel, ChannelReader};
pub use effect::EffectRecord;
pub use execution::{BlockReason, ToolExecution};
pub use json_lines::JsonLines;
pub use observers::{Observer, Observers};
pub use origin::{Origin, RunId};
pub use recorder::Recorder;

/// Something that happened.
///
/// As JSON it is one flat object: `run`, `turn` and, within a tool's own calls, `parent` and `depth`;
/// `at`, in microseconds since 1970; `layer` and `action`; and what the action tells, such as `call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// Where.
    #[serde(flatten)]
    pub origin: Origin,
    /// When.
    #[serde(with = "micros::since_1970")]
    pub at: SystemTime,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened, by the layer in which it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "layer", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "made to be looked at, one at a time")]
pub enum EventKind {
    /// To a run as a whole.
    Run(RunEvent),
    /// Between the loop and the model.
    Model(ModelEvent),
    /// To a call of a tool.
    Tool(ToolEvent),
    /// To what is told of all this.
    Log(LogEvent),
}

/// What happened to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunEvent {
    /// It began, or goes on.
    Started {
        /// The run of the call that it serves, where it is that of an agent that is a tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<RunId>,
        /// Whose it is, where [that](crate::Agent::name) has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The name of the [session](crate::agent::session::Session) that it belongs to, if any. That of an agent that
        /// is a tool belongs to none itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// Something came into its conversation that is neither the model's nor a tool's: what it starts from, and what
    /// is said meanwhile. Each is told once, also where the run is gone on with. Of a conversation that
    /// was had before, that is the orders that it stands under and what the user says now. What the program
    /// [puts in](crate::agent::Turn::edit) before what was told of is not told.
    Said {
        /// Who said it.
        by: Speaker,
        /// Where it comes from, where that is [elsewhere](Speaker::Elsewhere). Nobody has checked that either.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// What.
        text: String,
        /// How many pictures there are beside it.
        #[serde(default, skip_serializing_if = "is_none")]
        images: usize,
    },
    /// It ended, or waits for somebody.
    Finished {
        /// The [code](crate::StopReason::code) of what stopped it; none where the model answered. `AWAITING_APPROVAL`
        /// is no end: the run is told of again, as the same, once somebody has decided. `GIVEN_UP`, where its process
        /// ended, or it waited, and something else was said in its [session](crate::agent::session::Session).
        /// `DROPPED`, where its future, or its [`Run`](crate::agent::Run), is dropped: whoever kept it may go on with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// The same in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// How many tokens it took so far, since it first began, as far as its provider counts them.
        #[serde(default, skip_serializing_if = "Usage::is_none")]
        usage: Usage,
        /// What they cost, where [prices](crate::agent::Limits::cost) are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// From its start, or from when it was last gone on with.
        #[serde(with = "micros")]
        took: Duration,
    },
}

/// Who says something to the model that is neither its own nor a tool's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Speaker {
    /// The program, as standing orders.
    System,
    /// The user, or the program in the user's place.
    User,
    /// Whoever [steers](crate::agent::Steering::say) the run.
    Steering,
    /// Nobody who is trusted, by [steering](crate::agent::Steering::untrusted).
    Elsewhere,
    /// The loop itself, to have the answer given as a [value](crate::Agent::extract).
    Loop,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// What happened between the loop and the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelEvent {
    /// It was asked to go on.
    Asked,
    /// It answered.
    Replied {
        /// What it said in words.
        text: String,
        /// What it thought, as far as its provider tells and people may read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        /// What it wants called.
        calls: Vec<ToolCall>,
        /// How many tokens that took, where the provider tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// From question to answer.
        #[serde(with = "micros")]
        took: Duration,
    },
    /// What fell out of its [window](crate::agent::window) could not be summed up; it does without.
    SummaryFailed {
        /// Why.
        reason: String,
    },
    /// It replied, and nothing in that is what its driver asked for, or, behind [`Replied`](Self::Replied), the
    /// [value](crate::Agent::extract) that it was to give. It is told so, unless it was asked as often as it may be.
    ExtractionFailed {
        /// What it said.
        text: String,
        /// What it is told.
        reason: String,
        /// Which reply of this turn that was, or which attempt at the value, from 1.
        attempt: u32,
    },
    /// It decided on what can't be done: there is no such tool, or it takes no such arguments; or, behind
    /// [`Replied`](Self::Replied), it gave a value that is not what was asked for. It is told so, unless it was asked as
    /// often as it may be.
    ValidationFailed {
        /// What it said.
        text: String,
        /// What it is told.
        reason: String,
        /// Which reply of this turn that was, or which attempt at the value, from 1.
        attempt: u32,
    },
}

/// What happened to a call. Each that is made has one `Started` and, whatever happens, one `Finished`: also one whose
/// future is dropped, as `TOOL_INDETERMINATE`; and so has one whose process ended, once its run is gone on with or given
/// up. One that is answered and not made may have its `Finished` alone; and one whose run is gone on with from what a store
/// keeps may have two, for nobody knows there who saw the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "made to be looked at, one at a time")]
pub enum ToolEvent {
    /// It came.
    Started {
        /// The call as it came.
        call: ToolCall,
    },
    /// Somebody is asked whether it may run.
    Asked {
        /// The call.
        call: CallId,
        /// The name that it is called by.
        tool: String,
        /// What its tool would be given.
        arguments: Value,
    },
    /// It may run.
    Approved {
        /// The call.
        call: CallId,
        /// Who said so.
        by: String,
    },
    /// It doesn't run.
    Blocked {
        /// The call.
        call: CallId,
        /// What held it back.
        by: BlockReason,
        /// What the model is told.
        reason: String,
    },
    /// An attempt failed, and there is to be another, unless its provider is left alone by then.
    Retried {
        /// The call.
        call: CallId,
        /// Which attempt failed, from 1.
        attempt: u32,
        /// The stable code of its failure.
        error: String,
        /// What it failed with, and what lies behind that: for the operator.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// How long is waited before the next.
        #[serde(with = "micros")]
        pause: Duration,
    },
    /// Its tool told how far it is.
    Progress {
        /// The call.
        call: CallId,
        /// How far.
        progress: Progress,
    },
    /// It was stopped from outside.
    Cancelled {
        /// The call.
        call: CallId,
    },
    /// It has its result.
    Finished(ToolExecution),
}

/// What happened to events on their way. It is told to the one who missed them, and of no run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogEvent {
    /// Events came faster than they were read, or could not be written.
    Lost {
        /// How many.
        count: u64,
    },
}

impl LogEvent {
    fn lost(count: u64) -> Event {
        Event::new(Origin::default(), clock::Clock::start().now(), Self::Lost { count })
    }
}

/// How far a tool is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// How much is done, of whatever is counted.
    #[serde(deserialize_with = "number")]
    pub done: f64,
    /// How much there is to do, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What it is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// JSON has no word for what is no number, and writes null.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Option::deserialize(from).map(|number| number.unwrap_or(f64::NAN))
}

impl Event {
    /// Something that happened then.
    pub fn new(origin: Origin, at: SystemTime, kind: impl Into<EventKind>) -> Self {
        Self { origin, at, kind: kind.into() }
    }

    /// `run`, `model`, `tool` or `log`, as in JSON.
    pub fn layer(&self) -> &'static str {
        match self.kind {
            EventKind::Run(_) => "run",
            EventKind::Model(_) => "model",
            EventKind::Tool(_) => "tool",
            EventKind::Log(_) => "log",
        }
    }

    /// What happened in that layer, such as `finished`, as in JSON.
    pub fn action(&self) -> &'static str {
        match &self.kind {
            EventKind::Run(RunEvent::Started { .. })
            | EventKind::Tool(ToolEvent::Started { .. }) => "started",
            EventKind::Run(RunEvent::Said { .. }) => "said",
            EventKind::Run(RunEvent::Finished { .. }) | EventKind::Tool(ToolEvent::Finished(_)) => {
                "finished"
            }
            EventKind::Model(ModelEvent::Asked) | EventKind::Tool(ToolEvent::Asked { .. }) => {
                "asked"
            }
            EventKind::Model(ModelEvent::Replied { .. }) => "replied",
            EventKind::Model(ModelEvent::SummaryFailed { .. }) => "summary_failed",
            EventKind::Model(ModelEvent::ExtractionFailed { .. }) => "extraction_failed",
            EventKind::Model(ModelEvent::ValidationFailed { .. }) => "validation_failed",
            EventKind::Tool(ToolEvent::Approved { .. }) => "approved",
            EventKind::Tool(ToolEvent::Blocked { .. }) => "blocked",
            EventKind::Tool(ToolEvent::Retried { .. }) => "retried",
            EventKind::Tool(ToolEvent::Progress { .. }) => "progress",
            EventKind::Tool(ToolEvent::Cancelled { .. }) => "cancelled",
            EventKind::Log(LogEvent::Lost { .. }) => "lost",
        }
    }

    /// What happened to a call, if that is what this tells of.
    pub fn tool(&self) -> Option<&ToolEvent> {
        match &self.kind {
            EventKind::Tool(event) => Some(event),
            _ => None,
        }
    }

    /// What became of a call, if that is what this tells of.
    pub fn finished(&self) -> Option<&ToolExecution> {
        match self.tool()? {
            ToolEvent::Finished(execution) => Some(execution),
            _ => None,
        }
    }

    /// The call that this tells of.
    pub fn call(&self) -> Option<&CallId> {
        match self.tool()? {
            ToolEvent::Started { call } => Some(&call.id),
            ToolEvent::Finished(execution) => Some(&execution.call.id),
            ToolEvent::Asked { call, .. }
            | ToolEvent::Approved { call, .. }
            | ToolEvent::Blocked { call, .. }
            | ToolEvent::Retried { call, .. }
            | ToolEvent::Progress { call, .. }
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
