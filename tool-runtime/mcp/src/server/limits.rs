use std::time::Duration;

/// The time that running calls have to end when the server stops. On a stream of bytes, the SDK
/// gives the same.
pub(crate) const TIME_TO_END: Duration = Duration::from_secs(2);

/// Limits on the memory and the time that clients can take.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::mcp::server::Limits;
///
/// let idle_timeout = Duration::from_secs(60);
/// let limits = Limits::default().max_requests(64).max_sessions(100).idle_timeout(idle_timeout);
/// # let _ = limits;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub(crate) max_message_bytes: usize,
    pub(crate) max_requests: usize,
    pub(crate) max_sessions: usize,
    max_requests_per_principal: Option<usize>,
    max_sessions_per_principal: Option<usize>,
    pub(crate) idle_timeout: Duration,
    pub(crate) send_timeout: Duration,
    pub(crate) answer_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 4 << 20,
            max_requests: 256,
            max_sessions: 512,
            max_requests_per_principal: None,
            max_sessions_per_principal: None,
            idle_timeout: Duration::from_secs(300),
            send_timeout: Duration::from_secs(30),
            answer_timeout: Duration::from_secs(600),
        }
    }
}

impl Limits {
    /// Sets the maximum size of a message of a client, in bytes. Default: 4 MiB.
    ///
    /// On a stream, a longer line is skipped. Over HTTP, the response is 413.
    #[must_use]
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// Sets the maximum number of requests that run at the same time: per connection on a stream,
    /// and in total over HTTP. Default: 256.
    ///
    /// Further requests are answered with an error. Open event streams count as requests. Over
    /// HTTP, 32 messages that end or answer a request are accepted beyond it, 8 of one principal.
    #[must_use]
    pub fn max_requests(mut self, count: usize) -> Self {
        self.max_requests = count;
        self
    }

    /// Sets the maximum number of HTTP sessions. Default: 512.
    ///
    /// Clients of the revision 2026-07-28 need no session.
    #[must_use]
    pub fn max_sessions(mut self, count: usize) -> Self {
        self.max_sessions = count;
        self
    }

    /// Sets the maximum number of HTTP requests of one [principal](crate::server::Access) that run
    /// at the same time. Default: half of all [requests](Self::max_requests).
    ///
    /// Without an [authenticator](crate::McpServer::authenticate), the limit applies to each
    /// address, and one connection can take half of it. The service must know the addresses, as
    /// [`serve_http`](crate::McpServer::serve_http) does.
    ///
    /// Further requests are answered with the status 503, except those that end or answer others:
    /// notifications such as a cancellation, answers to questions, `tasks/cancel`, and the end of a
    /// session. In a session, a call continues if its client disconnects, and counts until it has
    /// ended.
    #[must_use]
    pub fn max_requests_per_principal(mut self, count: usize) -> Self {
        self.max_requests_per_principal = Some(count);
        self
    }

    /// Sets the maximum number of HTTP sessions of one [principal](crate::server::Access), or else
    /// of one address, of which one connection can start half. Default: half of all
    /// [sessions](Self::max_sessions).
    #[must_use]
    pub fn max_sessions_per_principal(mut self, count: usize) -> Self {
        self.max_sessions_per_principal = Some(count);
        self
    }

    /// Sets the time after which an HTTP session ends that has neither a running request nor an
    /// open stream. Default: 5 minutes.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Sets the time in which a client must read a message, and send the body of an HTTP request.
    /// Default: 30 seconds.
    ///
    /// If a client does not read, its connection is closed on a stream. Over HTTP, its response
    /// ends and no longer counts as a running request, and its connection is closed when it reads
    /// on. A client is late only once the buffers of the connection are full.
    #[must_use]
    pub fn send_timeout(mut self, timeout: Duration) -> Self {
        self.send_timeout = timeout;
        self
    }

    /// Sets the time in which a client must answer a question of a tool. Default: 10 minutes.
    #[must_use]
    pub fn answer_timeout(mut self, timeout: Duration) -> Self {
        self.answer_timeout = timeout;
        self
    }

    #[cfg(feature = "server")]
    pub(crate) fn requests_per_principal(&self) -> usize {
        self.max_requests_per_principal.unwrap_or_else(|| self.max_requests.div_ceil(2))
    }

    #[cfg(feature = "server")]
    pub(crate) fn sessions_per_principal(&self) -> usize {
        self.max_sessions_per_principal.unwrap_or_else(|| self.max_sessions.div_ceil(2))
    }
}
