//! The handle of a connection for the program.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientRequest, RootsListChangedNotification, ServerResult};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use super::error::McpError;
use super::pins::DefinitionChange;
use super::status::McpStatus;
use super::trust::resolve_name;
use crate::client::calls::deadline;
use crate::client::calls::metadata::received;
use crate::client::connect::link::Link;
use crate::client::connect::session::Session;
use crate::client::questions::roots::named_root;
use crate::client::tools::catalog::ToolsReport;
use crate::client::tools::list::{ListKind, list};

/// A connection to an MCP server, whose tools are in a registry.
///
/// The connection lives until [`disconnect`](Self::disconnect), or until the last clone of the
/// registry is dropped. Dropping this handle does not end it. If the connection is lost, its tools
/// become unavailable, and it is established again in the background.
///
/// ```no_run
/// use tool_runtime::Registry;
/// use tool_runtime::mcp::McpClient;
///
/// # async fn connect() -> Result<(), tool_runtime::mcp::McpError> {
/// let registry = Registry::new();
/// let docs = McpClient::http("http://127.0.0.1:3001/mcp").connect("docs", &registry).await?;
/// println!("{}: {:?}", docs.name(), docs.tools().await.registered);
/// docs.disconnect().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct McpConnection {
    pub(super) link: Arc<Link>,
    /// The time limit of a request.
    request_timeout: Duration,
}

impl McpConnection {
    pub(super) fn new(link: Arc<Link>) -> Self {
        let request_timeout = link.options.call_timeout;
        Self { link, request_timeout }
    }

    /// Replaces the time limit of a request.
    pub(super) fn with_request_timeout(mut self, limit: Duration) -> Self {
        self.request_timeout = limit;
        self
    }

    /// Returns the name of the connection, which is the provider of its tools.
    pub fn name(&self) -> &str {
        &self.link.name
    }

    /// Returns the state of the connection.
    pub fn status(&self) -> McpStatus {
        self.link.status.borrow().clone()
    }

    /// Waits until the connection is established or has ended permanently. Returns the state.
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), tool_runtime::mcp::McpError> {
    /// use tool_runtime::Registry;
    /// use tool_runtime::mcp::McpClient;
    ///
    /// let registry = Registry::new();
    /// let slow = McpClient::stdio("slow-server").connect_in_background("slow", &registry)?;
    /// assert!(slow.connected().await.is_connected());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connected(&self) -> McpStatus {
        self.status_where(|status| status.is_connected() || *status == McpStatus::Disconnected)
            .await
    }

    /// Returns a receiver of the state, which can wait for changes.
    pub fn status_changes(&self) -> watch::Receiver<McpStatus> {
        self.link.status.subscribe()
    }

    async fn status_where(&self, is_expected: impl Fn(&McpStatus) -> bool) -> McpStatus {
        let mut changes = self.link.status.subscribe();
        let status = changes.wait_for(|status| is_expected(status)).await;
        status.map_or(McpStatus::Disconnected, |status| status.clone())
    }

    /// Returns which tools are registered, and why others are not.
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
    /// println!("{:?}", docs.tools().await.registered);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn tools(&self) -> ToolsReport {
        self.link.catalog.lock().await.report.clone()
    }

    /// Returns the metadata (`_meta`) of a tool, by its full name, or by its name on the server if
    /// that does not contain `__`.
    ///
    /// It is untrusted, and it is not pinned: it can change without an approval. Members whose keys
    /// the protocol reserves are left out, and so is metadata of more than
    /// [`ResultLimits::max_meta_bytes`](crate::ResultLimits::max_meta_bytes).
    ///
    /// ```no_run
    /// # async fn show(docs: tool_runtime::mcp::McpConnection) {
    /// let meta = docs.tool_meta("search").await.unwrap_or_default();
    /// println!("{:?}", meta.get("ui"));
    /// # }
    /// ```
    pub async fn tool_meta(&self, tool: &str) -> Option<Map<String, Value>> {
        let catalog = self.link.catalog.lock().await;
        let meta = catalog.tool(resolve_name(&self.link.name, tool)?)?.meta.clone()?;
        received(meta.0, self.link.options.results.max_meta_bytes)
    }

    /// Requests the list of tools and registers it in one change.
    ///
    /// The client does this by itself when the server reports a change.
    ///
    /// # Errors
    /// The connection is down, or the server does not return a valid list in time. Then the
    /// previous tools stay registered.
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
    /// println!("{:?}", docs.refresh().await?.registered);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn refresh(&self) -> Result<ToolsReport, McpError> {
        let session = self.link.connected()?;
        self.link.refresh(&session).await?;
        Ok(self.tools().await)
    }

    /// Accepts a definition that was [pending](ToolsReport::pending), and registers its tool.
    ///
    /// # Errors
    /// The server offers another definition in the meantime, the pin store fails, or the connection
    /// was [disconnected](Self::disconnect).
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn approve(docs: McpConnection) -> Result<(), McpError> {
    /// for change in docs.tools().await.pending {
    ///     println!("{} has changed:\n{}", change.tool, change.diff);
    ///     docs.approve(&change).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn approve(&self, change: &DefinitionChange) -> Result<(), McpError> {
        self.link.approve(change).await
    }

    /// Replaces the roots: the folders that the server may work in, by their `file://` URIs and
    /// names.
    ///
    /// The server is notified. A server of the revision 2026-07-28 requests the roots during each
    /// call that needs them.
    ///
    /// # Errors
    /// The client was built without [roots](crate::McpClient::roots), so it did not declare the
    /// capability.
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
    /// docs.set_roots([("file:///srv/notes", "notes")]).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn set_roots<U: Into<String>, N: Into<String>>(
        &self,
        roots: impl IntoIterator<Item = (U, N)>,
    ) -> Result<(), McpError> {
        if self.link.options.roots.is_none() {
            let reason = "`set_roots` needs `McpClient::roots`".to_owned();
            return Err(McpError::InvalidOptions(reason));
        }
        let roots = roots.into_iter().map(|(uri, name)| named_root(uri, name));
        self.link.roots.set(roots.collect());
        if let Some(session) = self.link.session().filter(|session| session.info.has_initialize) {
            session.notify(RootsListChangedNotification::default().into()).await;
        }
        Ok(())
    }

    /// Returns the name that the server reports. It is untrusted.
    pub fn server_name(&self) -> Option<String> {
        self.link.session()?.info.server_name.clone()
    }

    /// Returns the instructions of the server for the model. They are untrusted: the client does
    /// not pass them to a model.
    pub fn instructions(&self) -> Option<String> {
        self.link.session()?.info.instructions.clone()
    }

    /// Ends the connection and removes its tools from the registry.
    ///
    /// The client asks a server process to exit. After a few seconds, it kills the process and all
    /// processes that it started.
    ///
    /// # Cancellation
    /// If the future is dropped, the connection still ends.
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
    /// docs.disconnect().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn disconnect(&self) {
        self.link.stopped.cancel();
        self.link.closed.cancelled().await;
    }

    /// Returns the connection and the deadline of a request.
    pub(super) fn request_on(&self) -> Result<(Arc<Session>, Instant), McpError> {
        let deadline = deadline::after(self.request_timeout);
        Ok((self.link.connected()?, deadline))
    }

    /// Requests a list, and leaves out malformed items.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        kind: ListKind,
    ) -> Result<Vec<T>, McpError> {
        let (session, deadline) = self.request_on()?;
        let listing = list(&session, kind, self.link.options.lists, deadline).await?;
        Ok(listing.items.into_iter().map(|(_, item)| item).collect())
    }

    /// Sends a request and returns its result as JSON.
    pub(super) async fn request(
        &self,
        operation: &'static str,
        request: ClientRequest,
    ) -> Result<Value, McpError> {
        let (session, deadline) = self.request_on()?;
        let result: ServerResult = session.request(request, operation, deadline).await?;
        Ok(serde_json::to_value(result).unwrap_or_default())
    }

    /// Returns the error of an answer that violates the protocol.
    pub(super) fn invalid(&self, operation: &'static str, reason: String) -> McpError {
        McpError::InvalidResponse { server: self.name().to_owned(), operation, reason }
    }
}

impl fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpConnection")
            .field("name", &self.link.name)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
