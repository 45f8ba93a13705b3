//! Errors of the protocol that several kinds of requests return.

use std::borrow::Cow;

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::json;
use tool_core::{ToolError, ToolErrorKind};

/// The code of errors of a server that has reached one of its limits.
const BUSY: ErrorCode = ErrorCode(-32000);

/// Creates the error of a server that has reached one of its limits.
pub(crate) fn busy(message: &'static str) -> ErrorData {
    ErrorData::new(BUSY, message, None)
}

/// Creates the error of a name that the server does not have.
pub(crate) fn unknown(kind: &'static str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("unknown {kind}: {}", shortened(name)), None)
}

/// Creates the error of a resource that the server does not have.
pub(crate) fn resource_not_found(uri: &str) -> ErrorData {
    let message = format!("resource not found: {}", shortened(uri));
    ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
}

/// Creates the error of a request that the program could not answer.
pub(crate) fn failed(error: &ToolError) -> ErrorData {
    let text = error.text().to_owned();
    match error.kind() {
        ToolErrorKind::InvalidArguments | ToolErrorKind::NotFound => {
            ErrorData::invalid_params(text, None)
        }
        _ => ErrorData::internal_error(text, None),
    }
}

/// Shortens a name that a client sent.
fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()).into(),
        None => name.into(),
    }
}
