//! What formats have in common: how a call is spelled once its marker is known.

mod arguments;
mod brackets;
mod cursor;
mod envelope;
mod json;
mod members;
mod named;
mod python;
mod tagged;
mod typed;

pub(in crate::drivers) use self::members::Members;
pub(super) use self::{
    arguments::Typed,
    brackets::closed,
    cursor::Cursor,
    envelope::{Strictness, calls_of, may_be_call},
    json::Json,
    named::Named,
    python::{Python, python_calls},
    tagged::{Style, Tagged},
};

/// What a model writes to say that it is done: no text.
pub(super) const STOPS: [&str; 10] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end|>",
    "<end_of_turn>",
    "<turn|>",
    "<｜end▁of▁sentence｜>",
    "<|return|>",
    "</s>",
];
