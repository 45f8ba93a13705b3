use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use support::canned::{Canned, Reply};
use tool_runtime::http::Headers;
use tool_runtime::models::EmbedRequest;
use tool_runtime::{ModelError, Usage};

use super::{PROVIDERS, Provider, Setup};
use crate::provider::{KEY, folders};

#[derive(Deserialize)]
struct ExpectedVectors {
    vectors: Vec<Vec<f32>>,
    usage: Option<u64>,
}

#[derive(Deserialize)]
struct ExpectedError {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Value,
    kind: String,
    request_id: Option<String>,
    /// The delay in seconds.
    retry_after: Option<f64>,
}

/// Returns the cases that have a file of this name, with its content.
fn cases<T: for<'a> Deserialize<'a>>(file: &str) -> Vec<(Provider, PathBuf, T)> {
    let root = crate::provider::fixtures().join("embeddings");
    assert_eq!(folders(&root), PROVIDERS.map(|provider| root.join(provider.name)));
    let mut cases = Vec::new();
    for provider in PROVIDERS {
        for folder in folders(&root.join(provider.name)) {
            let Ok(text) = fs::read_to_string(folder.join(file)) else { continue };
            let read = serde_json::from_str(&text);
            let read = read.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            cases.push((provider, folder, read));
        }
    }
    assert!(cases.len() >= PROVIDERS.len(), "only {} cases have {file}", cases.len());
    cases
}

#[tokio::test]
async fn recorded_responses_are_decoded() {
    for (provider, folder, expected) in cases::<ExpectedVectors>("expected.json") {
        let name = folder.display();
        let body = fs::read_to_string(folder.join("reply.json")).unwrap();
        let embedder = provider.client(Canned::new([Reply::text(200, &body)]), Setup::default());
        let texts = vec!["text"; expected.vectors.len()];
        let embeddings = embedder.embed(EmbedRequest::documents(&texts)).await;
        let embeddings = embeddings.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(embeddings.usage, expected.usage.map(|input| Usage::new(input, 0)), "{name}");
        assert_eq!(embeddings.vectors.len(), expected.vectors.len(), "{name}");
        for (vector, expected) in embeddings.vectors.iter().zip(&expected.vectors) {
            assert_eq!(vector.len(), expected.len(), "{name}");
            let is_close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
            assert!(vector.iter().zip(expected).all(is_close), "{name}: {vector:?} {expected:?}");
        }
    }
}

#[tokio::test]
async fn recorded_errors_are_classified() {
    for (provider, folder, expected) in cases::<ExpectedError>("error.json") {
        let name = folder.display();
        let mut reply = Reply::text(expected.status, &expected.body.to_string());
        reply.headers = expected.headers.into_iter().collect::<Headers>();
        let canned = Canned::new([reply]);
        let embedder = provider.client(canned.clone(), Setup::default());
        let error = embedder.embed(EmbedRequest::documents(&["text"])).await.unwrap_err();
        assert_eq!(canned.requests().len(), 1, "{name}");
        let ModelError::Api(refusal) = &error else { panic!("{name}: {error}") };
        assert_eq!(format!("{:?}", refusal.kind), expected.kind, "{name}");
        assert_eq!(refusal.status, expected.status, "{name}");
        assert_eq!(refusal.request_id, expected.request_id, "{name}");
        let delay = refusal.retry_after.map(|delay| delay.as_secs_f64());
        assert_eq!(delay, expected.retry_after, "{name}");
        assert!(!format!("{error} {error:?}").contains(KEY), "{name}: {error}");
    }
}
