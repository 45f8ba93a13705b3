//! Destinations of events: observers, and the logs and channels that they write to.

pub(crate) mod background;
pub(crate) mod channel;
pub(crate) mod json_lines;
pub(crate) mod observers;
mod owned_delta;
pub(crate) mod queue;
pub(crate) mod recorder;
