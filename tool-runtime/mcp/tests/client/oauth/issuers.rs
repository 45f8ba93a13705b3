//! Registered clients belong to one authorization server.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tool_mcp::{McpClient, McpError, McpEvent, McpStatus, OAuth, Tokens};
use tool_runtime::Registry;
use tool_runtime::records::MemoryRecords;

use super::authority::UNPROVEN_METADATA;
use super::{Authority, Behavior, Browser, Resource, client, connect, everything, start, succeeds};

const SECRET: &str = "hunter22";

/// Returns each way to use a registered client, without the issuer.
fn registered() -> Vec<OAuth> {
    let by_user = || OAuth::authorization_code(Browser::default()).client("reporter");
    vec![
        OAuth::client_credentials("reporter", SECRET),
        #[cfg(feature = "oauth-jwt")]
        OAuth::client_credentials_jwt("reporter", super::signed::key()),
        by_user(),
        by_user().client_secret(SECRET),
    ]
}

/// Fails if an authorization server received any request.
fn received_nothing(authority: &Authority) {
    let requests = authority.all_requests();
    assert!(requests.is_empty(), "{requests:?}");
}

#[tokio::test]
async fn registered_client_without_an_issuer_is_refused_before_anything_is_sent() {
    let (authority, resource, _) = start(Behavior::default(), everything).await;
    for oauth in registered() {
        let error = connect(McpClient::http(&resource.url).oauth(oauth)).await.unwrap_err();
        assert!(matches!(error, McpError::InvalidOptions(_)), "{error}");
        assert!(error.to_string().contains("client `reporter`"), "{error}");
    }
    received_nothing(&authority);
    assert!(resource.received.lock().unwrap().is_empty());
}

#[tokio::test]
async fn invalid_issuer_is_refused_before_anything_is_sent() {
    let (_, resource, browser) = start(Behavior::default(), everything).await;
    for issuer in [
        "auth.example",
        "",
        "http://auth.example",
        "http://10.0.0.9",
        "file:///etc/passwd",
        "https://auth.example?tenant=1",
        "https://auth.example#a",
    ] {
        let oauth = OAuth::client_credentials("reporter", SECRET).issuer(issuer);
        let error = connect(McpClient::http(&resource.url).oauth(oauth)).await.unwrap_err();
        assert!(matches!(error, McpError::InvalidOptions(_)), "{issuer}: {error}");
    }
    let without_client = OAuth::authorization_code(browser).client_secret(SECRET);
    let error = connect(McpClient::http(&resource.url).oauth(without_client)).await.unwrap_err();
    assert!(error.to_string().contains("`client_secret` needs `client`"), "{error}");
    assert!(resource.received.lock().unwrap().is_empty());
}

#[tokio::test]
async fn registered_client_is_not_used_with_another_authorization_server() {
    for oauth in registered() {
        let (other, resource, _) = start(Behavior::default(), everything).await;
        let configured = Authority::start(Behavior::default()).await;
        let client = McpClient::http(&resource.url).oauth(oauth.clone().issuer(&configured.issuer));
        let error = connect(client).await.unwrap_err();
        let is_permanent =
            matches!(error, McpError::AuthorizationFailed { is_permanent: true, .. });
        assert!(is_permanent, "{error}");
        let text = error.to_string();
        assert!(text.contains(&configured.issuer) && text.contains(&other.issuer), "{text}");
        received_nothing(&other);
        received_nothing(&configured);

        // The server moves after a first authorization.
        resource.move_to(&configured);
        let client = McpClient::http(&resource.url).oauth(oauth.issuer(&configured.issuer));
        let (registry, _) = connect(client).await.unwrap();
        succeeds(&registry).await;
        resource.move_to(&other);
        let execution = crate::server::call(&registry, "s__go", "{}").await;
        assert!(execution.result.error.is_some(), "{}", execution.result.text);
        received_nothing(&other);
    }
}

#[tokio::test]
async fn issuer_that_another_server_claims_does_not_receive_the_secret() {
    let configured = Authority::start(Behavior::default()).await;
    // The address of these metadata proves no issuer, so that the SDK accepts any.
    let thief = Authority::start(Behavior::default()).await;
    thief.change(|behavior| {
        behavior.metadata = [("issuer".to_owned(), json!(configured.issuer))].into_iter().collect();
    });
    let resource = Resource::start(&configured, everything).await;
    let named = format!("{}{UNPROVEN_METADATA}", thief.issuer);
    resource.name("authorization_servers", json!([named]));
    for oauth in registered() {
        let client = McpClient::http(&resource.url).oauth(oauth.issuer(&configured.issuer));
        let error = connect(client).await.unwrap_err().to_string();
        assert!(error.contains(&named), "{error}");
    }
    received_nothing(&thief);
    received_nothing(&configured);
}

#[tokio::test]
async fn configured_issuer_is_used_although_the_server_names_others_first() {
    for oauth in registered() {
        let (configured, resource, _) = start(Behavior::default(), everything).await;
        let other = Authority::start(Behavior::default()).await;
        resource.name("authorization_servers", json!([other.issuer, configured.issuer]));
        let client = McpClient::http(&resource.url).oauth(oauth.issuer(&configured.issuer));
        let (registry, _) = connect(client).await.unwrap();
        succeeds(&registry).await;
        received_nothing(&other);
    }
}

#[tokio::test]
async fn background_connection_ends_if_the_server_names_another_issuer() {
    let (other, resource, _) = start(Behavior::default(), everything).await;
    // As the program wrote it, not as a parsed URL prints it.
    let configured = "https://AUTH.example";
    let oauth = OAuth::client_credentials("reporter", SECRET).issuer(configured);
    let reasons = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&reasons);
    let client = McpClient::http(&resource.url).oauth(oauth).on_event(move |_, event| {
        if let McpEvent::Disconnected { reason } = event {
            sink.lock().unwrap().push(reason.clone());
        }
    });
    let registry = Registry::new();
    let connection = client.connect_in_background("s", &registry).unwrap();
    assert_eq!(connection.connected().await, McpStatus::Disconnected);
    let reasons = reasons.lock().unwrap().clone();
    let [reason] = &reasons[..] else { panic!("{reasons:?}") };
    let expected = format!(
        "the options name the issuer `{configured}`, but the server names `{}`",
        other.issuer
    );
    assert!(reason.contains(&expected), "{reason}");
    received_nothing(&other);
}

#[tokio::test]
async fn client_that_registered_itself_is_not_used_with_a_claimed_issuer() {
    let (first, resource, browser) = start(Behavior::default(), everything).await;
    let (registry, _) = connect(client(&resource, &browser)).await.unwrap();
    let thief = Authority::start(Behavior::default()).await;
    thief.change(|behavior| {
        behavior.metadata = [("issuer".to_owned(), json!(first.issuer))].into_iter().collect();
        behavior.redirect_issuer = Some(first.issuer.clone());
    });
    resource.name("authorization_servers", json!([format!("{}{UNPROVEN_METADATA}", thief.issuer)]));
    first.revoke();
    first.change(|behavior| behavior.rejects_refresh = true);
    crate::server::call(&registry, "s__go", "{}").await;
    assert_eq!(thief.requests("/register").len(), 1);
    for form in thief.requests("/token") {
        assert!(!form.values().any(|value| value.contains(&first.issuer)), "{form:?}");
    }
}

#[tokio::test]
async fn stored_tokens_are_not_refreshed_by_another_issuer_than_the_configured_one() {
    let tokens = Tokens::plaintext(MemoryRecords::new());
    let behavior = Behavior { first_lifetime: Some(0), ..Behavior::default() };
    let (first, resource, browser) = start(behavior, everything).await;
    let oauth = |issuer: &str| {
        OAuth::authorization_code(browser.clone())
            .client("reporter")
            .client_secret(SECRET)
            .issuer(issuer)
            .tokens(tokens.clone())
    };
    connect(McpClient::http(&resource.url).oauth(oauth(&first.issuer))).await.unwrap();
    let requests = first.requests("/token").len();
    let second = Authority::start(Behavior::default()).await;
    let client = McpClient::http(&resource.url).oauth(oauth(&second.issuer));
    let error = connect(client).await.unwrap_err().to_string();
    assert!(error.contains(&first.issuer) && error.contains(&second.issuer), "{error}");
    assert_eq!(first.requests("/token").len(), requests);
    received_nothing(&second);
}

#[tokio::test]
async fn named_issuer_also_limits_clients_that_register_themselves() {
    let (other, resource, browser) = start(Behavior::default(), everything).await;
    let configured = Authority::start(Behavior::default()).await;
    let oauth = || OAuth::authorization_code(browser.clone()).issuer(&configured.issuer);
    let error = connect(McpClient::http(&resource.url).oauth(oauth())).await.unwrap_err();
    assert!(error.to_string().contains(&other.issuer), "{error}");
    received_nothing(&other);
    resource.move_to(&configured);
    connect(McpClient::http(&resource.url).oauth(oauth())).await.unwrap();
    assert_eq!(configured.requests("/register").len(), 1);
}
