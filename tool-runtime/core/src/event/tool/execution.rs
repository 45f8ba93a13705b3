use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{EffectRecord, ProtocolError, micros};
use crate::json::{self, Fix};
use crate::message::{ToolCall, ToolKind, ToolResult};

/// The record of one call: attempts, repairs, decision, effects and result.
///
/// ```
/// use tool_runtime::{Dispatcher, Registry, ToolCall, tool, tools};
///
/// /// Doubles a number.
/// #[tool(effect = "none")]
/// async fn double(n: i64) -> i64 {
///     2 * n
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![double])?);
/// let executions = dispatcher.dispatch(vec![ToolCall::new("1", "double", "{n: 4}")]).await;
/// let execution = &executions[0];
/// assert_eq!((execution.result.text.as_str(), execution.attempts), ("8", 1));
/// assert!(execution.was_repaired(), "`n` had no quotes");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolExecution {
    /// The call as the model sent it.
    pub call: ToolCall,
    /// The call as it ran, if an interceptor changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_call: Option<Box<ToolCall>>,
    /// The result that the model receives.
    pub result: ToolResult,
    /// The complete output, if the model receives a shortened one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_text: Option<String>,
    /// The fixes of the arguments. If the tool does not accept a fix, the call failed, and these
    /// are the fixes that it would have needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    /// The arguments that the tool received, as JSON, if they were repaired or examined for an
    /// authorization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded_arguments: Option<String>,
    /// The causes of a failure, outermost first, for operators. The model does not receive them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The error of a protocol that caused a failure, for operators and programs. The model does
    /// not receive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_error: Option<Box<ProtocolError>>,
    /// How the tool is implemented; `None` if the name of the call was not resolved to a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_kind: Option<ToolKind>,
    /// The number of attempts; 0 if the tool was not invoked, as for an unknown name. An attempt
    /// whose arguments the tool refuses counts.
    pub attempts: u32,
    /// Whether the output is the cached output of an earlier call with the same arguments.
    #[serde(default)]
    pub cached: bool,
    /// The part of the policy that blocked the call, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<BlockReason>,
    /// The approval decision, preview, question and answer of the call, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) review: Option<Box<Review>>,
    /// The effects that the tool recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectRecord>,
    /// The changes that the interceptors made to the run, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_changes: Option<Box<RunChanges>>,
    /// Whether a thread of the tool still runs, since it could not be stopped.
    #[serde(default)]
    pub has_detached_thread: bool,
    /// The time at which the dispatcher received the call.
    #[serde(with = "micros::since_1970")]
    pub started_at: SystemTime,
    /// The time from the start of the call to its result.
    #[serde(rename = "duration_us", with = "micros")]
    pub duration: Duration,
}

/// The approval decision, preview, question and answer of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Review {
    /// The name of the approver that decided on the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decided_by: Option<String>,
    /// The name of the person or program that answered the question of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answered_by: Option<String>,
    /// Why an earlier decision does not apply to the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) void_decision: Option<String>,
    /// A description of what the call would do, from a previewer of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preview: Option<String>,
    /// The question whose answer the call awaits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<String>,
    /// The JSON Schema of the answer to the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer_schema: Option<Value>,
    /// The state from which the tool continues once a decision or an answer arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) suspended_state: Option<Value>,
    /// How often the suspended call has been resumed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) resumptions: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The changes that interceptors made to a run before one of its calls.
///
/// They are not effects of the tool, because a tool can't change metadata such as the name of the
/// signed-in user.
///
/// ```
/// use tool_runtime::dispatch::{InterceptAction, InterceptContext, Interceptor};
/// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, async_trait};
///
/// struct MarkRun;
///
/// #[async_trait]
/// impl Interceptor for MarkRun {
///     async fn before_call(
///         &self,
///         _: &mut ToolCall,
///         ctx: &mut InterceptContext<'_>,
///     ) -> InterceptAction {
///         ctx.set_metadata("has_called", true);
///         InterceptAction::Run
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let dispatcher = Dispatcher::new(Registry::new()).policy(Policy::new().interceptor(MarkRun));
/// let executions = dispatcher.dispatch(vec![ToolCall::new("1", "now", "{}")]).await;
/// let changes = executions[0].run_changes.as_deref().unwrap();
/// assert_eq!(changes.metadata["has_called"], true);
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunChanges {
    /// The members of the metadata that were set. A member with the value null was removed.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The reason for which an interceptor requested the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
}

/// The part of the policy that blocked a call.
///
/// ```
/// use tool_runtime::dispatch::Permissions;
/// use tool_runtime::event::BlockReason;
/// use tool_runtime::{Dispatcher, Permission, Policy, Registry, ToolCall, tool, tools};
///
/// /// Deletes a file.
/// #[tool]
/// async fn delete(path: String) -> String {
///     format!("{path} is deleted")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let permissions = Permissions::default().tool("delete", Permission::Deny);
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![delete])?)
///     .policy(Policy::new().permissions(permissions));
/// let call = ToolCall::new("1", "delete", r#"{"path": "notes.txt"}"#);
/// let executions = dispatcher.dispatch(vec![call]).await;
/// assert_eq!(executions[0].blocked_by, Some(BlockReason::Permission));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockReason {
    /// An interceptor blocked the call.
    Interceptor,
    /// A capability that the tool requires is not granted.
    Capability,
    /// The permission of the tool, or of the call, is `Deny`.
    Permission,
    /// The approver denied the call, or there is none.
    Approver,
    /// The approver has deferred its decision on this call, or on a call that its tool depends on;
    /// or the tool asks a question that has no answer yet.
    Pending,
    /// An [attempt hook](crate::dispatch::AttemptHook) refused the first attempt.
    AttemptHook,
    /// The circuit breaker of the provider is open.
    Breaker,
    /// The rate limit allows no call before the deadline of the batch or run.
    RateLimit,
    /// Another call of the same reply aborted the batch, or the batch had ended.
    Batch,
    /// The call is nested too deeply.
    Depth,
}

impl ToolExecution {
    /// Creates the execution of a call with this result, and with all other fields empty.
    ///
    /// ```
    /// use tool_runtime::{ToolCall, ToolExecution, ToolResult};
    ///
    /// let call = ToolCall::new("call_1", "now", "{}");
    /// let result = ToolResult::success(&call, "noon");
    /// assert_eq!(ToolExecution::new(call, result).attempts, 0);
    /// ```
    pub fn new(call: ToolCall, result: ToolResult) -> Self {
        Self {
            call,
            modified_call: None,
            result,
            full_text: None,
            fixes: Vec::new(),
            decoded_arguments: None,
            cause: None,
            protocol_error: None,
            tool_kind: None,
            attempts: 0,
            cached: false,
            blocked_by: None,
            review: None,
            effects: Vec::new(),
            run_changes: None,
            has_detached_thread: false,
            started_at: UNIX_EPOCH,
            duration: Duration::ZERO,
        }
    }

    /// Returns the arguments that the tool received; `None` if they can't be parsed.
    pub fn arguments(&self) -> Option<Value> {
        let call = self.modified_call.as_deref().unwrap_or(&self.call);
        match &self.decoded_arguments {
            Some(decoded) => serde_json::from_str(decoded).ok(),
            None => Some(json::parse(&call.arguments.to_text()).ok()?.value),
        }
    }

    /// Returns the result as a value: [`structured`](ToolResult::structured), or the complete text
    /// if it is JSON.
    ///
    /// A tool whose definition has an output schema returns JSON.
    pub fn structured_value(&self) -> Option<Value> {
        match &self.full_text {
            Some(text) if self.result.structured.is_none() => serde_json::from_str(text).ok(),
            _ => self.result.structured_value(),
        }
    }

    /// Returns the name of the approver that decided on the call, if it was asked.
    pub fn decided_by(&self) -> Option<&str> {
        self.review.as_ref()?.decided_by.as_deref()
    }

    /// Returns the name of the person or program that answered the question of the call, if it had
    /// one.
    pub fn answered_by(&self) -> Option<&str> {
        self.review.as_ref()?.answered_by.as_deref()
    }

    /// Returns why an earlier decision does not apply to the blocked call, such as "decision of Ada
    /// is void: the definition of `pay` changed".
    pub fn void_decision(&self) -> Option<&str> {
        self.review.as_ref()?.void_decision.as_deref()
    }

    /// Returns a description of what the pending call would do, from a [previewer of the
    /// policy](crate::Policy::previewer), without secrets. Observers receive it with
    /// [`ToolEvent::ApprovalRequested`](crate::event::ToolEvent::ApprovalRequested) only.
    pub fn preview(&self) -> Option<&str> {
        self.review.as_ref()?.preview.as_deref()
    }

    /// Returns the question whose answer the call awaits, if its tool
    /// [suspended](crate::ToolError::suspended) it.
    pub fn question(&self) -> Option<&str> {
        self.review.as_ref()?.question.as_deref()
    }

    /// Returns the JSON Schema of the answer to the question, if the tool
    /// [states](crate::ToolError::answer_schema) one.
    pub fn answer_schema(&self) -> Option<&Value> {
        self.review.as_ref()?.answer_schema.as_ref()
    }

    /// Returns the state from which the tool continues once a decision or an answer arrives, if the
    /// call is paused. Observers do not receive it.
    pub fn suspended_state(&self) -> Option<&Value> {
        self.review.as_ref()?.suspended_state.as_ref()
    }

    /// Returns how often the suspended call has been resumed so far.
    pub(crate) fn resumptions(&self) -> u32 {
        self.review.as_ref().map_or(0, |review| review.resumptions)
    }

    /// Returns the execution without the state of its tool, and without the preview, which
    /// observers have received with the request for approval.
    pub(crate) fn for_observers(mut self) -> Self {
        self.review = self.review.and_then(|mut review| {
            (review.suspended_state, review.preview, review.resumptions) = (None, None, 0);
            (*review != Review::default()).then_some(review)
        });
        self
    }

    /// Returns the time at which the call had its result.
    pub fn finished_at(&self) -> SystemTime {
        self.started_at.checked_add(self.duration).unwrap_or(self.started_at)
    }

    /// Whether the call succeeded.
    pub fn is_success(&self) -> bool {
        self.result.is_success()
    }

    /// Whether the call failed: it neither succeeded nor was blocked.
    pub fn is_failure(&self) -> bool {
        !self.is_success() && !self.is_blocked()
    }

    /// Whether the policy or a pending nested call blocked the call.
    pub fn is_blocked(&self) -> bool {
        self.blocked_by.is_some()
    }

    /// Whether the call awaits a decision or an answer.
    pub fn is_pending(&self) -> bool {
        self.blocked_by == Some(BlockReason::Pending)
    }

    /// Whether this execution invoked the tool.
    ///
    /// False for the result `TOOL_INDETERMINATE` after a crash, although an earlier process may
    /// have invoked the tool.
    pub fn did_run(&self) -> bool {
        self.attempts > 0
    }

    /// Whether the tool was invoked more than once.
    pub fn was_retried(&self) -> bool {
        self.attempts > 1
    }

    /// Whether the arguments were repaired, or would have needed a repair.
    pub fn was_repaired(&self) -> bool {
        !self.fixes.is_empty()
    }

    /// Whether the call failed with this code, such as `TOOL_TIMEOUT`.
    pub fn failed_with(&self, code: &str) -> bool {
        self.result.error.as_deref() == Some(code)
    }
}
