//! What OpenAI's chat completions and Mistral's have in common: how the model is to answer, its calls,
//! what it took, and the stream of choices. They differ in how words and thoughts are spelled: that is a
//! [`Speech`].

mod assemble;
mod reply;
mod request;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) use assemble::Assembler;
pub(super) use reply::{Call, reply, reported};
pub(super) use request::{add, call, content, set_options, shown};

use super::codec::Unreadable;
use crate::message::{AssistantPart, Reasoning};
use crate::models::Deltas;

/// What a model says beside its calls, as it is put together.
pub(super) trait Speech: Default + Send {
    /// What is said at once: a message, or what a piece of a stream adds to one.
    type Said: Default + DeserializeOwned;

    /// Takes what is said and tells of it; gives back the calls in it, or the pieces of calls.
    fn hear(&mut self, said: Self::Said, deltas: &mut Deltas<'_>) -> Vec<Call>;

    /// All that was said, in order.
    fn into_parts(self) -> Vec<AssistantPart>;

    /// Whether the model said why it won't answer.
    fn is_refused(&self) -> bool {
        false
    }

    /// What came along with a call, to be kept before it; passed over unless servers are known for it.
    fn seal(_extra: Value) -> Option<Reasoning> {
        None
    }

    /// The error that a body reports, if it does.
    fn failure(body: &str) -> Option<Unreadable> {
        reported(body)
    }
}
