pub(crate) mod called_tool;
pub(crate) mod execution;
pub(crate) mod file_texts;
pub(crate) mod plan;

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{BlockReason, CalledTool, ToolExecution, micros};
use crate::message::{CallId, ToolCall};

/// An event of a tool call.
///
/// Every call that is made has one `Started` and, whatever happens, one `Finished`. If its future
/// is dropped, it finishes as `TOOL_INDETERMINATE`. If its process ended, it finishes once its run
/// is resumed or abandoned.
///
/// There are three exceptions:
///
/// - A skipped call may emit only `Finished`.
/// - If a run is dropped or its process ends while a call is in flight, the call emits `Finished`
///   again once the run is resumed or abandoned, since the store does not know which events were
///   received. If the call is made again, it emits `Started` again as well.
/// - A deferred call emits `Started`, `ApprovalRequested`, `Blocked` (by
///   [`Pending`](BlockReason::Pending)) and `Finished` (`TOOL_AWAITING_APPROVAL`) each time its run
///   pauses. After the decision, it emits `Started`, `Approved` and `Finished`; if it is denied,
///   `Started`, `Blocked` and `Finished`. A sub-agent's call whose nested run pauses emits
///   `Started`, `Blocked` and `Finished` at each pause, and `Started` and `Finished` at its end.
///
/// ```
/// use tool_runtime::event::{Recorder, ToolEvent};
/// use tool_runtime::{Dispatcher, Registry, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let recorder = Recorder::new(100);
/// let dispatcher = Dispatcher::new(Registry::new()).observer(recorder.clone());
/// dispatcher.dispatch(vec![ToolCall::new("1", "unknown", "{}")]).await;
/// let events = recorder.events();
/// assert!(matches!(events[0].tool_event(), Some(ToolEvent::Started { .. })));
/// assert!(matches!(events[1].tool_event(), Some(ToolEvent::Finished(_))));
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "made to be looked at, one at a time")]
pub enum ToolEvent {
    /// The dispatcher received the call.
    #[serde(rename = "tool.started")]
    Started {
        /// The call as the model sent it.
        call: ToolCall,
        /// The tool that the name of the call is resolved to; `None` if there is none of this name,
        /// or if another [`Dispatch`](crate::dispatch::Dispatch) runs the calls of the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<Box<CalledTool>>,
    },
    /// The approver is asked to decide on the call.
    #[serde(rename = "tool.approval_requested")]
    ApprovalRequested {
        /// The id of the call.
        call: CallId,
        /// The name by which the tool is called.
        tool: String,
        /// The exact JSON text of the arguments that the tool would receive.
        ///
        /// To show it to a person, make deceptive characters [visible](crate::message::visible).
        arguments: String,
        /// The title of the tool, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The time until which the call waits for the decision: the end of the time limit of its
        /// run or batch. A call whose decision is deferred waits without a limit.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "micros::optional")]
        expires_at: Option<SystemTime>,
        /// Why an earlier decision does not apply to the call, such as "decision of Ada is void:
        /// the definition of `pay` changed".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        void_decision: Option<String>,
        /// A description of what the call would do, from a [previewer of the
        /// policy](crate::Policy::previewer).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
    },
    /// The call was approved.
    #[serde(rename = "tool.approved")]
    Approved {
        /// The id of the call.
        call: CallId,
        /// The name of the approver.
        approved_by: String,
    },
    /// The tool asks a question, and the call waits for the answer.
    ///
    /// [`Paused::answer`](crate::agent::Paused::answer) answers it. `Blocked`, by
    /// [`Pending`](BlockReason::Pending), and `Finished` follow.
    #[serde(rename = "tool.question_asked")]
    QuestionAsked {
        /// The id of the call.
        call: CallId,
        /// The name by which the tool is called.
        tool: String,
        /// The question of the tool, for a person.
        question: String,
        /// The JSON Schema of the answer, if the tool has stated one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_schema: Option<Value>,
    },
    /// The call was blocked and does not run.
    #[serde(rename = "tool.blocked")]
    Blocked {
        /// The id of the call.
        call: CallId,
        /// The part of the policy that blocked the call.
        blocked_by: BlockReason,
        /// The reason, as the model receives it.
        reason: String,
    },
    /// An attempt begins: the call was approved, if necessary, and has waited for the limits of
    /// rate and concurrency.
    #[serde(rename = "tool.running")]
    Running {
        /// The id of the call.
        call: CallId,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// An attempt failed and is retried after a delay, unless the circuit breaker of the provider
    /// opens meanwhile.
    #[serde(rename = "tool.retried")]
    Retried {
        /// The id of the call.
        call: CallId,
        /// The number of the failed attempt, from 1.
        attempt: u32,
        /// The stable code of the error.
        error: String,
        /// The text of the error and its causes, for operators.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The delay before the next attempt.
        #[serde(rename = "delay_us", with = "micros")]
        delay: Duration,
    },
    /// The tool reported progress.
    #[serde(rename = "tool.progress")]
    Progress {
        /// The id of the call.
        call: CallId,
        /// The progress that the tool reported.
        progress: Progress,
    },
    /// The tool passed on the next part of its output, by
    /// [`ToolContext::emit_output`](crate::ToolContext::emit_output).
    #[serde(rename = "tool.output_emitted")]
    OutputEmitted {
        /// The id of the call.
        call: CallId,
        /// The text to append to the output so far.
        text: String,
    },
    /// The tool emitted data of its own, by [`ToolContext::emit`](crate::ToolContext::emit).
    #[serde(rename = "tool.data_emitted")]
    DataEmitted {
        /// The id of the call.
        call: CallId,
        /// The name of the kind of data, such as [`Plan::NAME`](super::Plan::NAME).
        name: String,
        /// The data in the form of the tool.
        data: Value,
    },
    /// The call was cancelled from outside.
    #[serde(rename = "tool.cancelled")]
    Cancelled {
        /// The id of the call.
        call: CallId,
    },
    /// The run of the call was abandoned, and its tool was asked to
    /// [stop the work](crate::Tool::abandon) that may still run elsewhere.
    #[serde(rename = "tool.abandoned")]
    Abandoned {
        /// The id of the call.
        call: CallId,
        /// The name of the tool, as it was called.
        tool: String,
        /// The error of the tool, if it failed, so that the work may still run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The call has its result.
    #[serde(rename = "tool.finished")]
    Finished(ToolExecution),
}

/// The progress that a tool reports.
///
/// ```
/// use tool_runtime::event::Progress;
///
/// let progress = Progress { done: 3.0, total: Some(12.0), message: Some("page 3".into()) };
/// let json = r#"{"done":3.0,"total":12.0,"message":"page 3"}"#;
/// assert_eq!(serde_json::to_string(&progress)?, json);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The amount of work done, in a unit of the tool's choice.
    #[serde(deserialize_with = "number")]
    pub done: f64,
    /// The total amount of work, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// The current activity of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Reads `null` as NaN, since JSON can't represent NaN and serde_json writes it as `null`.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Option::deserialize(from).map(|number| number.unwrap_or(f64::NAN))
}
