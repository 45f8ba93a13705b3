//! How long a child process has to end by itself.

use std::time::Duration;

/// The steps of a graceful shutdown, with the time that the process has after each.
///
/// 1. The standard input is closed, which ends most programs that read it.
/// 2. After `after_close`, the process group receives SIGTERM. Systems without this signal skip the
///    step.
/// 3. After `after_terminate`, the process group is killed.
///
/// ```
/// use std::time::Duration;
///
/// use tool_runtime::process::Shutdown;
///
/// let shutdown = Shutdown::with_limit(Duration::from_secs(6));
/// assert_eq!(shutdown.after_close, Duration::from_secs(3));
/// assert_eq!(shutdown.after_terminate, Duration::from_secs(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shutdown {
    /// The time to end after the standard input was closed. Default: 2 seconds.
    pub after_close: Duration,
    /// The time to end after SIGTERM. Default: 2 seconds.
    pub after_terminate: Duration,
}

impl Shutdown {
    /// Creates a shutdown that kills the process group after `limit`. Each step takes one half.
    pub fn with_limit(limit: Duration) -> Self {
        Self { after_close: limit / 2, after_terminate: limit / 2 }
    }

    /// Sets the time to end after the standard input was closed.
    #[must_use]
    pub fn after_close(mut self, limit: Duration) -> Self {
        self.after_close = limit;
        self
    }

    /// Sets the time to end after SIGTERM.
    #[must_use]
    pub fn after_terminate(mut self, limit: Duration) -> Self {
        self.after_terminate = limit;
        self
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::with_limit(Duration::from_secs(4))
    }
}
