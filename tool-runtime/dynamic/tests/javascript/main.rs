//! Tools in JavaScript: their bodies, their calls of other tools, and hostile bodies.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

mod bodies;
mod calls;
#[cfg(feature = "fetch")]
mod fetch;
mod fixture;
mod hostile;
