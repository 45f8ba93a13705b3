//! How requests get to a provider. Whoever has a way of his own implements [`Transport`].

mod headers;
mod web;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

pub use headers::Headers;
pub(super) use web::CONNECT;
pub use web::Web;

/// Sends one request and gives back what comes.
///
/// Its impl stands under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::async_trait;
/// use tool_runtime::providers::{
///     HttpBody, HttpReply, HttpRequest, OpenAi, Transport, TransportError,
/// };
/// use tool_runtime::{ChatModel, ChatReply, ChatRequest, Message};
///
/// /// Always answers the same.
/// struct Canned(&'static str);
///
/// #[async_trait]
/// impl Transport for Canned {
///     async fn send(&self, _: &HttpRequest) -> Result<HttpReply, TransportError> {
///         Ok(HttpReply::new(200, HttpBody::from(self.0)))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let canned = Canned(r#"{"choices": [{"message": {"content": "Hi!"}}]}"#);
/// let model = OpenAi::new("http://models.invalid/v1", "m").transport(canned);
/// let said = model.reply(ChatRequest::new(&[Message::user("Hello")])).await.unwrap();
/// assert_eq!(said, ChatReply::text("Hi!"));
/// # }
/// ```
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends it, follows no redirects, and comes back when the status and the headers are there; the
    /// body may still be on its way.
    ///
    /// # Errors
    /// It could not be sent, or nothing that can be read came back. A status is no error.
    async fn send(&self, request: &HttpRequest) -> Result<HttpReply, TransportError>;
}

/// A POST of JSON. Printed for debugging, it keeps to itself what may be secret.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// Where to. A user and a password in it are sent as the header `Authorization`, unless there is one
    /// among the headers: there can be only one.
    pub url: String,
    /// Beside what a transport adds itself, such as the length.
    pub headers: Headers,
    /// The JSON.
    pub body: String,
}

impl HttpRequest {
    /// A POST of `body` to `url`.
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

/// What came back.
#[derive(Debug)]
#[non_exhaustive]
pub struct HttpReply {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    /// The body.
    pub body: HttpBody,
}

impl HttpReply {
    /// A reply without headers.
    pub fn new(status: u16, body: HttpBody) -> Self {
        Self { status, headers: Headers::default(), body }
    }
}

/// A body that arrives in pieces.
pub struct HttpBody(Box<dyn Pieces>);

/// Where the pieces of a body come from.
#[async_trait]
pub trait Pieces: Send {
    /// The next piece; none when that was all.
    ///
    /// # Errors
    /// The connection broke.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError>;
}

impl HttpBody {
    /// A body that comes from here.
    pub fn new(pieces: impl Pieces + 'static) -> Self {
        Self(Box::new(pieces))
    }

    /// The next piece; none when that was all.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        self.0.next().await
    }
}

impl HttpBody {
    /// The same body, once its first piece is there.
    pub(super) async fn begun(mut self) -> Result<Self, TransportError> {
        let first = self.next().await?;
        Ok(Self::new(Begun { first, rest: self }))
    }
}

struct Begun {
    first: Option<Vec<u8>>,
    rest: HttpBody,
}

#[async_trait]
impl Pieces for Begun {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        match self.first.take() {
            None => self.rest.next().await,
            first => Ok(first),
        }
    }
}

/// A body that is there.
impl From<&str> for HttpBody {
    fn from(text: &str) -> Self {
        Self::from(vec![text.as_bytes().to_vec()])
    }
}

/// A body that comes in these pieces.
impl From<Vec<Vec<u8>>> for HttpBody {
    fn from(pieces: Vec<Vec<u8>>) -> Self {
        Self::new(There(pieces.into_iter()))
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpBody")
    }
}

struct There(std::vec::IntoIter<Vec<u8>>);

#[async_trait]
impl Pieces for There {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        Ok(self.0.next())
    }
}

/// Why nothing came back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// No request can be made on this machine, or of this.
    #[error("{0}")]
    Setup(String),
    /// The server could not be reached, or the connection broke.
    #[error("{0}")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
    /// It did not come about within a limit of the transport's own, such as that for a connection.
    #[error("nothing came about within {limit:?}")]
    Late {
        /// The limit; where it isn't known, as that of a client which the program made, how long was waited.
        limit: Duration,
    },
    /// A recording that is played has no answer to this request.
    #[error("{0}")]
    Unrecorded(String),
}
