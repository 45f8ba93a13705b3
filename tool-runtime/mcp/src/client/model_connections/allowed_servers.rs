//! The servers to which a model may connect.

use crate::client::error::McpError;

/// The command lines and URLs of the servers to which a model may connect.
///
/// Nothing is allowed until [`allow_command`](Self::allow_command) or
/// [`allow_host`](Self::allow_host) is called.
///
/// ```
/// use tool_runtime::mcp::AllowedServers;
///
/// let servers = AllowedServers::new().allow_command(["uvx", "mcp-server-time"]);
/// let command = ["uvx", "mcp-server-time", "--local-timezone", "Europe/Oslo"];
/// assert!(servers.check_command(&command.map(String::from)).is_ok());
/// assert!(servers.check_command(&["uvx", "another-server"].map(String::from)).is_err());
/// assert!(servers.check_url("https://example.com/mcp").is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct AllowedServers {
    commands: Vec<Vec<String>>,
    hosts: Vec<String>,
}

impl AllowedServers {
    /// Creates an empty list, which allows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows command lines that start with these words. If you pass only a program, such as `npx`,
    /// any arguments are allowed, and with them any code.
    pub fn allow_command<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.commands.push(words.into_iter().map(Into::into).collect());
        self
    }

    /// Allows URLs with this host, or this host and port as in `127.0.0.1:3001`. Without a port,
    /// all ports are allowed. Hosts other than this machine need `https`.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into().to_ascii_lowercase());
        self
    }

    /// Checks the program of a server with its arguments.
    ///
    /// # Errors
    /// [`McpError::NotAllowed`] if the words do not start with those of an allowed command.
    pub fn check_command(&self, words: &[String]) -> Result<(), McpError> {
        let is_allowed = self.commands.iter().any(|allowed| {
            !allowed.is_empty() && words.get(..allowed.len()) == Some(allowed.as_slice())
        });
        if is_allowed {
            return Ok(());
        }
        Err(McpError::NotAllowed("the command is not on the allow-list".to_owned()))
    }

    /// Checks the URL of a server.
    ///
    /// # Errors
    /// [`McpError::NotAllowed`] if the URL is invalid, contains credentials, has a host that is not
    /// allowed, or has another scheme than `https` and a host that is not this machine.
    #[cfg(feature = "client")]
    pub fn check_url(&self, url: &str) -> Result<(), McpError> {
        let refused = |reason: &str| Err(McpError::NotAllowed(reason.to_owned()));
        let Ok(parsed) = reqwest::Url::parse(url) else { return refused("the URL is invalid") };
        let Some(host) = parsed.host_str() else { return refused("the URL has no host") };
        let port = parsed.port_or_known_default().unwrap_or_default();
        let with_port = format!("{host}:{port}");
        if !self.hosts.iter().any(|allowed| *allowed == host || *allowed == with_port) {
            return refused(&format!("the host `{host}` is not on the allow-list"));
        }
        let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        if parsed.scheme() != "https" && !is_local {
            return refused("expected https: only this machine can be reached over http");
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return refused("the URL contains credentials");
        }
        Ok(())
    }

    /// Refuses each URL, because the feature `client` is disabled.
    ///
    /// # Errors
    /// Always [`McpError::NotAllowed`].
    #[cfg(not(feature = "client"))]
    pub fn check_url(&self, _: &str) -> Result<(), McpError> {
        Err(McpError::NotAllowed("HTTP needs the feature `client` of tool-mcp".to_owned()))
    }
}
