//! HTTP requests and responses, and the transports that exchange them.
//!
//! A [`Transport`] sends an [`HttpRequest`] and returns an [`HttpResponse`], whose body arrives in
//! chunks. `ReqwestTransport` (feature `reqwest`) uses the network; `Cassette` (feature `cassette`)
//! records exchanges and replays them in tests; a program can implement another one. The clients of
//! model providers in tool-runtime use the same trait, and so can tools:
//!
//! ```
//! use tool_http::{HttpRequest, Transport, TransportError};
//!
//! async fn page(transport: &dyn Transport, url: &str) -> Result<String, TransportError> {
//!     let request = HttpRequest::get(url).header("accept", "text/html, text/plain");
//!     let response = transport.send(&request).await?;
//!     let body = response.body.read_to_end(1 << 20).await?;
//!     Ok(String::from_utf8_lossy(&body).into_owned())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! # use tool_http::{HttpBody, HttpResponse};
//! # struct Canned;
//! # #[async_trait::async_trait]
//! # impl Transport for Canned {
//! #     async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
//! #         assert_eq!(request.url, "https://pages.invalid/");
//! #         Ok(HttpResponse::new(200, HttpBody::from("<p>Hi!</p>")))
//! #     }
//! # }
//! assert_eq!(page(&Canned, "https://pages.invalid/").await.unwrap(), "<p>Hi!</p>");
//! # }
//! ```
//!
//! # Streams of messages
//!
//! [`SseDecoder`] and [`LineDecoder`] split a stream of bytes into messages, without I/O:
//! server-sent events as the HTML standard defines them, and lines such as JSON lines. Pass chunks
//! to `push` as they arrive, and take the complete messages. At the end of the stream, `finish`
//! returns what remains. The messages do not depend on how the stream is split into chunks. A
//! message that exceeds the size limit is reported once and skipped; decoding continues after it.
//! So the memory in use is bounded by the limit and one chunk.
//!
//! To read a stream of server-sent events, pass the chunks of the body to an [`SseDecoder`]:
//!
//! ```
//! use tool_http::{HttpBody, SseDecoder};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut body = HttpBody::from("event: message\ndata: {\"id\": 1}\n\n");
//! let mut events = SseDecoder::new(1 << 20);
//! let mut found = Vec::new();
//! while let Some(chunk) = body.next().await? {
//!     events.push(&chunk);
//!     while let Some(event) = events.next_event()? {
//!         found.push(event.into_data());
//!     }
//! }
//! assert_eq!(found, [r#"{"id": 1}"#]);
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
#[cfg(feature = "cassette")]
mod cassette;
mod file;
mod headers;
mod lines;
mod message_limit;
mod method;
mod request;
#[cfg(feature = "reqwest")]
mod reqwest_transport;
mod response;
mod sse;
#[cfg(feature = "reqwest")]
mod url_secrets;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use body::{BodyStream, HttpBody};
#[cfg(feature = "cassette")]
pub use cassette::Cassette;
pub use headers::Headers;
pub use lines::LineDecoder;
pub use message_limit::MessageSizeError;
pub use method::HttpMethod;
pub use request::HttpRequest;
#[cfg(feature = "reqwest")]
pub use reqwest_transport::ReqwestTransport;
pub use response::HttpResponse;
pub use sse::{SseDecoder, SseEvent};

// Used by the other crates of this workspace. They are not part of the public API.
#[doc(hidden)]
pub use file::replace_file;
#[doc(hidden)]
pub use file::replace_private_file;
#[doc(hidden)]
pub use message_limit::decode_utf8;
#[doc(hidden)]
#[cfg(feature = "reqwest")]
pub use reqwest_transport::CONNECT_TIMEOUT;
#[doc(hidden)]
#[cfg(feature = "reqwest")]
pub use url_secrets::secrets_in_url;

/// Sends HTTP requests and returns their responses.
///
/// Implement it to send requests in another way, such as through a queue, or to test without a
/// network. The implementation needs `#[async_trait]`, which `tool-runtime` re-exports.
///
/// ```
/// use async_trait::async_trait;
/// use tool_http::{HttpBody, HttpRequest, HttpResponse, Transport, TransportError};
///
/// /// Answers every request alike.
/// struct Canned(&'static str);
///
/// #[async_trait]
/// impl Transport for Canned {
///     async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
///         Ok(HttpResponse::new(200, HttpBody::from(self.0)))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), TransportError> {
/// let response = Canned("Hi!").send(&HttpRequest::get("https://pages.invalid/")).await?;
/// assert_eq!(response.body.read_to_end(100).await?, b"Hi!");
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request and returns the response as soon as its status and headers have arrived. The
    /// body may still be arriving. Redirects must not be followed: the caller decides whether
    /// another server may receive the request.
    ///
    /// # Errors
    /// [`TransportError`] if the request could not be sent, or if no readable response came back.
    /// An error status is not an error of the transport.
    ///
    /// # Cancellation
    /// The caller drops the future when its time limit passes. The transport has to abort the
    /// request then.
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError>;
}

#[diagnostic::do_not_recommend]
#[async_trait]
impl<T: Transport + ?Sized> Transport for Arc<T> {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        (**self).send(request).await
    }
}

/// The reason why a request has no response.
///
/// ```
/// use std::time::Duration;
/// use tool_http::TransportError;
///
/// let error = TransportError::Timeout { limit: Duration::from_secs(10) };
/// assert_eq!(error.to_string(), "request timed out: no response within 10s");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The request is invalid, or this machine cannot send requests.
    #[error("{0}")]
    Setup(String),
    /// The server could not be reached, or the connection broke.
    #[error("connection failed: {0}")]
    Connection(#[source] Box<dyn Error + Send + Sync>),
    /// A time limit of the transport passed, such as that for a connection.
    #[error("request timed out: no response within {limit:?}")]
    Timeout {
        /// The time limit that passed. If the limit of the program's own HTTP client is unknown,
        /// the time that passed.
        limit: Duration,
    },
    /// The body is longer than its reader accepts.
    #[error("response body too long: more than {max_bytes} bytes")]
    BodyTooLong {
        /// The maximum number of bytes.
        max_bytes: usize,
    },
    /// The replayed recording contains no response to this request.
    #[error("{0}")]
    Unrecorded(String),
}

impl TransportError {
    /// Returns `true` if the same request may succeed later: the server could not be reached, the
    /// connection broke, or a time limit passed.
    ///
    /// A tool that returns such an error by `?` fails with `ToolErrorKind::TransientFailure`.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Timeout { .. } => true,
            Self::Setup(_) | Self::BodyTooLong { .. } | Self::Unrecorded(_) => false,
        }
    }
}
