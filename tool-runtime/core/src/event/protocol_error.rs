use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The error of a protocol, such as JSON-RPC, that caused the failure of a call.
///
/// [`ToolExecution::protocol_error`](super::ToolExecution::protocol_error) holds it for operators
/// and programs, such as a server that returns it to its client.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::event::ProtocolError;
///
/// let error = ProtocolError::new(-32602).data(json!({ "missing": "city" }));
/// assert_eq!(
///     serde_json::to_value(&error).unwrap(),
///     json!({ "code": -32602, "data": { "missing": "city" } }),
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProtocolError {
    /// The code of the error in its protocol.
    pub code: i64,
    /// Further data about the error, as its protocol defines it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

impl ProtocolError {
    /// Creates an error with a code and no data.
    pub fn new(code: i64) -> Self {
        Self { code, data: Value::Null }
    }

    /// Sets the data of the error.
    #[must_use]
    pub fn data(mut self, data: impl Into<Value>) -> Self {
        self.data = data.into();
        self
    }
}
