use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::guard::drop_guarded;

/// Why a call has no output.
///
/// Its text is for the model, which reads it in place of the output; a [source](Self::source) is
/// for the operator, who finds it in the events. Every error that implements
/// [`Error`](std::error::Error), and text, turns into a [`Failed`](ToolErrorKind::Failed) one by
/// `?`: its own message is the model's text and the errors behind it are the operator's.
///
/// It doesn't implement `Error` itself: that is what lets `?` take everything else.
///
/// ```
/// use tool_runtime::{ToolError, ToolErrorKind};
///
/// fn load(path: &str) -> Result<String, ToolError> {
///     if path.is_empty() {
///         return Err(ToolError::validation("`path` is empty: send the path of a file."));
///     }
///     Ok(std::fs::read_to_string(path)?)
/// }
///
/// assert_eq!(load("").unwrap_err().kind(), ToolErrorKind::Validation);
/// assert_eq!(load("no such file").unwrap_err().kind(), ToolErrorKind::Failed);
/// ```
pub struct ToolError(Box<Inner>);

struct Inner {
    kind: ToolErrorKind,
    text: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    retry_after: Option<Duration>,
    /// What the tool goes on from, where it waits for somebody.
    state: Option<Box<Value>>,
}

/// What lies behind an error is foreign code, its destructor included; and an error may be dropped
/// anywhere, as when a call is stopped that holds one.
impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(source) = self.source.take() {
            drop_guarded(source);
        }
    }
}

/// Whose fault it was, and what may be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The model asked wrongly: it can mend the arguments and ask again.
    Validation,
    /// The model asked for a tool that doesn't exist.
    NotFound,
    /// The world's fault: the same call may work later.
    Transient,
    /// The tool ran and the answer is no.
    Failed,
    /// The call was not allowed.
    Denied,
    /// Somebody has yet to decide whether it may run.
    Pending,
    /// The tool can't run now.
    Unavailable,
    /// It took longer than it may.
    Timeout,
    /// It was stopped, or never started.
    Cancelled,
    /// Its code panicked.
    Panicked,
    /// Nobody can tell whether it ran.
    Indeterminate,
}

impl ToolErrorKind {
    /// The stable code that results and events carry.
    pub fn code(self) -> &'static str {
        match self {
            Self::Validation => "TOOL_INVALID_ARGUMENTS",
            Self::NotFound => "TOOL_NOT_FOUND",
            Self::Transient => "TOOL_TRANSIENT_FAILURE",
            Self::Failed => "TOOL_EXECUTION_FAILED",
            Self::Denied => "TOOL_DENIED",
            Self::Pending => "TOOL_AWAITING_APPROVAL",
            Self::Unavailable => "TOOL_UNAVAILABLE",
            Self::Timeout => "TOOL_TIMEOUT",
            Self::Cancelled => "TOOL_CANCELLED",
            Self::Panicked => "TOOL_PANICKED",
            Self::Indeterminate => "TOOL_INDETERMINATE",
        }
    }

    /// Whether the fault lies in what the tool is made of or depends on: another time, or another
    /// machine, the same call may do. All else is an answer: of the tool, or of the program's rules.
    pub fn is_infrastructure(self) -> bool {
        match self {
            Self::Transient | Self::Unavailable | Self::Timeout => true,
            Self::Panicked | Self::Indeterminate => true,
            Self::Validation | Self::NotFound | Self::Failed => false,
            Self::Denied | Self::Pending | Self::Cancelled => false,
        }
    }
}

impl ToolError {
    /// An error of the given kind; `text` is for the model.
    #[cold]
    pub fn new(kind: ToolErrorKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self(Box::new(Inner { kind, text, source: None, retry_after: None, state: None }))
    }

    /// The model's fault: `text` says what to send instead.
    pub fn validation(text: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::Validation, text)
    }

    /// The world's fault: the same call may work later.
    pub fn transient(text: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::Transient, text)
    }

    /// The tool ran and the answer is no.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::Failed, text)
    }

    /// The tool has begun and can't go on until somebody has decided: the call waits, and is made again with this
    /// state, which [`ToolContext::resumed`](super::ToolContext::resumed) gives.
    pub(crate) fn suspended(text: impl Into<String>, state: Value) -> Self {
        let mut error = Self::new(ToolErrorKind::Pending, text);
        error.0.state = Some(Box::new(state));
        error
    }

    /// What the tool goes on from.
    pub(crate) fn take_state(&mut self) -> Option<Box<Value>> {
        self.0.state.take()
    }

    /// Says this as well.
    pub(crate) fn and_say(mut self, more: &str) -> Self {
        self.0.text.push_str(more);
        self
    }

    /// Keeps what lies behind this error for the operator; the model never sees it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        drop_guarded(self.0.source.replace(source.into()));
        self
    }

    /// Says when to come back, as a server that is busy does. The next attempt, where there is one, is
    /// not made before; where this is longer than 10 seconds, or than what is left of the time of the calls beside it,
    /// there is none.
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
    pub fn retry_after(mut self, span: Duration) -> Self {
        self.0.retry_after = Some(span);
        self
    }

    /// Whose fault it was.
    pub fn kind(&self) -> ToolErrorKind {
        self.0.kind
    }

    /// When to come back, where that was said.
    pub(crate) fn wait_hint(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The text for the model.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// What lies behind this error, for the operator.
    pub fn source(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.0.source.as_deref()
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ToolError {
    fn from(error: E) -> Self {
        let error = error.into();
        Self::failed(error.to_string()).with_source(error)
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
            .finish()
    }
}
