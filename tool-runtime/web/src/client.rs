//! Sends requests hop by hop: each URL is checked, each name resolves to checked addresses only.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tool_core::{ToolError, ToolErrorKind};
use tool_http::{Headers, HttpBody, HttpRequest, ReqwestTransport, Transport, TransportError};
use url::Url;

use crate::target::resolver::{CheckedResolver, RefusedAddress, Resolver, SystemResolver};
use crate::target::{Allowed, redirected};

/// The most redirects that a request follows.
const MAX_REDIRECTS: usize = 10;

/// The time limit for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The types of content that a request accepts, unless it names others.
const ACCEPTED: &str = "text/html, text/markdown, application/json, */*;q=0.8";

/// The name by which servers know the client.
const USER_AGENT: &str = concat!("tool-web/", env!("CARGO_PKG_VERSION"));

/// The limits of a request, and the hosts that it may reach.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) allowed: Allowed,
    pub(crate) resolver: Arc<dyn Resolver>,
    /// The time limit of a request with its redirects and its body.
    pub(crate) timeout: Duration,
    /// The most bytes of a body, as it is sent and as it is decoded.
    pub(crate) max_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allowed: Allowed::default(),
            resolver: Arc::new(SystemResolver),
            timeout: Duration::from_secs(30),
            max_bytes: 8 * 1024 * 1024,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("allowed", &self.allowed)
            .field("timeout", &self.timeout)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

/// A separate HTTP client, without proxies, cookies and credentials.
#[derive(Debug)]
pub(crate) struct Client {
    transport: ReqwestTransport,
    pub(crate) allowed: Arc<Allowed>,
    timeout: Duration,
    pub(crate) max_bytes: usize,
}

/// A response with its body as it was sent.
#[derive(Debug)]
pub(crate) struct Response {
    /// The URL of the last request.
    pub(crate) url: Url,
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    /// Whether the body has more bytes than were read.
    pub(crate) is_truncated: bool,
}

impl Client {
    pub(crate) fn new(settings: Settings) -> Self {
        let allowed = Arc::new(settings.allowed);
        let resolver =
            CheckedResolver { resolver: settings.resolver, allowed: Arc::clone(&allowed) };
        let builder = reqwest::Client::builder()
            .dns_resolver(resolver)
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(USER_AGENT)
            // Bodies are decoded under the limit of their size, whatever other crates turn on.
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd();
        let transport = ReqwestTransport::from_builder(builder);
        Self { transport, allowed, timeout: settings.timeout, max_bytes: settings.max_bytes }
    }

    /// Sends a request and reads the body. `max_redirects` is 0 for requests that change something.
    async fn exchange(
        &self,
        mut url: Url,
        max_redirects: usize,
        request: impl Fn(&Url) -> HttpRequest,
    ) -> Result<Response, ToolError> {
        for _ in 0..=max_redirects {
            let mut request = request(&url).header("accept-encoding", "gzip, deflate");
            if request.headers.get("accept").is_none() {
                request = request.header("accept", ACCEPTED);
            }
            let response = self.transport.send(&request).await.map_err(transport_error)?;
            let location = response.headers.get("location");
            if let (301 | 302 | 303 | 307 | 308, Some(location), true) =
                (response.status, location, max_redirects > 0)
            {
                url = redirected(&url, location, &self.allowed)?;
                continue;
            }
            let (body, is_truncated) = self.read(response.body).await?;
            let (status, headers) = (response.status, response.headers);
            return Ok(Response { url, status, headers, body, is_truncated });
        }
        Err(ToolError::failed(format!("The server redirects more than {MAX_REDIRECTS} times.")))
    }

    async fn read(&self, mut body: HttpBody) -> Result<(Vec<u8>, bool), ToolError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = body.next().await.map_err(transport_error)? {
            let rest = self.max_bytes - bytes.len();
            if chunk.len() > rest {
                bytes.extend(chunk.into_iter().take(rest));
                return Ok((bytes, true));
            }
            bytes.extend(chunk);
        }
        Ok((bytes, false))
    }

    async fn within_timeout<T>(
        &self,
        exchange: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        tokio::time::timeout(self.timeout, exchange).await.unwrap_or_else(|_| {
            let text = format!("The server took more than {:?}.", self.timeout);
            Err(ToolError::new(ToolErrorKind::Timeout, text))
        })
    }

    /// Sends a GET request for a checked URL, and follows redirects.
    pub(crate) async fn get(&self, url: Url) -> Result<Response, ToolError> {
        let request = HttpRequest::get(url.as_str());
        self.get_as(url, request).await
    }

    /// Sends a request that changes nothing for a checked URL, and follows redirects: to another
    /// origin without its headers and its body.
    pub(crate) async fn get_as(
        &self,
        url: Url,
        request: HttpRequest,
    ) -> Result<Response, ToolError> {
        let origin = url.origin();
        let request = |url: &Url| {
            let mut next = HttpRequest::new(request.method, url.as_str());
            if url.origin() == origin {
                next.headers = request.headers.clone();
                next.body.clone_from(&request.body);
            }
            next
        };
        self.within_timeout(self.exchange(url, MAX_REDIRECTS, request)).await
    }

    /// Sends a request for a checked URL. A redirect is returned, not followed.
    ///
    /// # Errors
    /// Returns an error of the kind `Indeterminate` if the server may have received the request.
    pub(crate) async fn send(&self, url: Url, request: HttpRequest) -> Result<Response, ToolError> {
        let exchange = self.exchange(url, 0, |_| request.clone());
        self.within_timeout(exchange).await.map_err(|error| {
            if was_not_sent(&error) {
                return error;
            }
            let text = format!("{} The server may have received the request.", error.text());
            let cause = error.source().map_or_else(String::new, ToString::to_string);
            ToolError::new(ToolErrorKind::Indeterminate, text).with_source(cause)
        })
    }
}

/// Returns the error of a call whose request had no response.
fn transport_error(error: TransportError) -> ToolError {
    let refused = cause::<RefusedAddress>(&error);
    let (kind, text) = match (&error, refused) {
        (_, Some(RefusedAddress { range })) => {
            let text = format!("The host leads to {range}, which may not be contacted.");
            (ToolErrorKind::Denied, text)
        }
        (TransportError::Timeout { .. }, _) => {
            (ToolErrorKind::Timeout, "The host did not answer in time.".to_owned())
        }
        (TransportError::Setup(reason), _) => {
            (ToolErrorKind::ExecutionFailed, format!("The request can't be sent: {reason}."))
        }
        _ if has_invalid_certificate(&error) => {
            (ToolErrorKind::ExecutionFailed, "The certificate of the host is not valid.".to_owned())
        }
        _ => (ToolErrorKind::TransientFailure, "The host can't be reached.".to_owned()),
    };
    ToolError::new(kind, text).with_source(error)
}

/// Whether no byte of the request reached a server.
fn was_not_sent(error: &ToolError) -> bool {
    let Some(source) = error.source() else { return false };
    let is_setup = matches!(source.downcast_ref(), Some(TransportError::Setup(_)));
    let is_connect = cause::<reqwest::Error>(source).is_some_and(reqwest::Error::is_connect);
    let is_refused = cause::<RefusedAddress>(source).is_some();
    is_setup || is_connect || is_refused
}

/// Whether the client refused the certificate of the server.
fn has_invalid_certificate(error: &TransportError) -> bool {
    let mut source = error.source();
    while let Some(mut error) = source {
        // An I/O error is not the cause of the error that it holds, which may be another one.
        while let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            error = inner;
        }
        if matches!(error.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        source = error.source();
    }
    false
}

/// Returns the first error of a type among those that caused an error.
fn cause<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        source = error.source();
    }
    None
}
