//! Clients for models behind an HTTP API, each behind the feature of its name.
//!
//! A provider is a codec, pure functions between our turn and its JSON, and the thin transport in
//! `http` that all share.

mod endpoint;
mod http;
mod openai;

pub use openai::OpenAi;
