#![expect(deprecated, reason = "MCP 2025-11-25 has log messages")]

use rmcp::model::{
    LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParam, ServerNotification,
};
use serde_json::Value;

macro_rules! levels {
    ($($(#[$doc:meta])* $level:ident,)*) => {
        /// The severity of a log message, as in syslog.
        ///
        /// ```
        /// use tool_mcp::server::LogLevel;
        ///
        /// assert!(LogLevel::Error > LogLevel::Info);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LogLevel {
            $($(#[$doc])* $level,)*
        }

        impl From<LoggingLevel> for LogLevel {
            fn from(level: LoggingLevel) -> Self {
                match level {
                    $(LoggingLevel::$level => Self::$level,)*
                }
            }
        }

        impl From<LogLevel> for LoggingLevel {
            fn from(level: LogLevel) -> Self {
                match level {
                    $(LogLevel::$level => Self::$level,)*
                }
            }
        }
    };
}

levels! {
    /// Details for debugging.
    Debug,
    /// General information.
    Info,
    /// A normal but significant event.
    Notice,
    /// A warning.
    Warning,
    /// An error.
    Error,
    /// A critical condition.
    Critical,
    /// A condition that requires action at once.
    Alert,
    /// The system is unusable.
    Emergency,
}

/// Creates the notification of a log message.
pub(crate) fn log_message(level: LogLevel, logger: &str, data: Value) -> ServerNotification {
    let message = LoggingMessageNotificationParam::new(level.into(), data).with_logger(logger);
    ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(message))
}
