//! Log messages of the server.
#![expect(deprecated, reason = "MCP 2025-11-25 has log messages")]

use rmcp::model::{
    LoggingMessageNotification, LoggingMessageNotificationParam, ServerNotification,
};
use serde_json::Value;

use crate::LogLevel;

/// Creates the notification of a log message.
pub(crate) fn log_message(level: LogLevel, logger: &str, data: Value) -> ServerNotification {
    let message = LoggingMessageNotificationParam::new(level.into(), data).with_logger(logger);
    ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(message))
}
