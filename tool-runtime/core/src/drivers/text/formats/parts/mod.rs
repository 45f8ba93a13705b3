//! Formats of the parts of a reply that hold no calls.

pub(super) mod aside;
pub(crate) mod invented_message;
pub(super) mod stop;
pub(super) mod think;
