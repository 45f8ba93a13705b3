//! How long a child process has to end by itself.

use std::time::Duration;

/// The steps of a graceful shutdown, with the time that the process has after each.
///
/// 1. The standard input is closed, which ends most programs that read it.
/// 2. After `close_timeout`, the process group receives SIGTERM. Systems without this signal skip
///    the step.
/// 3. After `terminate_timeout`, the process group is killed.
///
/// ```
/// use std::time::Duration;
///
/// use tool_runtime::process::Shutdown;
///
/// let shutdown = Shutdown::with_timeout(Duration::from_secs(6));
/// assert_eq!(shutdown.close_timeout, Duration::from_secs(3));
/// assert_eq!(shutdown.terminate_timeout, Duration::from_secs(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shutdown {
    /// The time to end after the standard input was closed. Default: 2 seconds.
    pub close_timeout: Duration,
    /// The time to end after SIGTERM. Default: 2 seconds.
    pub terminate_timeout: Duration,
}

impl Shutdown {
    /// Creates a shutdown that kills the process group after `limit`. Each step takes one half.
    pub fn with_timeout(limit: Duration) -> Self {
        Self { close_timeout: limit / 2, terminate_timeout: limit / 2 }
    }

    /// Sets the time to end after the standard input was closed.
    #[must_use]
    pub fn close_timeout(mut self, timeout: Duration) -> Self {
        self.close_timeout = timeout;
        self
    }

    /// Sets the time to end after SIGTERM.
    #[must_use]
    pub fn terminate_timeout(mut self, timeout: Duration) -> Self {
        self.terminate_timeout = timeout;
        self
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::with_timeout(Duration::from_secs(4))
    }
}
