//! Reads what is not a string: keys, commas, brackets, numbers and words.

pub(super) mod bracket;
pub(super) mod comma;
pub(super) mod key;
pub(super) mod key_lookahead;
pub(super) mod literals;
pub(super) mod number;
pub(super) mod placeholder;
pub(super) mod trivia;
pub(super) mod word;
