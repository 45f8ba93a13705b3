//! Default transport: HTTP by reqwest, TLS by rustls.

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Response, Url, redirect};
use tokio::time::Instant;

use super::{
    BodyStream, Headers, HttpBody, HttpMethod, HttpRequest, HttpResponse, Transport, TransportError,
};

/// Default time limit for establishing a connection.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends requests over the network with the crate reqwest.
///
/// A clone shares the pool of connections. The only time limit is that of connecting: wrap the
/// calls in [`tokio::time::timeout`] to limit a whole exchange.
///
/// ```
/// use tool_http::{HttpRequest, ReqwestTransport, Transport, TransportError};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let transport = ReqwestTransport::new();
/// let request = HttpRequest::get("http://127.0.0.1:1/"); // no server listens there
/// let error = transport.send(&request).await.unwrap_err();
/// assert!(matches!(error, TransportError::Connection(_)));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ReqwestTransport {
    /// Client, or the reason why it could not be built, such as a machine without root
    /// certificates.
    client: Result<Client, String>,
    /// The time limit for a connection; `None` if the client of the program has its own.
    connect_timeout: Option<Duration>,
}

impl ReqwestTransport {
    /// Creates a transport that uses the proxies of the environment (`HTTPS_PROXY` and the like)
    /// and the root certificates of the machine. Connections time out after ten seconds.
    ///
    /// ```
    /// use tool_http::ReqwestTransport;
    ///
    /// // Two transports that share one pool of connections.
    /// let transport = ReqwestTransport::new();
    /// let other = transport.clone();
    /// ```
    pub fn new() -> Self {
        Self::build(CONNECT_TIMEOUT, |client| client)
    }

    /// Creates a transport for one server. A server on this machine is contacted without a proxy.
    /// For one without TLS no certificates are loaded, which a small container may lack.
    #[doc(hidden)]
    pub fn for_server(is_local: bool, has_tls: bool, connect_timeout: Duration) -> Self {
        Self::build(connect_timeout, |mut client| {
            if is_local {
                client = client.no_proxy();
            }
            if !has_tls {
                client = client.tls_certs_only([]);
            }
            client
        })
    }

    /// Creates a transport from a reqwest client builder, with the proxies, certificates and limits
    /// that it sets. Redirects are never followed: they would send the key to a server that the
    /// program did not name.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tool_http::ReqwestTransport;
    ///
    /// let client = reqwest::Client::builder().no_proxy().connect_timeout(Duration::from_secs(3));
    /// let transport = ReqwestTransport::from_builder(client);
    /// ```
    pub fn from_builder(client: ClientBuilder) -> Self {
        let client = client.redirect(redirect::Policy::none()).build();
        Self { client: client.map_err(|error| chain(&error)), connect_timeout: None }
    }

    fn build(
        connect_timeout: Duration,
        change: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Self {
        // A redirect may turn a POST into a GET without a body, and sends the request to a server
        // that the program did not name.
        let client =
            Client::builder().redirect(redirect::Policy::none()).connect_timeout(connect_timeout);
        let client = change(client).build().map_err(|error| chain(&error));
        Self { client, connect_timeout: Some(connect_timeout) }
    }

    /// Returns the HTTP client of the transport.
    ///
    /// # Errors
    /// [`TransportError::Setup`] if the client could not be built.
    #[doc(hidden)]
    pub fn check(&self) -> Result<&Client, TransportError> {
        self.client.as_ref().map_err(|reason| {
            let text = format!("HTTP client cannot be set up on this machine: {reason}");
            TransportError::Setup(text)
        })
    }
}

impl Default for ReqwestTransport {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Transport for ReqwestTransport {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let timing = Timing { start: Instant::now(), connect_timeout: self.connect_timeout };
        let mut url = Cow::Borrowed(request.url.as_str());
        // There is only one such header, and the user of the URL would become another.
        if request.headers.get(AUTHORIZATION.as_str()).is_some() {
            url = without_user(&request.url);
        }
        let mut builder = self.check()?.request(method(request.method), &*url);
        if !request.body.is_empty() {
            builder = builder.body(request.body.clone());
        }
        for (name, value) in request.headers.iter() {
            builder = builder.header(header_name(name)?, header_value(name, value)?);
        }
        let received = builder.send().await.map_err(|error| timing.convert(error))?;
        let headers = received.headers().iter().map(|(name, value)| {
            (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let (status, headers) = (received.status().as_u16(), headers.collect::<Headers>());
        let mut response =
            HttpResponse::new(status, HttpBody::new(ResponseBody { response: received, timing }));
        response.headers = headers;
        Ok(response)
    }
}

fn method(method: HttpMethod) -> reqwest::Method {
    match method {
        HttpMethod::Get => reqwest::Method::GET,
        HttpMethod::Head => reqwest::Method::HEAD,
        HttpMethod::Post => reqwest::Method::POST,
        HttpMethod::Put => reqwest::Method::PUT,
        HttpMethod::Patch => reqwest::Method::PATCH,
        HttpMethod::Delete => reqwest::Method::DELETE,
        HttpMethod::Options => reqwest::Method::OPTIONS,
    }
}

fn header_name(name: &str) -> Result<HeaderName, TransportError> {
    let invalid = || TransportError::Setup(format!("invalid name of a header: {name:?}"));
    HeaderName::try_from(name).map_err(|_| invalid())
}

/// The error does not quote the value, which may be a key.
fn header_value(name: &str, value: &str) -> Result<HeaderValue, TransportError> {
    HeaderValue::try_from(value).map_err(|_| {
        let text = format!("invalid header `{name}`: its value must be one line of plain text");
        TransportError::Setup(text)
    })
}

/// Returns a URL without user and password.
fn without_user(url: &str) -> Cow<'_, str> {
    let Ok(mut address) = Url::parse(url) else { return Cow::Borrowed(url) };
    let has_user = !address.username().is_empty() || address.password().is_some();
    let is_removed =
        has_user && address.set_username("").is_ok() && address.set_password(None).is_ok();
    if is_removed { Cow::Owned(address.into()) } else { Cow::Borrowed(url) }
}

struct ResponseBody {
    response: Response,
    timing: Timing,
}

#[async_trait]
impl BodyStream for ResponseBody {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        let chunk = self.response.chunk().await.map_err(|error| self.timing.convert(error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}

/// Timing of a request, for timeout errors.
#[derive(Clone, Copy)]
struct Timing {
    start: Instant,
    connect_timeout: Option<Duration>,
}

impl Timing {
    fn convert(self, error: reqwest::Error) -> TransportError {
        if error.is_timeout() {
            let limit = self.connect_timeout.filter(|_| error.is_connect());
            // The limits of a client that the program built are unknown.
            let elapsed = || Duration::from_millis(self.start.elapsed().as_millis() as u64);
            return TransportError::Timeout { limit: limit.unwrap_or_else(elapsed) };
        }
        let is_builder = error.is_builder();
        let error = error.without_url();
        if is_builder {
            return TransportError::Setup(format!("invalid request: {}", chain(&error)));
        }
        TransportError::Connection(Box::new(error))
    }
}

/// Returns the texts of an error and of all its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}
