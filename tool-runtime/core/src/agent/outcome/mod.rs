//! The ends of a run: an answer, a stop, or a pause.

pub(crate) mod answer;
pub(crate) mod paused;
pub(crate) mod pending_call;
mod saved_decisions;
pub(crate) mod stop_reason;
