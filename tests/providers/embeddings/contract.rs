//! What every embedder promises.

use std::sync::Arc;

use tool_runtime::ModelError;
use tool_runtime::models::{EmbedLimits, EmbedRequest, Embedder, TestEmbedder};

use super::server::EmbeddingServer;
use super::{PROVIDERS, Setup};

fn is_unit(vector: &[f32]) -> bool {
    let squares: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    (squares - 1.0).abs() < 1e-5
}

fn request<'t>(texts: &'t [&'t str], is_query: bool) -> EmbedRequest<'t> {
    if is_query { EmbedRequest::queries(texts) } else { EmbedRequest::documents(texts) }
}

/// Checks an embedder against the contract of the trait.
async fn check(name: &str, embedder: &dyn Embedder) {
    assert!(embedder.check().is_ok(), "{name}");
    let id = embedder.id();
    assert!(!id.is_empty(), "{name}");
    let long = "long ".repeat(999);
    let texts = ["Oslo", "Lima is in Peru.", "Oslo", "☃", " ", "a\0b\n\"c\"", &long];
    for is_query in [false, true] {
        let all = embedder.embed(request(&texts, is_query)).await.unwrap();
        assert_eq!(all.vectors.len(), texts.len(), "{name}");
        let dimensions = all.vectors[0].len();
        assert!(embedder.dimensions().is_none_or(|known| known == dimensions), "{name}");
        for vector in &all.vectors {
            assert!(vector.len() == dimensions && is_unit(vector), "{name}: {vector:?}");
        }
        assert_eq!(all.vectors[0], all.vectors[2], "{name}: equal texts have equal vectors");
        for (text, vector) in texts.iter().zip(&all.vectors) {
            let single = embedder.embed(request(&[text], is_query)).await.unwrap();
            assert_eq!(single.vectors, std::slice::from_ref(vector), "{name}: {text:?}");
        }
        assert_eq!(
            embedder.embed(request(&[], is_query)).await.unwrap(),
            Default::default(),
            "{name}"
        );
        let error = embedder.embed(request(&["Oslo", "", "Lima"], is_query)).await.unwrap_err();
        assert!(matches!(error, ModelError::Setup(_)), "{name}: {error}");
        assert!(error.to_string().contains("number 2 of 3"), "{name}: {error}");
    }
    assert_eq!(embedder.id(), id, "{name}");
    let limits = embedder.limits();
    assert!(limits.max_texts != Some(0) && limits.max_bytes != Some(0), "{name}: {limits:?}");
}

#[tokio::test]
async fn all_embedders_keep_the_contract() {
    for provider in PROVIDERS {
        let server = EmbeddingServer::new(provider, EmbedLimits::default());
        for server in [server.clone(), server.base64()] {
            for dimensions in [None, Some(3)] {
                let setup = Setup { dimensions, ..Setup::default() };
                check(provider.name, &provider.client(server.clone(), setup)).await;
            }
        }
    }
    for dimensions in [1, 64] {
        let embedder = Arc::new(TestEmbedder::new(dimensions));
        check("test", &*embedder).await;
        check("shared test", &embedder).await;
        check("boxed test", &(Box::new(embedder) as Box<dyn Embedder>)).await;
    }
}

#[tokio::test]
async fn empty_requests_are_not_sent() {
    for provider in PROVIDERS {
        let server = EmbeddingServer::new(provider, EmbedLimits::default());
        let embedder = provider.client(server.clone(), Setup::default());
        embedder.embed(EmbedRequest::documents(&[])).await.unwrap();
        embedder.embed(EmbedRequest::documents(&["Oslo", ""])).await.unwrap_err();
        assert!(server.requests().is_empty(), "{}", provider.name);
        let setup = Setup { dimensions: Some(0), ..Setup::default() };
        let embedder = provider.client(server.clone(), setup);
        for error in [
            embedder.check().unwrap_err(),
            embedder.embed(EmbedRequest::documents(&["Oslo"])).await.unwrap_err(),
        ] {
            assert_eq!(error.to_string(), "invalid dimensions: 0, expected at least 1");
        }
        assert!(server.requests().is_empty(), "{}", provider.name);
    }
}
