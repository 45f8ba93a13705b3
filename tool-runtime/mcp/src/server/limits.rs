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
/// let limits = Limits::default().requests(64).sessions(100).idle_timeout(Duration::from_secs(60));
/// # let _ = limits;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub(crate) message_bytes: usize,
    pub(crate) requests: usize,
    pub(crate) sessions: usize,
    requests_of_principal: Option<usize>,
    sessions_of_principal: Option<usize>,
    pub(crate) idle: Duration,
    pub(crate) send: Duration,
    pub(crate) answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 4 << 20,
            requests: 256,
            sessions: 512,
            requests_of_principal: None,
            sessions_of_principal: None,
            idle: Duration::from_secs(300),
            send: Duration::from_secs(30),
            answer: Duration::from_secs(600),
        }
    }
}

impl Limits {
    /// Sets the maximum size of a message of a client, in bytes. Default: 4 MiB.
    ///
    /// On a stream, a longer line is skipped. Over HTTP, the response is 413.
    #[must_use]
    pub fn message_bytes(mut self, bytes: usize) -> Self {
        self.message_bytes = bytes;
        self
    }

    /// Sets the maximum number of requests that run at the same time: per connection on a stream,
    /// and in total over HTTP. Default: 256.
    ///
    /// Further requests are answered with an error. Open event streams count as requests. Over
    /// HTTP, 32 messages that end or answer a request are accepted beyond it, 8 of one principal.
    #[must_use]
    pub fn requests(mut self, count: usize) -> Self {
        self.requests = count;
        self
    }

    /// Sets the maximum number of HTTP sessions. Default: 512.
    ///
    /// Clients of the revision 2026-07-28 need no session.
    #[must_use]
    pub fn sessions(mut self, count: usize) -> Self {
        self.sessions = count;
        self
    }

    /// Sets the maximum number of HTTP requests of one [principal](crate::server::Access) that run
    /// at the same time. Default: half of all [requests](Self::requests).
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
    pub fn requests_per_principal(mut self, count: usize) -> Self {
        self.requests_of_principal = Some(count);
        self
    }

    /// Sets the maximum number of HTTP sessions of one [principal](crate::server::Access), or else
    /// of one address, of which one connection can start half. Default: half of all
    /// [sessions](Self::sessions).
    #[must_use]
    pub fn sessions_per_principal(mut self, count: usize) -> Self {
        self.sessions_of_principal = Some(count);
        self
    }

    /// Sets the time after which an HTTP session ends that has neither a running request nor an
    /// open stream. Default: 5 minutes.
    #[must_use]
    pub fn idle_timeout(mut self, time: Duration) -> Self {
        self.idle = time;
        self
    }

    /// Sets the time in which a client must read a message, and send the body of an HTTP request.
    /// Default: 30 seconds.
    ///
    /// If a client does not read, its connection is closed on a stream. Over HTTP, its response
    /// ends and no longer counts as a running request, and its connection is closed when it reads
    /// on. A client is late only once the buffers of the connection are full.
    #[must_use]
    pub fn send_timeout(mut self, time: Duration) -> Self {
        self.send = time;
        self
    }

    /// Sets the time in which a client must answer a question of a tool. Default: 10 minutes.
    #[must_use]
    pub fn answer_timeout(mut self, time: Duration) -> Self {
        self.answer = time;
        self
    }

    #[cfg(feature = "server")]
    pub(crate) fn requests_of_principal(&self) -> usize {
        self.requests_of_principal.unwrap_or_else(|| self.requests.div_ceil(2))
    }

    #[cfg(feature = "server")]
    pub(crate) fn sessions_of_principal(&self) -> usize {
        self.sessions_of_principal.unwrap_or_else(|| self.sessions.div_ceil(2))
    }
}
