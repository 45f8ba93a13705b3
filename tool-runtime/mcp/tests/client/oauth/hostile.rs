//! Servers and authorization servers that mean no good.

use std::time::Duration;

use tool_mcp::{McpClient, McpError, OAuth};

use super::{Behavior, client, connect, everything, start};
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
