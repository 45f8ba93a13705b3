//! Streamable HTTP: the guard around the service of the SDK.
//!
//! For each request, `mod.rs` takes a permit (`admission.rs`), checks the `headers.rs`,
//! authenticates by the hook of the `settings.rs`, reads the body (`message.rs`), enters the
//! session (`sessions.rs`) and passes the request on to the SDK, which validates `Host` and
//! `Origin`. `shares.rs` limits what one principal, or else one address and connection
//! (`sharers.rs`), can take of the permits and sessions. `serve.rs` serves a listener. `body.rs`
//! keeps the permit until the response is sent or the client does not read. When the server stops,
//! `shutdown.rs` gives running requests the time to end.

mod admission;
mod authenticator;
mod body;
mod headers;
mod message;
mod serve;
mod sessions;
mod settings;
mod sharers;
mod shares;
mod shutdown;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::time::timeout;

use super::Access;
use super::McpServer;
use super::Shared;
use super::access::with_caller;
use super::connection::malformed::invalid_initialize;
use super::connection::peer::Peer;
use super::connection::running::Running;
use super::handler::Handler;
use admission::{Admission, Permit};
use body::PermitBody;
use headers::SESSION_ID;
use message::MessageHead;
use sessions::{NoSession, Sessions};
use sharers::Sharers;
use shutdown::Shutdown;

pub use authenticator::{Authenticator, Denied};
pub(crate) use settings::HttpSettings;

/// The path at which the router serves.
const PATH: &str = "/mcp";

impl McpServer {
    /// Creates a router that serves Streamable HTTP at the path `/mcp`.
    ///
    /// When the server is [cancelled](Self::cancellation), it refuses new requests with the status
    /// 503. The running ones have 2 seconds to end; then sessions and event streams end as well. If
    /// the tools are invalid, every call returns an error with the reason.
    ///
    /// [`serve_http`](Self::serve_http) serves it alone. If you serve it yourself, beside other
    /// routes, set `TCP_NODELAY` and pass the addresses of connections, as here:
    ///
    /// ```no_run
    /// use std::net::SocketAddr;
    ///
    /// use axum::serve::ListenerExt as _;
    /// use tool_runtime::mcp::McpServer;
    /// use tool_runtime::{CancellationToken, tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let stop = CancellationToken::new();
    /// let router = McpServer::new(tools![]).cancellation(stop.clone()).router();
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:3001").await?;
    /// let listener = listener.tap_io(|stream| {
    ///     let _ = stream.set_nodelay(true);
    /// });
    /// let service = router.into_make_service_with_connect_info::<SocketAddr>();
    /// axum::serve(listener, service).with_graceful_shutdown(stop.cancelled_owned()).await
    /// # }
    /// ```
    pub fn router(self) -> Router {
        let settings = self.http.clone();
        match self.into_shared() {
            Ok(shared) => router(Arc::new(shared), settings),
            Err(error) => {
                let text = error.to_string();
                let failed = move || async move { (StatusCode::INTERNAL_SERVER_ERROR, text) };
                Router::new().route(PATH, any(failed))
            }
        }
    }
}

/// Creates a router of a server.
fn router(shared: Arc<Shared>, settings: HttpSettings) -> Router {
    let server = Arc::new(HttpServer::new(shared, settings));
    Router::new().route(PATH, any(handle)).with_state(server)
}

struct HttpServer {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    authenticator: Option<Arc<dyn Authenticator>>,
    sessions: Arc<Sessions>,
    admission: Admission,
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
        let origins = origins
            .iter()
            .flat_map(|host| ["http", "https"].map(|scheme| format!("{scheme}://{host}:*")));
        let allowed_origins: Vec<String> = match settings.origins {
            Some(origins) => origins.into_iter().map(with_port).collect(),
            None => origins.collect(),
        };
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(settings.hosts.unwrap_or_else(|| hosts.map(str::to_owned).into()))
            .with_allowed_origins(allowed_origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(limits.max_message_bytes)
            .with_cancellation_token(shutdown.stopped());
        let of_sessions = Arc::clone(&shared);
        let create = move || Ok(Handler::new(Arc::clone(&of_sessions)));
        Self {
            service: StreamableHttpService::new(create, Arc::clone(&manager), config),
            authenticator: settings.authenticator,
            sessions: Arc::new(Sessions::new(manager, &limits)),
            admission: Admission::new(&limits),
            shutdown,
            shared,
        }
    }
}

async fn handle(State(server): State<Arc<HttpServer>>, request: Request) -> Response {
    let Some(mut permit) = server.admission.permit() else { return busy() };
    let limit = server.shared.limits.send_timeout;
    let responding = server.respond(request, &mut permit).await;
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
    async fn respond(
        &self,
        request: Request,
        permit: &mut Permit,
    ) -> Result<(Response, Option<Running>), Response> {
        let (mut parts, body) = request.into_parts();
        headers::check(&parts).map_err(IntoResponse::into_response)?;
        let access = match &self.authenticator {
            Some(authenticator) => Some(authenticator::access(&**authenticator, &parts).await?),
            None => None,
        };
        let principal = access.as_ref().map(Access::principal).map(str::to_owned);
        let limits = self.shared.limits;
        let peer = Peer::of(&parts);
        let sharers = Sharers::of(principal.as_deref(), peer.as_ref());
        let place = self.admission.place(permit, &sharers).ok_or_else(busy)?;
        let is_limited = place.is_reserved();
        if is_limited && !matches!(parts.method, Method::POST | Method::DELETE) {
            return Err(busy());
        }
        let session = session_id(&parts.headers);
        let session_use = match &session {
            Some(id) => self.sessions.enter(id, principal.as_deref()).map_err(not_found)?,
            None => None,
        };
        // A shutdown does not wait for the stream of a session, which has no end.
        let in_flight = (parts.method != Method::GET).then(|| self.shutdown.track());
        let running = Running::new((place, session_use, in_flight, Arc::clone(&self.shutdown)));
        let body = to_bytes(body, limits.max_message_bytes);
        let body = timeout(limits.send_timeout, body).await;
        let body = body.map_err(|_| StatusCode::REQUEST_TIMEOUT.into_response())?;
        let body = body.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE.into_response())?;
        let (is_request, is_initialize) = {
            let message = MessageHead::of(&body);
            if is_limited && parts.method == Method::POST && !message.ends_or_answers() {
                return Err(busy());
            }
            if parts.method == Method::POST && message.answers_nothing() {
                return Err(StatusCode::ACCEPTED.into_response());
            }
            (message.is_request(), message.is_initialize())
        };
        if self.shutdown.is_requested() && (is_request || parts.method == Method::GET) {
            return Err(
                (StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down").into_response()
            );
        }
        let starts = session.is_none() && parts.method == Method::POST && is_initialize;
        let starting = if starts {
            if let Some(refused) = refuse_malformed(&body) {
                return Err(refused);
            }
            let reservation = self.sessions.reserve(&sharers).await;
            Some(reservation.ok_or_else(busy)?)
        } else {
            None
        };
        if let Some(access) = &access {
            parts.extensions.insert(access.clone());
        }
        if let Some(peer) = peer {
            parts.extensions.insert(peer);
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
            self.sessions.insert(id, principal, sharers).await;
        }
        drop(starting);
        Ok((response, Some(running)))
    }
}

/// Adds the port that an origin without one has. The SDK would allow all ports.
fn with_port(origin: String) -> String {
    let port = match origin.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => 443,
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") => 80,
        _ => return origin,
    };
    let host = origin.rsplit(']').next().unwrap_or(&origin);
    let host = host.split_once("://").map_or(host, |(_, host)| host);
    if host.contains(':') { origin } else { format!("{}:{port}", origin.trim_end_matches('/')) }
}

/// Refuses an `initialize` whose parameters are not valid, which the SDK would not recognize.
fn refuse_malformed(body: &[u8]) -> Option<Response> {
    let message: Value = serde_json::from_slice(body).ok()?;
    let error = invalid_initialize(message.get("params"))?;
    let id = message.get("id").and_then(|id| RequestId::deserialize(id).ok());
    let answer = ServerJsonRpcMessage::error(error, id);
    let json = [(header::CONTENT_TYPE, "application/json")];
    let body = serde_json::to_string(&answer).ok()?;
    Some((StatusCode::BAD_REQUEST, json, body).into_response())
}

fn session_id(headers: &HeaderMap<HeaderValue>) -> Option<String> {
    Some(headers.get(SESSION_ID)?.to_str().ok()?.to_owned())
}

#[cfg(test)]
mod tests {
    use futures_util::stream::{self, StreamExt as _};
    use serde_json::json;
    use tool_core::tools;

    use super::super::Limits;
    use super::*;

    /// The principal of a request is its token.
    fn authenticate(request: &axum::http::request::Parts) -> Result<Access, Denied> {
        let token = request.headers.get("authorization").and_then(|value| value.to_str().ok());
        token.map(Access::new).ok_or_else(Denied::forbidden)
    }

    async fn post(
        server: &Arc<HttpServer>,
        principal: &str,
        session: Option<&str>,
        message: &Value,
    ) -> Response {
        let request = Request::post(PATH)
            .header("host", "localhost")
            .header("authorization", principal)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", "2025-11-25");
        let request = match session {
            Some(id) => request.header(SESSION_ID, id),
            None => request,
        };
        let body = Body::from(message.to_string());
        handle(State(Arc::clone(server)), request.body(body).unwrap()).await
    }

    async fn start_session(server: &Arc<HttpServer>, principal: &str) -> String {
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let message =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        session_id(post(server, principal, None, &message).await.headers()).unwrap()
    }

    #[tokio::test]
    async fn flood_of_notifications_takes_no_places_of_others_and_leaves_nothing() {
        const COUNT: usize = 10_000;
        let limits = Limits::default().max_requests(16);
        let server = McpServer::new(tools![]).limits(limits).authenticate(authenticate);
        let settings = server.http.clone();
        let shared = Arc::new(server.into_shared().unwrap());
        let server = Arc::new(HttpServer::new(shared, settings));
        let (ada, bob) = (start_session(&server, "Ada").await, start_session(&server, "Bob").await);
        let kinds = [
            json!({ "method": "notifications/cancelled", "params": { "requestId": 7 } }),
            json!({ "method": "notifications/initialized" }),
            json!({ "method": "notifications/roots/list_changed" }),
            json!({ "method": "notifications/unknown", "params": { "text": "x".repeat(1000) } }),
        ];
        let kinds = kinds.map(|mut kind| {
            kind["jsonrpc"] = "2.0".into();
            kind
        });
        let flood = stream::iter(kinds.iter().cycle().take(COUNT)).map(|kind| {
            let (server, ada) = (&server, &ada);
            async move {
                let status = post(server, "Ada", Some(ada), kind).await.status();
                (status == StatusCode::ACCEPTED, server.admission.place_count(&limits))
            }
        });
        let flood = flood.buffer_unordered(100).fold((0, 0), async |(count, most), reply| {
            (count + usize::from(reply.0), most.max(reply.1))
        });
        let requests = async {
            for id in 1..=50 {
                let list = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
                let response = post(&server, "Bob", Some(&bob), &list).await;
                assert_eq!(response.status(), StatusCode::OK);
                let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
                assert!(String::from_utf8_lossy(&body).contains("\"tools\""));
            }
        };
        let ((accepted, most_places), ()) = tokio::join!(flood, requests);
        assert!(accepted > 0);
        // Each has half of the places and 8 reserved ones, which count for all and for each.
        assert!(most_places <= 2 * 2 * (8 + 8), "{most_places}");
        while server.admission.place_count(&limits) > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.sessions.count(), 2);
    }
}
