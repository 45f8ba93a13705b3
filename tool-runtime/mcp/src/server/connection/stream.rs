//! Serves one client on a stream of bytes.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use tokio::task::JoinError;

use super::transport::{Reader, StreamTransport, Writer};
use crate::server::ServeError;
use crate::server::Shared;
use crate::server::handler::Handler;

type Serving = Pin<Box<dyn Future<Output = Result<(), ServeError>> + Send>>;

/// Serves until the client closes the stream or the server is cancelled.
///
/// The future is boxed here, so that the code of the SDK is compiled with this crate.
pub(crate) fn serve(shared: Arc<Shared>, reader: Reader, writer: Writer) -> Serving {
    Box::pin(async move {
        shared.dispatcher.as_ref().map_err(|error| ServeError::Tools(error.clone()))?;
        let transport = StreamTransport::new(reader, writer, &shared.limits);
        let cancellation = shared.cancellation.child_token();
        let starting = serve_server_with_ct(Handler::new(shared), transport, cancellation);
        match starting.await {
            Ok(running) => ended(running.waiting().await),
            // The client left before it sent anything, or the server was stopped.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            Err(error) => Err(ServeError::Initialize(Box::new(error))),
        }
    })
}

fn ended(quit: Result<QuitReason, JoinError>) -> Result<(), ServeError> {
    match quit {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Panicked(error)),
        Ok(_) => Ok(()),
    }
}
