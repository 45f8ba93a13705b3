//! Carriers of messages: lines of a process or a stream, and HTTP.
//!
//! A [`Wire`] never waits without a limit: `lines.rs` reads bounded lines, `stdio.rs` writes with a
//! timeout, `http.rs` uses the HTTP transport of the SDK (`watched_client.rs`). `envelope.rs`
//! finds the kind and the id of a message that can't be read.

pub(super) mod envelope;
#[cfg(feature = "client")]
pub(super) mod http;
pub(super) mod lines;
pub(super) mod stdio;
#[cfg(feature = "client")]
mod watched_client;

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};

use self::envelope::Envelope;

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A connection that carries messages in both directions.
pub(crate) trait Wire: Send {
    /// Queues a message in the order of the calls. The future waits until it is delivered.
    fn send(&mut self, message: ClientJsonRpcMessage) -> BoxFuture<'static, Result<(), WireError>>;

    /// Returns the next message, or `None` at the end. Dropping the future loses nothing.
    fn receive(&mut self) -> BoxFuture<'_, Option<Received>>;

    /// Returns a future that waits until the server can send messages of its own, after a
    /// handshake.
    fn ready(&self) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    /// Ends the connection within a few seconds.
    fn close(&mut self) -> BoxFuture<'_, ()>;
}

/// A message of the server, or the reason why it can't be read.
pub(crate) enum Received {
    Message(Box<ServerJsonRpcMessage>),
    /// A message above the size limit.
    TooLong(Envelope),
    /// Text that is no valid message.
    Malformed(Envelope),
}

/// The reason why a message was not delivered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("the connection is closed")]
    Closed,
    #[error("the server did not read for {0:?}")]
    NotRead(Duration),
    #[error("too many messages wait to be sent")]
    QueueFull,
    #[error("the message can't be encoded: {0}")]
    Encode(#[source] serde_json::Error),
    #[error("{0}")]
    Io(#[source] std::io::Error),
    #[error("{0}")]
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only HTTP has other errors"))]
    Http(#[source] Box<dyn Error + Send + Sync>),
}
