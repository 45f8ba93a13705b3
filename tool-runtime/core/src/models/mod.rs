//! The model side of a conversation: requests, replies, options, errors.
//!
//! [`ChatModel`] is the trait that an agent calls. The clients in the module `providers` implement
//! it for the APIs of model providers, [`ScriptedModel`](crate::ScriptedModel) for tests, and you
//! can implement it for a model of your own. [`Embedder`] is the trait of models that embed texts.
//!
//! Nothing in this module depends on a provider.

// The files of this module:
//
// - `chat_model.rs`: `ChatModel`.
// - `request.rs`: `ChatRequest` and `ChatReply`.
// - `stored_request.rs`: `StoredChatRequest`, a request as plain data.
// - `options.rs`: `ChatOptions`, the settings of a request.
// - `names.rs`: `WireNames`, tool names that satisfy the rules of a provider.
// - `info.rs`: `ModelInfo`, what is known about a model.
// - `history.rs`: repairs a transcript so that every provider accepts it.
// - `scripted.rs`: `ScriptedModel`.
// - `embedding/`: `Embedder` and what belongs to it.

pub(crate) mod chat_model;
mod embedding;
pub(crate) mod history;
mod info;
mod names;
pub(crate) mod options;
pub(crate) mod request;
pub(crate) mod scripted;
mod stored_request;

pub(crate) use crate::errors::ModelError;
pub use crate::errors::{ApiError, ApiErrorKind};
pub use crate::message::delta::DeltaSink;
pub(crate) use crate::message::{Delta, FinishReason};
pub(crate) use chat_model::ChatModel;
pub use embedding::{EmbedLimits, EmbedPurpose, EmbedRequest, Embedder, Embeddings, TestEmbedder};
pub use history::repaired_messages;
pub use info::ModelInfo;
pub use names::{NameRules, WireNames};
pub(crate) use options::{ChatOptions, ToolChoice};
pub(crate) use request::{ChatReply, ChatRequest};
pub use stored_request::StoredChatRequest;
