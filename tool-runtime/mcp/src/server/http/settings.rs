//! The settings of a server for HTTP.

use std::fmt;
use std::sync::Arc;

use super::super::McpServer;
use super::authenticator::Authenticator;

/// The settings of [`McpServer`] for HTTP.
#[derive(Clone, Default)]
pub(crate) struct HttpSettings {
    pub(super) authenticator: Option<Arc<dyn Authenticator>>,
    pub(super) origins: Option<Vec<String>>,
    pub(super) hosts: Option<Vec<String>>,
}

impl McpServer {
    /// Sets the hook that authenticates HTTP requests. Default: none, so every client on an allowed
    /// host has full access.
    pub fn authenticate(mut self, authenticator: impl Authenticator + 'static) -> Self {
        self.http.authenticator = Some(Arc::new(authenticator));
        self
    }

    /// Sets the values of `Origin` that HTTP requests of browsers may have, such as
    /// `https://example.org` or `http://localhost:8080`. Without a port, the origin has that of its
    /// scheme; `https://example.org:*` allows all. Default: those of this machine.
    pub fn allowed_origins<O: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = O>,
    ) -> Self {
        self.http.origins = Some(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the values of `Host` that HTTP requests may have, such as `mcp.example.org`. Default:
    /// those of this machine.
    ///
    /// This prevents a web page from reaching a local server through another domain.
    pub fn allowed_hosts<H: Into<String>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        self.http.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings")
            .field("is_authenticated", &self.authenticator.is_some())
            .field("origins", &self.origins)
            .field("hosts", &self.hosts)
            .finish()
    }
}
