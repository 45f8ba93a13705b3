//! The tools by which a model connects to servers, wherever the connections are kept.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tool_core::{ToolError, ToolErrorKind, async_trait, tool};

use crate::client::model_connections::allowed_servers::AllowedServers;

/// Makes and keeps the connections of a model, for [`ConnectionTools`].
///
/// [`McpConnections`](crate::McpConnections) keeps them until the program ends. To implement the
/// trait, put `#[async_trait]`, which `tool_runtime` re-exports, on the `impl` block.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Mutex;
///
/// use tool_runtime::mcp::{
///     AllowedServers, ConnectionHost, ConnectionTools, ListedConnection, RequestedServer,
/// };
/// use tool_runtime::{Registry, ToolError, async_trait, tools};
///
/// /// Records the requests of a model, for an operator who makes the connections.
/// #[derive(Default)]
/// struct Requests {
///     servers: AllowedServers,
///     requests: Mutex<BTreeMap<String, RequestedServer>>,
/// }
///
/// #[async_trait]
/// impl ConnectionHost for Requests {
///     fn allowed_servers(&self) -> &AllowedServers {
///         &self.servers
///     }
///
///     async fn connect(
///         &self,
///         name: &str,
///         server: RequestedServer,
///     ) -> Result<ListedConnection, ToolError> {
///         self.requests.lock().unwrap().insert(name.to_owned(), server);
///         Ok(ListedConnection::new(name, "requested"))
///     }
///
///     async fn disconnect(&self, name: &str) -> Result<(), ToolError> {
///         let removed = self.requests.lock().unwrap().remove(name);
///         let unknown = || ToolError::invalid_arguments("`name` is not a connection.");
///         removed.map(drop).ok_or_else(unknown)
///     }
///
///     async fn connections(&self) -> Vec<ListedConnection> {
///         let requests = self.requests.lock().unwrap();
///         requests.keys().map(|name| ListedConnection::new(name, "requested")).collect()
///     }
/// }
///
/// let registry = Registry::new();
/// registry.register_all(tools![..ConnectionTools::new(Requests::default())])?;
/// assert!(registry.snapshot().get("mcp_connect").is_some());
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[async_trait]
pub trait ConnectionHost: Send + Sync {
    /// Returns the servers to which the model may connect.
    fn allowed_servers(&self) -> &AllowedServers;

    /// Connects to a server that the allow-list contains.
    ///
    /// # Errors
    /// The connection can't be made. The model receives the error.
    async fn connect(
        &self,
        name: &str,
        server: RequestedServer,
    ) -> Result<ListedConnection, ToolError>;

    /// Ends a connection of the model, and removes its tools.
    ///
    /// # Errors
    /// The model has no such connection, or the connection can't be removed. The model receives the
    /// error.
    async fn disconnect(&self, name: &str) -> Result<(), ToolError>;

    /// Returns the connections of the model.
    async fn connections(&self) -> Vec<ListedConnection>;
}

/// A server to which a model wants to connect.
///
/// ```
/// use tool_runtime::mcp::RequestedServer;
///
/// /// Describes a server for the log of a program.
/// fn description(server: &RequestedServer) -> String {
///     match server {
///         RequestedServer::Command { program, arguments } => format!("{program} {arguments:?}"),
///         RequestedServer::Url(url) => url.clone(),
///         _ => "unknown kind of server".to_owned(),
///     }
/// }
///
/// let server = RequestedServer::Command {
///     program: "uvx".to_owned(),
///     arguments: vec!["mcp-server-time".to_owned()],
/// };
/// assert_eq!(description(&server), r#"uvx ["mcp-server-time"]"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestedServer {
    /// A program on standard input and output, with its arguments.
    Command {
        /// The program of the server.
        program: String,
        /// The arguments of the program.
        arguments: Vec<String>,
    },
    /// A server on HTTP, by its URL.
    Url(String),
}

/// A connection as a model sees it.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::mcp::ListedConnection;
///
/// let mut listed = ListedConnection::new("docs", "connected");
/// listed.tools.push("docs__search".to_owned());
/// assert_eq!(
///     serde_json::to_value(&listed)?,
///     json!({ "name": "docs", "state": "connected", "tools": ["docs__search"] }),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ListedConnection {
    /// The name of the connection, which is the provider of its tools.
    pub name: String,
    /// The state, such as `connected`.
    pub state: &'static str,
    /// The reason of the state. Text of a server must be
    /// [marked as untrusted](tool_core::Untrusted).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The full names of the registered tools.
    pub tools: Vec<String>,
}

impl ListedConnection {
    /// Creates a connection without a reason and without tools.
    pub fn new(name: impl Into<String>, state: &'static str) -> Self {
        Self { name: name.into(), state, reason: None, tools: Vec::new() }
    }
}

/// The tools `mcp_connect`, `mcp_disconnect` and `mcp_list`, with which a model connects to
/// servers.
///
/// `mcp_connect` and `mcp_disconnect` need an approval. `mcp_connect` is limited to the allowed
/// servers of the host, and `mcp_disconnect` to its connections.
///
/// ```
/// use tool_runtime::mcp::{ConnectionTools, McpConnections};
/// use tool_runtime::{Permission, Registry, tools};
///
/// let registry = Registry::new();
/// let connections = McpConnections::new(&registry).allow_host("127.0.0.1:3001");
/// registry.register_all(tools![..ConnectionTools::new(connections)])?;
/// let tools = registry.snapshot();
/// assert_eq!(tools.definition("mcp_connect").unwrap().permission, Permission::Ask);
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone)]
pub struct ConnectionTools(Arc<dyn ConnectionHost>);

impl ConnectionTools {
    /// Creates the tools of a host, which makes and keeps the connections.
    pub fn new(host: impl ConnectionHost + 'static) -> Self {
        Self(Arc::new(host))
    }
}

impl fmt::Debug for ConnectionTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionTools")
            .field("servers", self.0.allowed_servers())
            .finish_non_exhaustive()
    }
}

#[tool]
impl ConnectionTools {
    /// Connects to an MCP server and adds its tools, named `NAME__tool`. Send either a command or a
    /// URL.
    #[tool(effect = "external", permission = "ask")]
    async fn mcp_connect(
        &self,
        /// Name of the connection: letters, digits, `-` and `_`.
        name: String,
        /// Program and arguments of a server on standard input and output.
        command: Option<Vec<String>>,
        /// URL of a server on HTTP.
        url: Option<String>,
    ) -> Result<ListedConnection, ToolError> {
        let allowed = self.0.allowed_servers();
        let checked = match (&command, &url) {
            (Some(words), None) => allowed.check_command(words),
            (None, Some(url)) => allowed.check_url(url),
            _ => return Err(ToolError::invalid_arguments("Send either `command` or `url`.")),
        };
        checked.map_err(|error| ToolError::new(ToolErrorKind::Denied, error.to_string()))?;
        let server = match url {
            Some(url) => RequestedServer::Url(url),
            None => {
                let mut words = command.unwrap_or_default().into_iter();
                let program = words.next().unwrap_or_default();
                RequestedServer::Command { program, arguments: words.collect() }
            }
        };
        self.0.connect(&name, server).await
    }

    /// Ends a connection to an MCP server and removes its tools.
    #[tool(effect = "write", permission = "ask")]
    async fn mcp_disconnect(
        &self,
        /// Name of the connection.
        name: String,
    ) -> Result<String, ToolError> {
        self.0.disconnect(&name).await?;
        Ok(format!("`{name}` is disconnected."))
    }

    /// Lists the connections to MCP servers, with their tools.
    #[tool(effect = "read")]
    async fn mcp_list(&self) -> Vec<ListedConnection> {
        self.0.connections().await
    }
}

/// Returns the error of a name that is no connection of the model.
pub(crate) fn unknown_connection() -> ToolError {
    ToolError::invalid_arguments("`name` is not a connection: call `mcp_list` for the names.")
}
