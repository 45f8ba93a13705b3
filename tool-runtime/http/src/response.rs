//! HTTP responses that a transport returns.

use super::{Headers, HttpBody};

/// HTTP response whose body may still be arriving.
///
/// ```
/// use tool_http::{HttpBody, HttpResponse};
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
