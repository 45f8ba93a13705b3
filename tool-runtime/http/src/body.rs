//! Bodies of HTTP responses, read in chunks.

use std::fmt;

use async_trait::async_trait;

use super::TransportError;

/// Body of a response, which arrives in chunks.
///
/// ```
/// use tool_http::HttpBody;
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
/// use async_trait::async_trait;
/// use tool_http::{BodyStream, HttpBody, TransportError};
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
    /// use tool_http::{BodyStream, HttpBody, HttpResponse, TransportError};
    ///
    /// struct Empty;
    ///
    /// #[async_trait::async_trait]
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
    /// use tool_http::{BodyStream, HttpBody, TransportError};
    ///
    /// struct Chunks(Vec<&'static str>);
    ///
    /// #[async_trait::async_trait]
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

    /// Reads the rest of the body.
    ///
    /// # Errors
    /// - [`TransportError::BodyTooLong`] if the rest is longer than `max_bytes`. No more than that
    ///   and one chunk is read.
    /// - [`TransportError`] of the source, such as a broken connection.
    ///
    /// ```
    /// use tool_http::{HttpBody, TransportError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), TransportError> {
    /// assert_eq!(HttpBody::from("Hi!").read_to_end(1 << 20).await?, b"Hi!");
    /// assert!(HttpBody::from("Hi!").read_to_end(2).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_to_end(mut self, max_bytes: usize) -> Result<Vec<u8>, TransportError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next().await? {
            if bytes.len() + chunk.len() > max_bytes {
                return Err(TransportError::BodyTooLong { max_bytes });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
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
