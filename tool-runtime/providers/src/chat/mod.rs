//! Shared parts of OpenAI's and Mistral's chat completions: options, calls, usage and the stream of
//! choices. The two APIs differ in the content of a message, which is a [`ContentBuilder`].

mod assemble;
mod call_positions;
mod found_sources;
mod reply;
mod request;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) use assemble::Assembler;
pub(super) use reply::{WireCall, reply, reported_error};
pub(super) use request::{
    encode_call, encode_content, encode_image, media_message, push_message, result_text,
    set_options,
};

use super::codec::DecodeError;
use tool_core::models::DeltaSink;
use tool_core::{AssistantPart, Reasoning};

/// Builds the content of a reply beside its calls.
pub(super) trait ContentBuilder: Default + Send {
    /// Content of a message, or of one chunk of a stream.
    type Message: Default + DeserializeOwned;

    /// Adds content, emits it, and returns the calls in it, or the pieces of calls.
    fn push(&mut self, message: Self::Message, deltas: &mut DeltaSink<'_>) -> Vec<WireCall>;

    /// Returns the content in order.
    fn into_parts(self) -> Vec<AssistantPart>;

    /// Returns whether the model refused to answer.
    fn is_refused(&self) -> bool {
        false
    }

    /// Seals extra data of a call as reasoning that precedes the call. Default: `None`, the data is
    /// dropped.
    fn seal_extra(_extra: Value) -> Option<Reasoning> {
        None
    }

    /// Returns the error that a body reports, if it reports one.
    fn reported_error(body: &str) -> Option<DecodeError> {
        reported_error(body)
    }
}
