//! The authorization server of an MCP server: which one it is, and what it has to support.

use std::fmt;

use reqwest::{StatusCode, Url};
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataResolution,
    OAuthClientConfig,
};
use serde::{Deserialize, Serialize};

use super::super::wire::http::http_client;
use super::flow_error::FlowError;

/// The size of the metadata of an authorization server that is read.
const MAX_METADATA_BYTES: usize = 1 << 20;

/// The method by which the client proves that an authorization code is its own.
const CODE_CHALLENGE_METHOD: &str = "S256";

/// A placeholder for the endpoints of an authorization server that receives no request.
const NOWHERE: &str = "https://localhost/";

/// The server that issued tokens and registered a client.
///
/// An MCP server can name metadata with any issuer at an address that does not prove it. So the
/// endpoint that receives the credentials is part of the identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuthorizationServer {
    issuer: Option<String>,
    token_endpoint: String,
}

impl AuthorizationServer {
    pub(super) fn new(metadata: &AuthorizationMetadata) -> Self {
        let (issuer, token_endpoint) = (metadata.issuer.clone(), metadata.token_endpoint.clone());
        Self { issuer, token_endpoint }
    }
}

/// Returns the metadata that the authorization server with this issuer publishes, if the MCP server
/// names that one. Nothing is sent to any other. `configured` is the issuer as the program spelled
/// it.
pub(super) async fn with_issuer(
    configured: &str,
    issuer: &Url,
    named: &Named,
) -> Result<AuthorizationMetadata, FlowError> {
    if !named.includes(issuer) {
        let reason = format!("the options name the issuer `{configured}`, but the server {named}");
        return Err(FlowError::refused(&reason));
    }
    let client = http_client().map_err(|error| FlowError::failed(&error.to_string()))?;
    let mut last = String::new();
    for url in metadata_urls(issuer) {
        match read_metadata(&client, url.clone()).await {
            Ok(metadata) if is_issuer(&metadata, issuer) => return Ok(metadata),
            Ok(_) => last = format!("{url}: the metadata has another issuer"),
            Err(reason) => last = format!("{url}: {reason}"),
        }
    }
    let reason = format!("the authorization server `{issuer}` publishes no metadata: {last}");
    Err(FlowError::failed(&reason))
}

/// The authorization servers that an MCP server names.
pub(super) enum Named {
    /// The addresses in the metadata of the server.
    Servers(Vec<String>),
    /// None, so that the MCP server at this address is the authorization server.
    OwnHost(Url),
}

impl Named {
    /// Returns what the MCP server names, from a manager that reads no metadata of authorization
    /// servers.
    pub(super) async fn by(
        manager: &AuthorizationManager,
        challenge: &str,
        server: &str,
    ) -> Result<Self, FlowError> {
        match manager.resolve_metadata_from_challenge(Some(challenge)).await {
            Err(AuthError::AuthorizationServersUnavailable { authorization_servers, .. }) => {
                Ok(Self::Servers(authorization_servers))
            }
            Err(error) => Err(error.into()),
            // A document of the MCP server claims this issuer, or there is none.
            Ok(AuthorizationMetadataResolution { metadata, .. }) => match metadata.issuer {
                Some(issuer) => Ok(Self::Servers(vec![issuer])),
                None => Url::parse(server)
                    .map(Self::OwnHost)
                    .map_err(|error| FlowError::failed(&error.to_string())),
            },
        }
    }

    fn includes(&self, issuer: &Url) -> bool {
        match self {
            Self::Servers(servers) => servers.iter().any(|server| {
                let server = Url::parse(server).ok();
                server.is_some_and(|it| it == *issuer || metadata_urls(issuer).contains(&it))
            }),
            Self::OwnHost(server) => server.origin() == issuer.origin(),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Servers(servers) => write!(f, "names `{}`", servers.join("`, `")),
            Self::OwnHost(_) => f.write_str("names none"),
        }
    }
}

fn is_issuer(metadata: &AuthorizationMetadata, issuer: &Url) -> bool {
    let named = metadata.issuer.as_deref().and_then(|named| Url::parse(named).ok());
    named.is_some_and(|named| named == *issuer)
}

/// Returns the addresses of the metadata of an issuer (RFC 8414 and OpenID Connect Discovery).
fn metadata_urls(issuer: &Url) -> Vec<Url> {
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![format!("{OAUTH}{path}"), format!("{OPENID}{path}")];
    if !path.is_empty() {
        paths.push(format!("{path}{OPENID}"));
    }
    let url = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    };
    paths.into_iter().map(url).collect()
}

async fn read_metadata(
    client: &reqwest::Client,
    url: Url,
) -> Result<AuthorizationMetadata, String> {
    let failed = |error: reqwest::Error| error.without_url().to_string();
    let mut response = client.get(url).send().await.map_err(failed)?;
    if response.status() != StatusCode::OK {
        return Err(format!("status {}", response.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_METADATA_BYTES {
            return Err(format!("the metadata exceeds {MAX_METADATA_BYTES} bytes"));
        }
    }
    serde_json::from_slice(&body).map_err(|error| error.to_string())
}

/// Refuses metadata with which a code could be used by another client (PKCE).
pub(super) fn check_code_challenge(metadata: &AuthorizationMetadata) -> Result<(), FlowError> {
    let methods = metadata.code_challenge_methods_supported.as_deref();
    let problem = match methods {
        Some(methods) if methods.iter().any(|method| method == CODE_CHALLENGE_METHOD) => {
            return Ok(());
        }
        Some(methods) => format!("is {methods:?}"),
        None => "is missing".to_owned(),
    };
    let server = metadata.issuer.as_deref().unwrap_or(&metadata.token_endpoint);
    let reason = format!(
        "authorization server `{server}`: `code_challenge_methods_supported` {problem}: expected \
         `{CODE_CHALLENGE_METHOD}`"
    );
    Err(FlowError::refused(&reason))
}

/// Refuses an endpoint whose messages others could read, or that a browser would not open as a
/// page.
pub(super) fn check_endpoint(name: &str, url: &str, allows_private: bool) -> Result<(), FlowError> {
    let refused = |problem: &str| {
        FlowError::refused(&format!("the {name} endpoint has {problem}: expected an HTTPS URL"))
    };
    let url = Url::parse(url).map_err(|_| refused("an invalid URL"))?;
    if is_confidential(&url, allows_private) {
        Ok(())
    } else {
        Err(refused(&format!("the scheme `{}`", url.scheme())))
    }
}

/// Returns true for HTTPS, and for HTTP within this machine or an allowed private network.
pub(super) fn is_confidential(url: &Url, allows_private: bool) -> bool {
    let is_loopback = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match url.scheme() {
        "https" => true,
        "http" => is_loopback || allows_private,
        _ => false,
    }
}

/// Refuses another resource than the expected one, such as its whole host. A server could use the
/// token for other services of that host.
pub(super) async fn check_resource(
    manager: &mut AuthorizationManager,
    expected: &Url,
) -> Result<(), FlowError> {
    let resource = requested_resource(manager).await?;
    if resource == *expected || resource == without_query(expected) {
        return Ok(());
    }
    let reason = format!("the server names the resource `{resource}`: expected `{expected}`");
    Err(FlowError::refused(&reason))
}

/// Returns the resource that the manager requests tokens for. The SDK names it nowhere but in the
/// URL of an authorization, so this creates one that is never opened.
async fn requested_resource(manager: &mut AuthorizationManager) -> Result<Url, FlowError> {
    let mut nowhere = AuthorizationMetadata::default();
    nowhere.authorization_endpoint = NOWHERE.to_owned();
    nowhere.token_endpoint = NOWHERE.to_owned();
    nowhere.code_challenge_methods_supported = Some(vec![CODE_CHALLENGE_METHOD.to_owned()]);
    manager.set_metadata(nowhere);
    manager.configure_client(OAuthClientConfig::new("", NOWHERE))?;
    let url = manager.get_authorization_url(&[]).await?;
    let url = Url::parse(&url).map_err(|error| FlowError::failed(&error.to_string()))?;
    let resource = url.query_pairs().find(|(name, _)| name == "resource");
    let resource = resource.map(|(_, resource)| resource.into_owned()).unwrap_or_default();
    Url::parse(&resource)
        .map_err(|error| FlowError::failed(&format!("invalid resource `{resource}`: {error}")))
}

fn without_query(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn metadata_of_an_issuer_are_read_below_its_host() {
        let urls = |issuer: &str| -> Vec<String> {
            metadata_urls(&url(issuer)).into_iter().map(String::from).collect()
        };
        assert_eq!(
            urls("https://auth.example"),
            [
                "https://auth.example/.well-known/oauth-authorization-server",
                "https://auth.example/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            urls("https://auth.example/realms/a/"),
            [
                "https://auth.example/.well-known/oauth-authorization-server/realms/a",
                "https://auth.example/.well-known/openid-configuration/realms/a",
                "https://auth.example/realms/a/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn server_names_its_issuer_or_the_address_of_its_metadata() {
        let issuer = url("https://auth.example/a");
        for (named, is_included) in [
            ("https://auth.example/a", true),
            ("https://auth.example/.well-known/oauth-authorization-server/a", true),
            ("https://auth.example/.well-known/other", false),
            ("https://auth.example", false),
            ("https://evil.example/a", false),
            ("/a", false),
        ] {
            let named = Named::Servers(vec!["https://other.example".to_owned(), named.to_owned()]);
            assert_eq!(named.includes(&issuer), is_included, "{named}");
        }
        assert!(!Named::Servers(Vec::new()).includes(&issuer));
        assert!(Named::OwnHost(url("https://auth.example/mcp")).includes(&issuer));
        assert!(!Named::OwnHost(url("https://example.com/mcp")).includes(&issuer));
    }

    #[test]
    fn issuers_are_equal_as_urls() {
        let mut metadata = AuthorizationMetadata::default();
        for (named, is_equal) in [
            ("https://auth.example", true),
            ("https://auth.example/", true),
            ("https://AUTH.example:443", true),
            ("https://auth.example/a", false),
            ("https://auth.example.evil", false),
            ("https://auth.example@evil", false),
            ("https://user@auth.example", false),
            ("http://auth.example", false),
            ("https://auth.example:444", false),
            ("https://auth.example?a", false),
            ("auth.example", false),
            ("", false),
        ] {
            metadata.issuer = Some(named.to_owned());
            assert_eq!(is_issuer(&metadata, &url("https://auth.example")), is_equal, "{named}");
        }
        metadata.issuer = None;
        assert!(!is_issuer(&metadata, &url("https://auth.example")));
    }

    #[test]
    fn endpoint_is_confidential_by_https_or_within_the_machine() {
        for (endpoint, allows_private, is_allowed) in [
            ("https://auth.example/token", false, true),
            ("http://127.0.0.1:1/token", false, true),
            ("http://localhost/token", false, true),
            ("http://[::1]/token", false, true),
            ("http://10.0.0.9/token", true, true),
            ("http://10.0.0.9/token", false, false),
            ("http://auth.example/token", false, false),
            ("http://127.0.0.1.evil/token", false, false),
            ("file:///bin/sh", true, false),
            ("javascript:alert(1)", true, false),
            ("", true, false),
        ] {
            let checked = check_endpoint("token", endpoint, allows_private);
            assert_eq!(checked.is_ok(), is_allowed, "{endpoint}");
        }
    }
}
