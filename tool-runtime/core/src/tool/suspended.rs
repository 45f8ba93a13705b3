//! Suspended calls: a tool saves its state, asks a question, and continues with the answer.

use std::any::type_name;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Fingerprint, ToolContext, ToolDefinition, ToolError, ToolErrorKind};
use crate::event::ToolExecution;
use crate::guard::error_chain;
use crate::message::CallId;

/// A call that has started and waits for something external, with the state that its tool needs to
/// continue.
///
/// The state belongs to the tool. Nothing else interprets it. If the call has a
/// [`question`](Self::question) and no [`answer`](Self::answer), it stays pending and its tool is
/// not called. Without a question, the tool is called with its state at once.
///
/// The debug output omits the state and the answer, which may contain secrets.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::dispatch::{Batch, Dispatch, SuspendedCall};
/// use tool_runtime::{Dispatcher, Registry, ToolCall, ToolContext, ToolError, tool, tools};
///
/// /// Books a seat.
/// #[tool]
/// async fn book(train: String, ctx: &ToolContext) -> Result<String, ToolError> {
///     let Some(resumed) = ctx.resumed() else {
///         return Err(ToolError::suspended("Window or aisle?", json!({ "train": train })));
///     };
///     Ok(format!("{train}: {}", resumed.answer_as::<String>()?))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::try_from(tools![book])?;
/// let dispatcher = Dispatcher::new(registry.clone());
/// let call = ToolCall::new("call_1", "book", r#"{"train": "ICE 71"}"#);
/// let execution = dispatcher.dispatch(vec![call.clone()]).await.remove(0);
/// assert!(execution.is_pending());
///
/// let snapshot = registry.snapshot();
/// let definition = snapshot.definition("book").ok_or("no tool")?;
/// let suspended = SuspendedCall::of(&execution, definition).ok_or("not suspended")?;
/// assert_eq!(suspended.question.as_deref(), Some("Window or aisle?"));
///
/// let mut batch = Batch::from(vec![call]);
/// batch.suspended.push(suspended.with_answer("aisle", "Ada"));
/// let executions = Dispatch::dispatch(&dispatcher, batch).await;
/// assert_eq!(executions[0].result.text, "ICE 71: aisle");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SuspendedCall {
    /// The id of the call.
    pub call: CallId,
    /// The [full name](super::ToolDefinition::full_name) of the tool. No other tool receives the
    /// state.
    pub tool: String,
    /// The fingerprint of the tool's definition when the call was suspended.
    ///
    /// If the definition has changed since, the answer is void and the question is asked again. If
    /// the call needs approval, the approver is asked first. An approver that defers the decision
    /// ends the call with `TOOL_INDETERMINATE`: a call that has started can't wait for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// The state that the tool continues from.
    pub state: Value,
    /// The question whose answer the call awaits, if it awaits one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The JSON Schema of the answer, if the tool states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Value>,
    /// The number of this resumption of the call, from 1.
    #[serde(default = "first")]
    pub resumptions: u32,
    /// The answer to the question, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<CallAnswer>,
}

fn first() -> u32 {
    1
}

impl SuspendedCall {
    /// Creates the record of a suspended call of the tool with this definition, without a question.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::ToolDefinition;
    /// use tool_runtime::dispatch::SuspendedCall;
    ///
    /// let schema = json!({ "type": "object" });
    /// let research = ToolDefinition::new("research", "Searches for a long time.", schema);
    /// let call = SuspendedCall::new("call_1".into(), &research, json!({ "step": 2 }));
    /// assert_eq!(call.tool, "research");
    /// ```
    pub fn new(call: CallId, definition: &ToolDefinition, state: Value) -> Self {
        let fingerprint = Some(definition.fingerprint());
        let tool = definition.full_name().to_owned();
        let (question, answer_schema, answer) = (None, None, None);
        let resumptions = first();
        Self { call, tool, fingerprint, state, question, answer_schema, resumptions, answer }
    }

    /// Creates the record of a suspended call from its execution and the definition of its tool,
    /// with its question. Returns `None` if the call is not suspended.
    pub fn of(execution: &ToolExecution, definition: &ToolDefinition) -> Option<Self> {
        let state = execution.suspended_state()?.clone();
        let question = execution.question().map(ToOwned::to_owned);
        Some(Self {
            question,
            answer_schema: execution.answer_schema().cloned(),
            resumptions: execution.resumptions().saturating_add(1),
            ..Self::new(execution.call.id.clone(), definition, state)
        })
    }

    /// Sets the answer to the question and the name of the person or program that answered.
    #[must_use]
    pub fn with_answer(mut self, value: impl Into<Value>, answered_by: impl Into<String>) -> Self {
        self.answer = Some(CallAnswer::new(value, answered_by));
        self
    }

    /// Decodes the state that the tool saved.
    ///
    /// # Errors
    /// [`ToolErrorKind::Indeterminate`] if the state does not have this type, as after an update of
    /// the program.
    pub fn state_as<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        T::deserialize(&self.state).map_err(|error| {
            let text = "The call started and may have had effects. It can't be resumed: its saved state is unreadable.";
            ToolError::new(ToolErrorKind::Indeterminate, text).with_source(error)
        })
    }

    /// Decodes the answer to the question, or `null` if there is none.
    ///
    /// To ask again instead of failing, suspend the call with another question.
    ///
    /// # Errors
    /// [`ToolErrorKind::ExecutionFailed`] if the answer does not have this type. The source names
    /// the type.
    pub fn answer_as<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        let value = self.answer.as_ref().map_or(&Value::Null, |answer| &answer.value);
        T::deserialize(value).map_err(|_| {
            let text = "The answer to the question of this tool can't be read. Go on without it.";
            // The error itself quotes the answer, which may be a secret.
            let source = format!("the answer can't be decoded as `{}`", type_name::<T>());
            ToolError::failed(text).with_source(source)
        })
    }

    /// Returns the question if it has no answer yet.
    pub(crate) fn open_question(&self) -> Option<&str> {
        self.question.as_deref().filter(|_| self.answer.is_none())
    }
}

impl fmt::Debug for SuspendedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SuspendedCall")
            .field("call", &self.call)
            .field("tool", &self.tool)
            .field("question", &self.question)
            .field("answered_by", &self.answer.as_ref().map(|answer| &answer.answered_by))
            .finish_non_exhaustive()
    }
}

/// The answer to the question of a suspended call.
///
/// The debug output omits the value, which may contain secrets.
///
/// ```
/// use tool_runtime::dispatch::CallAnswer;
///
/// let answer = CallAnswer::new("aisle", "Ada");
/// assert_eq!(answer.value, "aisle");
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallAnswer {
    /// The answer, in the form that the tool expects.
    pub value: Value,
    /// The name of the person or program that answered.
    pub answered_by: String,
}

impl CallAnswer {
    /// Creates an answer with the name of the person or program that answered.
    pub fn new(value: impl Into<Value>, answered_by: impl Into<String>) -> Self {
        Self { value: value.into(), answered_by: answered_by.into() }
    }
}

impl fmt::Debug for CallAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallAnswer").field("answered_by", &self.answered_by).finish_non_exhaustive()
    }
}

impl ToolContext {
    /// Returns the record with whose state and answer this call continues; `None` if it was not
    /// [suspended](ToolError::suspended).
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, StopReason};
    /// use tool_runtime::{ToolContext, ToolError, tool, tools};
    ///
    /// /// Books a seat on a train.
    /// #[tool]
    /// async fn book(train: String, ctx: &ToolContext) -> Result<String, ToolError> {
    ///     let Some(resumed) = ctx.resumed() else {
    ///         let held_until = "12:30";
    ///         return Err(ToolError::suspended("Window or aisle?", held_until));
    ///     };
    ///     let (held_until, seat): (String, String) = (resumed.state_as()?, resumed.answer_as()?);
    ///     Ok(format!("{seat} on {train}, held until {held_until}"))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([
    /// #     ChatReply::default().call("book", r#"{"train": "ICE 71"}"#),
    /// #     ChatReply::text("Booked."),
    /// # ]);
    /// let agent = Agent::new(model, tools![book]);
    /// let stopped = agent.run("Book me a seat.").await.unwrap_err();
    /// let StopReason::AwaitingApproval(mut paused) = stopped.reason else { panic!() };
    ///
    /// let pending = &paused.pending()[0];
    /// assert_eq!(pending.question().as_deref(), Some("Window or aisle?"));
    /// let call = pending.call.id.clone();
    /// paused.answer(&call, "aisle", "Ada")?;
    /// assert_eq!(agent.resume(*paused).finish().await?.text, "Booked.");
    /// # Ok(())
    /// # }
    /// ```
    pub fn resumed(&self) -> Option<&SuspendedCall> {
        self.suspended_call()
    }

    /// Returns how often the call has been resumed after it was
    /// [suspended](ToolError::suspended): 0 for a call that runs for the first time.
    pub fn resumptions(&self) -> u32 {
        self.suspended_call().map_or(0, |suspended| suspended.resumptions)
    }
}

/// The maximum nesting of what is saved with a pending call: its arguments, state or answer.
///
/// serde_json reads 127 levels, and a paused run takes some of them: this leaves room for the
/// deepest nesting of agents, and for a program that embeds the run in its own value.
pub(crate) const MAX_PENDING_LEVELS: usize = 96;

/// Whether a value can be saved with a pending call.
pub(crate) fn can_be_pending(value: &Value) -> bool {
    has_at_most_levels(value, MAX_PENDING_LEVELS)
}

fn has_at_most_levels(value: &Value, levels: usize) -> bool {
    let fits = |inner: &Value| has_at_most_levels(inner, levels.saturating_sub(1));
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(fits),
        Value::Object(members) => levels > 0 && members.values().all(fits),
        _ => true,
    }
}

impl ToolError {
    /// Suspends the call until its question is answered.
    ///
    /// The call has the code `TOOL_AWAITING_APPROVAL`, and a run pauses with
    /// [`StopReason::AwaitingApproval`](crate::StopReason::AwaitingApproval). The program shows the
    /// [question](crate::agent::PendingCall::question) to a person and passes the answer to
    /// [`Paused::answer`](crate::agent::Paused::answer). The resumed run calls the tool again, with
    /// the same arguments; [`ToolContext::resumed`] then returns this state and the answer.
    ///
    /// The state is saved with the run, unredacted. Events do not contain it. If it can't be
    /// serialized, or is nested more than 96 levels deep, the call fails instead.
    ///
    /// A tool may suspend a call several times. The effects of its earlier attempts remain: save in
    /// the state what must not be done again.
    pub fn suspended(question: impl Into<String>, state: impl Serialize) -> Self {
        let too_deep = format!("the state has more than {MAX_PENDING_LEVELS} levels");
        let state = serde_json::to_value(state).map_err(|error| error_chain(&error));
        match state.and_then(|state| if can_be_pending(&state) { Ok(state) } else { Err(too_deep) })
        {
            Ok(state) => Self::waiting(question, state, true),
            Err(error) => {
                let text = "The tool can't wait for an answer: its state can't be saved.";
                Self::failed(text).with_source(error)
            }
        }
    }

    /// States the JSON Schema of the answer to the question of a [suspended](Self::suspended) call,
    /// from which a screen can make a form. The answer is not checked against it.
    #[must_use]
    pub fn answer_schema(mut self, schema: impl Into<Value>) -> Self {
        self.set_answer_schema(Some(schema.into()));
        self
    }
}
