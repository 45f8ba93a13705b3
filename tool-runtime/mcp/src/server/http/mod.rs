//! Streamable HTTP: the guard around the service of the SDK.
//!
//! For each request, `mod.rs` takes a permit, authenticates, reads the body (`message.rs`), enters
//! the session (`sessions.rs`) and passes the request on to the SDK, which validates `Host` and
//! `Origin`. `shares.rs` limits what one principal can take of the permits and sessions. `body.rs`
//! keeps the permit until the response is sent or the client does not read. When the server stops,
//! `shutdown.rs` gives running requests the time to end.

mod authenticator;
mod body;
mod message;
mod sessions;
mod shares;
mod shutdown;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::access::with_caller;
use super::handler::Handler;
use super::running::Running;
use super::{Access, McpServer, Shared};
use body::PermitBody;
use message::MessageHead;
use sessions::{NoSession, Sessions};
use shares::Shares;
use shutdown::Shutdown;

pub use authenticator::{Authenticator, Denied};

/// The path at which the router serves.
const PATH: &str = "/mcp";

const SESSION_ID: &str = "mcp-session-id";

/// The settings of [`McpServer`] for HTTP.
#[derive(Clone, Default)]
pub(crate) struct HttpSettings {
    authenticator: Option<Arc<dyn Authenticator>>,
    origins: Option<Vec<String>>,
    hosts: Option<Vec<String>>,
}

impl McpServer {
    /// Sets the hook that authenticates HTTP requests. Default: none, so every client on an allowed
    /// host has full access.
    pub fn authenticate(mut self, authenticator: impl Authenticator + 'static) -> Self {
        self.http.authenticator = Some(Arc::new(authenticator));
        self
    }

    /// Sets the values of `Origin` that HTTP requests of browsers may have, such as
    /// `https://example.org`. Default: those of this machine.
    pub fn allowed_origins<O: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = O>,
    ) -> Self {
        self.http.origins = Some(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the values of `Host` that HTTP requests may have, such as `mcp.example.org`. Default:
    /// those of this machine.
    ///
    /// This prevents a web page from reaching a local server through another domain.
    pub fn allowed_hosts<H: Into<String>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        self.http.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Creates a router that serves Streamable HTTP at the path `/mcp`.
    ///
    /// When the server is [cancelled](Self::cancellation), it refuses new requests with the status
    /// 503. The running ones have 2 seconds to end; then sessions and event streams end as well. If
    /// the tools are invalid, every call returns an error with the reason.
    ///
    /// ```no_run
    /// use tool_mcp::McpServer;
    /// use tool_runtime::{CancellationToken, tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let stop = CancellationToken::new();
    /// let router = McpServer::new(tools![]).cancellation(stop.clone()).router();
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:3001").await?;
    /// axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
    /// # }
    /// ```
    pub fn router(self) -> Router {
        let settings = self.http.clone();
        match self.into_shared() {
            Ok(shared) => {
                let server = Arc::new(HttpServer::new(Arc::new(shared), settings));
                Router::new().route(PATH, any(handle)).with_state(server)
            }
            Err(error) => {
                let text = error.to_string();
                let failed = move || async move { (StatusCode::INTERNAL_SERVER_ERROR, text) };
                Router::new().route(PATH, any(failed))
            }
        }
    }
}

struct HttpServer {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    authenticator: Option<Arc<dyn Authenticator>>,
    sessions: Arc<Sessions>,
    requests: Arc<Semaphore>,
    /// The running requests of each principal, including calls whose client has left.
    shares: Shares,
    /// Held by each request, so that a stream does not end with the router.
    shutdown: Arc<Shutdown>,
    shared: Arc<Shared>,
}

impl HttpServer {
    fn new(shared: Arc<Shared>, settings: HttpSettings) -> Self {
        let limits = shared.limits;
        let shutdown = Arc::new(Shutdown::new(shared.cancellation.clone()));
        let mut session_config = SessionConfig::default();
        // The timer of the SDK ignores running calls, so `Sessions` ends the idle ones.
        session_config.keep_alive = None;
        let mut manager = LocalSessionManager::default();
        manager.session_config = session_config;
        let manager = Arc::new(manager);
        let hosts = ["localhost", "127.0.0.1", "::1"];
        let origins = ["localhost", "127.0.0.1", "[::1]"];
        let origins = origins.iter().flat_map(|host| {
            ["http", "https"]
                .map(|scheme| [format!("{scheme}://{host}"), format!("{scheme}://{host}:*")])
        });
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(settings.hosts.unwrap_or_else(|| hosts.map(str::to_owned).into()))
            .with_allowed_origins(settings.origins.unwrap_or_else(|| origins.flatten().collect()))
            .enforce_origin_validation()
            .with_max_request_body_bytes(limits.message_bytes)
            .with_cancellation_token(shutdown.stopped());
        let of_sessions = Arc::clone(&shared);
        let create = move || Ok(Handler::new(Arc::clone(&of_sessions)));
        Self {
            service: StreamableHttpService::new(create, Arc::clone(&manager), config),
            authenticator: settings.authenticator,
            sessions: Arc::new(Sessions::new(manager, &limits)),
            requests: Arc::new(Semaphore::new(limits.requests)),
            shares: Shares::default(),
            shutdown,
            shared,
        }
    }
}

async fn handle(State(server): State<Arc<HttpServer>>, request: Request) -> Response {
    let Ok(permit) = Arc::clone(&server.requests).try_acquire_owned() else { return busy() };
    let limit = server.shared.limits.send;
    let responding = server.respond(request).await;
    let (response, running) = responding.unwrap_or_else(|refused| (refused, None));
    response.map(|body| Body::new(PermitBody::new(body, permit, running, limit)))
}

fn busy() -> Response {
    let retry = [(header::RETRY_AFTER, "1")];
    (StatusCode::SERVICE_UNAVAILABLE, retry, "too many requests or sessions").into_response()
}

fn not_found(_: NoSession) -> Response {
    (StatusCode::NOT_FOUND, "session not found").into_response()
}

impl HttpServer {
    /// Answers a request, or refuses it.
    async fn respond(&self, request: Request) -> Result<(Response, Option<Running>), Response> {
        let (mut parts, body) = request.into_parts();
        let access = match &self.authenticator {
            Some(authenticator) => {
                Some(authenticator.authenticate(&parts).await.map_err(Denied::into_response)?)
            }
            None => None,
        };
        let principal = access.as_ref().map(Access::principal).map(str::to_owned);
        let limits = self.shared.limits;
        let share = match &principal {
            Some(principal) => {
                let share = self.shares.take(principal, limits.requests_of_principal());
                Some(share.ok_or_else(busy)?)
            }
            None => None,
        };
        let session = session_id(&parts.headers);
        let session_use = match &session {
            Some(id) => self.sessions.enter(id, principal.as_deref()).map_err(not_found)?,
            None => None,
        };
        // A shutdown does not wait for the stream of a session, which has no end.
        let in_flight = (parts.method != Method::GET).then(|| self.shutdown.track());
        let running = Running::new((share, session_use, in_flight, Arc::clone(&self.shutdown)));
        let body = to_bytes(body, limits.message_bytes);
        let body = timeout(limits.send, body).await;
        let body = body.map_err(|_| StatusCode::REQUEST_TIMEOUT.into_response())?;
        let body = body.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE.into_response())?;
        let (is_request, is_initialize) = {
            let message = MessageHead::of(&body);
            (message.is_request(), message.is_initialize())
        };
        if self.shutdown.is_requested() && (is_request || parts.method == Method::GET) {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "the server stops").into_response());
        }
        let starts = session.is_none() && parts.method == Method::POST && is_initialize;
        let starting = if starts {
            let reservation = self.sessions.reserve(principal.as_deref()).await;
            Some(reservation.ok_or_else(busy)?)
        } else {
            None
        };
        if let Some(access) = &access {
            parts.extensions.insert(access.clone());
        }
        parts.extensions.insert(running.clone());
        let is_delete = parts.method == Method::DELETE;
        let request = Request::from_parts(parts, Body::from(body));
        let handling = with_caller(access, self.service.handle(request));
        let mut response = handling.await.map(Body::new);
        if is_delete && response.status() == StatusCode::ACCEPTED {
            // The session has ended by now, and some clients warn of any other status.
            *response.status_mut() = StatusCode::NO_CONTENT;
            session.iter().for_each(|id| self.sessions.remove(id));
        }
        if let Some(id) = session_id(response.headers()).filter(|_| starts) {
            self.sessions.insert(id, principal).await;
        }
        drop(starting);
        Ok((response, Some(running)))
    }
}

fn session_id(headers: &HeaderMap<HeaderValue>) -> Option<String> {
    Some(headers.get(SESSION_ID)?.to_str().ok()?.to_owned())
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings")
            .field("is_authenticated", &self.authenticator.is_some())
            .field("origins", &self.origins)
            .field("hosts", &self.hosts)
            .finish()
    }
}
