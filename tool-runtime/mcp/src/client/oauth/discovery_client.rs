//! The HTTP client of the SDK where the program names the issuer.

use std::sync::Arc;

use reqwest::{StatusCode, Url};
use rmcp::transport::auth::{
    AuthError, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest, default_oauth_http_client,
};

use super::sent_secrets::SentSecrets;

/// The parameter that has the signed assertion of a program.
const ASSERTION: &[u8] = b"client_assertion=";

/// Reads metadata at the MCP server only, which may name any authorization server. Every other
/// document is missing, so that the SDK returns the names of the authorization servers.
struct DiscoveryClient<C> {
    server: Url,
    sent_secrets: SentSecrets,
    inner: C,
}

/// Creates a client that sends nothing to the authorization servers that the MCP server names.
/// Requests to the endpoints of the configured one are sent.
pub(super) fn discovery_client(
    server: &str,
    sent_secrets: SentSecrets,
) -> Result<Arc<dyn OAuthHttpClient>, AuthError> {
    let server = Url::parse(server).map_err(|error| AuthError::InternalError(error.to_string()))?;
    Ok(Arc::new(DiscoveryClient { server, sent_secrets, inner: default_oauth_http_client()? }))
}

impl<C: OAuthHttpClient> OAuthHttpClient for DiscoveryClient<C> {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        // The SDK sends `GET` for metadata, and `POST` to the endpoints in them.
        let is_discovery = request.request.method() == "GET";
        // The SDK signs assertions itself. Their characters need no encoding.
        let parameters = request.request.body().split(|byte| *byte == b'&');
        let assertions = parameters.filter_map(|parameter| parameter.strip_prefix(ASSERTION));
        self.sent_secrets.extend(assertions.filter_map(|it| std::str::from_utf8(it).ok()));
        if !is_discovery || may_read(&self.server, &request.request.uri().to_string()) {
            return self.inner.execute(request);
        }
        let mut missing = http_types::Response::new(Vec::new());
        *missing.status_mut() = StatusCode::NOT_FOUND;
        Box::pin(std::future::ready(Ok(missing)))
    }
}

/// Returns whether the address is one of the MCP server, and not that of metadata of an
/// authorization server.
fn may_read(server: &Url, url: &str) -> bool {
    let is_authorization_server =
        |path: &str| path.contains("oauth-authorization-server") || path.contains("openid-conf");
    Url::parse(url)
        .is_ok_and(|url| url.origin() == server.origin() && !is_authorization_server(url.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_read_at_the_server_only() {
        let server = Url::parse("https://example.com/mcp").unwrap();
        for (url, is_allowed) in [
            ("https://example.com/.well-known/oauth-protected-resource/mcp", true),
            ("https://example.com:443/metadata", true),
            ("https://example.com/mcp", true),
            ("https://example.com/.well-known/oauth-authorization-server", false),
            ("https://example.com/mcp/.well-known/openid-configuration", false),
            ("http://example.com/.well-known/oauth-protected-resource", false),
            ("https://example.com:444/.well-known/oauth-protected-resource", false),
            ("https://example.com.evil/.well-known/oauth-protected-resource", false),
            ("https://auth.example/.well-known/oauth-authorization-server", false),
            ("", false),
        ] {
            assert_eq!(may_read(&server, url), is_allowed, "{url}");
        }
    }
}
