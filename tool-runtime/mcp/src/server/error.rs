use std::error::Error;

use tokio::task::JoinError;
use tool_core::RegistryError;

/// An error that stops a server on a stream.
///
/// ```
/// use tool_runtime::mcp::McpServer;
/// use tool_runtime::{tool, tools};
///
/// /// Returns the current time.
/// #[tool]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let twice = McpServer::new(tools![now, now]);
/// let error = twice.serve(tokio::io::empty(), tokio::io::sink()).await.unwrap_err();
/// assert!(error.to_string().starts_with("invalid tools: "));
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A definition is invalid, or two tools have the same name.
    #[error("invalid tools: {0}")]
    Tools(#[source] RegistryError),
    /// The client violated the handshake of the protocol.
    #[error("MCP initialization failed: {0}")]
    Initialize(#[source] Box<dyn Error + Send + Sync>),
    /// The system provides no random numbers for the key that seals request states.
    #[error("key that seals request states can't be generated: {0}; set `McpServer::seal_key`")]
    SealKey(#[source] Box<dyn Error + Send + Sync>),
    /// The listener of the server failed.
    #[error("MCP server can't accept connections: {0}")]
    Listen(#[source] std::io::Error),
    /// A task of the server panicked.
    #[error("task of the MCP server panicked: {0}")]
    Panicked(#[source] JoinError),
}
