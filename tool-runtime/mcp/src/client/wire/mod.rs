//! Carriers of messages: lines of a process or a stream, and HTTP.
//!
//! A [`Wire`] never waits without a limit: `stdio.rs` reads bounded lines and writes with a
//! timeout, `http.rs` uses the HTTP transport of the SDK. `watched_client.rs` is the client below
//! that transport: `notification_stream.rs` keeps the stream of notifications open,
//! `paced_stream.rs` bounds how fast others are opened again, and `readable_stream.rs` passes on
//! what can be decoded within the limits. Below it, `redacting_client.rs` removes secrets from the
//! errors of requests, which `post.rs` sends.

pub(crate) mod decode;
pub(crate) mod flood;
pub(crate) mod guard;
#[cfg(feature = "client")]
pub(super) mod http;
pub(crate) mod incoming;
#[cfg(feature = "client")]
mod notification_stream;
#[cfg(feature = "client")]
mod paced_stream;
#[cfg(feature = "client")]
mod post;
#[cfg(feature = "client")]
mod readable_stream;
#[cfg(feature = "client")]
pub(super) mod redacting_client;
#[cfg(feature = "client")]
mod sse;
pub(super) mod stdio;
pub(crate) mod traffic;
#[cfg(feature = "client")]
mod watched_client;

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};

use crate::lines::{Envelope, Sending, WriteError};

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The delivery of a message.
pub(crate) type Delivery = Sending<Result<(), WireError>>;

/// A connection that carries messages in both directions.
pub(crate) trait Wire: Send {
    /// Queues a message in the order of the calls. The future waits until it is delivered.
    fn send(&mut self, message: ClientJsonRpcMessage) -> Delivery;

    /// Returns the next message, or `None` at the end.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Received>>;

    /// Returns a future that waits until the server can send notifications and requests, after a
    /// handshake.
    fn ready(&self) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    /// Returns true if the first request must be answered before another one can be sent.
    fn is_sequential(&self) -> bool {
        false
    }

    /// Ends the connection within a few seconds.
    fn close(&mut self) -> BoxFuture<'_, ()>;
}

/// A message of the server, or the reason why it can't be read.
#[expect(clippy::large_enum_variant, reason = "most are messages, and each is moved once")]
pub(crate) enum Received {
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only HTTP decodes by itself"))]
    Message(ServerJsonRpcMessage),
    /// A message that is not decoded.
    Line(Vec<u8>),
    /// A message above the size limit.
    TooLong(Envelope),
    /// A change of the stream on which the server sends notifications.
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only HTTP has a stream"))]
    Stream(StreamChange),
}

/// A change of the stream on which a server sends notifications.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only HTTP has a stream"))]
pub(crate) enum StreamChange {
    /// The stream can't be opened, for this reason. The attempts continue.
    Lost(String),
    /// The stream is open again. What the server sent before may be lost.
    Reopened,
    /// The server does not know the session any more.
    Expired,
}

/// The reason why a message was not delivered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("the message can't be encoded: {0}")]
    Encode(#[source] serde_json::Error),
    #[error("{0}")]
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "only HTTP has other errors"))]
    Http(#[source] Box<dyn Error + Send + Sync>),
}
