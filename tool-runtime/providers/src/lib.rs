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
//! [`Transport`](tool_http::Transport) (`connection.rs`), retries it (`retry.rs`), reads the body
//! (`exchange.rs`), and converts error responses (`error_response.rs`). Keys and other secrets of a
//! request are removed from every error (`secrets.rs`). Names and keys are checked before the first
//! request (`credentials.rs`).
//!
//! The client of a chat model (`chat_client.rs`) validates the request (`check.rs`), adds the extra
//! options (`extra_options.rs`), lets the codec compare the body with what the model accepts
//! (`model_table/`) and decode the reply (`chat_exchange.rs`), whose messages, if it is streamed,
//! are split by `frames.rs`. The client of an embedder (`embedding_client.rs`) divides texts into
//! batches and checks the vectors (`embeddings/`).
//!
//! A reply that the provider pauses is continued (`paused_reply.rs`), and one that it could not
//! read is read here (`rejected_output.rs`).
//!
//! The [`codec`] module documents how to write a client for another API.

#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(any(feature = "mistral", feature = "openai"))]
mod chat;
mod chat_client;
mod chat_exchange;
mod check;
mod client;
pub mod codec;
mod connection;
mod credentials;
mod embedding_client;
mod embedding_settings;
mod embeddings;
mod endpoint;
mod error_response;
mod exchange;
mod extra_options;
mod first_chunk;
mod frames;
#[cfg(feature = "gemini")]
mod gemini;
#[cfg(feature = "mistral")]
mod mistral;
#[cfg_attr(
    not(all(feature = "anthropic", feature = "gemini", feature = "openai")),
    allow(dead_code, unused_imports, reason = "each codec uses a part of it")
)]
mod model_table;
mod off_thread;
#[cfg(feature = "ollama")]
mod ollama;
#[cfg(feature = "openai")]
mod openai;
mod paused_reply;
mod rejected_output;
#[cfg(feature = "openai")]
mod responses;
mod retry;
mod secrets;
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
mod work_budget;

#[cfg(feature = "anthropic")]
pub use anthropic::{Anthropic, AnthropicMessages};
pub use client::Client;
#[cfg(feature = "gemini")]
pub use gemini::{BatchEmbedContents, Gemini, GeminiEmbedder, GenerateContent};
#[cfg(feature = "mistral")]
pub use mistral::{Mistral, MistralChat, MistralEmbedder, MistralEmbeddings};
#[cfg(feature = "ollama")]
pub use ollama::{Ollama, OllamaChat, OllamaEmbed, OllamaEmbedder};
#[cfg(feature = "openai")]
pub use openai::{ChatCompletions, OpenAi, OpenAiEmbedder, OpenAiEmbeddings};
#[cfg(feature = "openai")]
pub use responses::{OpenAiResponses, Responses};
