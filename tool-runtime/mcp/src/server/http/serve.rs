//! Serves a listener.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;

use super::super::McpServer;
use super::super::ServeError;

impl McpServer {
    /// Serves Streamable HTTP at the path `/mcp` of a listener, until the server is
    /// [cancelled](Self::cancellation).
    ///
    /// This method serves the [`router`](Self::router) and configures the connections. Packets are
    /// sent at once (`TCP_NODELAY`): otherwise, each call on a kept-alive connection would take 40
    /// ms longer. Without an [authenticator](Self::authenticate), the
    /// [limits](crate::server::Limits) count per address and connection.
    ///
    /// # Errors
    /// The tools are invalid, or the listener fails.
    ///
    /// # Panics
    /// Panics outside a tokio runtime with I/O.
    ///
    /// # Cancellation
    /// If the future is dropped, no further connection is accepted. Open connections continue.
    ///
    /// ```
    /// use tokio_util::sync::CancellationToken;
    /// use tool_runtime::mcp::McpServer;
    /// use tool_runtime::tools;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stop = CancellationToken::new();
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// println!("http://{}/mcp", listener.local_addr()?);
    /// let server = McpServer::new(tools![]).cancellation(stop.clone());
    /// let serving = tokio::spawn(server.serve_http(listener));
    ///
    /// // When the program ends:
    /// stop.cancel();
    /// serving.await??;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn serve_http(self, listener: TcpListener) -> Result<(), ServeError> {
        let (settings, stop) = (self.http.clone(), self.cancellation.clone());
        let shared = self.into_shared()?;
        shared.dispatcher.as_ref().map_err(|error| ServeError::Tools(error.clone()))?;
        let router = super::router(Arc::new(shared), settings);
        let listener = listener.tap_io(|stream| {
            // Without it, answers are only slower.
            let _ = stream.set_nodelay(true);
        });
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let serving = axum::serve(listener, service);
        let serving = serving.with_graceful_shutdown(stop.cancelled_owned());
        serving.await.map_err(ServeError::Listen)
    }
}
