//! Tests of model providers: `conformance` and `transport` for all chat models, `embeddings` for
//! all embedders, and the particulars of each.

mod anthropic;
mod cassette;
mod conformance;
mod embeddings;
mod files;
mod gemini;
mod mistral;
mod ollama;
mod openai;
mod provider;
mod responses;
mod sources;
mod transport;
