//! What formats have in common: how a call is spelled once its marker is known.

mod arguments;
mod brackets;
mod cursor;
mod envelope;
mod json;
mod members;
mod named;
mod nesting;
mod python;
mod tagged;
mod typed;
mod words;

pub use self::arguments::Typed;
pub(in crate::drivers) use self::members::Members;
pub(super) use self::{
    brackets::closed,
    cursor::Cursor,
    envelope::{Strictness, calls_of, may_be_call},
    json::{Json, read_json},
    named::Named,
    nesting::{Nesting, Seen},
    python::{Python, python_calls},
    tagged::{Style, Tagged},
    words::{before, first_of, up_to, without_begun},
};

/// What a model writes to say that it is done: no text.
pub(super) const STOPS: [&str; 13] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eot|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end|>",
    "<end_of_turn>",
    "<turn|>",
    "<｜end▁of▁sentence｜>",
    "<|return|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|content_model_end_sampling|>",
    "</s>",
];
