//! Responses that no provider should send.

use support::canned::{Canned, Reply};
use tool_runtime::ModelError;
use tool_runtime::models::{EmbedRequest, Embeddings};

use super::{PROVIDERS, Provider, Setup};
use crate::provider::KEY;

async fn embed(
    provider: Provider,
    reply: Reply,
    dimensions: Option<usize>,
) -> Result<Embeddings, ModelError> {
    let setup = Setup { dimensions, ..Setup::default() };
    let embedder = provider.client(Canned::new([reply]), setup);
    embedder.embed(EmbedRequest::documents(&["Oslo", "Lima"])).await
}

#[tokio::test]
async fn unusable_vectors_are_refused() {
    let deep = "[".repeat(100_000);
    for (vectors, dimensions, reason) in [
        (vec![], None, "0 vectors for 2 texts"),
        (vec!["[1]"], None, "1 vectors for 2 texts"),
        (vec!["[1]", "[1]", "[1]"], None, "3 vectors for 2 texts"),
        (vec!["[1, 2]", "[1]"], None, "vector 2 of 2 has 1 dimensions, expected 2"),
        (vec!["[1]", "[1]"], Some(2), "vector 1 of 2 has 1 dimensions, expected 2"),
        (vec!["[]", "[]"], None, "vector 1 of 2 contains only zeros"),
        (vec!["[1, 0]", "[0, -0.0]"], None, "vector 2 of 2 contains only zeros"),
        (vec!["[1]", "[1e39]"], None, "number out of range"),
        (vec!["[-3.5e38]", "[1]"], None, "number out of range"),
        (vec!["[1e999]", "[1]"], None, "number out of range"),
        (vec!["[NaN]", "[1]"], None, "expected value"),
        (vec!["[1]", "[Infinity]"], None, "expected value"),
        (vec!["[1]", "[null]"], None, "invalid type: null"),
        (vec!["[1]", r#"["1"]"#], None, "invalid type: string"),
        (vec!["[1]", "[[1]]"], None, "invalid type: sequence"),
        (vec!["[1]", "[true]"], None, "invalid type: boolean"),
        (vec!["[1]", "null"], None, "expected a list of numbers or base64"),
        (vec!["[1]", "7"], None, "expected a list of numbers or base64"),
        (vec!["[1]", r#"{"values": [1]}"#], None, "expected a list of numbers or base64"),
        // Infinity, NaN and too few bytes in base64.
        (vec![r#""AACAfw==""#, "[1]"], None, "vector 1 of 2 contains inf"),
        (vec!["[1]", r#""AADAfw==""#], None, "vector 2 of 2 contains NaN"),
        (vec!["[1]", r#""AACA""#], None, "3 bytes in base64 are no floats"),
        (vec!["[1]", r#""no base64""#], None, "invalid base64"),
        (vec!["[1]", &deep], None, "invalid type: sequence"),
    ] {
        let vectors: Vec<_> = vectors.into_iter().map(str::to_owned).collect();
        for provider in PROVIDERS {
            let name = provider.name;
            let body = provider.body(&vectors, 7);
            let mut reply = Reply::text(200, &body);
            reply.headers.set("content-length", body.len().to_string());
            let error = embed(provider, reply, dimensions).await.unwrap_err();
            assert!(matches!(error, ModelError::Malformed { .. }), "{name}: {error}");
            assert!(error.to_string().contains(reason), "{name}: {reason}: {error}");
            assert!(error.to_string().len() < 5_000, "{name}: {}", error.to_string().len());
        }
    }
}

#[tokio::test]
async fn bodies_without_vectors_are_refused() {
    for body in [
        "",
        " ",
        "null",
        "[]",
        "7",
        "{}",
        r#"{"data": null, "embeddings": null}"#,
        r#"{"data": {}, "embeddings": {}}"#,
        r#"{"data": [{}, {}], "embeddings": [{}, {}]}"#,
        r#"{"data": [null, null], "embeddings": [null, null]}"#,
        r#"{"embedding": [1]}"#,
        "<html><body>It works!</body></html>",
    ] {
        for provider in PROVIDERS {
            let error = embed(provider, Reply::text(200, body), None).await.unwrap_err();
            let name = provider.name;
            assert!(matches!(error, ModelError::Malformed { .. }), "{name}: {body}: {error:?}");
        }
    }
}

#[tokio::test]
async fn cut_bodies_are_connection_errors() {
    for provider in PROVIDERS {
        let whole = provider.body(&["[1, 2]".into(), "[3, 4]".into()], 7);
        for end in 1..whole.len() {
            let error = embed(provider, Reply::text(200, &whole[..end]), None).await.unwrap_err();
            assert!(error.is_transient(), "{}: {}: {error}", provider.name, &whole[..end]);
        }
        embed(provider, Reply::text(200, &whole), None).await.unwrap();
    }
}

#[tokio::test]
async fn invalid_token_counts_are_ignored() {
    for provider in PROVIDERS {
        let body = provider.body(&["[1]".into(), "[1]".into()], 7_777);
        for count in ["null", "-1", "0.5", "1e20", "\"7\"", "[7]", "{}"] {
            let body = body.replace("7777", count);
            let embeddings = embed(provider, Reply::text(200, &body), None).await;
            let embeddings = embeddings.unwrap_or_else(|error| panic!("{body}: {error}"));
            assert_eq!(embeddings.usage.unwrap_or_default().input_tokens, 0, "{body}");
        }
    }
}

/// An error within a response of status 200 is an error of the provider.
#[tokio::test]
async fn errors_with_status_200_are_classified() {
    for provider in PROVIDERS {
        let body = r#"{"error": {"code": "rate_limit_exceeded", "message": "slow down"}}"#;
        let error = embed(provider, Reply::text(200, body), None).await.unwrap_err();
        let ModelError::Api(refusal) = &error else { panic!("{}: {error}", provider.name) };
        assert_eq!(refusal.status, 200);
        assert!(error.is_transient(), "{}: {error}", provider.name);
    }
}

#[tokio::test]
async fn keys_are_redacted_in_errors() {
    for provider in PROVIDERS {
        for status in [200, 401, 500] {
            for body in [
                format!("unknown key {KEY}"),
                format!(r#"{{"error": {{"message": "unknown key {KEY}"}}}}"#),
                format!(r#"{{"data": "{KEY}", "embeddings": "{KEY}"}}"#),
            ] {
                let error = embed(provider, Reply::text(status, &body), None).await.unwrap_err();
                let printed = format!("{error} {error:?}");
                assert!(!printed.contains(KEY), "{}: {printed}", provider.name);
            }
        }
    }
}
