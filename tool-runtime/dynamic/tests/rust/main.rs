//! Tests of tools in Rust, with real builds. They need bubblewrap, user namespaces, a toolchain,
//! and the sources of the dependencies in the registry of cargo.
//!
//! All tests share a folder in that of the build, so only the first run compiles everything.

#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

#[cfg(feature = "catalog")]
mod agents;
mod builds;
mod calls;
mod figures;
mod fixture;
mod hostile_builds;
mod hostile_calls;
#[cfg(feature = "catalog")]
#[path = "../kills/mod.rs"]
mod kill_loop;
#[cfg(feature = "catalog")]
mod kills;
mod lock;
mod published;
