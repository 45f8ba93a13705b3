//! The requests of each provider.

use serde_json::{Value, json};
use support::canned::{Canned, Reply};
use tool_runtime::models::{EmbedRequest, Embedder};
use tool_runtime::providers::{GeminiEmbedder, MistralEmbedder, OllamaEmbedder, OpenAiEmbedder};

use super::server::texts;
use super::{PROVIDERS, Setup};
use crate::provider::KEY;

/// Returns the URL, the header of the key and the body of a request for two texts.
async fn request(provider: &super::Provider, setup: Setup, is_query: bool) -> (String, Value) {
    let canned = Canned::new([Reply::text(200, &provider.body(&["[1]".into(), "[1]".into()], 0))]);
    let embedder = provider.client(canned.clone(), setup);
    let texts = ["Oslo", "Lima"];
    let request =
        if is_query { EmbedRequest::queries(&texts) } else { EmbedRequest::documents(&texts) };
    // The vectors have one dimension, which may not be the expected one.
    let _ = embedder.embed(request).await;
    let [request] = canned.requests().try_into().expect("one request");
    let (header, value) = match provider.name {
        "gemini" => ("x-goog-api-key", KEY.to_owned()),
        _ => ("authorization", format!("Bearer {KEY}")),
    };
    assert_eq!(request.headers.get(header), Some(value.as_str()), "{}", provider.name);
    assert_eq!(request.headers.get("content-type"), Some("application/json"));
    (request.url, serde_json::from_slice(&request.body).expect("JSON"))
}

#[tokio::test]
async fn requests_follow_the_apis() {
    let base = "https://models.invalid/v1";
    for provider in PROVIDERS {
        for (dimensions, is_query) in [(None, false), (Some(256), true)] {
            let setup = Setup { dimensions, ..Setup::default() };
            let (url, body) = request(&provider, setup, is_query).await;
            let mut expected = json!({ "model": "m", "input": ["Oslo", "Lima"] });
            let (path, member) = match provider.name {
                "gemini" => {
                    let task = if is_query { "RETRIEVAL_QUERY" } else { "RETRIEVAL_DOCUMENT" };
                    let part = |text: &str| {
                        let mut part = json!({ "model": "models/m", "taskType": task,
                            "content": { "parts": [{ "text": text }] } });
                        if let Some(dimensions) = dimensions {
                            part["outputDimensionality"] = dimensions.into();
                        }
                        part
                    };
                    expected = json!({ "requests": [part("Oslo"), part("Lima")] });
                    ("models/m:batchEmbedContents", None)
                }
                "mistral" => ("embeddings", Some("output_dimension")),
                "ollama" => {
                    expected["truncate"] = false.into();
                    ("api/embed", Some("dimensions"))
                }
                _ => ("embeddings", Some("dimensions")),
            };
            if let (Some(member), Some(dimensions)) = (member, dimensions) {
                expected[member] = dimensions.into();
            }
            assert_eq!((url, body), (format!("{base}/{path}"), expected), "{}", provider.name);
        }
    }
}

/// Returns the texts that an embedder sends for a document and a query, and whether it names a
/// task.
async fn sent_texts(build: impl Fn(Canned) -> Box<dyn Embedder>) -> [(String, bool); 2] {
    let mut texts_and_tasks = Vec::new();
    for request in [EmbedRequest::documents, EmbedRequest::queries] {
        let canned = Canned::new([Reply::text(400, "{}")]);
        build(canned.clone()).embed(request(&["Oslo"])).await.unwrap_err();
        let body: Value = serde_json::from_slice(&canned.requests()[0].body).unwrap();
        texts_and_tasks.push((texts(&body).remove(0), body.to_string().contains("taskType")));
    }
    texts_and_tasks.try_into().unwrap()
}

#[tokio::test]
async fn prefixes_and_task_types_follow_the_model() {
    let base = "https://models.invalid/v1beta";
    let plain = |has_task| [("Oslo".to_owned(), has_task), ("Oslo".to_owned(), has_task)];
    let second = [
        ("title: none | text: Oslo".to_owned(), false),
        ("task: search result | query: Oslo".to_owned(), false),
    ];
    for (model, expected) in [
        ("gemini-embedding-001", plain(true)),
        ("text-embedding-004", plain(true)),
        ("gemini-embedding-2", second.clone()),
        ("models/gemini-embedding-2-preview", second),
    ] {
        let build = |canned| Box::new(GeminiEmbedder::new(base, model).transport(canned)) as Box<_>;
        assert_eq!(sent_texts(build).await, expected, "{model}");
    }
    let prefixed = [("d: Oslo".to_owned(), false), ("q: Oslo".to_owned(), false)];
    let build = |canned| -> Box<dyn Embedder> {
        let embedder = GeminiEmbedder::new(base, "gemini-embedding-2").transport(canned);
        Box::new(embedder.with_prefixes("d: ", "q: "))
    };
    assert_eq!(sent_texts(build).await, prefixed);
    let build = |canned| -> Box<dyn Embedder> {
        Box::new(OllamaEmbedder::new(base, "m").transport(canned).with_prefixes("d: ", "q: "))
    };
    assert_eq!(sent_texts(build).await, prefixed);
}

#[test]
fn ids_name_what_changes_the_vectors() {
    let base = "https://models.invalid/v1";
    let openai = || OpenAiEmbedder::new(base, "text-embedding-3-small").key(KEY);
    for (embedder, id) in [
        (openai(), "text-embedding-3-small"),
        (openai().with_dimensions(256), "text-embedding-3-small/256"),
        (openai().with_prefixes("d: ", ""), r#"text-embedding-3-small/"d: "/"""#),
        (openai().with_dimensions(2).with_prefixes("", "q"), r#"text-embedding-3-small/2/""/"q""#),
    ] {
        assert_eq!(embedder.id(), id);
        assert!(!format!("{embedder:?}").contains(KEY));
    }
}

#[tokio::test]
async fn missing_keys_are_reported_before_a_request() {
    type Pair = (&'static str, Box<dyn Embedder>, Box<dyn Embedder>);
    let embedders: [Pair; 3] = [
        {
            let new = || OpenAiEmbedder::new("https://api.openai.com/v1", "m");
            ("api.openai.com", Box::new(new()), Box::new(new().key(KEY)))
        },
        {
            let new = || MistralEmbedder::new("https://api.mistral.ai/v1", "m");
            ("api.mistral.ai", Box::new(new()), Box::new(new().header("authorization", "Own 2")))
        },
        {
            let host = "generativelanguage.googleapis.com";
            let new = || GeminiEmbedder::new(format!("https://{host}/v1beta"), "m");
            (host, Box::new(new()), Box::new(new().key(KEY)))
        },
    ];
    for (host, without, with) in embedders {
        let error = without.check().unwrap_err().to_string();
        assert_eq!(error, format!("missing API key for {host}: set it with `key`"));
        let result = without.embed(EmbedRequest::queries(&["a"])).await;
        assert_eq!(result.unwrap_err().to_string(), error);
        assert!(with.check().is_ok(), "{host}");
    }
    let malformed = OllamaEmbedder::new("localhost:11434", "m").check().unwrap_err().to_string();
    assert!(malformed.starts_with("malformed base URL: `localhost:11434`"), "{malformed}");
}
