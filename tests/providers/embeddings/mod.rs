//! Embedders: recorded responses, the contract of all of them, batches, and hostile responses.
//!
//! The fixtures are `fixtures/embeddings/<provider>/<case>/`; the page beside them names their
//! sources.

mod batches;
mod contract;
mod fixtures;
mod hostile;
mod requests;
mod server;

use std::sync::Arc;

use tool_runtime::http::Transport;
use tool_runtime::models::{EmbedLimits, Embedder};
use tool_runtime::providers::{GeminiEmbedder, MistralEmbedder, OllamaEmbedder, OpenAiEmbedder};

use crate::provider::{KEY, Shared};

/// Settings of an embedder.
#[derive(Clone, Copy, Default)]
struct Setup {
    dimensions: Option<usize>,
    limits: Option<EmbedLimits>,
    retries: u32,
}

/// A provider of embeddings, and how the tests build its client.
#[derive(Clone, Copy)]
struct Provider {
    /// Name of the provider and of its folder of fixtures.
    name: &'static str,
    embedder: fn(Shared, Setup) -> Box<dyn Embedder>,
}

macro_rules! providers {
    ($($name:literal: $client:ident)*) => {
        const PROVIDERS: [Provider; 4] = [$(Provider {
            name: $name,
            embedder: |transport, setup| {
                let embedder = $client::new("https://models.invalid/v1", "m").key(KEY);
                let mut embedder = embedder.transport(transport).max_retries(setup.retries);
                if let Some(dimensions) = setup.dimensions {
                    embedder = embedder.with_dimensions(dimensions);
                }
                if let Some(limits) = setup.limits {
                    embedder = embedder.with_limits(limits);
                }
                Box::new(embedder)
            },
        }),*];
    };
}

providers! {
    "gemini": GeminiEmbedder
    "mistral": MistralEmbedder
    "ollama": OllamaEmbedder
    "openai": OpenAiEmbedder
}

impl Provider {
    fn client(&self, transport: impl Transport + 'static, setup: Setup) -> Box<dyn Embedder> {
        (self.embedder)(Shared(Arc::new(transport)), setup)
    }

    /// Returns the body of a response with these vectors as JSON, and the input tokens.
    fn body(&self, vectors: &[String], tokens: usize) -> String {
        let list = vectors.join(",");
        match self.name {
            "gemini" => {
                let values = vectors.iter().map(|vector| format!(r#"{{"values":{vector}}}"#));
                let values = values.collect::<Vec<_>>().join(",");
                format!(
                    r#"{{"embeddings":[{values}],"usageMetadata":{{"promptTokenCount":{tokens}}}}}"#
                )
            }
            "ollama" => {
                format!(r#"{{"model":"m","embeddings":[{list}],"prompt_eval_count":{tokens}}}"#)
            }
            _ => {
                let item = |(index, vector): (usize, &String)| {
                    format!(r#"{{"object":"embedding","index":{index},"embedding":{vector}}}"#)
                };
                // A server may answer in any order.
                let items = vectors.iter().enumerate().map(item).rev().collect::<Vec<_>>();
                let items = items.join(",");
                format!(r#"{{"data":[{items}],"usage":{{"prompt_tokens":{tokens}}}}}"#)
            }
        }
    }
}
