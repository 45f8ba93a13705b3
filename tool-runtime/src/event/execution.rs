use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::EffectRecord;
use crate::json::Fix;
use crate::message::{ToolCall, ToolResult};

/// What became of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolExecution {
    /// The call as it came.
    pub call: ToolCall,
    /// The call as it ran, where an interceptor changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Box<ToolCall>>,
    /// What the model is told.
    pub result: ToolResult,
    /// All that the tool said, where the model is told less of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_text: Option<String>,
    /// What was repaired in the arguments.
    pub fixes: Vec<Fix>,
    /// What lies behind a failure, outermost first: for the operator, never for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// How often the tool was called; 0 when that was never tried, as for an unknown name. Arguments
    /// that it refuses count.
    pub attempts: u32,
    /// Whether the output is one that the tool gave before to the same arguments.
    #[serde(default)]
    pub remembered: bool,
    /// What it did to the world, as far as it told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectRecord>,
    /// From start to result.
    pub took: Duration,
}

impl ToolExecution {
    /// What became of `call`: its result, and all else empty.
    pub fn new(call: ToolCall, result: ToolResult) -> Self {
        Self {
            call,
            changed: None,
            result,
            full_text: None,
            fixes: Vec::new(),
            cause: None,
            attempts: 0,
            remembered: false,
            effects: Vec::new(),
            took: Duration::ZERO,
        }
    }
}
