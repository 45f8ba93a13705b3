//! The errors of the tools for resources and prompts, of the same kinds as those of remote tools.

use rmcp::model::ErrorCode;
use tool_core::{ToolError, ToolErrorKind};

use crate::client::error::McpError;

/// Returns the error of a call. `is_retry_safe` means that the call can be made again after it may
/// have run.
pub(crate) fn feature_error(server: &str, error: &McpError, is_retry_safe: bool) -> ToolError {
    let maybe_ran =
        if is_retry_safe { ToolErrorKind::TransientFailure } else { ToolErrorKind::Indeterminate };
    let kind = match error {
        McpError::NotConnected { .. } => ToolErrorKind::Unavailable,
        McpError::ConnectionLost { .. } | McpError::Transport { .. } => maybe_ran,
        McpError::Timeout { .. } => ToolErrorKind::Timeout,
        McpError::Busy { .. } | McpError::SessionExpired { .. } => ToolErrorKind::TransientFailure,
        McpError::AuthorizationRequired { .. } | McpError::AuthorizationFailed { .. } => {
            ToolErrorKind::Denied
        }
        McpError::Rpc { code, .. } if *code == ErrorCode::INVALID_PARAMS.0 => {
            ToolErrorKind::InvalidArguments
        }
        _ => ToolErrorKind::ExecutionFailed,
    };
    let failed = ToolError::new(kind, error.to_model_text(server));
    match error {
        McpError::Busy { retry_after: Some(delay), .. } => failed.retry_after(*delay),
        _ => failed,
    }
}
