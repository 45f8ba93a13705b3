//! Tests of knowledge and memory through their public interfaces.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at a failure")]

mod golden;
mod indexing;
mod kills;
mod memory;
mod searching;
mod stores;
mod tool;
