//! An authorization server and an MCP server that demands its tokens.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use reqwest::Url;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tool_mcp::AuthorizationHandler;
use tool_runtime::async_trait;

use crate::server::{Action, answer, handshake, text, tool};

/// The deviations of an authorization server from a friendly one.
#[derive(Clone, Default)]
pub(crate) struct Behavior {
    /// The lifetime of the first token in seconds. Later ones live for an hour.
    pub(crate) first_lifetime: Option<u64>,
    /// The issuer in redirects, instead of the real one.
    pub(crate) redirect_issuer: Option<String>,
    /// The error that redirects carry.
    pub(crate) redirect_error: Option<String>,
    /// The parameters that redirects carry in addition.
    pub(crate) redirect_query: Option<String>,
    /// The URI that redirects lead to, instead of that of the client.
    pub(crate) redirect_uri: Option<String>,
    /// Members of the metadata that replace others. `null` removes one.
    pub(crate) metadata: Map<String, Value>,
    /// The scopes that are never granted.
    pub(crate) withheld: Vec<String>,
    pub(crate) rejects_refresh: bool,
    /// Refuses to issue tokens, and repeats what it received behind so many characters.
    pub(crate) repeats_secrets: Option<usize>,
    /// Notifies when a refresh arrives, and answers it when notified.
    pub(crate) holds_refresh: Option<Arc<[Notify; 2]>>,
    /// The endpoint whose requests are never answered.
    pub(crate) hangs_at: Option<&'static str>,
    /// The endpoint whose answers exceed every limit.
    pub(crate) floods_at: Option<&'static str>,
}

/// The path of metadata whose address does not prove an issuer.
pub(crate) const UNPROVEN_METADATA: &str = "/.well-known/other";

/// The parameters of a request.
type Form = HashMap<String, String>;

#[derive(Default)]
struct Issued {
    requests: Vec<(String, Form)>,
    /// The number of tokens.
    count: usize,
    /// The scopes of valid tokens.
    tokens: HashMap<String, String>,
    /// The scopes of codes and of refresh tokens.
    grants: HashMap<String, String>,
}

/// An authorization server on a separate port.
#[derive(Clone)]
pub(crate) struct Authority {
    pub(crate) issuer: String,
    behavior: Arc<Mutex<Behavior>>,
    issued: Arc<Mutex<Issued>>,
}

impl Authority {
    pub(crate) async fn start(behavior: Behavior) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let behavior = Arc::new(Mutex::new(behavior));
        let authority = Self { issuer, behavior, issued: Arc::default() };
        let shared = authority.clone();
        let app = Router::new().fallback(move |request: Request| {
            let shared = shared.clone();
            async move { shared.respond(request).await }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        authority
    }

    /// Returns the parameters of all requests to an endpoint.
    pub(crate) fn requests(&self, endpoint: &str) -> Vec<Form> {
        let issued = self.issued.lock().unwrap();
        let matching = issued.requests.iter().filter(|(path, _)| path == endpoint);
        matching.map(|(_, form)| form.clone()).collect()
    }

    /// Returns the paths of all requests.
    pub(crate) fn all_requests(&self) -> Vec<String> {
        self.issued.lock().unwrap().requests.iter().map(|(path, _)| path.clone()).collect()
    }

    /// Returns the number of requests to the endpoint of tokens with this type of grant.
    pub(crate) fn grants(&self, grant_type: &str) -> usize {
        self.requests("/token").iter().filter(|form| form["grant_type"] == grant_type).count()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Behavior)) {
        change(&mut self.behavior.lock().unwrap());
    }

    /// Makes all access tokens invalid.
    pub(crate) fn revoke(&self) {
        self.issued.lock().unwrap().tokens.clear();
    }

    fn scopes(&self, token: &str) -> Option<String> {
        self.issued.lock().unwrap().tokens.get(token).cloned()
    }

    async fn respond(&self, request: Request) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or_default();
        let mut form =
            form(if query.is_empty() { std::str::from_utf8(&bytes).unwrap() } else { query });
        if let Some(authorization) = parts.headers.get("authorization") {
            form.insert("authorization".into(), authorization.to_str().unwrap().into());
        }
        let behavior = self.behavior.lock().unwrap().clone();
        let issuer = &self.issuer;
        self.issued.lock().unwrap().requests.push((path.clone(), form.clone()));
        if behavior.hangs_at == Some(&*path) {
            std::future::pending::<()>().await;
        }
        if behavior.floods_at == Some(&*path) {
            return respond(200, "x".repeat(4 << 20).into());
        }
        if let Some([requested, released]) = behavior.holds_refresh.as_deref()
            && form.get("grant_type").is_some_and(|it| it == "refresh_token")
        {
            requested.notify_one();
            released.notified().await;
        }
        match path.as_str() {
            "/.well-known/oauth-authorization-server" | UNPROVEN_METADATA => {
                let mut metadata = json!({
                    "issuer": issuer,
                    "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                    "registration_endpoint": format!("{issuer}/register"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": true,
                });
                if let Some(members) = metadata.as_object_mut() {
                    members.extend(behavior.metadata);
                    members.retain(|_, value| !value.is_null());
                }
                respond(200, metadata)
            }
            "/register" => {
                let number = self.requests("/register").len();
                respond(
                    201,
                    json!({
                        "client_id": format!("{issuer}/client-{number}"),
                        "client_secret": "registered-secret",
                        "redirect_uris": ["http://127.0.0.1:1/callback"],
                    }),
                )
            }
            "/authorize" => self.redirect(&form, &behavior),
            "/token" => self.token(&form, &behavior),
            _ => respond(404, json!({})),
        }
    }

    fn redirect(&self, form: &Form, behavior: &Behavior) -> Response<Body> {
        let redirect_uri = behavior.redirect_uri.as_ref().unwrap_or(&form["redirect_uri"]);
        let mut redirect = Url::parse(redirect_uri).unwrap();
        let issuer = behavior.redirect_issuer.as_ref().unwrap_or(&self.issuer);
        redirect.query_pairs_mut().append_pair("state", &form["state"]).append_pair("iss", issuer);
        match &behavior.redirect_error {
            Some(error) => drop(redirect.query_pairs_mut().append_pair("error", error)),
            None => {
                let mut issued = self.issued.lock().unwrap();
                let code = format!("code-{}", issued.grants.len());
                issued.grants.insert(code.clone(), form.get("scope").cloned().unwrap_or_default());
                redirect.query_pairs_mut().append_pair("code", &code);
            }
        }
        let location = format!("{redirect}{}", behavior.redirect_query.as_deref().unwrap_or(""));
        let mut response = respond(302, json!({}));
        response.headers_mut().insert("location", location.parse().unwrap());
        response
    }

    fn token(&self, form: &Form, behavior: &Behavior) -> Response<Body> {
        if let Some(padding) = behavior.repeats_secrets {
            let received = format!("{} {form:?}", "-".repeat(padding));
            let error = json!({ "error": "invalid_client", "error_description": received });
            return respond(400, error);
        }
        let mut issued = self.issued.lock().unwrap();
        let grant = match form["grant_type"].as_str() {
            "authorization_code" => issued.grants.remove(&form["code"]),
            "refresh_token" if behavior.rejects_refresh => None,
            "refresh_token" => issued.grants.remove(&form["refresh_token"]),
            _ => Some(form.get("scope").cloned().unwrap_or_default()),
        };
        let Some(grant) = grant else { return respond(400, json!({ "error": "invalid_grant" })) };
        let is_withheld = |scope: &&str| behavior.withheld.iter().any(|it| it == scope);
        let scopes: Vec<_> = grant.split(' ').filter(|scope| !is_withheld(scope)).collect();
        issued.count += 1;
        let number = issued.count;
        let issuer = &self.issuer;
        let token = format!("access-{number}@{issuer}");
        let refresh = format!("refresh-{number}@{issuer}");
        let lifetime = behavior.first_lifetime.filter(|_| issued.tokens.is_empty());
        issued.tokens.insert(token.clone(), scopes.join(" "));
        let mut response = json!({
            "access_token": token, "token_type": "Bearer", "scope": scopes.join(" "),
            "expires_in": lifetime.unwrap_or(3600),
        });
        if form["grant_type"] != "client_credentials" {
            issued.grants.insert(refresh.clone(), scopes.join(" "));
            response["refresh_token"] = refresh.into();
        }
        respond(200, response)
    }
}

fn form(text: &str) -> Form {
    let url = Url::parse(&format!("http://form/?{text}")).unwrap();
    url.query_pairs().into_owned().collect()
}

fn respond(status: u16, body: Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert("content-type", "application/json".parse().unwrap());
    response
}

/// An MCP server that demands a scope for each method.
#[derive(Clone)]
pub(crate) struct Resource {
    pub(crate) url: String,
    authority: Arc<Mutex<Authority>>,
    /// The URL that requests are redirected to.
    redirect: Arc<Mutex<Option<String>>>,
    /// Members of the metadata that replace others.
    pub(crate) metadata: Arc<Mutex<Map<String, Value>>>,
    /// Whether calls fail, with an error that repeats the token.
    pub(crate) repeats_token: Arc<AtomicBool>,
    /// The values of `Authorization` of all requests.
    pub(crate) received: Arc<Mutex<Vec<Option<String>>>>,
}

/// Returns the scope that a method needs, or `None` if it needs no token.
type Demand = fn(&str) -> Option<&'static str>;

impl Resource {
    pub(crate) async fn start(authority: &Authority, demand: Demand) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let authority = Arc::new(Mutex::new(authority.clone()));
        let resource = Self {
            url,
            authority,
            redirect: Arc::default(),
            metadata: Arc::default(),
            repeats_token: Arc::default(),
            received: Arc::default(),
        };
        let shared = resource.clone();
        let app = Router::new().fallback(move |request: Request| {
            let shared = shared.clone();
            async move { shared.respond(request, demand).await }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        resource
    }

    /// Accepts tokens of another authorization server only.
    pub(crate) fn move_to(&self, authority: &Authority) {
        *self.authority.lock().unwrap() = authority.clone();
    }

    /// Replaces a member of the metadata.
    pub(crate) fn name(&self, member: &str, value: Value) {
        self.metadata.lock().unwrap().insert(member.to_owned(), value);
    }

    /// Redirects all requests to another server.
    pub(crate) fn redirect_to(&self, other: &Self) {
        *self.redirect.lock().unwrap() = Some(other.url.clone());
    }

    async fn respond(&self, request: Request, demand: Demand) -> Response<Body> {
        let authority = self.authority.lock().unwrap().clone();
        let (parts, body) = request.into_parts();
        if parts.uri.path() == "/.well-known/oauth-protected-resource/mcp" {
            let servers = json!([authority.issuer]);
            let mut metadata = json!({ "resource": self.url, "authorization_servers": servers });
            let members = self.metadata.lock().unwrap().clone();
            metadata.as_object_mut().unwrap().extend(members);
            return respond(200, metadata);
        }
        if let Some(redirect) = &*self.redirect.lock().unwrap() {
            let mut response = respond(307, json!({}));
            response.headers_mut().insert("location", redirect.parse().unwrap());
            return response;
        }
        if parts.method != "POST" || parts.uri.path() != "/mcp" {
            return respond(405, json!({}));
        }
        let header = parts.headers.get("authorization").map(|it| it.to_str().unwrap().to_owned());
        self.received.lock().unwrap().push(header.clone());
        let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        let method = message["method"].as_str().unwrap_or_default();
        if let Some(scope) = demand(method) {
            let token = header.as_deref().and_then(|header| header.strip_prefix("Bearer "));
            let granted = token.and_then(|token| authority.scopes(token));
            let (status, error) = match &granted {
                None => (401, "invalid_token"),
                Some(granted) if granted.split(' ').any(|it| it == scope) => (200, ""),
                Some(_) => (403, "insufficient_scope"),
            };
            if status != 200 {
                let metadata =
                    self.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
                let challenge = format!(
                    "Bearer error=\"{error}\", scope=\"{scope}\", resource_metadata=\"{metadata}\""
                );
                let mut response = respond(status, json!({}));
                response.headers_mut().insert("www-authenticate", challenge.parse().unwrap());
                return response;
            }
        }
        let actions = match method {
            "subscriptions/listen" => return respond(405, json!({})),
            "tools/list" => answer(
                &message,
                json!({
                    "resultType": "complete", "tools": [tool("go")], "ttlMs": 0, "cacheScope": "private",
                }),
            ),
            "tools/call" if self.repeats_token.load(Ordering::Relaxed) => {
                let data = json!({ "received": header });
                let error =
                    json!({ "code": -32000, "message": format!("{header:?}"), "data": data });
                let error = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
                vec![Action::Send(error)]
            }
            "tools/call" => text(&message, "done"),
            _ => handshake(&message, true).unwrap_or_default(),
        };
        match actions.into_iter().next() {
            Some(Action::Send(message)) => respond(200, message),
            _ => respond(202, json!({})),
        }
    }
}

/// Follows the redirect of an authorization server, as a browser of a user who agrees.
#[derive(Clone, Default)]
pub(crate) struct Browser {
    pub(crate) opened: Arc<Mutex<Vec<String>>>,
    pub(crate) refuses: bool,
}

#[async_trait]
impl AuthorizationHandler for Browser {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:1/callback".to_owned()
    }

    async fn authorize(&self, url: &str) -> std::io::Result<String> {
        self.opened.lock().unwrap().push(url.to_owned());
        if self.refuses {
            return Err(std::io::Error::other("the user closed the window"));
        }
        let stop = reqwest::redirect::Policy::none();
        let client = reqwest::Client::builder().redirect(stop).build().unwrap();
        let response = client.get(url).send().await.unwrap();
        Ok(response.headers()["location"].to_str().unwrap().to_owned())
    }
}
