use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::json::Fix;
use crate::message::{ToolCall, ToolResult};

/// What became of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolExecution {
    /// The call as it came.
    pub call: ToolCall,
    /// What the model is told.
    pub result: ToolResult,
    /// What was repaired in the arguments.
    pub fixes: Vec<Fix>,
    /// What lies behind a failure, outermost first: for the operator, never for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// From start to result.
    pub took: Duration,
}

impl ToolExecution {
    /// What became of `call`: its result, and all else empty.
    pub fn new(call: ToolCall, result: ToolResult) -> Self {
        Self { call, result, fixes: Vec::new(), cause: None, took: Duration::ZERO }
    }
}
