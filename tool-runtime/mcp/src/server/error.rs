use std::error::Error;

use tokio::task::JoinError;
use tool_runtime::RegistryError;

/// An error that ends the serving of a client on a stream.
///
/// ```
/// use tool_mcp::McpServer;
/// use tool_runtime::{tool, tools};
///
/// /// Tells the time.
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
    /// The client did not start by the rules of the protocol.
    #[error("initialization failed: {0}")]
    Initialize(#[source] Box<dyn Error + Send + Sync>),
    /// The system has no random numbers for the key that seals states.
    #[error("no random key: {0}")]
    Key(#[source] Box<dyn Error + Send + Sync>),
    /// A task of the server panicked.
    #[error("the server panicked: {0}")]
    Panicked(#[source] JoinError),
}
