//! Steps and outcomes of a run, and the requests that end it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::message::ToolCall;
use crate::models::FinishReason;

/// Next step of a run, as decided by [`Turn::next`](super::Turn::next).
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Send the transcript to the model and report its reply with
    /// [`Turn::on_reply`](super::Turn::on_reply).
    RequestModel,
    /// Run these calls and report their results with [`Turn::on_results`](super::Turn::on_results).
    RunCalls(Vec<ToolCall>),
    /// The run has ended: no action remains.
    Done(Outcome),
}

/// Reason to end a run before the model answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Halt {
    BudgetExhausted,
    RepeatedCall,
    StopRequested(StopRequest),
}

/// Request by a tool or by the program to end a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub(crate) struct StopRequest {
    /// The tool that requested the stop; `None` if the program did.
    pub tool: Option<String>,
    /// The reason, for operators.
    pub reason: String,
}

impl StopRequest {
    /// Creates a request by the named tool, or by the program if `tool` is `None`.
    pub(crate) fn new(tool: Option<String>, reason: impl Into<String>) -> Self {
        Self { tool, reason: reason.into() }
    }
}

/// Result of a finished run, as returned by [`Turn::next`](super::Turn::next) in [`Step::Done`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The model answered without further calls.
    Answered,
    /// The model's answer was cut off for the given reason.
    TruncatedReply(FinishReason),
    /// The model returned neither text nor calls.
    EmptyReply,
    /// The limit of model requests was reached while the model still made calls. The calls did not
    /// run.
    IterationLimit,
    /// The token limit or the cost limit was reached.
    BudgetExhausted,
    /// The model repeated the same call in spite of a warning.
    RepeatedCall,
    /// A tool or the program requested a stop; see
    /// [`Turn::stop_request`](super::Turn::stop_request).
    StopRequested,
}

/// Error returned when an input does not match the current step of a [`Turn`](super::Turn).
///
/// ```
/// use tool_runtime::agent::Turn;
/// use tool_runtime::{ChatReply, Message};
///
/// let mut turn = Turn::new(vec![Message::user("Hello")], 20);
/// turn.on_reply(ChatReply::text("Hi!"))?;
/// let error = turn.on_reply(ChatReply::text("Hi again!")).unwrap_err();
/// assert_eq!(error.to_string(), "invalid transition: no model request is pending");
/// # Ok::<(), tool_runtime::agent::TransitionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid transition: {0}")]
pub struct TransitionError(Cow<'static, str>);

impl TransitionError {
    pub(super) fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }
}
