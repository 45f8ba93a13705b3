//! Clients for models behind HTTP APIs, one feature for each provider.
//!
//! | client | API | feature |
//! |---|---|---|
//! | `Anthropic` | Anthropic's Messages | `anthropic` |
//! | `Gemini` | Gemini's `generateContent` | `gemini` |
//! | `Mistral` | Mistral's chat completions | `mistral` |
//! | `Ollama` | Ollama's `/api/chat` | `ollama` |
//! | `OpenAi` | OpenAI's chat completions and compatible servers | `openai` |
//! | `OpenAiResponses` | OpenAI's Responses and compatible servers | `openai` |
//!
//! | embedder | API | feature |
//! |---|---|---|
//! | `GeminiEmbedder` | Gemini's `batchEmbedContents` | `gemini` |
//! | `MistralEmbedder` | Mistral's embeddings | `mistral` |
//! | `OllamaEmbedder` | Ollama's `/api/embed` | `ollama` |
//! | `OpenAiEmbedder` | OpenAI's embeddings and compatible servers | `openai` |
//!
//! Every client is a [`Client`] with a [`Codec`](codec::Codec) or an
//! [`EmbeddingCodec`](codec::EmbeddingCodec): pure functions between a turn, or texts, and the JSON
//! of the provider. All clients share the connection: it sends a request by a
//! [`Transport`](tool_http::Transport) (`connection/`), retries it (`connection/retry.rs`), reads
//! the body (`connection/exchange.rs`), and converts error responses
//! (`connection/error_response.rs`). Keys and other secrets of a request are removed from every
//! error (`connection/secrets.rs`). Names and keys are checked before the first request
//! (`client/credentials.rs`).
//!
//! The client of a chat model (`client/chat_client.rs`) validates the request (`client/check.rs`),
//! adds the extra options (`client/extra_options.rs`), lets the codec compare the body with what
//! the model accepts (`model_table/`) and decode the reply (`client/chat_exchange.rs`), whose
//! messages, if it is streamed, are split by `connection/frames.rs`. The client of an embedder
//! (`client/embedding_client.rs`) divides texts into batches and checks the vectors
//! (`embeddings/`).
//!
//! A reply that the provider pauses is continued (`client/paused_reply.rs`), and one that it could
//! not read is read here (`client/rejected_output.rs`).
//!
//! The [`codec`] module documents how to write a client for another API.

#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(any(feature = "mistral", feature = "openai"))]
mod chat;
mod client;
pub mod codec;
mod connection;
mod embeddings;
#[cfg(feature = "gemini")]
mod gemini;
#[cfg(feature = "mistral")]
mod mistral;
#[cfg_attr(
    not(all(feature = "anthropic", feature = "gemini", feature = "openai")),
    allow(dead_code, unused_imports, reason = "each codec uses a part of it")
)]
mod model_table;
#[cfg(feature = "ollama")]
mod ollama;
#[cfg(feature = "openai")]
mod openai;
#[cfg(feature = "openai")]
mod responses;
#[cfg_attr(
    not(all(
        feature = "anthropic",
        feature = "gemini",
        feature = "mistral",
        feature = "ollama",
        feature = "openai"
    )),
    allow(dead_code, unused_imports, reason = "each codec uses a part of it")
)]
mod shared;

#[cfg(feature = "anthropic")]
pub use anthropic::Anthropic;
pub use client::Client;
#[cfg(feature = "gemini")]
pub use gemini::{Gemini, GeminiEmbedder};
#[cfg(feature = "mistral")]
pub use mistral::{Mistral, MistralEmbedder};
#[cfg(feature = "ollama")]
pub use ollama::{Ollama, OllamaEmbedder};
#[cfg(feature = "openai")]
pub use openai::{OpenAi, OpenAiEmbedder};
#[cfg(feature = "openai")]
pub use responses::OpenAiResponses;

/// The codecs by which the clients are generic. A program names the client, such as `OpenAi`.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "anthropic")]
    pub use crate::anthropic::AnthropicMessages;
    #[cfg(feature = "gemini")]
    pub use crate::gemini::{BatchEmbedContents, GenerateContent};
    #[cfg(feature = "mistral")]
    pub use crate::mistral::{MistralChat, MistralEmbeddings};
    #[cfg(feature = "ollama")]
    pub use crate::ollama::{OllamaChat, OllamaEmbed};
    #[cfg(feature = "openai")]
    pub use crate::openai::{ChatCompletions, OpenAiEmbeddings};
    #[cfg(feature = "openai")]
    pub use crate::responses::Responses;
}
