//! A server that embeds texts in the format of any provider, within limits.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tool_runtime::async_trait;
use tool_runtime::http::{HttpBody, HttpRequest, HttpResponse, Transport, TransportError};
use tool_runtime::models::EmbedLimits;

use super::Provider;

/// Answers each request with the vectors of its texts. Clones share the log.
#[derive(Clone)]
pub struct EmbeddingServer {
    provider: Provider,
    limits: EmbedLimits,
    /// Whether the vectors are sent in base64.
    is_base64: bool,
    requests: Arc<Mutex<Vec<Vec<String>>>>,
}

impl EmbeddingServer {
    pub fn new(provider: Provider, limits: EmbedLimits) -> Self {
        Self { provider, limits, is_base64: false, requests: Arc::default() }
    }

    pub fn base64(mut self) -> Self {
        self.is_base64 = true;
        self
    }

    /// Returns the texts of each request, refused ones included.
    pub fn requests(&self) -> Vec<Vec<String>> {
        self.requests.lock().unwrap().clone()
    }

    pub fn accepts(&self, texts: &[String]) -> bool {
        let bytes: usize = texts.iter().map(String::len).sum();
        let EmbedLimits { max_texts, max_bytes, .. } = self.limits;
        texts.len() == 1
            || max_texts.is_none_or(|most| texts.len() <= most)
                && max_bytes.is_none_or(|most| bytes <= most)
    }

    fn respond(&self, request: &HttpRequest) -> HttpResponse {
        let texts = texts(&serde_json::from_slice(&request.body).expect("JSON"));
        self.requests.lock().unwrap().push(texts.clone());
        if !self.accepts(&texts) {
            return HttpResponse::new(400, HttpBody::from(refusal(self.provider.name).as_str()));
        }
        let vectors: Vec<_> = texts.iter().map(|text| self.wire(&vector(text))).collect();
        let tokens = texts.iter().map(String::len).sum();
        HttpResponse::new(200, HttpBody::from(self.provider.body(&vectors, tokens).as_str()))
    }

    fn wire(&self, vector: &[f32]) -> String {
        use base64::Engine as _;
        if !self.is_base64 {
            return format!("{vector:?}");
        }
        let bytes: Vec<_> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        format!("{:?}", base64::engine::general_purpose::STANDARD.encode(bytes))
    }
}

#[async_trait]
impl Transport for EmbeddingServer {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Ok(self.respond(request))
    }
}

/// Returns the texts of a request.
pub fn texts(body: &Value) -> Vec<String> {
    let text = |text: &Value| text.as_str().expect("a text").to_owned();
    match body.get("input") {
        Some(input) => input.as_array().expect("a list").iter().map(text).collect(),
        None => {
            let requests = body["requests"].as_array().expect("a list");
            requests.iter().map(|part| text(&part["content"]["parts"][0]["text"])).collect()
        }
    }
}

/// Returns the vector of a text. It depends on every byte and is not of the length 1.
pub fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.25, -1.0, 0.5];
    for (index, byte) in text.bytes().enumerate() {
        vector[index % 3] += f32::from(byte) * (1.0 + index as f32);
    }
    vector
}

/// Returns the error with which a provider refuses a batch that is too large.
fn refusal(provider: &str) -> String {
    let folder = crate::provider::fixtures().join("embeddings").join(provider);
    let case = match provider {
        "gemini" => "error_texts",
        "ollama" => "error_too_long",
        _ => "error_tokens",
    };
    let text = std::fs::read_to_string(folder.join(case).join("error.json")).expect("a fixture");
    let error: Value = serde_json::from_str(&text).expect("JSON");
    error["body"].to_string()
}
