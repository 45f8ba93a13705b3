//! Tests of model providers: `conformance` and `transport` for all, and the particulars of each.

mod anthropic;
mod cassette;
mod conformance;
mod gemini;
mod mistral;
mod ollama;
mod openai;
mod provider;
mod responses;
mod transport;
