//! The connections of a model that end with the program, within an allow-list.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tool_core::registry::WeakRegistry;
use tool_core::{Registry, ToolError, ToolErrorKind, Toolbox as _, Tools, async_trait};

use crate::client::builder::McpClient;
use crate::client::connection::McpConnection;
use crate::client::error::McpError;
use crate::client::model_connections::allowed_servers::AllowedServers;
use crate::client::model_connections::connection_tools::{
    ConnectionHost, ConnectionTools, ListedConnection, RequestedServer, unknown_connection,
};
use crate::client::pins::MemoryPins;

/// The number of connections that a model can have at once.
const MAX_CONNECTIONS: usize = 20;

/// Changes the options of a client.
type Configure = dyn Fn(McpClient) -> McpClient + Send + Sync;

/// The connections that a model may make, and those that it established.
///
/// Nothing is allowed until [`allow_command`](Self::allow_command) or
/// [`allow_host`](Self::allow_host) is called. Clones share the connections and the pinned
/// definitions: a server that is connected again, also under another name, is compared with them.
///
/// ```
/// use tool_runtime::Registry;
/// use tool_runtime::mcp::McpConnections;
///
/// let registry = Registry::new();
/// let connections = McpConnections::new(&registry)
///     .allow_command(["npx", "-y", "@modelcontextprotocol/server-everything"])
///     .allow_host("127.0.0.1:3001");
/// registry.register_all(tool_runtime::mcp::tools(&connections))?;
/// assert!(registry.snapshot().get("mcp_connect").is_some());
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct McpConnections {
    registry: WeakRegistry,
    allowed: AllowedServers,
    configure: Option<Arc<Configure>>,
    /// The definitions of all servers, for as long as these connections can be made.
    pins: MemoryPins,
    connections: Arc<Mutex<Connections>>,
}

/// The connections of a model.
#[derive(Default)]
struct Connections {
    established: BTreeMap<String, McpConnection>,
    /// The number of connections that are being established.
    reserved: usize,
}

/// The place of a connection that is being established.
struct Reserved<'c>(&'c McpConnections);

impl<'c> Reserved<'c> {
    /// Takes one of the places, if one is free.
    fn new(connections: &'c McpConnections) -> Option<Self> {
        let mut places = connections.lock();
        (places.established.len() + places.reserved < MAX_CONNECTIONS).then(|| {
            places.reserved += 1;
            Self(connections)
        })
    }

    fn insert(self, connection: &McpConnection) {
        self.0.lock().established.insert(connection.name().to_owned(), connection.clone());
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.0.lock().reserved -= 1;
    }
}

/// Returns the [`ConnectionTools`] of connections that end with the program.
///
/// ```
/// use tool_runtime::mcp::McpConnections;
/// use tool_runtime::{Permission, Registry};
///
/// let registry = Registry::new();
/// registry.register_all(tool_runtime::mcp::tools(&McpConnections::new(&registry)))?;
/// let tools = registry.snapshot();
/// assert_eq!(tools.definition("mcp_connect").unwrap().permission, Permission::Ask);
/// assert_eq!(tools.definition("mcp_disconnect").unwrap().permission, Permission::Ask);
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[must_use]
pub fn tools(connections: &McpConnections) -> Tools {
    Tools::new().with_all(ConnectionTools::new(connections.clone()).into_tools())
}

impl McpConnections {
    /// Creates an empty allow-list for connections whose tools are registered in this registry.
    pub fn new(registry: &Registry) -> Self {
        Self {
            registry: registry.downgrade(),
            allowed: AllowedServers::new(),
            configure: None,
            pins: MemoryPins::new(),
            connections: Arc::default(),
        }
    }

    /// Allows command lines that start with these words, as
    /// [`AllowedServers::allow_command`] does.
    pub fn allow_command<W: Into<String>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.allowed = self.allowed.allow_command(words);
        self
    }

    /// Allows URLs with this host, as [`AllowedServers::allow_host`] does.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.allowed = self.allowed.allow_host(host);
        self
    }

    /// Replaces the list of allowed servers, for instance by a list that the program also uses
    /// elsewhere.
    pub fn allowed(mut self, servers: AllowedServers) -> Self {
        self.allowed = servers;
        self
    }

    /// Changes the options of each client before it connects, such as its trust or its pins.
    pub fn configure(
        mut self,
        configure: impl Fn(McpClient) -> McpClient + Send + Sync + 'static,
    ) -> Self {
        self.configure = Some(Arc::new(configure));
        self
    }

    /// Returns the connections that the model established.
    pub fn connections(&self) -> Vec<McpConnection> {
        self.lock().established.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(feature = "client")]
fn http_client(url: &str) -> Result<McpClient, McpError> {
    Ok(McpClient::http(url))
}

#[cfg(not(feature = "client"))]
fn http_client(_: &str) -> Result<McpClient, McpError> {
    Err(McpError::InvalidOptions("HTTP needs the feature `client` of tool-mcp".to_owned()))
}

impl fmt::Debug for McpConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpConnections")
            .field("allowed", &self.allowed)
            .field("connections", &self.lock().established)
            .finish_non_exhaustive()
    }
}

/// Returns a connection as a model sees it, without a reason, which may contain text of the server.
async fn listed(connection: &McpConnection) -> ListedConnection {
    let mut listed = ListedConnection::new(connection.name(), connection.status().to_label());
    listed.tools = connection.tools().await.registered;
    listed
}

fn error(server: &str, error: &McpError) -> ToolError {
    let kind = match error {
        McpError::NotAllowed(_) => ToolErrorKind::Denied,
        McpError::InvalidOptions(_) | McpError::NameTaken { .. } | McpError::Registry { .. } => {
            ToolErrorKind::InvalidArguments
        }
        _ => ToolErrorKind::ExecutionFailed,
    };
    ToolError::new(kind, error.to_model_text(server))
}

#[async_trait]
impl ConnectionHost for McpConnections {
    fn allowed_servers(&self) -> &AllowedServers {
        &self.allowed
    }

    async fn connect(
        &self,
        name: &str,
        server: RequestedServer,
    ) -> Result<ListedConnection, ToolError> {
        let client = match server {
            RequestedServer::Command { program, arguments } => {
                Ok(McpClient::stdio(program).args(arguments))
            }
            RequestedServer::Url(url) => http_client(&url),
        };
        let client = client.map_err(|refused| error(name, &refused))?;
        let Some(reserved) = Reserved::new(self) else {
            let text = format!(
                "Too many connections: the limit is {MAX_CONNECTIONS}. Call `mcp_disconnect` for \
                 one first."
            );
            return Err(ToolError::failed(text));
        };
        let Some(registry) = self.registry.upgrade() else {
            let text = "No server can be connected any more: continue with the tools you have.";
            return Err(ToolError::new(ToolErrorKind::Unavailable, text));
        };
        let client = client.pin_store(self.pins.clone());
        let client = match &self.configure {
            Some(configure) => configure(client),
            None => client,
        };
        let connected = Box::pin(client.connect(name, &registry)).await;
        let connection = connected.map_err(|failed| error(name, &failed))?;
        reserved.insert(&connection);
        Ok(listed(&connection).await)
    }

    async fn disconnect(&self, name: &str) -> Result<(), ToolError> {
        let removed = self.lock().established.remove(name);
        removed.ok_or_else(unknown_connection)?.disconnect().await;
        Ok(())
    }

    async fn connections(&self) -> Vec<ListedConnection> {
        let mut connections = Vec::new();
        for connection in Self::connections(self) {
            connections.push(listed(&connection).await);
        }
        connections
    }
}
