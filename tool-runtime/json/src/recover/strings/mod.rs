//! Reads strings: where they end, and what their escapes mean.

pub(super) mod escape;
pub(super) mod escape_meaning;
pub(super) mod lookahead;
pub(super) mod repeated_quotes;
pub(super) mod string;
pub(super) mod string_prefix;
pub(super) mod unclosed_string;
