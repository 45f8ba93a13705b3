//! Tests of knowledge through its public interface.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at a failure")]

mod indexing;
mod searching;
mod stores;
mod tool;
