//! Batches: cut by the limits, in order, retried one by one.

use std::time::Duration;

use proptest::collection::vec;
use proptest::test_runner::{Config, TestRunner};
use support::canned::{Canned, Reply};
use tokio::runtime::Builder;
use tokio::time::Instant;
use tool_runtime::http::Headers;
use tool_runtime::models::{EmbedLimits, EmbedRequest, Embeddings};
use tool_runtime::{ModelError, Usage};

use super::server::EmbeddingServer;
use super::{PROVIDERS, Provider, Setup};

fn limits(max_texts: usize, max_bytes: impl Into<Option<usize>>) -> EmbedLimits {
    EmbedLimits::default().max_texts(max_texts).max_bytes(max_bytes)
}

/// Embeds texts in batches by a server with limits, and one by one; both must agree.
async fn embed_both_ways(
    provider: Provider,
    texts: &[&str],
    of_client: EmbedLimits,
    of_server: EmbedLimits,
) {
    let server = EmbeddingServer::new(provider, of_server);
    let setup = Setup { limits: Some(of_client), ..Setup::default() };
    let embedder = provider.client(server.clone(), setup);
    let together = embedder.embed(EmbedRequest::documents(texts)).await.unwrap();
    let requests = server.requests();
    let mut one_by_one = Embeddings::default();
    for text in texts {
        let single = embedder.embed(EmbedRequest::documents(&[text])).await.unwrap();
        one_by_one.vectors.extend(single.vectors);
        *one_by_one.usage.get_or_insert_default() += single.usage.unwrap();
    }
    assert_eq!(together, one_by_one, "{}", provider.name);
    // Accepted requests contain every text once and in order, and no request exceeds the limits.
    let accepted = requests.iter().filter(|texts| server.accepts(texts)).flatten();
    assert!(accepted.eq(texts), "{}: {requests:?}", provider.name);
    for request in &requests {
        let bytes: usize = request.iter().map(String::len).sum();
        let is_within = of_client.max_texts.is_none_or(|most| request.len() <= most)
            && of_client.max_bytes.is_none_or(|most| bytes <= most);
        assert!(request.len() == 1 || is_within, "{}: {request:?}", provider.name);
    }
    // Each refusal halves the batches of the rest.
    let refused = requests.iter().filter(|texts| !server.accepts(texts)).count();
    let halvings = usize::BITS - texts.len().leading_zeros();
    assert!(refused <= halvings as usize, "{}: {requests:?}", provider.name);
}

#[test]
fn batches_equal_single_texts() {
    let texts = vec("[a-zæ☃ ]{1,12}", 0..40);
    let (of_client, of_server) = ((1_usize..50, 1_usize..200), (1_usize..50, 1_usize..200));
    let mut runner = TestRunner::new(Config::with_cases(64));
    let run = runner.run(&(texts, of_client, of_server), |(texts, of_client, of_server)| {
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        for provider in PROVIDERS {
            let (of_client, of_server) =
                (limits(of_client.0, of_client.1), limits(of_server.0, of_server.1));
            runtime.block_on(embed_both_ways(provider, &texts, of_client, of_server));
        }
        Ok(())
    });
    run.unwrap();
}

#[tokio::test]
async fn default_limits_are_those_of_the_providers() {
    for (provider, max_texts, max_bytes) in [
        (PROVIDERS[0], 100, None),
        (PROVIDERS[1], 256, Some(49_152)),
        (PROVIDERS[2], 64, None),
        (PROVIDERS[3], 256, Some(300_000)),
    ] {
        let server = EmbeddingServer::new(provider, EmbedLimits::default());
        let embedder = provider.client(server.clone(), Setup::default());
        assert_eq!(embedder.limits(), limits(max_texts, max_bytes), "{}", provider.name);
        let texts = vec!["a"; max_texts + 1];
        embedder.embed(EmbedRequest::documents(&texts)).await.unwrap();
        let counts: Vec<_> = server.requests().iter().map(Vec::len).collect();
        assert_eq!(counts, [max_texts, 1], "{}", provider.name);
    }
}

#[tokio::test]
async fn single_text_that_is_too_long_is_an_error() {
    let provider = PROVIDERS[3];
    let refusal = r#"{"error": {"code": "context_length_exceeded"}}"#;
    let canned = Canned::new([Reply::text(400, refusal)]);
    let error = provider.client(canned.clone(), Setup::default());
    let error = error.embed(EmbedRequest::documents(&["long"])).await.unwrap_err();
    assert!(matches!(error, ModelError::Api(_)), "{error}");
    assert_eq!(canned.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn only_the_failed_batch_is_retried() {
    for provider in PROVIDERS {
        let busy = |status| {
            let mut reply = Reply::text(status, "busy");
            reply.headers = Headers::from_iter([("retry-after", "7")]);
            reply
        };
        let good = |number: &str| Reply::text(200, &provider.body(&[number.into()], 5));
        let replies =
            [good("[1, 0]"), busy(429), busy(503), good("[0, 1]"), busy(429), good("[-1, 0]")];
        let canned = Canned::new(replies);
        let setup = Setup { limits: Some(limits(1, 99)), retries: 2, ..Setup::default() };
        let embedder = provider.client(canned.clone(), setup);
        let start = Instant::now();
        let embeddings = embedder.embed(EmbedRequest::documents(&["a", "b", "c"])).await.unwrap();
        let expected = vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![-1.0, 0.0]];
        let expected = Embeddings::new(expected).usage(Usage::new(15, 0));
        assert_eq!(embeddings, expected, "{}", provider.name);
        assert_eq!(start.elapsed(), Duration::from_secs(21), "{}", provider.name);
        let requests = canned.requests();
        let bodies: Vec<_> = requests.iter().map(|it| String::from_utf8_lossy(&it.body)).collect();
        assert_eq!(bodies.len(), 6, "{}", provider.name);
        assert!(bodies[1] == bodies[2] && bodies[2] == bodies[3] && bodies[4] == bodies[5]);
    }
}

#[tokio::test(start_paused = true)]
async fn permanent_errors_end_the_request() {
    for provider in PROVIDERS {
        for (status, body, retries, requests) in [
            (401, "{}", 2, 2),
            (404, "{}", 2, 2),
            (400, r#"{"error": {"message": "unknown parameter"}}"#, 2, 2),
            (503, "{}", 0, 2),
            (503, "{}", 2, 4),
        ] {
            let good = Reply::text(200, &provider.body(&["[1]".into()], 5));
            let bad = (0..9).map(|_| Reply::text(status, body));
            let canned = Canned::new([good].into_iter().chain(bad));
            let setup = Setup { limits: Some(limits(1, 99)), retries, ..Setup::default() };
            let embedder = provider.client(canned.clone(), setup);
            let error = embedder.embed(EmbedRequest::documents(&["a", "b", "c"])).await;
            let Err(ModelError::Api(error)) = error else { panic!("{error:?}") };
            assert_eq!(error.status, status, "{}", provider.name);
            assert_eq!(canned.requests().len(), requests, "{} {status}", provider.name);
        }
    }
}

#[tokio::test]
async fn batches_with_different_dimensions_are_refused() {
    for provider in PROVIDERS {
        let replies = ["[1, 0]", "[1]"];
        let reply = |vector: &str| Reply::text(200, &provider.body(&[vector.into()], 0));
        let canned = Canned::new(replies.map(reply));
        let setup = Setup { limits: Some(limits(1, 99)), ..Setup::default() };
        let embedder = provider.client(canned, setup);
        let error = embedder.embed(EmbedRequest::documents(&["a", "b"])).await.unwrap_err();
        let reason = "vector 1 of 1 has 1 dimensions, expected 2";
        assert!(error.to_string().contains(reason), "{}: {error}", provider.name);
    }
}
