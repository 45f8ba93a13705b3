//! The agent loop: requests a reply from the model, runs its calls, and repeats until the model
//! answers.
//!
//! 1. `handle.rs`, `settings.rs` and `config.rs`: an [`Agent`] holds the configuration, which its
//!    runs share.
//! 2. `request/prompt.rs` turns a prompt into the first [`Turn`]. The [`turn`](Turn) decides what
//!    comes next; it is plain data and neither awaits nor reads a clock.
//! 3. `run`: a [`Run`] drives the turn. It requests replies (`request/selection.rs`, [`window`],
//!    `request/exchange.rs`), has the calls run by a dispatcher, and applies their effects
//!    (`effects.rs`).
//! 4. `outcome/answer.rs` and `outcome/stop_reason.rs`: the run ends with an [`Answer`], or is
//!    [`Stopped`] for a [`StopReason`].
//! 5. `state.rs` and `outcome/paused.rs` hold a run as plain data between two steps; [`session`]
//!    and `persist.rs` save it.
//! 6. `stream.rs` drives a run as a stream, `extract/` until the answer is a typed value.
//!    `subagent.rs` turns an agent into a tool.
//!
//! # Invariants
//! - Every call in the transcript gets exactly one result, however the run ends.
//! - No file here depends on how a call is run or how a model provider is reached.
//! - Dropping a run cancels all that it has in flight.

mod check;
mod config;
mod deadline;
mod effects;
pub(crate) mod extract;
pub(crate) mod handle;
mod hook;
mod limits;
mod offered_tools;
pub(crate) mod outcome;
mod persist;
mod request;
mod run;
pub mod session;
mod settings;
mod spans;
mod state;
mod steering;
mod stream;
mod subagent;
pub(crate) mod turn;
pub mod window;

pub use check::{CheckError, CheckNotice, CheckProblem};
pub use extract::answer_validator::AnswerValidator;
pub use extract::{Extract, Extracted};
pub(crate) use handle::Agent;
pub use hook::{ModelHook, ReplyChanges};
pub use limits::{Limits, Prices};
pub use offered_tools::OfferedTools;
pub use outcome::paused::Paused;
pub use outcome::pending_call::{PendingCall, PendingCallError};
pub use request::prompt::Prompt;
pub use run::{CompletedStep, Run};
pub use state::RunState;
pub use steering::{Inbox, Steering, SteeringError};
pub use stream::{RunStream, StreamItem};
pub use subagent::SubAgent;
pub use turn::{TransitionError, Turn};

use self::turn::{Outcome, Step, StopRequest};
pub(crate) use outcome::answer::{Answer, Stopped};
pub(crate) use outcome::stop_reason::StopReason;
