//! OAuth, against an authorization server in this process.

mod authority;
mod hostile;
mod issuers;
mod races;
#[cfg(feature = "oauth-jwt")]
mod signed;
mod tokens;

use authority::{Authority, Behavior, Browser, Resource};
use serde_json::{Value, json};
use tool_mcp::{LoopbackRedirect, McpClient, McpConnection, McpError, OAuth};
use tool_runtime::{Registry, ToolErrorKind};

use crate::server::call;

/// Returns the behavior of a server with this member in its metadata.
fn metadata(member: &str, value: Value) -> Behavior {
    let metadata = [(member.to_owned(), value)].into_iter().collect();
    Behavior { metadata, ..Behavior::default() }
}

fn everything(_: &str) -> Option<&'static str> {
    Some("read")
}

fn write_for_calls(method: &str) -> Option<&'static str> {
    Some(if method == "tools/call" { "write" } else { "read" })
}

fn calls_only(method: &str) -> Option<&'static str> {
    (method == "tools/call").then_some("read")
}

async fn connect(client: McpClient) -> Result<(Registry, McpConnection), McpError> {
    let registry = Registry::new();
    let connection = client.connect("s", &registry).await?;
    Ok((registry, connection))
}

fn client(resource: &Resource, browser: &Browser) -> McpClient {
    McpClient::http(&resource.url).oauth(OAuth::authorization_code(browser.clone()))
}

async fn start(
    behavior: Behavior,
    demand: fn(&str) -> Option<&'static str>,
) -> (Authority, Resource, Browser) {
    let authority = Authority::start(behavior).await;
    let resource = Resource::start(&authority, demand).await;
    (authority, resource, Browser::default())
}

async fn succeeds(registry: &Registry) {
    let execution = call(registry, "s__go", "{}").await;
    assert!(execution.result.error.is_none(), "{}", execution.result.text);
}

#[tokio::test]
async fn a_challenge_at_any_step_is_answered_once() {
    fn lists_only(method: &str) -> Option<&'static str> {
        (method == "tools/list").then_some("read")
    }
    for demand in [everything, lists_only, calls_only] {
        let (authority, resource, browser) = start(Behavior::default(), demand).await;
        let (registry, _) = connect(client(&resource, &browser)).await.unwrap();
        succeeds(&registry).await;
        assert_eq!(authority.requests("/register").len(), 1);
        let requests = authority.requests("/authorize");
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0]["scope"], "read");
        assert_eq!(requests[0]["resource"], resource.url);
        assert_eq!(requests[0]["code_challenge_method"], "S256");
        let exchanged = &authority.requests("/token")[0];
        assert!(exchanged["code_verifier"].len() >= 43);
        assert_eq!(exchanged["resource"], resource.url);
    }
}

#[tokio::test]
async fn a_call_that_needs_more_requests_the_union_of_scopes() {
    let (authority, resource, browser) = start(Behavior::default(), write_for_calls).await;
    let (registry, _) = connect(client(&resource, &browser)).await.unwrap();
    succeeds(&registry).await;
    let requests = authority.requests("/authorize");
    let scopes: Vec<_> = requests.iter().map(|form| form["scope"].as_str()).collect();
    assert_eq!(scopes, ["read", "read write"]);
    assert_eq!(authority.requests("/register").len(), 1);
}

#[tokio::test]
async fn parallel_calls_ask_the_user_once() {
    let (_, resource, browser) = start(Behavior::default(), calls_only).await;
    let (registry, _) = connect(client(&resource, &browser)).await.unwrap();
    tokio::join!(succeeds(&registry), succeeds(&registry), succeeds(&registry));
    assert_eq!(browser.opened.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn tokens_are_renewed_without_the_user_if_possible() {
    // The behavior, whether the token is revoked, and how often the user is asked.
    let cases = [
        (Behavior { first_lifetime: Some(0), ..Behavior::default() }, false, 1),
        (Behavior::default(), true, 1),
        (Behavior { rejects_refresh: true, ..Behavior::default() }, true, 2),
    ];
    for (behavior, is_revoked, expected) in cases {
        let (authority, resource, browser) = start(behavior, everything).await;
        let (registry, _) = connect(client(&resource, &browser)).await.unwrap();
        if is_revoked {
            authority.revoke();
        }
        succeeds(&registry).await;
        assert!(authority.grants("refresh_token") >= 1);
        assert_eq!(browser.opened.lock().unwrap().len(), expected);
        assert_eq!(authority.requests("/register").len(), 1);
    }
}

#[tokio::test]
async fn refused_authorizations_end_the_attempt() {
    let other = "https://other.example".to_owned();
    let cases = [
        (Behavior { redirect_issuer: Some(other), ..Behavior::default() }, "issuer mismatch"),
        (
            Behavior { redirect_error: Some("access_denied".into()), ..Behavior::default() },
            "access_denied",
        ),
        (
            Behavior { redirect_error: Some("server_error".into()), ..Behavior::default() },
            "server_error",
        ),
        (metadata("authorization_endpoint", json!("file:///bin/sh")), "scheme `file`"),
    ];
    for (behavior, expected) in cases {
        let (authority, resource, browser) = start(behavior, everything).await;
        let error = connect(client(&resource, &browser)).await.unwrap_err();
        assert!(matches!(error, McpError::AuthorizationFailed { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(authority.requests("/token").is_empty(), "{expected}");
    }
}

#[tokio::test]
async fn a_user_who_refuses_is_not_asked_again() {
    let (_, resource, browser) = start(Behavior::default(), everything).await;
    let browser = Browser { refuses: true, ..browser };
    let client = client(&resource, &browser);
    for expected in ["closed the window", "too many authorizations"] {
        let error = connect(client.clone()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(browser.opened.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn endless_challenges_are_not_answered_endlessly() {
    // Scopes that are never granted: asked for once.
    let behavior = Behavior { withheld: vec!["write".into()], ..Behavior::default() };
    let (_, resource, browser) = start(behavior, write_for_calls).await;
    let (registry, _) = connect(client(&resource, &browser)).await.unwrap();
    for _ in 0..3 {
        let error = call(&registry, "s__go", "{}").await.result.error;
        assert_eq!(error.as_deref(), Some(ToolErrorKind::Denied.code()));
    }
    assert_eq!(browser.opened.lock().unwrap().len(), 2);

    // A server that accepts no token.
    let (_, resource, browser) = start(Behavior::default(), everything).await;
    resource.move_to(&Authority::start(Behavior::default()).await);
    let stranger = Authority::start(Behavior::default()).await;
    let refusing = Resource::start(&stranger, everything).await;
    let client = client(&refusing, &browser);
    stranger.change(|behavior| behavior.withheld = vec!["read".into()]);
    assert!(connect(client.clone()).await.is_err());
    assert!(connect(client).await.is_err());
    assert!(browser.opened.lock().unwrap().len() <= 3);
}

#[tokio::test]
async fn credentials_of_a_previous_authorization_server_are_not_used() {
    let (first, resource, browser) = start(Behavior::default(), everything).await;
    let second = Authority::start(Behavior::default()).await;
    let (registry, _) = connect(client(&resource, &browser)).await.unwrap();
    resource.move_to(&second);
    succeeds(&registry).await;
    assert_eq!(second.requests("/register").len(), 1);
    for endpoint in ["/authorize", "/token"] {
        for form in second.requests(endpoint) {
            assert!(!form.values().any(|value| value.contains(&first.issuer)), "{form:?}");
        }
    }
    assert_eq!(second.grants("refresh_token"), 0);
}

#[tokio::test]
async fn a_program_authorizes_itself_by_its_secret() {
    let (authority, resource, _) = start(Behavior::default(), everything).await;
    let oauth = OAuth::client_credentials("reporter", "hidden").issuer(&authority.issuer);
    assert!(!format!("{oauth:?}").contains("hidden"));
    let (registry, _) = connect(McpClient::http(&resource.url).oauth(oauth)).await.unwrap();
    succeeds(&registry).await;
    authority.revoke();
    succeeds(&registry).await;
    assert_eq!(authority.grants("client_credentials"), 2);
    assert!(authority.requests("/authorize").is_empty());
    assert_eq!(authority.requests("/token")[0]["client_id"], "reporter");
}

#[tokio::test]
async fn a_loopback_redirect_ignores_requests_without_its_state() {
    let (_, resource, _) = start(Behavior::default(), everything).await;
    let browser = LoopbackRedirect::bind(|url| {
        let url = url.to_owned();
        tokio::spawn(async move {
            let parsed = reqwest::Url::parse(&url).unwrap();
            let redirect = parsed.query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1;
            let forged = format!("{redirect}?code=forged&state=guessed");
            assert_eq!(reqwest::get(forged).await.unwrap().status(), 404);
            assert_eq!(reqwest::get(url).await.unwrap().status(), 200);
        });
    });
    let oauth = OAuth::authorization_code(browser.await.unwrap());
    let (registry, _) = connect(McpClient::http(&resource.url).oauth(oauth)).await.unwrap();
    succeeds(&registry).await;
}

#[tokio::test]
async fn oauth_is_refused_for_programs() {
    let client = McpClient::stdio("server").oauth(OAuth::client_credentials("id", "secret"));
    let error = connect(client).await.unwrap_err();
    assert!(matches!(error, McpError::InvalidOptions(_)), "{error}");
}
