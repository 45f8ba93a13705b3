//! The tools by which a model changes the connections of a catalog.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::Mutex;
use tool_mcp::{AllowedServers, McpError};
use tool_runtime::{ToolError, ToolErrorKind, Untrusted, tool};

use crate::catalog::{CatalogEntry, CatalogError, Connection, EntryId, EntryKind};
use crate::registrar::{EntryState, EntryStatus, Registrar, RegistrarError};

/// The number of connections of a catalog to which a model can add another one.
const MAX_CONNECTIONS: usize = 20;

/// The characters of a reason that a model reads.
const MAX_REASON_CHARS: usize = 500;

/// Tools with which a model connects to MCP servers, which are connected again after a restart.
///
/// | tool | what it does | permission |
/// |---|---|---|
/// | `mcp_connect` | stores a connection to an allowed server, and adds the tools of the server | ask |
/// | `mcp_disconnect` | removes a connection from the catalog, with its tools | ask |
/// | `mcp_list` | lists the connections with their states and tools | allow |
///
/// A connection that a model adds has no secrets. A model can add one only while the catalog has
/// fewer than 20. `tool_mcp::tools` returns tools of the same names, whose connections end with the
/// program: register one of the two.
///
/// ```
/// use tool_dynamic::catalog::MemoryCatalog;
/// use tool_dynamic::{Catalog, ConnectionTools, Registrar};
/// use tool_mcp::AllowedServers;
/// use tool_runtime::{Permission, Registry, tools};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::new();
/// let registrar = Registrar::builder(Catalog::new(MemoryCatalog::new())).start(&registry).await?;
/// let servers = AllowedServers::new().allow_command(["uvx", "mcp-server-time"]);
/// registry.register_all(tools![..ConnectionTools::new(registrar, servers)])?;
///
/// let tools = registry.snapshot();
/// assert_eq!(tools.definition("mcp_connect").unwrap().permission, Permission::Ask);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ConnectionTools {
    registrar: Registrar,
    servers: AllowedServers,
    /// Held while connections are counted and another one is stored.
    counted: Arc<Mutex<()>>,
}

/// A connection as the model sees it.
#[derive(Debug, Serialize)]
struct ListedConnection {
    name: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    tools: Vec<String>,
}

impl ConnectionTools {
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

#[tool]
impl ConnectionTools {
    /// Connects to an MCP server and adds its tools, named `NAME__tool`. Send either a command or a
    /// URL. The connection is kept: it is established again whenever the program starts.
    #[tool(effect = "external", permission = "ask")]
    async fn mcp_connect(
        &self,
        /// Name of the connection: letters, digits, `-` and `_`.
        name: String,
        /// Program and arguments of a server on standard input and output.
        command: Option<Vec<String>>,
        /// Address of a server on HTTP.
        url: Option<String>,
    ) -> Result<ListedConnection, ToolError> {
        let connection = match (command, url) {
            (Some(words), None) => command_line(&self.servers, &words),
            (None, Some(url)) => self.servers.check_url(&url).map(|()| Connection::http(url)),
            _ => return Err(ToolError::validation("Send either `command` or `url`.")),
        };
        let connection =
            connection.map_err(|error| ToolError::new(ToolErrorKind::Denied, error.to_string()))?;
        let entry = self.store(&name, connection).await?;
        let status = self.registrar.put(entry).await.map_err(|error| model_error(&error))?;
        let listed = listed(status);
        let Some(reason) = &listed.reason else { return Ok(listed) };
        let text = format!(
            "`{name}` is stored, but not connected. The program keeps trying; `mcp_disconnect` \
             removes it. {reason}"
        );
        Err(ToolError::new(ToolErrorKind::Unavailable, text))
    }

    /// Removes a connection to an MCP server, with its tools.
    #[tool(effect = "write", permission = "ask")]
    async fn mcp_disconnect(
        &self,
        /// Name of the connection.
        name: String,
    ) -> Result<String, ToolError> {
        let removed = self.registrar.remove(&EntryId::connection(&name)).await;
        removed.map_err(|error| model_error(&error))?;
        Ok(format!("`{name}` is disconnected, and was removed."))
    }

    /// Lists the connections to MCP servers, with their tools.
    #[tool(effect = "read")]
    async fn mcp_list(&self) -> Vec<ListedConnection> {
        let statuses = self.registrar.statuses().into_iter();
        statuses.filter(|it| it.id.kind() == EntryKind::Connection).map(listed).collect()
    }
}

/// Returns the connection to an allowed program.
fn command_line(servers: &AllowedServers, words: &[String]) -> Result<Connection, McpError> {
    servers.check_command(words)?;
    let program = words.first().cloned().unwrap_or_default();
    Ok(Connection::stdio(program).args(words.iter().skip(1).cloned()))
}

/// Returns the state of a connection for a model. The reason may contain text of the server.
fn listed(status: EntryStatus) -> ListedConnection {
    let (name, tools) = (status.id.name().to_owned(), status.tools);
    let (state, reason) = match status.state {
        EntryState::Starting => ("connecting", None),
        EntryState::Active => ("connected", None),
        EntryState::Unavailable { reason } => ("unavailable", Some(reason)),
    };
    let reason = reason.map(|reason| {
        let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
        Untrusted::new(format!("MCP server {name}"), reason).to_string()
    });
    ListedConnection { name, state, reason, tools }
}

/// Returns an error for the model that asked for a change.
fn model_error(error: &RegistrarError) -> ToolError {
    match error {
        RegistrarError::Catalog(CatalogError::NotFound { .. }) => {
            ToolError::validation("`name` is not a connection: call `mcp_list` for the names.")
        }
        RegistrarError::Catalog(CatalogError::Exists { id }) => ToolError::validation(format!(
            "`name`: there is a connection `{}` already. Use another `name`, or disconnect it.",
            id.name()
        )),
        RegistrarError::Catalog(CatalogError::Invalid { reason, .. }) => {
            ToolError::validation(format!("The connection is invalid: {reason}."))
        }
        RegistrarError::NameTaken { .. } => {
            ToolError::validation("The program has a provider of this `name`: use another `name`.")
        }
        other => ToolError::failed(format!(
            "The change failed: {other}. Call `mcp_list` for what is stored."
        )),
    }
}

impl fmt::Debug for ConnectionTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionTools").field("servers", &self.servers).finish_non_exhaustive()
    }
}
