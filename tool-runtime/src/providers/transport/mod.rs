//! Transport of HTTP requests: the [`Transport`] trait, its default implementation, and the types
//! of requests and responses.

mod headers;
mod network;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

pub use headers::Headers;
pub(super) use network::CONNECT_TIMEOUT;
pub use network::ReqwestTransport;

/// Sends requests to a provider.
///
/// Implement it to send requests in another way, such as through a queue, or to test without a
/// network. The implementation needs `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::async_trait;
/// use tool_runtime::providers::{
///     HttpBody, HttpRequest, HttpResponse, OpenAi, Transport, TransportError,
/// };
/// use tool_runtime::{ChatModel, ChatReply, ChatRequest, Message};
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
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let canned = Canned(r#"{"choices": [{"message": {"content": "Hi!"}}]}"#);
/// let model = OpenAi::new("http://models.invalid/v1", "m").transport(canned);
/// let reply = model.reply(ChatRequest::new(&[Message::user("Hello")])).await.unwrap();
/// assert_eq!(reply, ChatReply::text("Hi!"));
/// # }
/// ```
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request and returns the response as soon as its status and headers have arrived. The
    /// body may still be arriving. Redirects must not be followed.
    ///
    /// # Errors
    /// [`TransportError`] if the request could not be sent, or if no readable response came back.
    /// An error status is not an error of the transport.
    ///
    /// # Cancellation
    /// The client drops the future when its time limit passes. The transport has to abort the
    /// request then.
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError>;
}

/// HTTP POST request with a JSON body. The debug output contains no URL, no header value and no
/// body.
///
/// ```
/// use tool_runtime::providers::HttpRequest;
///
/// let request = HttpRequest::new("https://models.invalid/v1/chat/completions", "{}");
/// assert!(!format!("{request:?}").contains("models.invalid"));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// URL of the request. A user and a password in it are sent as the header `Authorization`,
    /// unless `headers` contains that header.
    pub url: String,
    /// Headers, except those that a transport adds, such as the length.
    pub headers: Headers,
    /// The JSON body of the request.
    pub body: String,
}

impl HttpRequest {
    /// Creates a POST request without headers.
    pub fn new(url: impl Into<String>, body: impl Into<String>) -> Self {
        Self { url: url.into(), headers: Headers::default(), body: body.into() }
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("headers", &self.headers)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// HTTP response whose body may still be arriving.
///
/// ```
/// use tool_runtime::providers::{HttpBody, HttpResponse};
///
/// let mut response = HttpResponse::new(429, HttpBody::from("slow down"));
/// response.headers.set("retry-after", "2");
/// assert_eq!(response.headers.get("Retry-After"), Some("2"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct HttpResponse {
    /// The HTTP status code of the response.
    pub status: u16,
    /// Headers of the response.
    pub headers: Headers,
    /// Body of the response.
    pub body: HttpBody,
}

impl HttpResponse {
    /// Creates a response without headers.
    pub fn new(status: u16, body: HttpBody) -> Self {
        Self { status, headers: Headers::default(), body }
    }
}

/// Body of a response, which arrives in chunks.
///
/// ```
/// use tool_runtime::providers::HttpBody;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut body = HttpBody::from("Hi!");
/// assert_eq!(body.next().await?, Some(b"Hi!".to_vec()));
/// assert_eq!(body.next().await?, None);
/// # Ok(())
/// # }
/// ```
pub struct HttpBody(Box<dyn BodyStream>);

/// Source of the chunks of an [`HttpBody`].
///
/// ```
/// use tool_runtime::async_trait;
/// use tool_runtime::providers::{BodyStream, HttpBody, TransportError};
///
/// /// Counts down, one line a chunk.
/// struct Countdown(u8);
///
/// #[async_trait]
/// impl BodyStream for Countdown {
///     async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
///         let Some(left) = self.0.checked_sub(1) else { return Ok(None) };
///         self.0 = left;
///         Ok(Some(format!("{left}\n").into_bytes()))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), TransportError> {
/// let mut body = HttpBody::new(Countdown(2));
/// assert_eq!(body.next().await?, Some(b"1\n".to_vec()));
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait BodyStream: Send {
    /// Returns the next chunk, or `None` at the end of the body.
    ///
    /// # Errors
    /// [`TransportError::Connection`] if the connection broke.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError>;
}

impl HttpBody {
    /// Creates a body from a source of chunks.
    ///
    /// ```
    /// use tool_runtime::providers::{BodyStream, HttpBody, HttpResponse, TransportError};
    ///
    /// struct Empty;
    ///
    /// #[tool_runtime::async_trait]
    /// impl BodyStream for Empty {
    ///     async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
    ///         Ok(None)
    ///     }
    /// }
    ///
    /// assert_eq!(HttpResponse::new(204, HttpBody::new(Empty)).status, 204);
    /// ```
    pub fn new(chunks: impl BodyStream + 'static) -> Self {
        Self(Box::new(chunks))
    }

    /// Returns the next chunk, or `None` at the end of the body.
    ///
    /// # Errors
    /// [`TransportError`] of the source, such as a broken connection.
    ///
    /// ```
    /// use tool_runtime::providers::{BodyStream, HttpBody, TransportError};
    ///
    /// struct Chunks(Vec<&'static str>);
    ///
    /// #[tool_runtime::async_trait]
    /// impl BodyStream for Chunks {
    ///     async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
    ///         Ok(self.0.pop().map(|chunk| chunk.as_bytes().to_vec()))
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), TransportError> {
    /// let mut body = HttpBody::new(Chunks(vec!["there", "Hi "]));
    /// let mut text = Vec::new();
    /// while let Some(chunk) = body.next().await? {
    ///     text.extend(chunk);
    /// }
    /// assert_eq!(text, b"Hi there");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        self.0.next().await
    }
}

impl HttpBody {
    /// Waits for the first chunk and returns the same body.
    pub(super) async fn with_first_chunk(mut self) -> Result<Self, TransportError> {
        let first = self.next().await?;
        Ok(Self::new(WithFirstChunk { first, rest: self }))
    }
}

struct WithFirstChunk {
    first: Option<Vec<u8>>,
    rest: HttpBody,
}

#[async_trait]
impl BodyStream for WithFirstChunk {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        match self.first.take() {
            None => self.rest.next().await,
            first => Ok(first),
        }
    }
}

/// Creates a body of one chunk.
impl From<&str> for HttpBody {
    fn from(text: &str) -> Self {
        Self::from(vec![text.as_bytes().to_vec()])
    }
}

/// Creates a body of these chunks.
impl From<Vec<Vec<u8>>> for HttpBody {
    fn from(chunks: Vec<Vec<u8>>) -> Self {
        Self::new(Complete(chunks.into_iter()))
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpBody")
    }
}

struct Complete(std::vec::IntoIter<Vec<u8>>);

#[async_trait]
impl BodyStream for Complete {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        Ok(self.0.next())
    }
}

/// The reason why a request has no response.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::providers::TransportError;
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
    /// The replayed recording contains no answer to this request.
    #[error("{0}")]
    Unrecorded(String),
}
