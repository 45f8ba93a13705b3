//! Clients for models behind an HTTP API, each behind the feature of its name.
//!
//! A provider is a codec, pure functions between our turn and its JSON. What all share is the
//! [`Client`] that drives it, and the thin [`Transport`] below.

#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(feature = "cassette")]
mod cassette;
#[cfg(any(feature = "mistral", feature = "openai"))]
mod chat;
mod check;
mod client;
pub mod codec;
mod endpoint;
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
mod refusal;
#[cfg(feature = "openai")]
mod responses;
mod retry;
mod secrets;
mod transport;

#[cfg(feature = "anthropic")]
pub use anthropic::{Anthropic, AnthropicMessages};
#[cfg(feature = "cassette")]
pub use cassette::Cassette;
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
pub use transport::{
    Headers, HttpBody, HttpReply, HttpRequest, Pieces, Transport, TransportError, Web,
};
