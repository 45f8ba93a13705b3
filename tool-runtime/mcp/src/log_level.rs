#![expect(deprecated, reason = "MCP 2025-11-25 has log messages")]

use rmcp::model::LoggingLevel;

macro_rules! levels {
    ($($(#[$doc:meta])* $level:ident,)*) => {
        /// The severity of a log message, as in syslog.
        ///
        /// ```
        /// use tool_runtime::mcp::LogLevel;
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
    /// Details that help to debug.
    Debug,
    /// Information about normal operation.
    Info,
    /// A normal but significant event.
    Notice,
    /// A warning about a possible problem.
    Warning,
    /// An error of one operation.
    Error,
    /// A critical condition of a component.
    Critical,
    /// A condition that requires action at once.
    Alert,
    /// The whole system is unusable.
    Emergency,
}
