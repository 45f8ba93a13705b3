//! HTTP requests that a transport sends.

use std::fmt;

use super::{Headers, HttpMethod};

/// HTTP request with a method, headers and a body of bytes. The debug output contains no URL, no
/// header value and no body.
///
/// ```
/// use tool_http::{HttpMethod, HttpRequest};
///
/// let request = HttpRequest::new(HttpMethod::Patch, "https://boards.invalid/cards/7")
///     .header("content-type", "application/json")
///     .body(r#"{"title": "Tea"}"#);
/// assert_eq!(request.body, br#"{"title": "Tea"}"#);
/// assert!(!format!("{request:?}").contains("boards.invalid"));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The method of the request.
    pub method: HttpMethod,
    /// URL of the request. A user and a password in it are sent as the header `Authorization`,
    /// unless `headers` contains that header.
    pub url: String,
    /// Headers, except those that a transport adds, such as the length.
    pub headers: Headers,
    /// The body of the request. The header `content-type` describes it.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Creates a request without headers and with an empty body.
    pub fn new(method: HttpMethod, url: impl Into<String>) -> Self {
        Self { method, url: url.into(), headers: Headers::default(), body: Vec::new() }
    }

    /// Creates a GET request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(HttpMethod::Get, url)
    }

    /// Creates a POST request with a body.
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self::new(HttpMethod::Post, url).body(body)
    }

    /// Sets a header and replaces any others of that name.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.set(name, value);
        self
    }

    /// Sets the body of the request.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("headers", &self.headers)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}
