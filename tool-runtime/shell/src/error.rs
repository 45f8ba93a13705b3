//! The error of a sandbox that can't be enforced.

use tool_core::{ToolError, ToolErrorKind};

/// The reason why commands can't run: the machine can't enforce the sandbox, or a folder does not
/// exist or is refused.
///
/// ```
/// use tool_runtime::shell::{Sandbox, Shell};
///
/// let error = Shell::new("no/such/folder", Sandbox::none()).check().unwrap_err();
/// assert!(error.to_string().starts_with("sandbox unavailable: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sandbox unavailable: {reason}")]
#[non_exhaustive]
pub struct SandboxError {
    /// The reason, such as `bwrap is not on PATH: install bubblewrap`.
    pub reason: String,
}

impl SandboxError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// Returns the error of a call while the sandbox is unavailable.
pub(crate) fn unavailable(error: &SandboxError) -> ToolError {
    let text = format!("No command was run: {error}. Go on without commands.");
    ToolError::new(ToolErrorKind::Unavailable, text).with_source(error.clone())
}

/// Returns the error of a call that the model can correct.
pub(crate) fn failed(text: impl Into<String>) -> ToolError {
    ToolError::new(ToolErrorKind::ExecutionFailed, text.into())
}
