//! Connection to the server of a model: address, key, headers, time limits and retries.
//!
//! All clients share it, whatever they request.

pub(crate) mod endpoint;
pub(crate) mod error_response;
pub(crate) mod exchange;
pub(crate) mod first_chunk;
pub(crate) mod frames;
pub(crate) mod off_thread;
pub(crate) mod retry;
pub(crate) mod secrets;
pub(crate) mod work_budget;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use crate::client::credentials::{check_header, check_key, check_model_name};
use crate::connection::endpoint::Endpoint;
use crate::connection::exchange::{
    CompleteBody, HttpExchange, body_error, timeout_error, transport_error,
};
use crate::connection::first_chunk::with_first_chunk;
use crate::connection::retry::pause_before_next;
use crate::connection::secrets::Secrets;
use tool_core::__workspace::BoxFuture;
use tool_core::__workspace::OrderedJson;
use tool_core::ModelError;
use tool_http::{CONNECT_TIMEOUT, Headers, HttpRequest, HttpResponse, ReqwestTransport, Transport};

/// Returns the name and the value of the header that carries a key.
pub(super) type KeyHeader = fn(&str) -> (&'static str, String);

#[derive(Clone)]
pub(super) struct Connection {
    pub(super) endpoint: Endpoint,
    transport: ClientTransport,
    key: Option<String>,
    pub(super) headers: Headers,
    pub(super) timeout: Duration,
    pub(super) first_byte_timeout: Option<Duration>,
    pub(super) max_retries: u32,
}

#[derive(Clone)]
enum ClientTransport {
    /// Created when it is first needed, because loading the certificates of the machine takes a
    /// while.
    Default {
        transport: Arc<OnceLock<ReqwestTransport>>,
        connect_timeout: Duration,
    },
    Custom(Arc<dyn Transport>),
}

impl Connection {
    pub(super) fn new(base_url: &str) -> Self {
        Self {
            endpoint: Endpoint::new(base_url),
            transport: ClientTransport::Default {
                transport: Arc::default(),
                connect_timeout: CONNECT_TIMEOUT,
            },
            key: None,
            headers: Headers::default(),
            timeout: Duration::from_secs(120),
            first_byte_timeout: None,
            max_retries: 2,
        }
    }

    /// Sets the key without the white space around it.
    pub(super) fn set_key(&mut self, key: &str) {
        self.key = Some(key.trim().to_owned());
    }

    pub(super) fn set_transport(&mut self, transport: Arc<dyn Transport>) {
        self.transport = ClientTransport::Custom(transport);
    }

    /// Sets the time limit for establishing a connection, unless the transport is a custom one.
    pub(super) fn set_connect_timeout(&mut self, limit: Duration) {
        if let ClientTransport::Default { transport, connect_timeout } = &mut self.transport {
            (*transport, *connect_timeout) = (Arc::default(), limit);
        }
    }

    /// Checks the setup without a request. `keyed_hosts` refuse every request without a key.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the base URL is malformed, if the name of the model or the key is
    /// empty or has control characters, if a key is missing, or if this machine cannot send
    /// requests.
    pub(super) fn check(
        &self,
        model: &str,
        path: &[&str],
        keyed_hosts: &[&str],
        key_header: KeyHeader,
    ) -> Result<(), ModelError> {
        self.endpoint.check()?;
        check_model_name(model)?;
        if let Some(key) = &self.key {
            check_key(key)?;
        }
        for (name, value) in self.headers.iter() {
            check_header(name, value)?;
        }
        self.require_key(keyed_hosts, key_header)?;
        match &self.transport {
            ClientTransport::Default { transport, connect_timeout } => {
                let checked = self.network(transport, *connect_timeout).check();
                let url = || self.endpoint.display_url(path);
                checked.map(|_| ()).map_err(|error| transport_error(&url(), error))
            }
            ClientTransport::Custom(_) => Ok(()),
        }
    }

    /// Checks that there is a key if the server is one of the hosts that require one.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if there is none. A custom transport may add it.
    pub(super) fn require_key(
        &self,
        hosts: &[&str],
        key_header: KeyHeader,
    ) -> Result<(), ModelError> {
        if matches!(self.transport, ClientTransport::Custom(_)) {
            return Ok(());
        }
        let Some(host) = self.endpoint.host_among(hosts) else { return Ok(()) };
        let (header, _) = key_header("");
        let has_key = self.key.as_ref().is_some_and(|key| !key.is_empty())
            || self.headers.get(header).is_some()
            || self.endpoint.may_have_credentials();
        if has_key {
            return Ok(());
        }
        Err(ModelError::Setup(format!("missing API key for {host}: set it with `key`")))
    }

    fn network<'t>(
        &self,
        transport: &'t OnceLock<ReqwestTransport>,
        connect_timeout: Duration,
    ) -> &'t ReqwestTransport {
        transport.get_or_init(|| {
            let (is_local, has_tls) = (self.endpoint.is_local(), !self.endpoint.is_plain());
            ReqwestTransport::for_server(is_local, has_tls, connect_timeout)
        })
    }

    /// Prepares the request of a JSON body.
    ///
    /// # Errors
    /// [`ModelError::Setup`] if the base URL is malformed.
    pub(super) fn exchange(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        body: &Value,
        key_header: KeyHeader,
    ) -> Result<HttpExchange, ModelError> {
        let url = self.endpoint.below(path, query)?;
        let mut request = HttpRequest::post(url, OrderedJson(body).to_string())
            .header("content-type", "application/json");
        let key = self.key.as_deref().filter(|key| !key.is_empty());
        if let Some(key) = key {
            let (name, value) = key_header(key);
            request.headers.set(name, value);
        }
        for (name, value) in self.headers.iter() {
            request.headers.set(name, value);
        }
        let values = self.headers.iter().map(|(_, value)| value);
        Ok(HttpExchange {
            secrets: Secrets::new(key, values, &request.url),
            request,
            url: self.endpoint.display_url(path),
            limit: self.timeout,
        })
    }

    /// Runs attempts until one has a body that can be decoded, or until the retries or the time
    /// limit are used up.
    pub(super) async fn whole<'d, T>(
        &self,
        exchange: &HttpExchange,
        decode: impl Fn(CompleteBody) -> BoxFuture<'d, Result<T, ModelError>> + 'd,
    ) -> Result<T, ModelError> {
        let attempts = async {
            let (start, mut attempts) = (Instant::now(), 1);
            loop {
                let attempt = async {
                    let response = self.open(exchange).await?;
                    decode(exchange.read_body(response).await?).await
                };
                match attempt.await {
                    Ok(decoded) => return Ok(decoded),
                    Err(error) => self.pause_after(error, attempts, start).await?,
                }
                attempts += 1;
            }
        };
        let outcome = timeout(self.timeout, attempts).await;
        outcome.map_err(|_| timeout_error(&exchange.url, self.timeout))?
    }

    /// Waits for the time of the next attempt.
    ///
    /// # Errors
    /// Returns `error`, with which the last of `attempts` failed, if there is no other attempt.
    pub(super) async fn pause_after(
        &self,
        error: ModelError,
        attempts: u32,
        start: Instant,
    ) -> Result<(), ModelError> {
        let max_attempts = self.max_retries.saturating_add(1);
        let pause = pause_before_next(&error, attempts, max_attempts, fastrand::f64());
        // Waiting for the end of the limit would only hide the reason.
        let left = self.timeout.saturating_sub(start.elapsed());
        let Some(pause) = pause.filter(|pause| *pause < left) else { return Err(error) };
        sleep(pause).await;
        Ok(())
    }

    /// Sends the request and waits for a success status and the first chunk of the body.
    pub(super) async fn open(&self, exchange: &HttpExchange) -> Result<HttpResponse, ModelError> {
        let pending = match &self.transport {
            ClientTransport::Default { transport, connect_timeout } => {
                self.network(transport, *connect_timeout).send(&exchange.request)
            }
            ClientTransport::Custom(transport) => transport.send(&exchange.request),
        };
        let limit = self.first_byte_timeout.unwrap_or(self.timeout);
        let started = async {
            let url = &exchange.url;
            let mut response = pending.await.map_err(|error| transport_error(url, error))?;
            if (200..=299).contains(&response.status) {
                let first = with_first_chunk(response.body).await;
                response.body = first.map_err(|error| body_error(url, error))?;
            }
            Ok::<_, ModelError>(response)
        };
        let response =
            timeout(limit, started).await.map_err(|_| timeout_error(&exchange.url, limit))??;
        match response.status {
            200..=299 => Ok(response),
            _ => Err(Box::new(exchange.read_error(response).await).into()),
        }
    }
}
