//! What OpenAI's chat completions and Mistral's have in common: how the model is to answer, its calls,
//! what it took, and the stream of choices. They differ in how words and thoughts are spelled: that is a
//! [`Speech`].

mod assemble;
mod reply;
mod request;

use serde::de::DeserializeOwned;

pub(super) use assemble::Assembler;
pub(super) use reply::{Call, reply, reported};
pub(super) use request::{call, content, set_options};

use super::codec::Unreadable;
use crate::message::AssistantPart;
use crate::models::Deltas;

/// What a model says beside its calls, as it is put together.
pub(super) trait Speech: Default + Send {
    /// What is said at once: a message, or what a piece of a stream adds to one.
    type Said: Default + DeserializeOwned;

    /// Takes what is said and tells of it; gives back the calls in it, or the pieces of calls.
    fn hear(&mut self, said: Self::Said, deltas: &mut Deltas<'_>) -> Vec<Call>;

    /// All that was said, in order.
    fn into_parts(self) -> Vec<AssistantPart>;

    /// The error that a body reports, if it does.
    fn failure(body: &str) -> Option<Unreadable> {
        reported(body)
    }
}
