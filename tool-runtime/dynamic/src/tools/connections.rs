//! Keeps the connections that a model makes in a catalog.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Mutex;
use tool_core::{ToolError, ToolErrorKind, Untrusted, async_trait};
use tool_mcp::{AllowedServers, ConnectionHost, ListedConnection, RequestedServer};

use crate::catalog::{CatalogEntry, CatalogError, Connection, EntryId, EntryKind};
use crate::registrar::{EntryState, EntryStatus, Registrar, RegistrarError};

/// The number of connections of a catalog to which a model can add another one.
const MAX_CONNECTIONS: usize = 20;

/// The characters of a reason that a model reads.
const MAX_REASON_CHARS: usize = 500;

/// Keeps the MCP connections of a model in a catalog, so that they survive a restart.
///
/// Pass it to [`ConnectionTools`](tool_mcp::ConnectionTools), whose tools are then:
///
/// | tool | what it does | permission |
/// |---|---|---|
/// | `mcp_connect` | stores a connection to an allowed server, and adds the tools of the server | ask |
/// | `mcp_disconnect` | removes a connection from the catalog, with its tools | ask |
/// | `mcp_list` | lists the connections with their states and tools | allow |
///
/// A connection that a model adds has no secrets. A model can add one only while the catalog has
/// fewer than 20. With [`McpConnections`](tool_mcp::McpConnections), the connections of the same
/// tools end with the program: register the tools once.
///
/// ```
/// use tool_runtime::dynamic::{Catalog, CatalogConnections, Registrar};
/// use tool_runtime::mcp::{AllowedServers, ConnectionTools};
/// use tool_runtime::records::MemoryRecords;
/// use tool_runtime::{Permission, Registry, tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::new();
/// let registrar = Registrar::builder(Catalog::new(MemoryRecords::new())).start(&registry).await?;
/// let servers = AllowedServers::new().allow_command(["uvx", "mcp-server-time"]);
/// let connections = CatalogConnections::new(registrar, servers);
/// registry.register_all(tools![..ConnectionTools::new(connections)])?;
///
/// let tools = registry.snapshot();
/// assert_eq!(tools.definition("mcp_connect").unwrap().permission, Permission::Ask);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CatalogConnections {
    registrar: Registrar,
    servers: AllowedServers,
    /// Held while connections are counted and another one is stored.
    counted: Arc<Mutex<()>>,
}

impl CatalogConnections {
    /// Creates the tools by which a model changes the connections of a registrar, within a list of
    /// allowed servers.
    pub fn new(registrar: Registrar, servers: AllowedServers) -> Self {
        Self { registrar, servers, counted: Arc::default() }
    }

    /// Stores a connection, unless there are too many.
    async fn store(&self, name: &str, connection: Connection) -> Result<CatalogEntry, ToolError> {
        let _counted = self.counted.lock().await;
        let contents = self.registrar.catalog().contents().await;
        let contents = contents.map_err(|error| model_error(&error.into()))?;
        let is_connection = |entry: &&CatalogEntry| entry.id().kind() == EntryKind::Connection;
        if contents.entries.iter().filter(is_connection).count() >= MAX_CONNECTIONS {
            let text = format!(
                "Too many connections: the limit is {MAX_CONNECTIONS}. Call `mcp_disconnect` for \
                 one first."
            );
            return Err(ToolError::failed(text));
        }
        let stored = self.registrar.store(name, connection).await;
        stored.map_err(|error| model_error(&error))
    }
}

#[async_trait]
impl ConnectionHost for CatalogConnections {
    fn allowed_servers(&self) -> &AllowedServers {
        &self.servers
    }

    async fn connect(
        &self,
        name: &str,
        server: RequestedServer,
    ) -> Result<ListedConnection, ToolError> {
        let connection = match server {
            RequestedServer::Command { program, arguments } => {
                Connection::stdio(program).args(arguments)
            }
            RequestedServer::Url(url) => Connection::http(url),
            _ => return Err(ToolError::failed("This kind of server can't be stored.")),
        };
        let entry = self.store(name, connection).await?;
        let status = self.registrar.put(entry).await.map_err(|error| model_error(&error))?;
        let listed = listed(status);
        let Some(reason) = &listed.reason else { return Ok(listed) };
        let text = format!(
            "`{name}` is stored, but not connected. The program keeps trying; `mcp_disconnect` \
             removes it. {reason}"
        );
        Err(ToolError::new(ToolErrorKind::Unavailable, text))
    }

    async fn disconnect(&self, name: &str) -> Result<(), ToolError> {
        let removed = self.registrar.remove(&EntryId::connection(name)).await;
        removed.map_err(|error| model_error(&error)).map(drop)
    }

    async fn connections(&self) -> Vec<ListedConnection> {
        let statuses = self.registrar.statuses().into_iter();
        statuses.filter(|it| it.id.kind() == EntryKind::Connection).map(listed).collect()
    }
}

/// Returns the state of a connection for a model. The reason may contain text of the server.
fn listed(status: EntryStatus) -> ListedConnection {
    let name = status.id.name().to_owned();
    let (state, reason) = match status.state {
        EntryState::Starting => ("connecting", None),
        EntryState::Active => ("connected", None),
        EntryState::Unavailable { reason } => ("unavailable", Some(reason)),
    };
    let reason = reason.map(|reason| {
        let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
        Untrusted::new(format!("MCP server {name}"), reason).to_string()
    });
    let mut listed = ListedConnection::new(name, state);
    (listed.reason, listed.tools) = (reason, status.tools);
    listed
}

/// Returns an error for the model that asked for a change.
fn model_error(error: &RegistrarError) -> ToolError {
    match error {
        RegistrarError::Catalog(CatalogError::NotFound { .. }) => ToolError::invalid_arguments(
            "`name` is not a connection: call `mcp_list` for the names.",
        ),
        RegistrarError::Catalog(CatalogError::AlreadyExists { id }) => {
            ToolError::invalid_arguments(format!(
                "`name`: there is a connection `{}` already. Use another `name`, or disconnect it.",
                id.name()
            ))
        }
        RegistrarError::Catalog(CatalogError::Invalid { reason, .. }) => {
            ToolError::invalid_arguments(format!("The connection is invalid: {reason}."))
        }
        RegistrarError::NameTaken { .. } => ToolError::invalid_arguments(
            "The program has a provider of this `name`: use another `name`.",
        ),
        other => ToolError::failed(format!(
            "The change failed: {other}. Call `mcp_list` for what is stored."
        )),
    }
}

impl fmt::Debug for CatalogConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogConnections").field("servers", &self.servers).finish_non_exhaustive()
    }
}
