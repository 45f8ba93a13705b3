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
//! Every client is a [`Client`] with a [`Codec`](codec::Codec): pure functions between a turn and
//! the JSON of the provider. The client validates the request (`check.rs`), sends it by a
//! [`Transport`](crate::http::Transport), retries it (`retry.rs`), splits a streamed reply into messages
//! (`frames.rs`), lets the codec decode them (`exchange.rs`), and converts error responses
//! (`error_response.rs`). Keys and other secrets of a request are removed from every error
//! (`secrets.rs`).
//!
//! The [`codec`] module documents how to write a client for another API.

#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(any(feature = "mistral", feature = "openai"))]
mod chat;
mod check;
mod client;
pub mod codec;
mod endpoint;
mod error_response;
mod exchange;
mod frames;
#[cfg(feature = "gemini")]
mod gemini;
#[cfg(feature = "mistral")]
mod mistral;
#[cfg(feature = "ollama")]
mod ollama;
#[cfg(feature = "openai")]
mod openai;
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
pub use gemini::{Gemini, GenerateContent};
#[cfg(feature = "mistral")]
pub use mistral::{Mistral, MistralChat};
#[cfg(feature = "ollama")]
pub use ollama::{Ollama, OllamaChat};
#[cfg(feature = "openai")]
pub use openai::{ChatCompletions, OpenAi};
#[cfg(feature = "openai")]
pub use responses::{OpenAiResponses, Responses};
