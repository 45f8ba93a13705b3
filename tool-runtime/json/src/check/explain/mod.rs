//! Words what is expected, what is there, and what to send in its place.

pub(super) mod correction;
pub(super) mod describe;
pub(super) mod display;
pub(super) mod expectation;
pub(super) mod format_examples;
pub(super) mod phrase;
pub(super) mod report;
pub(super) mod sample;
