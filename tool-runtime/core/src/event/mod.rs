//! Events: everything that happens during a run, as plain data.
//!
//! # The path of an event
//! 1. The agent loop, the dispatcher and the tools emit events in the task in which they happen.
//! 2. `redact.rs`: secrets are replaced by `[redacted]`. These are the values of
//!    [`Policy::secrets`](crate::Policy::secrets) and the arguments that tools mark as secret,
//!    there and wherever they occur again.
//! 3. `sink/observers.rs`: each [`Observer`] receives the event, one after the other.
//! 4. An observer keeps events in memory ([`Recorder`]), sends them to other tasks ([`Channel`]),
//!    writes them to a file ([`JsonLines`]), or passes them to another thread ([`Background`]).
//!
//! # Invariants
//! - An observer changes nothing. If it panics, it misses that event, and the run continues.
//! - No observer receives a secret.
//! - Every [`ToolEvent::Started`] is followed by a [`ToolEvent::Finished`], whatever happens.
//! - The JSON form of an event is stable and flat; reports and logs are built from it.

mod attachment;
pub(crate) mod clock;
mod display;
pub(crate) mod effect;
pub(crate) mod kind;
mod log;
pub(crate) mod micros;
mod model;
pub(crate) mod money;
mod origin;
mod protocol_error;
mod redact;
mod run;
mod sink;
pub(crate) mod tool;
mod unmatched_rule;

pub use attachment::Attachment;
pub(crate) use effect::EffectRecord;
pub use effect::{FileChange, FileOp, NetworkRequest, ProcessEnd, ProcessStart};
pub(crate) use kind::Event;
pub use kind::EventKind;
pub use log::LogEvent;
pub use model::ModelEvent;
pub use origin::{Origin, RunId};
pub use protocol_error::ProtocolError;
pub use run::{MessageSource, RunEvent};
pub use sink::background::Background;
pub use sink::channel::{Channel, ChannelReader};
pub use sink::json_lines::JsonLines;
pub use sink::observers::{Observer, Observers};
pub use sink::recorder::Recorder;
pub use tool::called_tool::CalledTool;
pub use tool::execution::{BlockReason, RunChanges};
pub(crate) use tool::execution::{Review, ToolExecution};
pub use tool::file_texts::FileTexts;
pub use tool::plan::{Plan, PlanStep, StepStatus};
pub use tool::{Progress, ToolEvent};
pub use unmatched_rule::{RuleSetting, RuleTarget, UnmatchedRule};
