//! Requests that a program sends by itself, on the path of those of the tools.

use tool_core::{ToolError, ToolErrorKind};
use tool_http::{Headers, HttpMethod, HttpRequest};

use crate::Web;
use crate::decode::decode;
use crate::target;
use tool_html::on_thread;

/// Headers that a request can't set: those of the connection, and those of other credentials.
const REFUSED_HEADERS: [&str; 9] = [
    "accept-encoding",
    "connection",
    "content-length",
    "cookie",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The response to a request of a program.
///
/// [`Web::send`] returns it. What it contains comes from a server: mark it as
/// [untrusted](tool_core::Untrusted) before a model reads it.
///
/// ```
/// use tool_runtime::http::HttpRequest;
/// use tool_runtime::web::Web;
///
/// # use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// # let url = format!("http://{}/", listener.local_addr()?);
/// # tokio::spawn(async move {
/// #     let (mut stream, _) = listener.accept().await?;
/// #     stream.read(&mut [0; 1024]).await?;
/// #     stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await
/// # });
/// let request = HttpRequest::get(url).header("accept", "text/plain");
/// let response = Web::new().allow_net("127.0.0.1")?.send(request).await;
/// let response = response.map_err(|error| error.to_string())?;
/// assert_eq!((response.status, response.body.as_slice()), (200, &b"hello"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebResponse {
    /// The URL of the last request, after redirects.
    pub url: String,
    /// The status, such as 200. An error status is no error.
    pub status: u16,
    /// The headers of the response.
    pub headers: Headers,
    /// The body without its compression.
    pub body: Vec<u8>,
    /// Whether the body has more bytes than the [limit](Web::max_bytes).
    pub is_truncated: bool,
}

impl Web {
    /// Sends a request under the rules of the tools: only addresses that are allowed are contacted.
    ///
    /// Redirects of GET and HEAD are followed; for another origin, without the headers and the body
    /// of the request. For other methods, the redirect is the response.
    ///
    /// The headers `accept-encoding`, `cookie` and `host`, those of proxies, and those of the
    /// connection, such as `content-length`, are refused.
    ///
    /// # Errors
    /// - The URL or a header is refused, or the URL leads to an address that is not allowed.
    /// - The server can't be reached, or takes too long. The kind is
    ///   [`Indeterminate`](ToolErrorKind::Indeterminate) if a server may have received a request
    ///   that changes something.
    ///
    /// ```
    /// use tool_runtime::ToolErrorKind;
    /// use tool_runtime::http::HttpRequest;
    /// use tool_runtime::web::Web;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let request = HttpRequest::get("http://127.0.0.1/admin");
    /// let error = Web::new().send(request).await.unwrap_err();
    /// assert_eq!(error.kind(), ToolErrorKind::Denied);
    /// # }
    /// ```
    pub async fn send(&self, mut request: HttpRequest) -> Result<WebResponse, ToolError> {
        check_headers(&request.headers)?;
        let client = self.client();
        let url = target::parse(&request.url, &client.allowed)?;
        request.url = url.to_string();
        let response = match request.method {
            HttpMethod::Get | HttpMethod::Head => client.get_as(url, request).await?,
            _ => client.send(url, request).await?,
        };
        let (url, status, headers) = (response.url.to_string(), response.status, response.headers);
        let encoding = headers.get("content-encoding").map(str::to_owned);
        let max_bytes = client.max_bytes;
        let decoded = on_thread(move || {
            decode(response.body, response.is_truncated, encoding.as_deref(), max_bytes)
        });
        let failed = || ToolError::failed("The body can't be decompressed now.");
        let decoded = decoded.await.map_err(|error| failed().with_source(error))?;
        let decoded = decoded.ok_or_else(failed)??;
        let (body, is_truncated) = (decoded.bytes, decoded.is_truncated);
        Ok(WebResponse { url, status, headers, body, is_truncated })
    }
}

fn check_headers(headers: &Headers) -> Result<(), ToolError> {
    let is_refused = |name: &str| {
        let name = name.to_ascii_lowercase();
        REFUSED_HEADERS.contains(&name.as_str()) || name.starts_with("proxy-")
    };
    match headers.iter().find(|(name, _)| is_refused(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let text = format!("The header `{name}` can't be set.");
            Err(ToolError::new(ToolErrorKind::Denied, text))
        }
    }
}
