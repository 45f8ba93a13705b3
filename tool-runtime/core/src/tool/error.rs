use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use super::ToolErrorKind;
use crate::errors::is_transient;
use crate::event::ProtocolError;
use crate::guard::drop_guarded;
use crate::message::ContentPart;

/// The error of a call, with texts for its three readers.
///
/// - The model reads the [text](Self::text) instead of an output. It should be short and state
///   what to do next.
/// - Operators read the [source](Self::source) in the events.
/// - Programs match on the [kind](Self::kind) and its stable code.
///
/// The operator `?` converts text and every type that implements [`Error`](std::error::Error) into
/// an error of the kind [`ExecutionFailed`](ToolErrorKind::ExecutionFailed). The message becomes
/// the text for the model, and the error becomes the source.
///
/// The kind is [`TransientFailure`](ToolErrorKind::TransientFailure) if a connection was refused,
/// broke or timed out, if the `timeout` of tokio elapsed, or if the error of a model, a session or
/// a store is transient. This applies to an error that wraps such an error as well.
///
/// `ToolError` does not implement `Error` itself, because that would conflict with this conversion.
///
/// ```
/// use tool_runtime::{ToolError, ToolErrorKind};
///
/// fn load(path: &str) -> Result<String, ToolError> {
///     if path.is_empty() {
///         return Err(ToolError::invalid_arguments("`path` is empty: send the path of a file."));
///     }
///     Ok(std::fs::read_to_string(path)?)
/// }
///
/// assert_eq!(load("").unwrap_err().kind(), ToolErrorKind::InvalidArguments);
/// assert_eq!(load("no such file").unwrap_err().kind(), ToolErrorKind::ExecutionFailed);
/// ```
pub struct ToolError(Box<ErrorData>);

struct ErrorData {
    kind: ToolErrorKind,
    text: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    retry_after: Option<Duration>,
    parts: Vec<ContentPart>,
    protocol_error: Option<Box<ProtocolError>>,
    /// The state that a suspended tool continues from.
    state: Option<Box<Value>>,
    /// Whether the text is a question whose answer a suspended tool awaits.
    awaits_answer: bool,
    answer_schema: Option<Value>,
    /// Whether the text states whether the tool ran.
    states_certainty: bool,
}

/// The destructor of the source is foreign code, which may panic; and an error can be dropped
/// anywhere, such as when its call is cancelled.
impl Drop for ErrorData {
    fn drop(&mut self) {
        if let Some(source) = self.source.take() {
            drop_guarded(source);
        }
    }
}

/// Returns the text for the model of a call that may or may not have run, after its cause. What a
/// repeatable call did is irrelevant, since it can be made again.
pub(crate) fn indeterminate_text(cause: &str, is_retry_safe: bool) -> String {
    if is_retry_safe {
        format!("{cause}. Call it again if you need the result.")
    } else {
        format!("{cause}; it may have had effects.")
    }
}

impl ToolError {
    /// Creates an error of this kind. The model reads `text`.
    ///
    /// ```
    /// use tool_runtime::{ToolError, ToolErrorKind};
    ///
    /// let error = ToolError::new(ToolErrorKind::Unavailable, "The weather service is down.");
    /// assert_eq!(error.kind(), ToolErrorKind::Unavailable);
    /// ```
    pub fn new(kind: ToolErrorKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self(Box::new(ErrorData {
            kind,
            text,
            source: None,
            retry_after: None,
            parts: Vec::new(),
            protocol_error: None,
            state: None,
            awaits_answer: false,
            answer_schema: None,
            states_certainty: false,
        }))
    }

    /// Creates an error for invalid arguments. `text` should state what to send instead.
    ///
    /// ```
    /// use tool_runtime::{ToolError, ToolErrorKind};
    ///
    /// let error = ToolError::invalid_arguments("`until` is before `since`: send a later date.");
    /// assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
    /// ```
    pub fn invalid_arguments(text: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::InvalidArguments, text)
    }

    /// Creates an error that may not recur, such as that of a busy service.
    ///
    /// ```
    /// use tool_runtime::{ToolError, ToolErrorKind};
    ///
    /// let error = ToolError::transient("The service is busy; try again later.");
    /// assert_eq!(error.kind(), ToolErrorKind::TransientFailure);
    /// ```
    pub fn transient(text: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::TransientFailure, text)
    }

    /// Creates the error of a tool that ran and failed.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::ExecutionFailed, text)
    }

    /// Suspends the call until its own calls are decided on, or until the question in its text is
    /// answered.
    ///
    /// The call is then made again, and [`resumed`](super::ToolContext::resumed) returns this
    /// state.
    pub(crate) fn waiting(text: impl Into<String>, state: Value, awaits_answer: bool) -> Self {
        let mut error = Self::new(ToolErrorKind::AwaitingApproval, text);
        error.0.state = Some(Box::new(state));
        error.0.awaits_answer = awaits_answer;
        error
    }

    /// Records that the text states whether the tool ran, where that is in doubt.
    pub(crate) fn with_stated_certainty(mut self) -> Self {
        self.0.states_certainty = true;
        self
    }

    pub(crate) fn states_certainty(&self) -> bool {
        self.0.states_certainty
    }

    /// Returns the question that a suspended call asks.
    pub(crate) fn question(&self) -> Option<&str> {
        self.0.awaits_answer.then_some(self.text())
    }

    /// Sets the JSON Schema of the answer to the question of a suspended call.
    pub(crate) fn set_answer_schema(&mut self, schema: Option<Value>) {
        self.0.answer_schema = schema;
    }

    /// Takes the JSON Schema of the answer to the question of a suspended call.
    pub(crate) fn take_answer_schema(&mut self) -> Option<Value> {
        self.0.answer_schema.take()
    }

    /// Takes the state of a suspended call.
    pub(crate) fn take_state(&mut self) -> Option<Box<Value>> {
        self.0.state.take()
    }

    /// Appends to the text for the model.
    pub(crate) fn append_text(mut self, more: &str) -> Self {
        self.0.text.push_str(more);
        self
    }

    /// Sets the source of the error. Operators see it in the events; the model never does.
    ///
    /// ```
    /// use tool_runtime::ToolError;
    ///
    /// let error = ToolError::failed("The order was not found.").with_source("row 7 is missing");
    /// assert_eq!(error.text(), "The order was not found.");
    /// assert_eq!(error.source().unwrap().to_string(), "row 7 is missing");
    /// ```
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        drop_guarded(self.0.source.replace(source.into()));
        self
    }

    /// Adds a part for the model, after the text and the parts so far.
    ///
    /// ```
    /// use tool_runtime::message::EmbeddedResource;
    /// use tool_runtime::ToolError;
    ///
    /// let log = EmbeddedResource::text("file:///build.log", "error: no space left");
    /// let error = ToolError::failed("The build failed.").with_part(log);
    /// assert_eq!(error.parts().len(), 1);
    /// ```
    #[must_use]
    pub fn with_part(mut self, part: impl Into<ContentPart>) -> Self {
        self.0.parts.push(part.into());
        self
    }

    /// Sets the error of a protocol, such as JSON-RPC, that caused this one. Operators and programs
    /// find it in the execution; the model never sees it.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::ToolError;
    /// use tool_runtime::event::ProtocolError;
    ///
    /// let cause = ProtocolError::new(-32042).data(json!({ "url": "https://example.org/login" }));
    /// let error = ToolError::failed("Ask the user to sign in.").with_protocol_error(cause);
    /// assert_eq!(error.protocol_error().unwrap().code, -32042);
    /// ```
    #[must_use]
    pub fn with_protocol_error(mut self, error: ProtocolError) -> Self {
        self.0.protocol_error = Some(Box::new(error));
        self
    }

    /// Sets how long to wait before the next attempt, such as the `Retry-After` of a server.
    ///
    /// The next attempt is not made earlier. It is not made at all if the time exceeds 10 seconds
    /// or what is left of the time limit of the batch.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_runtime::ToolError;
    ///
    /// fn busy(retry_after_seconds: u64) -> ToolError {
    ///     ToolError::transient("The service is busy; try again later.")
    ///         .retry_after(Duration::from_secs(retry_after_seconds))
    /// }
    /// # let _ = busy(2);
    /// ```
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.0.retry_after = Some(delay);
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ToolErrorKind {
        self.0.kind
    }

    /// Returns the delay that [`retry_after`](Self::retry_after) set.
    pub(crate) fn retry_delay(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns the text for the model.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the parts for the model that follow the text.
    pub fn parts(&self) -> &[ContentPart] {
        &self.0.parts
    }

    /// Returns the error of a protocol that caused this one.
    pub fn protocol_error(&self) -> Option<&ProtocolError> {
        self.0.protocol_error.as_deref()
    }

    /// Returns the parts and the error of a protocol by value.
    pub(crate) fn take_details(&mut self) -> (Vec<ContentPart>, Option<Box<ProtocolError>>) {
        (std::mem::take(&mut self.0.parts), self.0.protocol_error.take())
    }

    /// Returns the source of the error, for operators.
    pub fn source(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.0.source.as_deref()
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ToolError {
    fn from(error: E) -> Self {
        let error = error.into();
        let is_transient = is_transient(error.as_ref());
        let kind = if is_transient {
            ToolErrorKind::TransientFailure
        } else {
            ToolErrorKind::ExecutionFailed
        };
        Self::new(kind, error.to_string()).with_source(error)
    }
}

/// An error type that a tool can return: text, [`ToolError`], or any `Error + Send + Sync`.
///
/// Every type that converts into a [`ToolError`] implements it. For an error type of your own,
/// implement [`Error`](std::error::Error), or `From<YourError> for ToolError` to choose the kind
/// and the texts.
///
/// ```
/// use tool_runtime::{ToolError, tool};
///
/// struct OutOfStock {
///     item: String,
/// }
///
/// impl From<OutOfStock> for ToolError {
///     fn from(error: OutOfStock) -> Self {
///         Self::failed(format!("{} is out of stock. Offer another item.", error.item))
///     }
/// }
///
/// /// Orders an item.
/// #[tool]
/// async fn order(item: String) -> Result<(), OutOfStock> {
///     Err(OutOfStock { item })
/// }
/// ```
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the error of a tool",
    label = "implement `std::error::Error + Send + Sync` for it, or return `ToolError` or text",
    note = "to choose what the model reads, implement `From<{Self}> for ToolError`"
)]
pub trait IntoToolError {
    /// Converts the error into what the call returns.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        self.into()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError")
            .field("kind", &self.0.kind)
            .field("text", &self.0.text)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}
