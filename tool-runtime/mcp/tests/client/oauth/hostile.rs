//! Servers and authorization servers that mean no good.

use std::time::Duration;

use serde_json::json;
use tool_mcp::{McpClient, McpError, OAuth};

use super::{Behavior, calls_only, client, connect, everything, metadata, start};
use crate::server::call;

#[tokio::test]
async fn a_token_does_not_follow_a_redirect_to_another_server() {
    let (_, resource, browser) = start(Behavior::default(), everything).await;
    let (_, other, _) = start(Behavior::default(), everything).await;
    let (registry, _) = connect(client(&resource, &browser)).await.unwrap();
    resource.redirect_to(&other);
    let execution = call(&registry, "s__go", "{}").await;
    assert!(execution.result.error.is_some(), "{}", execution.result.text);
    assert!(other.received.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_authorization_server_that_hangs_ends_at_the_time_limit() {
    for endpoint in ["/.well-known/oauth-authorization-server", "/register", "/authorize", "/token"]
    {
        let behavior = Behavior { hangs_at: Some(endpoint), ..Behavior::default() };
        let (_, resource, browser) = start(behavior, everything).await;
        let limit = Duration::from_millis(300);
        let oauth = OAuth::authorization_code(browser).timeout(limit);
        let error = connect(McpClient::http(&resource.url).oauth(oauth)).await.unwrap_err();
        assert!(matches!(error, McpError::AuthorizationFailed { .. }), "{endpoint}: {error}");
        assert!(error.to_string().contains("timed out after 300ms"), "{endpoint}: {error}");
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_fails_the_authorization() {
    for endpoint in ["/.well-known/oauth-authorization-server", "/register", "/token"] {
        let behavior = Behavior { floods_at: Some(endpoint), ..Behavior::default() };
        let (_, resource, browser) = start(behavior, everything).await;
        let error = connect(client(&resource, &browser)).await.unwrap_err();
        assert!(matches!(error, McpError::AuthorizationFailed { .. }), "{endpoint}: {error}");
        assert!(error.to_string().len() < 1_000, "{endpoint}: {error}");
    }
}

#[tokio::test]
async fn texts_of_an_authorization_server_are_cleaned() {
    let text = format!("gone\u{202e}\u{1b}[2J{}", "x".repeat(10_000));
    let behavior = Behavior { redirect_error: Some(text), ..Behavior::default() };
    let (_, resource, browser) = start(behavior, everything).await;
    let error = connect(client(&resource, &browser)).await.unwrap_err().to_string();
    assert!(error.contains("gone") && error.len() < 1_000, "{error}");
    assert!(!error.contains(['\u{202e}', '\u{1b}']), "{error:?}");
}

#[tokio::test]
async fn authorization_server_without_the_code_challenge_is_not_used() {
    for methods in [json!(null), json!([]), json!(["plain"]), json!(["s256"]), json!(["plain", ""])]
    {
        let behavior = metadata("code_challenge_methods_supported", methods.clone());
        let (authority, resource, browser) = start(behavior, everything).await;
        let error = connect(client(&resource, &browser)).await.unwrap_err();
        assert!(matches!(error, McpError::AuthorizationFailed { .. }), "{methods}: {error}");
        let expected = format!(
            "authorization server `{}`: `code_challenge_methods_supported` is",
            authority.issuer
        );
        assert!(error.to_string().contains(&expected), "{methods}: {error}");
        for endpoint in ["/register", "/authorize", "/token"] {
            assert!(authority.requests(endpoint).is_empty(), "{methods}: {endpoint}");
        }
    }
}

#[tokio::test]
async fn endpoint_that_others_could_read_is_not_used() {
    for endpoint in ["token_endpoint", "authorization_endpoint", "registration_endpoint"] {
        let behavior = metadata(endpoint, json!("http://auth.example/endpoint"));
        let (_, resource, browser) = start(behavior, everything).await;
        let error = connect(client(&resource, &browser)).await.unwrap_err().to_string();
        let name = endpoint.replace('_', " ");
        let expected = format!("the {name} has the scheme `http`: expected an HTTPS URL");
        assert!(error.contains(&expected), "{endpoint}: {error}");
        assert!(browser.opened.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn resource_other_than_the_server_is_refused() {
    for path in ["", "/", "/mc", "/mcp?tenant=other", "/mcp/", "/mcp/other", "/other"] {
        let (authority, resource, browser) = start(Behavior::default(), everything).await;
        let host = resource.url.trim_end_matches("/mcp");
        resource.name("resource", format!("{host}{path}").into());
        let by_secret = OAuth::client_credentials("reporter", "hidden").issuer(&authority.issuer);
        let of_program = McpClient::http(&resource.url).oauth(by_secret);
        for client in [client(&resource, &browser), of_program] {
            let error = connect(client).await.unwrap_err();
            assert!(matches!(error, McpError::AuthorizationFailed { .. }), "{path}: {error}");
            assert!(error.to_string().contains("resource"), "{path}: {error}");
        }
        for endpoint in ["/register", "/authorize", "/token"] {
            assert!(authority.requests(endpoint).is_empty(), "{path}: {endpoint}");
        }
    }
}

#[tokio::test]
async fn resource_that_the_program_names_is_requested() {
    let (authority, resource, browser) = start(Behavior::default(), everything).await;
    let host = format!("{}/", resource.url.trim_end_matches("/mcp"));
    resource.name("resource", host.clone().into());
    let oauth = OAuth::authorization_code(browser).resource(&host);
    connect(McpClient::http(&resource.url).oauth(oauth)).await.unwrap();
    let by_secret = OAuth::client_credentials("reporter", "hidden").issuer(&authority.issuer);
    connect(McpClient::http(&resource.url).oauth(by_secret.resource(&host))).await.unwrap();
    let requests = authority.requests("/token");
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|form| form["resource"] == host), "{requests:?}");

    let invalid = OAuth::client_credentials("reporter", "hidden")
        .issuer(&authority.issuer)
        .resource("all of it");
    let error = connect(McpClient::http(&resource.url).oauth(invalid)).await.unwrap_err();
    assert!(matches!(error, McpError::InvalidOptions(_)), "{error}");
}

#[tokio::test]
async fn ambiguous_or_foreign_redirect_ends_the_attempt() {
    let query =
        |query: &str| Behavior { redirect_query: Some(query.to_owned()), ..Behavior::default() };
    let uri = |uri: &str| Behavior { redirect_uri: Some(uri.to_owned()), ..Behavior::default() };
    for (behavior, expected) in [
        (query("&code=other"), "`code` more than once"),
        (query("&%63ode=other"), "`code` more than once"),
        (query("&state=other"), "`state` more than once"),
        (query("&iss=https://other.example"), "`iss` more than once"),
        (uri("http://127.0.0.1:2/callback"), "redirected to `http://127.0.0.1:2/callback`"),
        (uri("https://127.0.0.1:1/callback"), "redirected to `https://127.0.0.1:1/callback`"),
        (uri("http://127.0.0.1:1/other"), "redirected to `http://127.0.0.1:1/other`"),
        (uri("http://evil.example/callback"), "redirected to `http://evil.example/callback`"),
    ] {
        let (authority, resource, browser) = start(behavior, everything).await;
        let error = connect(client(&resource, &browser)).await.unwrap_err();
        assert!(matches!(error, McpError::AuthorizationFailed { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert!(authority.requests("/token").is_empty(), "{expected}");
    }
}

#[tokio::test]
async fn token_that_a_server_repeats_in_an_error_is_redacted() {
    let (_, resource, browser) = start(Behavior::default(), calls_only).await;
    let (registry, _) = connect(client(&resource, &browser)).await.unwrap();
    resource.repeats_token.store(true, std::sync::atomic::Ordering::Relaxed);
    let execution = call(&registry, "s__go", "{}").await;
    let header = resource.received.lock().unwrap().last().cloned().flatten().unwrap();
    let token = header.trim_start_matches("Bearer ");
    assert!(token.starts_with("access-"), "{token}");
    assert!(execution.result.text.contains("Bearer [redacted]"), "{}", execution.result.text);
    let record = serde_json::to_string(&execution).unwrap();
    assert!(!record.contains(token), "{record}");
    let data = &execution.protocol_error.as_ref().unwrap().data;
    assert_eq!(*data, json!({ "received": "Bearer [redacted]" }));
}

#[tokio::test]
async fn secrets_that_an_authorization_server_repeats_are_redacted() {
    /// The parameters of a request for a token that are no secrets.
    const PUBLIC: [&str; 6] =
        ["client_assertion_type", "client_id", "grant_type", "redirect_uri", "resource", "scope"];
    // The last texts are cut within a secret.
    for padding in [0, 100, 440, 490] {
        let behavior = Behavior { repeats_secrets: Some(padding), ..Behavior::default() };
        let (authority, resource, browser) = start(behavior, everything).await;
        let by_secret =
            OAuth::client_credentials("reporter", "hunter%#22").issuer(&authority.issuer);
        let registered = OAuth::authorization_code(browser.clone())
            .client("reporter")
            .client_secret("hunter%#22")
            .issuer(&authority.issuer);
        let mut flows = vec![by_secret, registered, OAuth::authorization_code(browser)];
        #[cfg(feature = "oauth-jwt")]
        flows.push(
            OAuth::client_credentials_jwt("reporter", super::signed::key())
                .issuer(&authority.issuer),
        );
        for oauth in flows {
            let client = McpClient::http(&resource.url).oauth(oauth);
            let error = connect(client).await.unwrap_err();
            assert!(error.to_string().contains("invalid_client"), "{error}");
            let message = format!("{error} {error:?}");
            let form = authority.requests("/token").pop().unwrap();
            let secrets = form.iter().filter(|(name, _)| !PUBLIC.contains(&name.as_str()));
            for (name, value) in secrets {
                let value = value.trim_start_matches("Basic ");
                let beginning: String = value.chars().take(6).collect();
                assert!(!message.contains(&beginning), "{padding} {name}={value}: {message}");
            }
        }
    }
}
