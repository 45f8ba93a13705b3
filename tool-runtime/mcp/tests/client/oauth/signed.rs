//! Programs that prove their identity by signed assertions.

use std::collections::HashSet;

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::Value;
use tool_mcp::{McpClient, OAuth, SigningAlgorithm, SigningKey};

use super::{Behavior, connect, everything, start, succeeds};

/// Of this test alone.
const PRIVATE_KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgR6VFw/o6rw1oH/8O
3C3QquvTlqJtMZRRgdxbP1G4P3+hRANCAASRCIYmcrQGCeDU4FW15ZdX5NX7HhJA
UABDDfepOak5YnlbzXqnGxXqBZ/zlytcvYbHTMph9WIDn85kSm9JCLBi
-----END PRIVATE KEY-----";

const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEkQiGJnK0Bgng1OBVteWXV+TV+x4S
QFAAQw33qTmpOWJ5W816pxsV6gWf85crXL2Gx0zKYfViA5/OZEpvSQiwYg==
-----END PUBLIC KEY-----";

pub(super) fn key() -> SigningKey {
    SigningKey::from_pem(PRIVATE_KEY, SigningAlgorithm::Es256)
}

/// Verifies an assertion and returns its claims.
fn claims(assertion: &str, audience: &str) -> Value {
    let key = DecodingKey::from_ec_pem(PUBLIC_KEY.as_bytes()).unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_audience(&[audience]);
    validation.set_issuer(&["reporter"]);
    validation.set_required_spec_claims(&["aud", "exp", "iss", "sub"]);
    jsonwebtoken::decode(assertion, &key, &validation).unwrap().claims
}

#[tokio::test]
async fn program_authorizes_itself_by_signed_assertions() {
    for audience in [None, Some("https://identity.example")] {
        let (authority, resource, _) = start(Behavior::default(), everything).await;
        let mut key = key();
        if let Some(audience) = audience {
            key = key.audience(audience);
        }
        let oauth = OAuth::client_credentials_jwt("reporter", key).issuer(&authority.issuer);
        let (registry, _) = connect(McpClient::http(&resource.url).oauth(oauth)).await.unwrap();
        succeeds(&registry).await;
        authority.revoke();
        succeeds(&registry).await;

        let requests = authority.requests("/token");
        assert_eq!(requests.len(), 2);
        let mut ids = HashSet::new();
        for form in requests {
            assert_eq!(form["grant_type"], "client_credentials");
            assert_eq!(form["resource"], resource.url);
            assert!(!form.contains_key("client_secret"), "{form:?}");
            let claims = claims(&form["client_assertion"], audience.unwrap_or(&authority.issuer));
            assert_eq!(claims["sub"], "reporter");
            // An assertion that was seen can't be used again.
            assert!(ids.insert(claims["jti"].to_string()));
        }
    }
}

#[tokio::test]
async fn unusable_key_is_reported_and_nothing_is_sent() {
    let reporter = |pem: &str, algorithm| {
        OAuth::client_credentials_jwt("reporter", SigningKey::from_pem(pem, algorithm))
    };
    for (oauth, expected) in [
        (reporter("no key", SigningAlgorithm::Es256), "Failed to parse signing key"),
        (reporter(PRIVATE_KEY, SigningAlgorithm::Rs256), "Failed to sign JWT"),
    ] {
        let (authority, resource, _) = start(Behavior::default(), everything).await;
        let oauth = oauth.issuer(&authority.issuer);
        let error = connect(McpClient::http(&resource.url).oauth(oauth)).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(authority.requests("/token").is_empty());
    }
}

#[test]
fn private_key_is_not_shown() {
    let key = key();
    let debug = format!("{key:?} {:?}", OAuth::client_credentials_jwt("reporter", key.clone()));
    assert!(debug.contains("Es256") && debug.len() < 200, "{debug}");
}
