//! The input of a run, and its requests to the model.

pub(crate) mod budget;
mod cited_text;
pub(crate) mod exchange;
mod piece_hooks;
pub(crate) mod prompt;
pub(crate) mod selection;
