//! Tests of the client against scripted servers in this process, and against programs.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::or_fun_call,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

mod calls;
mod connections;
mod hostile;
mod http;
mod http_features;
mod http_secrets;
mod http_steps;
mod http_streams;
mod input;
mod late_discovery;
mod lists;
mod media;
mod metadata;
mod model_tools;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(feature = "server")]
mod own_server;
mod pinned_servers;
mod pins;
mod processes;
mod questions;
mod refresh;
mod resources;
mod server;
mod subscriptions;
mod tasks;
mod trust;
mod unreadable;
mod untrusted;
