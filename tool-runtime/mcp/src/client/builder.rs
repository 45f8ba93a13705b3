//! The client as a builder, and the start of its connection.

use std::sync::Arc;

use tool_core::Registry;

use super::connection::McpConnection;
use super::error::McpError;
use super::options::Options;
use super::pins::MemoryPins;
use super::wire::BoxFuture;
use crate::client::connect::link::Link;
use crate::client::connect::open_connections;
use crate::client::connect::supervisor::{establish, supervise};
use crate::client::connect::target::Target;

/// Connects to an MCP server and registers its tools.
///
/// The client supports the protocol revisions 2026-07-28, 2025-11-25, and older ones that the
/// server answers with. The name of the connection is that of the tool provider: models call a tool
/// by `name__tool`. The tools have the label `dynamic`.
///
/// ```no_run
/// use tool_runtime::Registry;
/// use tool_runtime::mcp::McpClient;
///
/// # async fn connect() -> Result<(), tool_runtime::mcp::McpError> {
/// let registry = Registry::new();
/// McpClient::stdio("npx")
///     .args(["-y", "@modelcontextprotocol/server-everything"])
///     .connect("everything", &registry)
///     .await?;
/// assert!(registry.snapshot().get("everything__echo").is_some());
/// # Ok(())
/// # }
/// ```
///
/// # Trust
/// A server is untrusted: see [`Trust`](crate::Trust) and [`pin_store`](Self::pin_store).
#[derive(Clone)]
#[must_use = "the client does nothing until `connect` is called"]
pub struct McpClient {
    pub(super) target: Result<Target, String>,
    pub(super) options: Options,
}

impl McpClient {
    pub(super) fn new(target: Result<Target, String>) -> Self {
        Self { target, options: Options::default() }
    }

    /// Connects to the server and registers its tools under the name of the connection.
    ///
    /// # Errors
    /// - The name is invalid or taken, or the options are invalid.
    /// - The server can't be reached, refuses authorization, or does not complete the handshake and
    ///   return its tools in time.
    /// - The [pin store](Self::pin_store) fails.
    ///
    /// After an error, nothing is registered and nothing runs in the background.
    ///
    /// # Cancellation
    /// Dropping the future ends the connection.
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), tool_runtime::mcp::McpError> {
    /// use tool_runtime::Registry;
    /// use tool_runtime::mcp::McpClient;
    ///
    /// let registry = Registry::new();
    /// let docs = McpClient::http("http://127.0.0.1:3001/mcp").connect("docs", &registry).await?;
    /// println!("{:?}", docs.tools().await.registered);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(
        self,
        name: impl Into<String>,
        registry: &Registry,
    ) -> Result<McpConnection, McpError> {
        connect(self.link(name.into(), registry)?).await
    }

    /// Connects to the server in the background, and retries until the server answers.
    ///
    /// Use it to start many servers: they connect at the same time, and the tools of a slow one are
    /// registered when they arrive. [`McpConnection::status`] and the
    /// [events](Self::on_event) report failures. If the server is refused for good, such as one
    /// that names another issuer than the configured one, the connection ends.
    ///
    /// # Errors
    /// The name is invalid or taken, or the options are invalid.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub fn connect_in_background(
        self,
        name: impl Into<String>,
        registry: &Registry,
    ) -> Result<McpConnection, McpError> {
        Ok(connect_in_background(self.link(name.into(), registry)?))
    }

    fn link(self, name: String, registry: &Registry) -> Result<Arc<Link>, McpError> {
        let target = self.target.map_err(McpError::InvalidOptions)?;
        if registry.snapshot().providers().contains(&name.as_str()) {
            return Err(McpError::NameTaken { server: name });
        }
        // The registry checks the name when it registers the first, empty list.
        let empty = registry.replace_valid_from(&name, tool_core::Tools::new());
        if let Err(error) = empty {
            return Err(McpError::Registry { server: name, error });
        }
        let options = self.options;
        let pins = options.pins.clone().unwrap_or_else(|| Arc::new(MemoryPins::new()));
        let link = Arc::new(Link::new(name, target, options, pins, registry.downgrade()));
        if open_connections::add(&link) {
            link.announce(registry);
            Ok(link)
        } else {
            Err(McpError::NameTaken { server: link.name.clone() })
        }
    }
}

/// Connects, in a box of a function without parameters of types: so the code of the SDK is compiled
/// with this crate, instead of in every program.
#[inline(never)]
fn connect(link: Arc<Link>) -> BoxFuture<'static, Result<McpConnection, McpError>> {
    Box::pin(async move {
        let established = establish(&link).await?;
        established.publish(&link);
        tokio::spawn(supervise(Arc::clone(&link), Some(established)));
        Ok(McpConnection::new(link))
    })
}

#[inline(never)]
fn connect_in_background(link: Arc<Link>) -> McpConnection {
    tokio::spawn(supervise(Arc::clone(&link), None));
    McpConnection::new(link)
}

impl std::fmt::Debug for McpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let target = match &self.target {
            Ok(Target::Process(target)) => target.program.to_string_lossy().into_owned(),
            Ok(Target::Streams(_)) => "streams".to_owned(),
            // Without the query, which may hold a key.
            #[cfg(feature = "client")]
            Ok(Target::Http { target, .. }) => {
                target.url.split('?').next().unwrap_or_default().to_owned()
            }
            Err(error) => error.clone(),
        };
        f.debug_struct("McpClient").field("target", &target).finish_non_exhaustive()
    }
}
