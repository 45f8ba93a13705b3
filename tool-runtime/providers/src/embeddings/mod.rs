//! Parts that the codecs of embeddings share.
//!
//! - `wire_vector.rs`: a vector in a response, as numbers or in base64.
//! - `list.rs`: a response in the format of OpenAI, which Mistral and many servers use.
//! - `unit_vectors.rs`: checks the vectors of a response and scales them to the length 1.

#[cfg(any(feature = "mistral", feature = "openai"))]
mod list;
mod unit_vectors;
#[cfg(any(feature = "gemini", feature = "mistral", feature = "ollama", feature = "openai"))]
mod wire_vector;

#[cfg(any(feature = "mistral", feature = "openai"))]
pub(super) use list::decode_list;
pub(super) use unit_vectors::unit_vectors;
#[cfg(any(feature = "gemini", feature = "mistral", feature = "ollama", feature = "openai"))]
pub(super) use wire_vector::WireVector;
