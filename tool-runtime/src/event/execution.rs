use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EffectRecord, micros};
use crate::json::{self, Fix};
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
    /// What was repaired in the arguments; or what would have been, where the tool takes no such
    /// repair and so was not called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    /// The arguments as the tool was given them, as JSON, where something was repaired in them or
    /// somebody looked at them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded: Option<String>,
    /// What lies behind a failure, outermost first: for the operator, never for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// How often the tool was called; 0 when that was never tried, as for an unknown name. Arguments
    /// that it refuses count.
    pub attempts: u32,
    /// Whether the output is one that the tool gave before to the same arguments.
    #[serde(default)]
    pub remembered: bool,
    /// Who allowed it or denied it, where somebody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// What held it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<BlockReason>,
    /// What its tool goes on from once somebody has decided, where it has begun and waits for that. It is not told to
    /// those who watch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<Box<Value>>,
    /// What it did to the world, as far as it told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectRecord>,
    /// Whether work of the tool goes on that could not be stopped: a thread that is held up.
    #[serde(default)]
    pub left_running: bool,
    /// When it came.
    #[serde(with = "micros::since_1970")]
    pub started: SystemTime,
    /// From start to result.
    #[serde(with = "micros")]
    pub took: Duration,
}

/// What may hold a call back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockReason {
    /// Code of the program that looks at calls.
    Interceptor,
    /// Something that the tool needs isn't granted.
    Capability,
    /// The tool isn't allowed.
    Permission,
    /// Whoever was asked said no, or nobody could be asked.
    Approver,
    /// Whoever was asked, of this call or of one that its tool depends on, has yet to decide.
    Pending,
    /// Its provider fails too often.
    Breaker,
    /// Another call of the same reply failed or was held back, or the batch was over.
    Batch,
    /// Too many calls lie around it.
    Depth,
}

impl ToolExecution {
    /// What became of `call`: its result, and all else empty.
    #[inline]
    pub fn new(call: ToolCall, result: ToolResult) -> Self {
        Self {
            call,
            changed: None,
            result,
            full_text: None,
            fixes: Vec::new(),
            decoded: None,
            cause: None,
            attempts: 0,
            remembered: false,
            decided_by: None,
            blocked_by: None,
            suspended: None,
            effects: Vec::new(),
            left_running: false,
            started: UNIX_EPOCH,
            took: Duration::ZERO,
        }
    }

    /// The arguments as the tool read them; none where they can't be read.
    pub fn arguments(&self) -> Option<Value> {
        let call = self.changed.as_ref().map_or(&self.call, |changed| changed);
        match &self.decoded {
            Some(decoded) => serde_json::from_str(decoded).ok(),
            None => Some(json::parse(&call.arguments.to_text()).ok()?.value),
        }
    }

    /// When it had its result.
    pub fn finished(&self) -> SystemTime {
        self.started.checked_add(self.took).unwrap_or(self.started)
    }

    /// Whether the tool did its work.
    pub fn is_success(&self) -> bool {
        self.result.is_success()
    }

    /// Whether it failed: neither a success nor held back.
    pub fn is_failure(&self) -> bool {
        !self.is_success() && !self.is_blocked()
    }

    /// Whether it was held back: before its tool was called, or by what its tool has to wait for.
    pub fn is_blocked(&self) -> bool {
        self.blocked_by.is_some()
    }

    /// Whether somebody has yet to decide on it.
    pub fn is_pending(&self) -> bool {
        self.blocked_by == Some(BlockReason::Pending)
    }

    /// Whether its tool was called.
    pub fn did_run(&self) -> bool {
        self.attempts > 0
    }

    /// Whether its tool was called more than once.
    pub fn was_retried(&self) -> bool {
        self.attempts > 1
    }

    /// Whether something was repaired in its arguments, or would have been.
    pub fn was_repaired(&self) -> bool {
        !self.fixes.is_empty()
    }

    /// Whether it failed with this code, such as `TOOL_TIMEOUT`.
    pub fn failed_with(&self, code: &str) -> bool {
        self.result.error.as_deref() == Some(code)
    }
}
