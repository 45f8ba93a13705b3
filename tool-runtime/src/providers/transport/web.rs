//! The transport that is there unless the program brings its own: HTTP by reqwest, TLS by rustls.

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, ClientBuilder, Response, redirect};
use tokio::time::Instant;

use super::super::endpoint::{Endpoint, without_user};
use super::{Headers, HttpBody, HttpReply, HttpRequest, Pieces, Transport, TransportError};

/// How long a connection may take unless somebody says otherwise.
pub(in crate::providers) const CONNECT: Duration = Duration::from_secs(10);

/// Sends requests over the network.
#[derive(Clone, Debug)]
pub struct Web {
    /// Or why there is none: on a machine without root certificates it can't be built.
    client: Result<Client, String>,
    /// How long a connection may take; none where that is the program's client's affair.
    connect: Option<Duration>,
}

impl Web {
    /// For servers somewhere: through the proxies that the environment names (`HTTPS_PROXY` and the
    /// like), by the root certificates of the machine.
    pub fn new() -> Self {
        Self::built(CONNECT, |client| client)
    }

    /// For the server at this address: one on this machine is asked without a proxy, and without TLS
    /// no certificates are needed, which a small container may lack.
    pub(in crate::providers) fn to(endpoint: &Endpoint, connect: Duration) -> Self {
        Self::built(connect, |mut client| {
            if endpoint.is_local() {
                client = client.no_proxy();
            }
            if endpoint.is_plain() {
                client = client.tls_certs_only([]);
            }
            client
        })
    }

    /// By a client of the crate reqwest as the program sets it up: with its proxies, certificates and limits. Redirects
    /// are not followed, whatever it says: they would take the key to a server that nobody named.
    pub fn with(client: ClientBuilder) -> Self {
        let client = client.redirect(redirect::Policy::none()).build();
        Self { client: client.map_err(|error| chain(&error)), connect: None }
    }

    fn built(connect: Duration, change: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Self {
        // A redirected POST arrives as a GET without a body, or takes the conversation to a server
        // that nobody named.
        let client = Client::builder().redirect(redirect::Policy::none()).connect_timeout(connect);
        let client = change(client).build().map_err(|error| chain(&error));
        Self { client, connect: Some(connect) }
    }

    /// # Errors
    /// [`TransportError::Setup`]: nothing can be sent from here.
    pub(in crate::providers) fn check(&self) -> Result<&Client, TransportError> {
        self.client.as_ref().map_err(|why| {
            let text = format!("the HTTP client can't be set up on this machine: {why}");
            TransportError::Setup(text)
        })
    }
}

impl Default for Web {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Transport for Web {
    async fn send(&self, request: &HttpRequest) -> Result<HttpReply, TransportError> {
        let wait = Wait { began: Instant::now(), connect: self.connect };
        let mut url = Cow::Borrowed(request.url.as_str());
        // There is one such header, and what is in the address would be another.
        if request.headers.get(AUTHORIZATION.as_str()).is_some() {
            url = without_user(&request.url);
        }
        let mut post = self.check()?.post(&*url).body(request.body.clone());
        if request.headers.get(CONTENT_TYPE.as_str()).is_none() {
            post = post.header(CONTENT_TYPE, "application/json");
        }
        for (name, value) in request.headers.iter() {
            post = post.header(name, value);
        }
        let reply = post.send().await.map_err(|error| wait.failed(error))?;
        let headers = reply.headers().iter().map(|(name, value)| {
            (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let (status, headers) = (reply.status().as_u16(), headers.collect::<Headers>());
        let mut came = HttpReply::new(status, HttpBody::new(Arriving { reply, wait }));
        came.headers = headers;
        Ok(came)
    }
}

struct Arriving {
    reply: Response,
    wait: Wait,
}

#[async_trait]
impl Pieces for Arriving {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        let piece = self.reply.chunk().await.map_err(|error| self.wait.failed(error))?;
        Ok(piece.map(|bytes| bytes.to_vec()))
    }
}

/// How long is waited for a reply.
#[derive(Clone, Copy)]
struct Wait {
    began: Instant,
    connect: Option<Duration>,
}

impl Wait {
    fn failed(self, error: reqwest::Error) -> TransportError {
        if error.is_timeout() {
            let limit = self.connect.filter(|_| error.is_connect());
            // A client of the program's keeps its limits to itself.
            let passed = || Duration::from_millis(self.began.elapsed().as_millis() as u64);
            return TransportError::Late { limit: limit.unwrap_or_else(passed) };
        }
        let is_builder = error.is_builder();
        let error = error.without_url();
        if is_builder {
            let why = chain(&error);
            let text = format!("no request can be made: {why}; is the key one line of plain text?");
            return TransportError::Setup(text);
        }
        TransportError::Broken(Box::new(error))
    }
}

/// An error and all that lies behind it.
fn chain(error: &dyn std::error::Error) -> String {
    let behind = std::iter::successors(error.source(), |error| error.source());
    behind.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}
